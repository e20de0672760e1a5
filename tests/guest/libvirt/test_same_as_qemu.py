"""libvirt starts QEMU with the devices that ``guest qemu`` names."""

from collections.abc import Callable

import pytest
from guest.libvirt.test_native_arguments import PLANS
from guest.libvirt.virsh import Device, Virsh, without_kvm

from pcietune.guest.libvirt.domain import domain_xml
from pcietune.guest.plan import Plan
from pcietune.guest.qemu.devices import device_values

# libvirt numbers chassis, ports and slots by itself; the guest finds nothing by them.
LIBVIRTS_OWN = {"chassis", "port", "slot"}


@pytest.mark.parametrize("made", PLANS, ids=lambda made: made.__name__)
def test_devices_are_the_same_by_libvirt_and_by_qemu(
    virsh: Virsh, made: Callable[[], Plan]
) -> None:
    plan = made()

    by_libvirt = virsh.native(without_kvm("\n".join(domain_xml(plan)))).devices()

    planned = [each for each in by_libvirt if each["driver"] != "isa-serial"]
    assert [_by_libvirt(each) for each in planned] == [_by_us(each) for each in device_values(plan)]


def _by_libvirt(device: Device) -> dict[str, str]:
    words = {key: str(value) for key, value in device.items() if key not in LIBVIRTS_OWN}
    words["id"] = words["id"].removeprefix("ua-")
    words["bus"] = words["bus"].removeprefix("ua-")
    if "multifunction" in words:
        words["multifunction"] = "on" if device["multifunction"] else "off"
    if "." not in words["addr"]:
        words["addr"] += ".0x0"
    return words


def _by_us(value: str) -> dict[str, str]:
    driver, _, properties = value.partition(",")
    words = dict(each.split("=", 1) for each in properties.split(","))
    return {"driver": driver} | {
        key: each for key, each in words.items() if key not in LIBVIRTS_OWN
    }
