"""A recorded host reads as the host did, and lspci says so too."""

import re
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from host.hindered import as_nobody, files_of_at_most
from trees.acpi import ATSR, dmar, iort, put_table, root_complex, structure
from trees.config import ENDPOINT, ConfigBuilder
from trees.function import Function, gpu, nic, root_port
from trees.host import TreeHost
from trees.machines import one_switch

from pcietune.errors import BadInputError, ConfigSpaceError, NotPermittedError
from pcietune.host.boot_loader.written import written_path
from pcietune.host.host_files import HostFiles
from pcietune.host.recordings.manifest import MANIFEST, decode_manifest
from pcietune.host.recordings.recorded_tree import RecordedTree
from pcietune.host.recordings.recording import record
from pcietune.host.source import open_host
from pcietune.host.sysfs import SysfsHost
from pcietune.model.boot_loader import LoaderName
from pcietune.model.platform import Platform
from pcietune.registers.acs import Acs

SERIAL_NUMBER = re.compile(r"Device Serial Number (\S+)")
# The attributes for which the kernel reads a register, by commit 48991e493507.
READ_FROM_REGISTERS = (
    "current_link_speed",
    "current_link_width",
    "max_link_speed",
    "max_link_width",
    "secondary_bus_number",
    "subordinate_bus_number",
)


def _record(tree: TreeHost, archive: Path) -> SysfsHost:
    host = SysfsHost(HostFiles(tree.root, recorded=False))
    record(host, archive)
    return host


def _lspci(root: Path, *options: str) -> str:
    command = ["lspci", "-D", *options, "-O", f"sysfs.path={root}/sys/bus/pci"]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    assert run.stdout
    return run.stdout


@pytest.fixture
def tree(tmp_path: Path) -> TreeHost:
    return one_switch(tmp_path / "host", driver="vfio-pci")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return tmp_path / "host.tar"


def test_what_the_kernel_knows_of_power_and_errors_is_recorded(tmp_path: Path) -> None:
    counted = {"aer_dev_fatal": "ACSViol 1", "aer_dev_nonfatal": "ACSViol 2"}
    port = replace(root_port("0000:20:01.0"), attributes={"power/control": "auto", **counted})
    host = _record(one_switch(tmp_path / "host", instead=[port]), tmp_path / "host.tar")
    names = ("power/control", "power/runtime_status", "aer_dev_fatal", "aer_dev_nonfatal")

    with open_host([tmp_path / "host.tar"]) as recorded:
        for each in (host, recorded):
            function = each.functions()[0]
            assert [each.attribute(function, name) for name in names] == [
                "auto",
                "active",
                "ACSViol 1",
                "ACSViol 2",
            ]


def test_a_recorded_host_has_the_same_functions_in_the_same_state(
    tree: TreeHost, archive: Path
) -> None:
    host = _record(tree, archive)

    with open_host([archive]) as recorded:
        functions = recorded.functions()
        states = [recorded.state(function) for function in functions]

    assert functions == host.functions()
    assert states == [host.state(function) for function in functions]


def test_a_recorded_platform_differs_in_the_command_lines_private_values(
    tree: TreeHost, archive: Path
) -> None:
    tree.put("proc/kallsyms", "ffffffff81c4c770 t __pci_config_acs")
    host = _record(tree, archive)

    with open_host([archive]) as recorded:
        platform = recorded.platform()
        knows_config_acs = recorded.knows_config_acs()

    assert platform == _with_cmdline(host.platform(), "BOOT_IMAGE=... root=... ro quiet")
    assert knows_config_acs is True


@pytest.mark.parametrize("symbol", ["__pci_config_acs", "pci_enable_acs"])
def test_a_kernel_symbol_is_recorded_without_its_address(
    tree: TreeHost, archive: Path, symbol: str
) -> None:
    tree.put("proc/kallsyms", f"ffffffff81c4c770 t {symbol}")
    host = _record(tree, archive)

    with open_host([archive]) as recorded:
        assert recorded.knows_config_acs() is host.knows_config_acs()
    assert b"ffffffff81c4c770" not in archive.read_bytes()


def test_lspci_reads_the_recording_as_it_reads_the_host(
    tmp_path: Path, tree: TreeHost, archive: Path
) -> None:
    _record(tree, archive)
    unpacked = _unpacked(archive, tmp_path)

    said = SERIAL_NUMBER.sub(
        "Device Serial Number 00-00-00-00-00-00-00-00", _lspci(tree.root, "-vvv")
    )

    assert _lspci(unpacked, "-vvv") == said
    assert said.count("Access Control Services") == 3


def test_configuration_space_is_what_lspci_prints_but_for_what_tells_devices_apart(
    tmp_path: Path, tree: TreeHost, archive: Path
) -> None:
    _record(tree, archive)
    unpacked = _unpacked(archive, tmp_path)

    before = _lspci(tree.root, "-xxxx").splitlines()
    after = _lspci(unpacked, "-xxxx").splitlines()

    changed = {old.partition(":")[0] for old, new in zip(before, after, strict=True) if old != new}
    assert changed == {"40", "100"}  # VPD at 0x48, Device Serial Number at 0x100


def test_serial_numbers_of_device_and_product_are_not_recorded(
    tree: TreeHost, archive: Path
) -> None:
    serial = "SERIAL-OF-THE-PRODUCT"
    assert serial in (tree.root / "sys/class/dmi/id/product_serial").read_text()
    _record(tree, archive)

    data = archive.read_bytes()

    assert serial.encode() not in data
    assert (0x0008_0003_00B3_15B3).to_bytes(8, "little") not in data


def test_a_function_in_d3cold_is_recorded_without_waking_it(tmp_path: Path, archive: Path) -> None:
    tree = TreeHost(tmp_path / "host")
    tree.add(replace(gpu("0000:0a:00.0"), attributes={"power_state": "D3cold"}))
    tree.add(nic("0000:0b:00.0"))
    for address in ("0000:0a:00.0", "0000:0b:00.0"):
        for name in READ_FROM_REGISTERS:  # whoever reads a directory leaves an error behind
            (tree.directory(address) / name).unlink(missing_ok=True)
            (tree.directory(address) / name).mkdir()
    _record(tree, archive)

    manifest = decode_manifest((_unpacked(archive, tmp_path) / MANIFEST).read_bytes(), "host.tar")
    assert set(manifest.errors) == {
        f"sys/devices/pci0000:0b/0000:0b:00.0/{name}" for name in READ_FROM_REGISTERS
    }
    with open_host([archive]) as recorded:
        asleep, awake = recorded.functions()
        with pytest.raises(ConfigSpaceError, match=r"^0000:0a:00\.0 is in D3cold"):
            recorded.config(asleep)
        assert recorded.config(awake).read(0, 2) == 0x15B3


def test_what_was_in_d3cold_stays_unread_though_the_recording_says_d0(
    tmp_path: Path, archive: Path
) -> None:
    tree = TreeHost(tmp_path / "host")
    tree.add(replace(gpu("0000:0a:00.0"), attributes={"power_state": "D3cold"}))
    _record(tree, archive)

    with open_host([archive]) as recorded:
        (function,) = recorded.functions()
        power_state = recorded.root / recorded.directory(function) / "power_state"
        power_state.write_text("D0\n")
        with pytest.raises(ConfigSpaceError, match=r"was not recorded: 0000:0a:00\.0 is in D3cold"):
            recorded.config(function)


def test_what_a_user_recorded_is_known_to_lack_what_root_may_read(
    tmp_path: Path, archive: Path
) -> None:
    tree = TreeHost(tmp_path / "host")
    function = nic("0000:0b:00.0")
    tree.add(replace(function, config=function.config.cut(64)))
    _record(tree, archive)

    with open_host([archive]) as recorded:
        config = recorded.config(recorded.functions()[0])
        assert config.read(0, 2) == 0x15B3
        with pytest.raises(NotPermittedError, match=r"only the first 64 bytes were recorded"):
            Acs.find(config)


def test_a_file_that_cannot_be_read_is_named_in_the_manifest(
    tmp_path: Path, tree: TreeHost, archive: Path
) -> None:
    lockdown = tree.root / "sys/kernel/security/lockdown"
    lockdown.unlink()
    lockdown.mkdir()

    _record(tree, archive)

    manifest = (_unpacked(archive, tmp_path) / "manifest.json").read_text()
    assert '"sys/kernel/security/lockdown": "Is a directory"' in manifest


def test_a_directory_that_this_user_may_not_list_is_named_in_the_manifest(tmp_path: Path) -> None:
    (tmp_path / "etc/pcietune").mkdir(parents=True)
    (tmp_path / "etc/pcietune").chmod(0o000)
    recorded = RecordedTree(HostFiles(tmp_path, recorded=False), tmp_path / "copy")

    with as_nobody():
        recorded.copy_all("etc/pcietune")

    assert recorded.errors == {"etc/pcietune": "/etc/pcietune may not be read: Permission denied"}


def test_what_the_firmware_says_of_ats_is_recorded(tree: TreeHost, archive: Path) -> None:
    put_table(tree, dmar(structure(ATSR, segment=5, flags=1)))
    put_table(tree, iort([root_complex(3, 1)]))
    _record(tree, archive)

    with open_host([archive]) as recorded:
        platform = recorded.platform()

    assert platform.dmar
    assert platform.dmar.all_ports == {5}
    assert platform.root_complex_ats == {3: True}


def test_pcietunes_own_files_are_recorded(tree: TreeHost, archive: Path) -> None:
    tree.put("etc/pcietune/pcietune.yaml", "mode: vm")
    tree.put("etc/pcietune/profiles.d/ours.yaml", "version: 1")
    tree.put("run/pcietune/undo.jsonl", "{}")
    tree.put("var/lib/pcietune/ats-proofs.jsonl", "{}")
    _record(tree, archive)

    with tarfile.open(archive) as tar:
        names = tar.getnames()

    assert {
        "etc/pcietune/pcietune.yaml",
        "etc/pcietune/profiles.d/ours.yaml",
        "run/pcietune/undo.jsonl",
        "var/lib/pcietune/ats-proofs.jsonl",
    } <= set(names)


def test_the_note_of_what_a_boot_loaders_line_was_is_not_recorded(
    tree: TreeHost, archive: Path
) -> None:
    before = "quiet nfsroot=10.1.2.3:/of-somebody"
    tree.put(written_path(LoaderName.GRUB), f'{{"before": "{before}", "lines": []}}')

    _record(tree, archive)

    assert b"of-somebody" not in archive.read_bytes()


def test_a_link_that_leads_back_is_not_followed_for_ever(tree: TreeHost, archive: Path) -> None:
    tree.put("etc/pcietune/pcietune.yaml", "mode: vm")
    for name in ("again", "and-again"):
        (tree.root / "etc/pcietune" / name).symlink_to(".")
    _record(tree, archive)

    with tarfile.open(archive) as tar:
        own = [name for name in tar.getnames() if name.startswith("etc/pcietune/")]

    assert own == ["etc/pcietune/pcietune.yaml"]


@pytest.mark.parametrize("target", ["{outside}", "../../../../../../../../{outside}"])
def test_recording_a_recording_makes_nothing_outside(
    tmp_path: Path, tree: TreeHost, archive: Path, target: str
) -> None:
    outside = tmp_path / "outside"
    (tree.directory("0000:22:04.0") / "driver").unlink()
    (tree.directory("0000:22:04.0") / "driver").symlink_to(target.format(outside=outside))

    with open_host([tree.root]) as host, pytest.raises(BadInputError, match="leads out of"):
        record(host, archive)

    assert not outside.exists()


def test_no_more_vfs_are_looked_for_than_a_function_can_have(tree: TreeHost, archive: Path) -> None:
    (tree.directory("0000:24:00.0") / "sriov_numvfs").write_text("9" * 30)
    _record(tree, archive)

    with open_host([archive]) as host:
        assert host.state(host.functions()[-1]).virtual_functions == ()


def test_a_recording_for_which_there_is_no_room_is_told(tree: TreeHost, archive: Path) -> None:
    with (
        files_of_at_most(1000),
        pytest.raises(NotPermittedError, match=r"cannot write .*/config: File too large"),
    ):
        _record(tree, archive)

    assert not archive.exists()


def test_an_amd_iommu_below_its_function_is_recorded(tmp_path: Path, archive: Path) -> None:
    tree = TreeHost(tmp_path / "host")
    tree.add(Function("0000:00:00.2", ConfigBuilder("1022:164f", 0x080600).express(ENDPOINT)))
    tree.amd_iommu("ivhd0", below="0000:00:00.2", cap=0x1F03000F)
    host = _record(tree, archive)

    with open_host([archive]) as recorded:
        assert recorded.platform().iommu_units == host.platform().iommu_units


def test_virtual_functions_are_recorded_with_their_links(tmp_path: Path, archive: Path) -> None:
    tree = TreeHost(tmp_path / "host")
    virtual = replace(nic("0000:0b:00.1"), physical_function="0000:0b:00.0")
    tree.add(nic("0000:0b:00.0"), virtual)
    host = _record(tree, archive)

    with open_host([archive]) as recorded:
        physical = recorded.functions()[0]
        assert recorded.state(physical) == host.state(physical)
        assert recorded.state(physical).virtual_functions == (recorded.functions()[1].address,)


def test_the_same_host_gives_the_same_bytes(tmp_path: Path, tree: TreeHost) -> None:
    _record(tree, tmp_path / "one.tar.gz")
    _record(tree, tmp_path / "two.tar.gz")

    assert (tmp_path / "one.tar.gz").read_bytes() == (tmp_path / "two.tar.gz").read_bytes()


def _unpacked(archive: Path, directory: Path) -> Path:
    """Unpack as anybody would, with tar."""
    target = directory / "unpacked"
    target.mkdir()
    subprocess.run(["tar", "-xf", archive, "-C", target], check=True)
    return target


def _with_cmdline(platform: Platform, cmdline: str) -> Platform:
    return replace(platform, cmdline=cmdline)
