"""What a plan needs of QEMU: how many CPUs, by hw/i386/pc_q35.c of its releases."""

import subprocess

import pytest
from guest.plans import l20_one_gpu_and_a_vf
from msgspec.structs import replace

from pcietune.errors import BadInputError
from pcietune.guest.needs import check_needs
from pcietune.guest.plan import Plan
from pcietune.guest.preconditions import check_wish
from pcietune.guest.wish import Wish

MOST = [("7.2", 288), ("8.0", 288), ("8.1", 1024), ("8.2", 1024), ("9.0", 4096), ("10.1", 4096)]


def _plan(cpus: int, qemu: str) -> Plan:
    plan = l20_one_gpu_and_a_vf()
    (cell,) = plan.cells
    return replace(
        plan,
        machine=replace(plan.machine, qemu=qemu),
        cells=[replace(cell, vcpus=list(range(cpus)), host_cpus=[])],
    )


@pytest.mark.parametrize(("qemu", "most"), MOST)
def test_no_vm_has_more_cpus_than_its_qemu_gives_one(qemu: str, most: int) -> None:
    check_needs(_plan(most, qemu))

    with pytest.raises(BadInputError, match=f"{most + 1} vCPUs: QEMU {qemu} gives a VM {most} at"):
        check_needs(_plan(most + 1, qemu))


def test_a_later_qemu_is_named_where_it_has_as_many() -> None:
    with pytest.raises(BadInputError) as refused:
        check_needs(_plan(512, "7.2"))
    assert refused.value.hint == "--cpus 288, or --qemu 8.1 and a host with that"

    with pytest.raises(BadInputError) as refused:
        check_needs(_plan(5000, "7.2"))
    assert refused.value.hint == "--cpus 288"


def test_it_is_said_before_a_host_is_looked_at() -> None:
    with pytest.raises(BadInputError, match="1000000000 vCPUs"):
        check_wish(Wish(gpus=1, cpus=1_000_000_000))


def test_debians_qemu_says_the_same() -> None:
    asked = ["qemu-system-x86_64", "-machine", "q35,accel=tcg", "-S", "-smp", "289"]

    done = subprocess.run(asked, check=False, capture_output=True, text=True, timeout=60)

    assert done.returncode == 1
    assert "supported by machine 'pc-q35-7.2' is 288" in done.stderr
