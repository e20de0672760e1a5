"""A fragment, merged into a site's own domain, puts its devices where they were planned."""

from xml.etree import ElementTree as ET

from guest.libvirt import edges
from guest.libvirt.virsh import Virsh, without_kvm
from guest.plans import a800_two_gpus

from pcietune.guest.libvirt.domain import fragment_xml
from pcietune.guest.plan import Plan

# As virsh dumpxml shows one that was made by virt-install: three ports, two of them in use.
SITE = """
<domain type='kvm'>
  <name>site</name>
  <memory unit='MiB'>2048</memory>
  <vcpu>2</vcpu>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <features><acpi/></features>
  <cpu mode='host-model'/>
  <devices>
    <controller type='pci' index='0' model='pcie-root'/>
    <controller type='pci' index='1' model='pcie-root-port'>
      <target chassis='1' port='0x10'/>
      <address type='pci' bus='0x00' slot='0x02' function='0x0' multifunction='on'/>
    </controller>
    <controller type='pci' index='2' model='pcie-root-port'>
      <target chassis='2' port='0x11'/>
      <address type='pci' bus='0x00' slot='0x02' function='0x1'/>
    </controller>
    <controller type='pci' index='3' model='pcie-root-port'>
      <target chassis='3' port='0x12'/>
      <address type='pci' bus='0x00' slot='0x02' function='0x2'/>
    </controller>
    <controller type='usb' model='none'/>
    <disk type='file'>
      <source file='/disk'/>
      <target dev='vda' bus='virtio'/>
      <address type='pci' bus='0x01' slot='0x00' function='0x0'/>
    </disk>
    <memballoon model='virtio'>
      <address type='pci' bus='0x02' slot='0x00' function='0x0'/>
    </memballoon>
  </devices>
</domain>
"""


def _merged(plan: Plan, first_index: int) -> str:
    """Return the site's domain with a fragment in it, each element in the place of the site's."""
    site = ET.fromstring(SITE)
    for part in ET.fromstring("\n".join(fragment_xml(plan, first_index))):
        own = site.find(part.tag)
        if part.tag != "devices" and own is not None:
            site.remove(own)
        if part.tag != "devices":
            site.append(part)
            continue
        assert own is not None
        own.remove(own[0])  # pcie-root, which the fragment has with its window
        own.extend(part)
    text = ET.tostring(site, encoding="unicode")
    return without_kvm(text.replace('"', "'").replace(" />", "/>"))


def test_devices_are_where_they_were_planned_beside_a_sites_own(virsh: Virsh) -> None:
    plan = a800_two_gpus()
    native = virsh.native(_merged(plan, first_index=4))

    assert {str(each["id"]) for each in native.devices()} == {
        *("pci.1", "pci.2", "pci.3", "virtio-disk0", "balloon0"),
        *(f"ua-{each.name}" for each in plan.bridges),
        *(f"ua-{each.name}" for each in plan.functions),
    }
    for bridge in plan.bridges:
        device = native.device(f"ua-{bridge.name}")
        parent = bridge.parent if bridge.parent == "pcie.0" else f"ua-{bridge.parent}"
        assert (device["bus"], device["addr"]) == (parent, f"{bridge.device:#x}")
    for function in plan.functions:
        assert native.device(f"ua-{function.name}")["bus"] == f"ua-{function.parent}"
    chassis = [each["chassis"] for each in native.devices() if "chassis" in each]
    assert len(set(chassis)) == len(chassis)
    assert native.values("-smp") == ["8,sockets=1,dies=1,cores=8,threads=1"]


def test_an_index_that_the_site_has_is_refused_by_libvirt_itself(virsh: Virsh) -> None:
    refusal = virsh.refusal(_merged(a800_two_gpus(), first_index=3))

    assert "index" in refusal


def test_a_fragment_says_the_firmwares_window_too(virsh: Virsh) -> None:
    native = virsh.native(_merged(edges.with_ovmf(), first_index=4))

    assert native.values("-fw_cfg") == ["name=opt/ovmf/X-PciMmio64Mb,string=1048576"]
