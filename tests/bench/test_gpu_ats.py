"""A GPU that can send translated requests, as for doorbells of the NIC."""

import json

import pytest

from bench.guest import Guest
from bench.on_guest import GENERIC, VM, addresses, direct_translated, document

pytestmark = [pytest.mark.machine("gpu-ats"), pytest.mark.usefixtures("untouched")]


def test_the_kernel_turns_ats_of_the_gpu_on_and_topo_shows_it(guest: Guest) -> None:
    shown = json.loads(guest.pcietune("topo", *GENERIC, "--json").stdout)

    gpu_port, nic_port = shown["functions"][0]["children"][0]["children"]
    (gpu,), (nic,) = gpu_port["children"], nic_port["children"]
    assert (gpu["role"], gpu["ats_enabled"]) == ("gpu", True)
    assert (nic["role"], nic["ats_enabled"]) == ("nic", True)
    assert "Enable+" in guest.run("lspci", "-vvv", "-s", guest.address("gpu0")).stdout


def test_no_port_is_opened_for_a_gpus_writes_by_default(guest: Guest) -> None:
    applied = document(guest.pcietune("apply", *VM, *GENERIC, "--json"))

    assert applied.exit == 0
    assert direct_translated(guest) == addresses(guest, "port1")


def test_a_port_below_which_somebody_untrusted_has_ats_is_not_opened(guest: Guest) -> None:
    shipped = guest.pcietune("profile", "show", "gpu-rdma").stdout
    head, nic_role = shipped.split("  nic:", 1)
    distrusting = f"{head}  nic:{nic_role.replace('trusted: true', 'trusted: false', 1)}"
    guest.write_file("/run/distrusting.yaml", distrusting.encode())

    applied = document(guest.pcietune("apply", *VM, "--profile", "/run/distrusting.yaml", "--json"))

    assert applied.writes == []
    assert not direct_translated(guest)
