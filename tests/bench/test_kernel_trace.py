"""What the kernel says of its trace is read as it means it; the lines are from a boot."""

import pytest

from bench.kernel_trace import Bound, Ran, Trace, Wrote, parse

TEXT = """# tracer: nop
#
# entries-in-buffer/entries-written: 4/4   #P:1
#
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
        pcietune-183     [000] .....     9.341473: sched_process_exec: filename=/usr/bin/pcietune pid=183 old_pid=183
        pcietune-183     [001] .N...    17.835149: wrote_word: (pci_user_write_config_word+0x4/0xb0) device="0000:02:01.0" pos=334 val=0x5d
   (udev-worker)-207     [000] .....    18.277347: bound: (driver_bound+0x0/0xc0) device="LNXPWRBN:00" driver="button"
 systemd-modules-202     [000] .....    18.930540: bound: (driver_bound+0x0/0xc0) device="0000:03:00.0" driver="vfio-pci"
"""  # noqa: E501 -- as the kernel prints them


def test_times_devices_and_programs_are_told() -> None:
    assert parse(TEXT) == Trace(
        bound=[
            Bound(18.277347, "LNXPWRBN:00", "button"),
            Bound(18.930540, "0000:03:00.0", "vfio-pci"),
        ],
        wrote=[Wrote(17.835149, "0000:02:01.0", 0x14E, 0x5D, "word")],
        ran=[Ran(9.341473, "/usr/bin/pcietune")],
    )


def test_a_part_of_it_begins_at_a_time_and_ends_before_another() -> None:
    part = parse(TEXT).between(17.835149, 18.930540)

    assert (len(part.ran), len(part.wrote), len(part.bound)) == (0, 1, 1)


def test_a_trace_that_lost_its_beginning_proves_nothing() -> None:
    with pytest.raises(AssertionError, match="run over"):
        parse(TEXT.replace("4/4", "4/9"))
