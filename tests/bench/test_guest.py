"""What a test can do with a guest."""

import time

import pytest

from bench.errors import GuestError, GuestTimeoutError
from bench.guest import Guest

pytestmark = pytest.mark.machine("small")

ACS_CONTROL = 0x148 + 6  # of a downstream port; the capability is behind Advanced Error Reporting


def test_the_exit_status_is_the_commands_own(guest: Guest) -> None:
    result = guest.run("sh", "-c", "echo out; echo err >&2; exit 3")

    assert (result.returncode, result.stdout, result.stderr) == (3, "out\n", "err\n")


def test_a_command_that_takes_too_long_is_killed(guest: Guest) -> None:
    started = time.monotonic()

    with pytest.raises(GuestTimeoutError, match="begun"):
        guest.run("sh", "-c", "echo begun; sleep 100", timeout=1)

    assert time.monotonic() - started < 10


def test_an_absent_command_is_said_to_be_absent(guest: Guest) -> None:
    with pytest.raises(GuestError, match="No such file or directory: 'absent'"):
        guest.run("absent")


def test_a_command_gets_environment_input_user_and_directory(guest: Guest) -> None:
    result = guest.run(
        *("sh", "-c", 'echo "$GREETING"; cat; id -un; pwd'),
        env={"GREETING": "hello"},
        stdin="input\n",
        user="nobody",
        cwd="/proc",
    )

    assert result.stdout.splitlines() == ["hello", "input", "nobody", "/proc"]


def test_a_file_is_read_as_it_was_written(guest: Guest) -> None:
    content = bytes(range(256)) * 4096

    guest.write_file("/run/content", content)

    assert guest.read_file("/run/content") == content


def test_lspci_names_the_devices_and_reads_what_the_bench_reads(guest: Guest) -> None:
    text = guest.run("lspci", "-D", "-xxxx").stdout

    dumped = {}
    for block in text.strip().split("\n\n"):
        head, *lines = block.splitlines()
        dumped[head.split()[0]] = bytes.fromhex("".join(line.split(": ")[1] for line in lines))
    assert dumped == guest.configs()
    assert "A800-SXM4-80GB" in text
    assert "ConnectX-6" in text


def test_the_kernel_sets_acs_on_every_port_that_has_it(guest: Guest) -> None:
    # pci_std_enable_acs(): SrcValid, ReqRedir, CmpltRedir, UpstreamFwd
    for port in ("root0", "port0", "port1"):
        address = guest.address(port)

        assert guest.run("setpci", "-s", address, "ECAP_ACS+6.w").stdout == "001d\n"


def test_a_root_port_without_acs_has_none(guest: Guest) -> None:
    result = guest.run("lspci", "-vvv", "-s", guest.address("root1"))

    assert "Access Control Services" not in result.stdout


def test_the_kernel_turns_ats_on_where_it_is(guest: Guest) -> None:
    for nic in ("nic0", "storage0"):
        assert "ATSCtl:\tEnable+" in guest.run("lspci", "-vvv", "-s", guest.address(nic)).stdout
    assert "ATS" not in guest.run("lspci", "-vvv", "-s", guest.address("gpu0")).stdout


def test_every_function_of_the_fabric_states_its_link(guest: Guest) -> None:
    for name in ("root0", "switch0", "port0", "gpu0", "nic0", "root1", "storage0"):
        text = guest.run("lspci", "-vvv", "-s", guest.address(name)).stdout

        assert "LnkCap:\tPort #0, Speed 16GT/s, Width x16" in text or "Speed 16GT/s" in text
        assert "LnkSta:\tSpeed 16GT/s, Width x16" in text


def test_poked_bytes_are_what_the_guest_reads(guest: Guest) -> None:
    address = guest.address("port1")
    before = guest.config(address)

    guest.poke("port1", ACS_CONTROL, b"\x55\x00")

    assert guest.run("setpci", "-s", address, "ECAP_ACS+6.w").stdout == "0055\n"
    guest.poke("port1", ACS_CONTROL, before[ACS_CONTROL : ACS_CONTROL + 2])
    assert guest.config(address) == before


def test_a_poked_mask_makes_bits_stick(guest: Guest) -> None:
    address = guest.address("port1")

    guest.poke("port1", ACS_CONTROL, b"\x1d\x00", writable=b"\x1f\x00")

    guest.run("setpci", "-s", address, "ECAP_ACS+6.w=005c")
    assert guest.run("setpci", "-s", address, "ECAP_ACS+6.w").stdout == "001c\n"
    guest.poke("port1", ACS_CONTROL, b"\x1d\x00", writable=b"\x5f\x00")


def test_a_function_that_vanished_reads_as_all_ones_and_ignores_writes(guest: Guest) -> None:
    address = guest.address("port1")
    before = guest.configs()

    guest.vanish("port1")
    guest.run("setpci", "-s", address, "ECAP_ACS+6.w=0000", "4.w=0000")

    assert guest.config(address) == b"\xff" * 4096
    guest.reappear("port1")
    assert guest.configs() == before


def test_a_program_in_the_guest_can_ring_for_a_change(guest: Guest) -> None:
    address = guest.address("port1")
    script = f"bench-doorbell poke port1 {ACS_CONTROL:#x} 5d00 && setpci -s {address} ECAP_ACS+6.w"

    result = guest.run("sh", "-c", script + " && bench-doorbell poke port1 0x14e 1d00 5f00")

    assert (result.returncode, result.stdout, result.stderr) == (0, "005d\n", "")


def test_the_doorbell_says_what_it_cannot_do(guest: Guest) -> None:
    result = guest.run("bench-doorbell", "vanish", "port9")

    assert (result.returncode, result.stderr) == (
        1,
        "bench-doorbell: the machine has no function 'port9'\n",
    )


def test_an_absent_function_is_said_to_be_absent(guest: Guest) -> None:
    with pytest.raises(GuestError, match="no function 'gpu9'"):
        guest.address("gpu9")
