"""A host after years of service: narrow and slow links, sleeping ports, ACS violations."""

from collections.abc import Iterator

import pytest

from bench.guest import Guest
from bench.on_guest import ACS_CONTROL, GENERIC, VM, audited, document, finding, states
from bench.vfio import bound, held_by_vfio

pytestmark = [pytest.mark.machine("worn"), pytest.mark.usefixtures("untouched")]

PORTS = ("root0", "switch0", "port0", "port1")


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
def _asleep(guest: Guest, untouched: None) -> Iterator[None]:  # noqa: ARG001 -- its order
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


def test_what_is_worn_is_told_and_turns_no_good_host_red(guest: Guest) -> None:
    applied = document(guest.pcietune("apply", *VM, *GENERIC, "--json"))

    told = {f.id: f for f in applied.findings if f.state == "fail"}
    assert applied.exit == 0
    assert {f.severity for f in told.values()} == {"info"}
    assert {
        (i, path)
        for i, path in states(applied)["fail"]
        if not i.startswith(("isolation.", "port.acs-violations"))
    } == {
        ("link.width", guest.location("nic0")),
        ("device.relaxed-ordering", guest.location("nic0")),
        ("gpu.bar1", guest.location("gpu0")),
        *(("port.runtime-pm", guest.location(port)) for port in PORTS),
    }
    assert (told["link.width"].found.text, told["link.width"].wanted.text) == ("x8", "x16")
    assert told["gpu.bar1"].found.text == "256 MiB"


def test_a_slow_link_is_told_of_only_while_its_function_is_at_work(guest: Guest) -> None:
    before = guest.configs()
    at = guest.location("gpu0")
    assert finding(audited(guest, *GENERIC), "link.speed", at).state == "not_applicable"

    with held_by_vfio(guest, guest.address("gpu0")):
        slow = finding(audited(guest, *GENERIC), "link.speed", at)
    put_back(guest, before, "port0")  # which slept before that

    assert (slow.state, slow.severity, slow.found.text) == ("fail", "info", "8 GT/s")


def test_ports_are_kept_awake_where_the_profile_says_so_and_let_sleep_by_restore(
    guest: Guest,
) -> None:
    guest.write_file(
        "/run/kept-on.yaml",
        b"version: 1\nsummary: Made for a test\nextends: gpu-rdma\n"
        b"modes: {vm: {runtime-pm: keep-on}}\n",
    )

    applied = document(guest.pcietune("apply", *VM, "--profile", "/run/kept-on.yaml", "--json"))

    assert applied.exit == 0
    assert {attribute(guest, port, "power/control") for port in PORTS} == {"on"}
    assert {(w.address, w.old, w.new, w.readback) for w in applied.writes if w.old == "auto"} == {
        (guest.address(port), "auto", "on", "on") for port in PORTS
    }
    assert document(guest.pcietune("restore", "--json")).exit == 0
    assert {attribute(guest, port, "power/control") for port in PORTS} == {"auto"}


def test_acs_violations_are_counted_at_the_port_that_noticed_and_told_of(guest: Guest) -> None:
    before = guest.configs()

    guest.inject_error("port1", "ACSV")

    counts = f"/sys/bus/pci/devices/{guest.address('port1')}/aer_dev_nonfatal"
    guest.run("sh", "-c", f"until grep -q 'ACSViol 1' {counts}; do sleep 0.1; done", timeout=10)
    put_back(guest, before, "root0", "switch0", "port1")
    found = audited(guest, *GENERIC)
    violations = {f.subject.path for f in found.findings if f.id == "port.acs-violations"}
    noticed = {path for i, path in states(found)["fail"] if i == "port.acs-violations"}
    assert (noticed, len(violations)) == ({guest.location("port1")}, 3)


def put_back(guest: Guest, before: dict[str, bytes], *names: str) -> None:
    """Put back what the kernel and the bench did to the registers of ports."""
    for name in names:
        guest.poke(name, 0, before[guest.address(name)])
