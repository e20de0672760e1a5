"""Each machine, as lspci and the kernel see it, is what its file says."""

import pytest

from bench.guest import Guest
from bench.kernel_ats import ats_control, domain, set_domain
from bench.vfio import held_by_vfio

SERVERS = {
    "l20": {"10de:26ba": 8, "15b3:1021": 4},
    "h20": {"10de:2329": 8, "15b3:1021": 8, "10de:22a3": 4},
    "mi300": {"1002:74a1": 2, "15b3:1021": 2},
}


def register(guest: Guest, name: str, which: str) -> str:
    return guest.run("setpci", "-s", guest.address(name), which).stdout.strip()


def count(guest: Guest, identity: str) -> int:
    return len(guest.run("lspci", "-d", identity).stdout.splitlines())


@pytest.mark.machine("a800")
def test_an_a800_server_has_its_functions_on_two_nodes(guest: Guest) -> None:
    assert [count(guest, each) for each in ("10de:20f3", "15b3:101b", "10de:1af1")] == [8, 8, 6]
    for name, node in (("gpu0", "0"), ("nic3", "0"), ("gpu4", "1"), ("nvswitch5", "1")):
        path = f"/sys/bus/pci/devices/{guest.address(name)}/numa_node"
        assert guest.read_file(path).decode().strip() == node


@pytest.mark.machine("a800")
def test_gpus_and_nics_of_an_a800_server_have_groups_of_their_own(guest: Guest) -> None:
    groups = {
        guest.run("readlink", f"/sys/bus/pci/devices/{guest.address(name)}/iommu_group").stdout
        for name in [f"{kind}{number}" for kind in ("gpu", "nic") for number in range(8)]
    }

    assert len(groups) == 16


@pytest.mark.machine("cascade")
def test_in_a_cascade_a_nic_is_two_switches_below_the_root(guest: Guest) -> None:
    path = guest.run("readlink", "-f", f"/sys/bus/pci/devices/{guest.address('nic0')}").stdout

    ports = [guest.address(name) for name in ("root0", "top", "top0", "leaf-a", "port0", "nic0")]
    assert path.strip().split("/")[4:] == ports


@pytest.mark.machine("no-dt")
def test_no_dt_has_a_port_without_the_capability_and_one_that_ignores_the_write(
    guest: Guest,
) -> None:
    assert register(guest, "port1", "ECAP_ACS+4.w") == "001f"
    assert register(guest, "port4", "ECAP_ACS+4.w") == "005f"
    assert register(guest, "port5", "ECAP_ACS+4.w") == "005f"
    for port, word in (("port4", "001d"), ("port5", "005d")):
        before = register(guest, port, "ECAP_ACS+6.w")
        register(guest, port, "ECAP_ACS+6.w=0040:0040")
        assert register(guest, port, "ECAP_ACS+6.w") == word
        register(guest, port, f"ECAP_ACS+6.w={before}")


@pytest.mark.machine("absent")
def test_absent_lacks_a_gpu_and_can_lose_a_port(guest: Guest) -> None:
    assert count(guest, "10de:20f3") == 7

    address = guest.address("port14")
    guest.vanish("port14")

    assert guest.run("setpci", "-s", address, "0.l").stdout == "ffffffff\n"
    guest.reappear("port14")


@pytest.mark.machine("no-device-tlb")
def test_without_a_device_tlb_the_kernel_leaves_ats_off(guest: Guest) -> None:
    ecap = int(guest.read_file("/sys/class/iommu/dmar0/intel-iommu/ecap"), 16)

    assert not ecap & 1 << 2
    assert register(guest, "nic0", "ECAP_ATS+6.w") == "0000"


@pytest.mark.machine("passthrough")
def test_passthrough_has_identity_domains_and_ats_off(guest: Guest) -> None:
    group = f"/sys/bus/pci/devices/{guest.address('nic0')}/iommu_group/type"

    assert guest.read_file(group) == b"identity\n"
    assert register(guest, "nic0", "ECAP_ATS+6.w") == "0000"


@pytest.mark.machine("lockdown")
def test_under_lockdown_root_may_not_write_to_configuration_space(guest: Guest) -> None:
    config = f"/sys/bus/pci/devices/{guest.address('port1')}/config"

    result = guest.run("dd", "if=/dev/zero", f"of={config}", "bs=1", "count=1", "conv=notrunc")

    assert "Operation not permitted" in result.stderr
    assert b"[integrity]" in guest.read_file("/sys/kernel/security/lockdown")


@pytest.mark.machine("no-iommu")
def test_without_an_iommu_there_are_no_groups(guest: Guest) -> None:
    assert guest.run("ls", "/sys/class/iommu", "/sys/kernel/iommu_groups").stdout.split() == [
        "/sys/class/iommu:",
        "/sys/kernel/iommu_groups:",
    ]
    assert register(guest, "nic0", "ECAP_ATS+6.w") == "0000"


@pytest.mark.machine("passthrough")
def test_vfio_turns_ats_on_in_spite_of_passthrough_and_off_again(guest: Guest) -> None:
    nic = guest.address("nic0")

    with held_by_vfio(guest, nic):
        assert (domain(guest, nic), ats_control(guest, nic)) == ("identity", "8000")

    assert (domain(guest, nic), ats_control(guest, nic)) == ("identity", "0000")


@pytest.mark.machine("passthrough")
def test_another_domain_turns_ats_on_in_spite_of_passthrough(guest: Guest) -> None:
    nic = guest.address("nic0")

    set_domain(guest, nic, "DMA")
    assert (domain(guest, nic), ats_control(guest, nic)) == ("DMA", "8000")

    set_domain(guest, nic, "identity")
    assert (domain(guest, nic), ats_control(guest, nic)) == ("identity", "0000")


@pytest.mark.machine("mi300")
def test_the_emulated_amd_iommu_claims_a_device_tlb_and_ats_stays_off(guest: Guest) -> None:
    nic = guest.address("nic0")
    assert int(guest.read_file("/sys/class/iommu/ivhd0/amd-iommu/cap"), 16) & 1 << 24
    assert (domain(guest, nic), ats_control(guest, nic)) == ("DMA", "0000")

    set_domain(guest, nic, "identity")
    set_domain(guest, nic, "DMA")
    assert ats_control(guest, nic) == "0000"

    with held_by_vfio(guest, nic):
        assert ats_control(guest, nic) == "0000"


@pytest.mark.machine("no-acs")
def test_ports_of_one_switch_without_acs_have_groups_of_their_own(guest: Guest) -> None:
    # pci_device_group() does not ask which ports a switch has; fabrics disagree with it (case E19)
    gpu, nic = (
        guest.run("readlink", f"/sys/bus/pci/devices/{guest.address(name)}/iommu_group").stdout
        for name in ("gpu0", "nic0")
    )

    assert gpu != nic
    for port in ("port0", "port1"):
        said = guest.run("lspci", "-vvv", "-s", guest.address(port)).stdout
        assert "Access Control Services" not in said


@pytest.mark.machine(*SERVERS)
def test_other_servers_have_their_functions(guest: Guest) -> None:
    wanted = SERVERS[guest.read_file("/sys/class/dmi/id/product_name").decode().strip()]

    assert {identity: count(guest, identity) for identity in wanted} == wanted
