"""A kernel's log tells its release, its arguments and the IOMMU groups, however it was printed."""

from pathlib import Path

import pytest
from host.dumped import opened, refused
from trees.dump import dump, one_switch_functions
from trees.host import TreeHost

from pcietune.host.source import open_host
from pcietune.model.not_known import NOT_KNOWN

DUMP = dump(one_switch_functions())
CMDLINE = "BOOT_IMAGE=/vmlinuz-6.8.0 root=/dev/sda1 ro quiet intel_iommu=on pci=noats"
# Messages as kernels from 5.3 on print them: init/main.c, drivers/iommu/iommu.c
LOG = [
    "Linux version 6.8.0-51-generic (buildd@lcy02) (gcc 13.2.0) #52-Ubuntu SMP PREEMPT_DYNAMIC",
    f"Command line: {CMDLINE}",
    "BIOS-provided physical RAM map:",
    f"Kernel command line: {CMDLINE}",
    "DMAR: IOMMU enabled",
    "pci 0000:20:01.0: [8086:347a] type 01 class 0x060400",
    "iommu: Default domain type: Translated ",
    "pci 0000:20:01.0: Adding to iommu group 3",
    "pci 0000:24:00.0: Adding to iommu group 8",
    "pci 0000:24:00.1: Adding to iommu group 9",
    "pci 0000:24:00.0: Removing from iommu group 8",
    "pci 0000:23:00.0: Adding to iommu group 11",
    "pci 0000:23:00.0: Removing from iommu group 11",
    "mlx5_core 0000:24:00.0: Adding to iommu group 12",
]


@pytest.mark.parametrize(
    "stamp",
    [
        pytest.param("", id="dmesg -t"),
        pytest.param("[    1.234567] ", id="dmesg"),
        pytest.param("[Tue Dec  2 05:00:56 2025] ", id="dmesg -T"),
        pytest.param("kern  :info  : [    1.234567] ", id="dmesg -x"),
        pytest.param("<6>[    1.234567] ", id="dmesg --raw"),
        pytest.param("[    1.234567][    T1] ", id="with the caller"),
        pytest.param("Dec 02 05:00:56 gpu7 kernel: ", id="journalctl -k"),
        pytest.param("2025-12-02T05:00:56+00:00 gpu7 kernel: ", id="journalctl -o short-iso"),
        pytest.param("Dec  2 05:00:56 gpu7 kernel: [    1.234567] ", id="syslog"),
        pytest.param("> ", id="quoted"),
    ],
)
def test_a_log_is_read_with_every_stamp(tmp_path: Path, stamp: str) -> None:
    with opened(tmp_path, DUMP, "".join(f"{stamp}{line}\n" for line in LOG)) as host:
        root, *_, gpu, nic = host.functions()
        assert host.platform().kernel == "6.8.0-51-generic"
        assert host.platform().cmdline == CMDLINE
        assert (host.state(root).group, host.state(nic).group) == (3, 12)
        assert host.state(gpu).group is NOT_KNOWN


def test_kernels_before_5_3_tell_of_groups_in_other_words(tmp_path: Path) -> None:
    log = (
        "[    1.000000] iommu: Adding device 0000:24:00.0 to group 8\n"
        "[    2.000000] iommu: Removing device 0000:24:00.0 from group 8\n"
        "[    3.000000] iommu: Adding device 0000:24:00.0 to group 9\n"
    )

    with opened(tmp_path, DUMP, log) as host:
        assert host.state(host.functions()[-1]).group == 9


def test_a_part_of_a_log_does(tmp_path: Path) -> None:
    with opened(tmp_path, "\n".join(LOG[6:9]), DUMP) as host:
        assert host.state(host.functions()[-1]).group == 8
        assert (host.platform().kernel, host.platform().cmdline) == (None, None)


def test_the_default_type_of_domains_is_no_groups_type(tmp_path: Path) -> None:
    """A driver may ask for another (def_domain_type), and sysfs may have changed it since."""
    with opened(tmp_path, DUMP, "\n".join(LOG)) as host:
        groups = host.platform().groups

    assert groups is not None
    assert {group.type for group in groups.values()} == {None}


@pytest.mark.parametrize("stamp", ["", "[    0.000000] "])
def test_a_command_line_that_mail_wrapped_is_whole_again(tmp_path: Path, stamp: str) -> None:
    wrapped = [line.replace(" intel_iommu", "\nintel_iommu") for line in LOG]

    with opened(tmp_path, DUMP, "".join(f"{stamp}{line}\n" for line in wrapped)) as host:
        assert host.platform().cmdline == CMDLINE


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        pytest.param(
            (DUMP, "\n".join([*LOG, *LOG])),
            "2.txt:15: a second boot begins here in the kernel's log",
            id="two boots",
        ),
        pytest.param(
            (DUMP, "pci 0000:99:00.0: Adding to iommu group 3\n"),
            "2.txt:1: 0000:99:00.0 is in no dump, and nor is any other function that this log "
            "tells of",
            id="another host's",
        ),
        pytest.param(
            (DUMP, "\n".join(LOG), "7 0000:20:01.0\n"),
            "2.txt:8: 0000:20:01.0 is in group 3 here, and in group 7 in 3.txt:1",
            id="another boot's",
        ),
        pytest.param(
            (DUMP, "\n".join(LOG), "6.12.0-amd64\n"),
            "3.txt:1: two kernel releases: '6.12.0-amd64' here, '6.8.0-51-generic' elsewhere",
            id="another kernel's",
        ),
    ],
)
def test_a_log_of_something_else_is_refused_with_the_place(
    tmp_path: Path, texts: tuple[str, ...], said: str
) -> None:
    assert refused(tmp_path, *texts) == said


def test_a_log_adds_its_groups_to_a_recording(tmp_path: Path) -> None:
    tree = TreeHost(tmp_path / "host")
    tree.add(*one_switch_functions())
    tree.put(
        "manifest.json", '{"format": "pcietune host archive", "version": 1, "complete": false}'
    )
    log = tmp_path / "dmesg"
    log.write_text(
        "pci 0000:24:00.0: Adding to iommu group 8\npci 0000:99:00.0: Adding to iommu group 9\n"
    )

    with open_host([tree.root, log]) as host:
        assert host.state(host.functions()[-1]).group == 8
