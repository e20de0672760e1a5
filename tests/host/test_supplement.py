"""A recording and texts of the same host are one host; those of another are refused."""

from dataclasses import replace
from pathlib import Path

import pytest
from trees.dump import dump, one_switch_functions
from trees.host import TreeHost
from trees.machines import one_switch

from pcietune.errors import BadInputError, ConfigSpaceError, NotPermittedError
from pcietune.host.host_files import HostFiles
from pcietune.host.recordings.recording import record
from pcietune.host.source import open_host
from pcietune.host.sysfs import SysfsHost
from pcietune.model.not_known import NOT_KNOWN

DUMP = dump(one_switch_functions())
NIC = "0000:24:00.0"
CMDLINE = "BOOT_IMAGE=/vmlinuz-6.12.0-amd64 root=LABEL=secret ro quiet"  # of trees.host


@pytest.fixture
def text(tmp_path: Path) -> Path:
    return tmp_path / "text"


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """Return an archive that root recorded."""
    return _recorded(one_switch(tmp_path / "host"), tmp_path / "whole.tar")


@pytest.fixture
def unprivileged(tmp_path: Path) -> Path:
    """Return an archive that somebody else than root recorded."""
    cut = [replace(f, config=f.config.cut(64)) for f in one_switch_functions()]
    return _recorded(one_switch(tmp_path / "cut", instead=cut), tmp_path / "cut.tar")


def _recorded(tree: TreeHost, archive: Path) -> Path:
    record(SysfsHost(HostFiles(tree.root, recorded=False)), archive)
    return archive


def _refused(*sources: Path) -> str:
    with pytest.raises(BadInputError) as raised, open_host(sources):
        pass
    return str(raised.value).replace(f"{sources[0].parent}/", "")


def test_bytes_that_a_recording_lacks_come_from_a_dump(unprivileged: Path, text: Path) -> None:
    text.write_text(DUMP)

    with open_host([unprivileged]) as host, pytest.raises(NotPermittedError):
        host.config(host.functions()[3]).read(0x40, 2)
    with open_host([unprivileged, text]) as host:
        port = host.functions()[3]

        assert host.config(port).read(0x106, 2) == 0x001D
        assert host.state(port).group == 3


def test_bytes_that_neither_has_stay_unread(unprivileged: Path, text: Path) -> None:
    text.write_text(dump(one_switch_functions(), size=256))

    with open_host([unprivileged, text]) as host:
        config = host.config(host.functions()[3])

        assert config.read(0x40, 1) == 0x01
        with pytest.raises(ConfigSpaceError, match="0x104 was not recorded: the dump ends"):
            config.read(0x104, 2)


def test_bytes_that_a_recording_has_stay(whole: Path, text: Path) -> None:
    text.write_text(DUMP.replace("5f 00 1d 00", "5f 00 5d 00"))

    with open_host([text, whole]) as host:
        assert host.config(host.functions()[3]).read(0x106, 2) == 0x001D


def test_a_directory_that_texts_are_added_to_stays_as_it_is(tmp_path: Path, text: Path) -> None:
    tree = one_switch(tmp_path / "host")
    (tree.root / "proc/cmdline").unlink()
    text.write_text("pci=noats quiet\n")

    with open_host([tree.root, text]) as host:
        assert host.platform().pci_options == ("noats",)

    assert not (tree.root / "proc/cmdline").exists()


def test_what_a_recording_says_already_may_be_said_again(whole: Path, text: Path) -> None:
    text.write_text(f"{CMDLINE}\n")

    with open_host([whole, text]) as host:
        assert host.platform().cmdline == "BOOT_IMAGE=... root=... ro quiet"


def test_groups_are_added_to_a_recording_of_a_dump(tmp_path: Path, text: Path) -> None:
    text.write_text(DUMP)
    archive = tmp_path / "dump.tar"
    with open_host([text]) as host:
        record(host, archive)
    text.write_text(f"7 {NIC}\n/sys/kernel/iommu_groups/7/type:identity\n")

    with open_host([archive, text]) as host:
        *_, gpu, nic = host.functions()
        groups = host.platform().groups

        assert (host.state(gpu).group, host.state(nic).group) == (NOT_KNOWN, 7)
    assert groups is not None
    assert groups[7].type == "identity"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        pytest.param(
            DUMP.replace("b3 15 1b 10", "b3 15 1d 10"),
            "text:1291: 0000:24:00.0 is 15b3:101d here, and 15b3:101b in whole.tar",
            id="another device",
        ),
        pytest.param(
            DUMP.replace(NIC, "0000:24:00.1"),
            "text:1291: 0000:24:00.1 is not in whole.tar",
            id="another address",
        ),
        pytest.param(
            f"9 {NIC}\n",
            "text:1: 0000:24:00.0 is in group 9 here, and in group 5 in whole.tar",
            id="another group",
        ),
        pytest.param("9 0000:99:00.0\n", "text:1: 0000:99:00.0 is not in whole.tar", id="unknown"),
        pytest.param(
            "pci=noats quiet\n",
            "whole.tar has another /proc/cmdline: 'BOOT_IMAGE=... root=... ro quiet'",
            id="another command line",
        ),
        pytest.param(
            "6.8.0\n",
            "whole.tar has another /proc/sys/kernel/osrelease: '6.12.0-amd64'",
            id="another kernel",
        ),
    ],
)
def test_texts_of_another_host_are_refused(whole: Path, text: Path, said: str, why: str) -> None:
    text.write_text(said)

    assert _refused(whole, text) == why


def test_a_group_is_not_added_where_there_is_no_iommu(tmp_path: Path, text: Path) -> None:
    whole = _recorded(one_switch(tmp_path / "host", iommu=False), tmp_path / "whole.tar")
    text.write_text(f"7 {NIC}\n")

    assert _refused(whole, text) == (
        "text:1: 0000:24:00.0 is in group 7 here, and in none in whole.tar"
    )


def test_two_recordings_are_two_hosts(tmp_path: Path, whole: Path, unprivileged: Path) -> None:
    directory = one_switch(tmp_path / "directory").root

    assert _refused(whole, unprivileged) == "whole.tar and cut.tar are two recorded hosts"
    assert _refused(whole, directory) == "whole.tar and directory are two recorded hosts"


def test_nothing_is_written_through_a_link_that_leads_out(tmp_path: Path, text: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"untouched")
    tree = one_switch(tmp_path / "host")
    tree.config(NIC).unlink()
    tree.config(NIC).symlink_to(outside)
    tree.put(
        "manifest.json",
        '{"format": "pcietune host archive", "version": 1, "unread": '
        f'{{"{NIC}": {{"ranges": [[0, 4096]]}}}}}}',
    )
    text.write_text(DUMP)

    assert "config leads out of the recorded host" in _refused(tree.root, text)
    assert outside.read_bytes() == b"untouched"
