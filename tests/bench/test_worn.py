"""A host after years of service: narrow and slow links, sleeping ports, ACS violations."""

from collections.abc import Iterator

import pytest

from bench.guest import Guest
from bench.on_guest import ACS_CONTROL
from bench.vfio import bound

pytestmark = [pytest.mark.machine("worn"), pytest.mark.usefixtures("unchanged")]


def attribute(guest: Guest, name: str, relative: str) -> str:
    path = f"/sys/bus/pci/devices/{guest.address(name)}/{relative}"
    return guest.read_file(path).decode().strip()


def acs_control(guest: Guest, name: str) -> str:
    return guest.run("setpci", "-s", guest.address(name), "ECAP_ACS+6.w").stdout.strip()


def test_links_came_up_with_less_than_both_ends_can(guest: Guest) -> None:
    for name, speed, width in (
        ("gpu0", "8.0 GT/s PCIe", "16"),
        ("port0", "8.0 GT/s PCIe", "16"),
        ("nic0", "16.0 GT/s PCIe", "8"),
        ("port1", "16.0 GT/s PCIe", "8"),
    ):
        assert attribute(guest, name, "current_link_speed") == speed
        assert attribute(guest, name, "current_link_width") == width
        assert attribute(guest, name, "max_link_speed") == "16.0 GT/s PCIe"
        assert attribute(guest, name, "max_link_width") == "16"


@pytest.fixture
def _asleep(guest: Guest, unchanged: None) -> Iterator[None]:  # noqa: ARG001 -- its order
    """Have the kernel put port1 to sleep, as VFIO has nic0 and no VM does."""
    before = guest.configs()
    with bound(guest, guest.address("nic0"), "vfio-pci"):
        status = f"/sys/bus/pci/devices/{guest.address('port1')}/power/runtime_status"
        guest.run("sh", "-c", f"until grep -q suspended {status}; do sleep 0.1; done")
        yield
    put_back(guest, before, "port1")


@pytest.mark.usefixtures("_asleep")
def test_a_port_that_wakes_has_its_redirects_set_again_by_the_kernel(guest: Guest) -> None:
    lost = bytes([0x51, 0])  # ReqRedir and CmpltRedir lost, DirectTrans set
    guest.poke("port1", ACS_CONTROL, lost)

    guest.run("setpci", "-s", guest.address("nic0"), "0.w")  # wakes the port above it

    assert acs_control(guest, "port1") == "005d"


@pytest.mark.usefixtures("_asleep")
def test_a_port_whose_power_control_is_on_does_not_sleep(guest: Guest) -> None:
    control = f"/sys/bus/pci/devices/{guest.address('port1')}/power/control"

    guest.run("sh", "-c", f"echo on > {control}; sleep 1")

    assert attribute(guest, "port1", "power/runtime_status") == "active"
    guest.run("sh", "-c", f"echo auto > {control}")


def test_the_kernel_counts_acs_violations_at_the_port_that_noticed(guest: Guest) -> None:
    before = guest.configs()

    guest.inject_error("port1", "ACSV")

    counts = f"/sys/bus/pci/devices/{guest.address('port1')}/aer_dev_nonfatal"
    guest.run("sh", "-c", f"until grep -q 'ACSViol 1' {counts}; do sleep 0.1; done", timeout=10)
    for name in ("root0", "switch0", "port0"):
        assert "\nACSViol 0\n" in attribute(guest, name, "aer_dev_nonfatal")
    put_back(guest, before, "root0", "switch0", "port1")


def put_back(guest: Guest, before: dict[str, bytes], *names: str) -> None:
    """Put back what the kernel and the bench did to the registers of ports."""
    for name in names:
        guest.poke(name, 0, before[guest.address(name)])
