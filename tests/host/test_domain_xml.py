"""What a VM is given, by XML as libvirt's formatdomain.html has it."""

import pytest

from pcietune.address import PciAddress
from pcietune.host.domain_xml import given_functions, managed_functions

GPU, NIC, VF = (PciAddress.parse(text) for text in ("23:00.0", "24:00.0", "24:00.2"))
XML = b"""\
<domain type='kvm'>
  <name>tenant</name>
  <devices>
    <hostdev mode='subsystem' type='pci' managed='no'>
      <driver name='vfio'/>
      <source>
        <address domain='0x0000' bus='0x23' slot='0x00' function='0x0'/>
      </source>
      <alias name='ua-gpu0'/>
      <address type='pci' domain='0x0000' bus='0x09' slot='0x00' function='0x0'/>
    </hostdev>
    <hostdev mode='subsystem' type='mdev' model='vfio-pci'>
      <source><address uuid='c2177883-f1bb-47f0-914d-32a22e3a8804'/></source>
    </hostdev>
    <hostdev mode='subsystem' type='usb'>
      <source><address bus='1' device='2'/></source>
    </hostdev>
    <interface type='hostdev' managed='yes'>
      <source>
        <address type='pci' domain='0x0000' bus='0x24' slot='0x00' function='0x0'/>
      </source>
    </interface>
    <interface type='network'>
      <source network='pool'/>
      <actual type='hostdev' managed='yes'>
        <source><address type='pci' domain='0' bus='36' slot='0' function='2'/></source>
      </actual>
    </interface>
    <controller type='pci' index='1' model='pcie-root-port'>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x10' function='0x0'/>
    </controller>
  </devices>
</domain>
"""


def test_a_vm_is_given_host_devices_interfaces_and_what_a_pool_gave() -> None:
    assert given_functions(XML) == (GPU, NIC, VF)


def test_only_what_libvirt_is_told_to_is_managed() -> None:
    assert managed_functions(XML) == {NIC, VF}


def test_a_vm_without_host_devices_is_given_nothing() -> None:
    assert given_functions(b"<domain><devices/></domain>") == ()


@pytest.mark.parametrize(
    "xml",
    [
        b"",
        b"<domain>",
        b"<!DOCTYPE domain [<!ENTITY a 'b'>]><domain>&a;</domain>",
        b"<!DOCTYPE domain SYSTEM 'of-some-site.dtd'><domain>&devices;</domain>",
        b"<?xml encoding='no'?><domain/>",
        XML.replace(b"bus='36'", b"bus='256'"),
        XML.replace(b"bus='36'", b"bus='-1'"),
        XML.replace(b"bus='36'", b"bus=''"),
    ],
)
def test_what_makes_no_sense_is_refused(xml: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        given_functions(xml)


def test_what_is_of_no_vm_is_not_taken_for_one_that_is_given_nothing() -> None:
    with pytest.raises(ValueError, match="it is of a network"):
        given_functions(b"<network><name>default</name></network>")


def test_the_state_of_a_vm_that_runs_holds_its_definition() -> None:
    assert given_functions(b"<domstatus state='running'>" + XML + b"</domstatus>") == (GPU, NIC, VF)
