"""Who else gives functions to VFIO, by the files that those programs keep."""

import os
from pathlib import Path

import pytest
from trees.host import TreeHost
from trees.machines import one_switch

from pcietune.address import PciAddress
from pcietune.host.host_files import HostFiles
from pcietune.host.owners.read_owners import owners_of, read_owners
from pcietune.host.recordings.recording import record
from pcietune.host.source import open_host
from pcietune.host.sysfs import SysfsHost
from pcietune.model.owners import Owner, OwnerKind, Owners

GPU = PciAddress.parse("0000:23:00.0")
NIC = PciAddress.parse("0000:24:00.0")
IDS = OwnerKind.MODULE_IDS
DOMAIN = """\
<!--
WARNING: THIS IS AN AUTO-GENERATED FILE. CHANGES TO IT ARE LIKELY TO BE OVERWRITTEN
-->
<domain type='kvm'>
  <name>tenant-of-somebody</name>
  <uuid>6f2b1c7e-54d2-4e0f-9d3c-3c1a5e0d7b11</uuid>
  <devices>
    <hostdev mode='subsystem' type='pci' managed='{managed}'>
      <driver name='vfio'/>
      <source>
        <address domain='0x0000' bus='0x23' slot='0x00' function='0x0'/>
      </source>
      <address type='pci' domain='0x0000' bus='0x07' slot='0x00' function='0x0'/>
    </hostdev>
    <hostdev mode='subsystem' type='usb' managed='yes'>
      <source>
        <address bus='1' device='3'/>
      </source>
    </hostdev>
    <interface type='hostdev' managed='{managed}'>
      <source>
        <address type='pci' domain='0x0000' bus='0x24' slot='0x00' function='0x0'/>
      </source>
    </interface>
  </devices>
</domain>"""


@pytest.fixture
def tree(tmp_path: Path) -> TreeHost:
    return one_switch(tmp_path / "host")


def _owners(tree: TreeHost) -> Owners:
    return read_owners(HostFiles(tree.root, recorded=False))


def test_a_host_without_any_has_no_owners(tree: TreeHost) -> None:
    assert _owners(tree) == Owners()


@pytest.mark.parametrize(
    "text",
    [
        "options vfio-pci ids=10de:20f3,15b3:101B",
        "# passthrough\n  options  vfio_pci disable_vga=1 ids=10de:20f3,15b3:101b",
        'options vfio-pci ids="10de:20f3,15b3:101b"',
        "options vfio-pci \\\n  ids=10de:20f3,15b3:101b",
        "options vfio-pci ids=10de:20f3,\\\n15b3:101b",  # modprobe -c prints both in one word
    ],
)
def test_modprobe_d_tells_which_ids_vfio_pci_takes(tree: TreeHost, text: str) -> None:
    tree.put("etc/modprobe.d/vfio.conf", text)

    where = "/etc/modprobe.d/vfio.conf"
    assert _owners(tree).found == (Owner(IDS, where, ids=("10de:20f3", "15b3:101b")),)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("vfio.conf", "# options vfio-pci ids=10de:20f3"),
        ("vfio.conf", "options vfio-pci disable_idle_d3=1"),
        ("vfio.conf", "options vfio_iommu_type1 allow_unsafe_interrupts=1"),
        ("vfio.conf", "softdep nvidia pre: vfio-pci"),
        ("vfio.conf.bak", "options vfio-pci ids=10de:20f3"),
    ],
)
def test_what_modprobe_passes_over_names_no_ids(tree: TreeHost, name: str, text: str) -> None:
    tree.put(f"etc/modprobe.d/{name}", text)

    assert _owners(tree).found == ()


def test_a_file_in_etc_hides_one_of_the_same_name_elsewhere(tree: TreeHost) -> None:
    tree.put("etc/modprobe.d/vfio.conf", "options vfio-pci ids=10de:20f3")
    tree.put("usr/lib/modprobe.d/vfio.conf", "options vfio-pci ids=15b3:101b")

    assert [owner.where for owner in _owners(tree).found] == ["/etc/modprobe.d/vfio.conf"]


@pytest.mark.parametrize("module", ["vfio-pci", "vfio_pci"])
def test_the_kernel_command_line_tells_ids_too(tree: TreeHost, module: str) -> None:
    tree.put("proc/cmdline", f"root=/dev/sda1 {module}.ids=10de:20f3,10de:1aef quiet")

    assert _owners(tree).found == (Owner(IDS, "vfio-pci.ids=", ids=("10de:20f3", "10de:1aef")),)


def test_a_module_without_a_load_state_is_built_in_and_modprobe_d_does_not_concern_it(
    tree: TreeHost,
) -> None:
    tree.put("sys/module/vfio_pci/parameters/disable_idle_d3", "N")
    tree.put("proc/cmdline", "vfio-pci.ids=10de:20f3")
    tree.put("etc/modprobe.d/vfio.conf", "options vfio-pci ids=15b3:101b")

    built_in = Owner(OwnerKind.BUILT_IN, "/sys/module/vfio_pci", ids=("10de:20f3",))
    assert _owners(tree).found == (built_in,)


def test_a_module_with_a_load_state_was_loaded_from_a_file(tree: TreeHost) -> None:
    tree.put("sys/module/vfio_pci/parameters/disable_idle_d3", "N")
    tree.put("sys/module/vfio_pci/initstate", "live")

    assert _owners(tree).found == ()


def test_a_pipe_is_not_waited_for_and_not_taken_for_an_empty_file(tree: TreeHost) -> None:
    for directory, name in (("modprobe.d", "vfio.conf"), ("libvirt/qemu", "vm.xml")):
        (tree.root / "etc" / directory).mkdir(parents=True)
        os.mkfifo(tree.root / "etc" / directory / name)

    owners = _owners(tree)

    assert owners.found == ()
    assert [said.partition(":")[0] for said in owners.not_known] == [
        "which ids vfio-pci takes",
        "which functions libvirt manages",
    ]


def test_driverctl_has_a_file_for_each_function(tree: TreeHost) -> None:
    tree.put("etc/driverctl.d/pci-0000:24:00.0", "vfio-pci")
    tree.put("etc/driverctl.d/vmbus-f8615163-df3e-46c5-913f-f2d2f965ed0e", "uio_hv_generic")
    tree.put("etc/driverctl.d/pci-of-nobody", "vfio-pci")

    where = "/etc/driverctl.d/pci-0000:24:00.0"
    driverctl = Owner(OwnerKind.DRIVERCTL, where, addresses=(NIC,), says="vfio-pci")
    assert _owners(tree).found == (driverctl,)


def test_libvirt_manages_what_its_definitions_say_it_does(tree: TreeHost) -> None:
    tree.put("etc/libvirt/qemu/tenant-of-somebody.xml", DOMAIN.format(managed="yes"))
    tree.put("etc/libvirt/qemu/networks/default.xml", "<network/>")

    managed = Owner(OwnerKind.LIBVIRT_MANAGED, "/etc/libvirt/qemu", addresses=(GPU, NIC))
    assert _owners(tree) == Owners((managed,))


def test_a_running_vm_without_a_definition_counts_too(tree: TreeHost) -> None:
    status = f"<domstatus state='running'>{DOMAIN.format(managed='yes')}</domstatus>"
    tree.put("run/libvirt/qemu/transient.xml", status)

    assert [owner.where for owner in _owners(tree).found] == ["/run/libvirt/qemu"]


def test_libvirt_manages_nothing_that_somebody_else_binds(tree: TreeHost) -> None:
    tree.put("etc/libvirt/qemu/vm.xml", DOMAIN.format(managed="no"))

    assert _owners(tree) == Owners()


@pytest.mark.parametrize(
    "xml",
    [
        "<domain><devices>",
        "<?xml version='1.0' encoding='of-nobody'?><domain/>",
        "<!DOCTYPE domain [<!ENTITY a 'aaaa'>]><domain>&a;</domain>",
        DOMAIN.format(managed="yes").replace("0x24", "0x124"),
        DOMAIN.format(managed="yes").replace("0x24", "twenty"),
        "x" * 0x10001,
    ],
)
def test_a_definition_that_makes_no_sense_is_told_and_not_named(tree: TreeHost, xml: str) -> None:
    tree.put("etc/libvirt/qemu/tenant-of-somebody.xml", xml)

    owners = _owners(tree)

    assert owners.found == ()
    [said] = owners.not_known
    assert said.startswith("which functions libvirt manages: 1 of the files in /etc/libvirt/qemu")
    assert "tenant" not in said


@pytest.mark.parametrize(
    ("pod", "kind"),
    [
        ("nvidia-vfio-manager-thfwf", OwnerKind.VFIO_MANAGER),
        ("nic-configuration-daemon-x7k2p", OwnerKind.NIC_OPERATOR),
        ("sriov-network-config-daemon-9zq4d", OwnerKind.SRIOV_OPERATOR),
    ],
)
def test_an_operator_is_known_by_its_pod(tree: TreeHost, pod: str, kind: OwnerKind) -> None:
    uid = "0c4b5f0e-98a4-4c0d-8a57-2a1f6f0e3b52"
    (tree.root / f"var/log/pods/secret-namespace_{pod}_{uid}").mkdir(parents=True)
    (tree.root / f"var/log/pods/default_web-5d8f_{uid}").mkdir()

    [owner] = _owners(tree).found

    assert (owner.kind, owner.where, owner.addresses) == (kind, "/var/log/pods", ())
    assert "secret" not in repr(owner)


def test_the_sriov_operator_keeps_a_file_for_each_physical_function(tree: TreeHost) -> None:
    tree.put("etc/sriov-operator/pci/0000:24:00.0", "{}")

    operator = Owner(OwnerKind.SRIOV_OPERATOR, "/etc/sriov-operator", addresses=(NIC,))
    assert _owners(tree).found == (operator,)


def test_a_recording_keeps_owners_and_nothing_private(tree: TreeHost, tmp_path: Path) -> None:
    tree.put("etc/libvirt/qemu/tenant-of-somebody.xml", DOMAIN.format(managed="yes"))
    tree.put("etc/modprobe.d/vfio.conf", "options vfio-pci ids=10de:20f3")
    archive = tmp_path / "host.tar"
    record(SysfsHost(HostFiles(tree.root, recorded=False)), archive)

    with open_host([archive]) as host:
        assert owners_of(host.files) == _owners(tree)

    data = archive.read_bytes()
    assert b"tenant" not in data
    assert b"6f2b1c7e" not in data


def test_a_recording_of_before_does_not_tell_owners(tree: TreeHost) -> None:
    tree.put("etc/modprobe.d/vfio.conf", "options vfio-pci ids=10de:20f3")

    assert owners_of(HostFiles(tree.root, recorded=True)) is None
