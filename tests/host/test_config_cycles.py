"""Which registers an audit reads, as strace saw it: each once, and no other."""

import re
import subprocess
import sys
from collections import defaultdict

import pytest
from trees.function import nvswitch
from trees.machines import one_switch
from tune.judged import GPU, NIC, NIC_PORT, ROOT_PORT

UPSTREAM_PORT = "0000:21:00.0"
NVSWITCH = "0000:20:05.0"
READ = re.compile(
    r"pread64\(\d+<\S*/(?P<address>[^/>]+)/config>, .*, (?P<width>\d), (?P<offset>\d+)\)"
)

# Offset and width. In the trees PCI Express stands at 48h, of NICs at 50h behind their VPD.
LIST = [(0x06, 2), (0x34, 1), (0x40, 2), (0x48, 2)]  # Status, pointer, Power Management, Express
PORT_TYPE = (0x4A, 2)
DEVICE_CONTROL = (0x50, 2)
LINK = [(0x54, 4), (0x5A, 2)]  # Link Capabilities and Status
ACS = [(0x100, 4), (0x104, 2), (0x106, 2)]  # header, Capability, Control


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[int, int]]]:
    """Return what an audit of a host with nothing amiss but DirectTrans reads, by address."""
    directory = tmp_path_factory.mktemp("traced")
    tree = one_switch(directory / "host")
    tree.add(nvswitch(NVSWITCH))
    trace = directory / "trace"
    program = [sys.executable, "-m", "pcietune", "audit", "--profile", "gpu-rdma", "--mode", "vm"]
    strace = ["strace", "-f", "--seccomp-bpf", "-y", "-s0", "-e", "trace=pread64", "-o", str(trace)]
    ended = subprocess.run([*strace, *program, "--from", str(tree.root)], check=False)
    assert ended.returncode == 3
    reads = defaultdict(list)
    for call in READ.finditer(trace.read_text()):
        reads[call["address"]].append((int(call["offset"]), int(call["width"])))
    return dict(reads)


@pytest.mark.parametrize(
    ("address", "registers"),
    [
        pytest.param(GPU, [*LIST, (0x4C, 4), DEVICE_CONTROL, *LINK], id="GPU"),
        pytest.param(UPSTREAM_PORT, [*LIST, PORT_TYPE, DEVICE_CONTROL, *LINK], id="upstream port"),
        pytest.param(ROOT_PORT, [*LIST, PORT_TYPE, DEVICE_CONTROL, *ACS], id="root port"),
        pytest.param(NIC_PORT, [*LIST, PORT_TYPE, DEVICE_CONTROL, *ACS], id="downstream port"),
    ],
)
def test_a_function_costs_its_lists_and_the_registers_that_are_judged(
    read: dict[str, list[tuple[int, int]]], address: str, registers: list[tuple[int, int]]
) -> None:
    assert sorted(read[address]) == sorted(registers)


def test_a_nic_costs_its_ats_besides(read: dict[str, list[tuple[int, int]]]) -> None:
    walk = [(0x06, 2), (0x34, 1), (0x40, 2), (0x48, 2), (0x50, 2)]
    express = [(0x54, 4), (0x58, 2), (0x5C, 4), (0x62, 2)]
    ats = [(0x100, 4), (0x10C, 4), (0x110, 2), (0x112, 2)]  # Serial Number's header, ATS's

    assert sorted(read[NIC]) == sorted([*walk, *express, *ats])


def test_what_nothing_is_wanted_of_is_not_read(read: dict[str, list[tuple[int, int]]]) -> None:
    assert NVSWITCH not in read
