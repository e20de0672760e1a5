from pathlib import Path

import pytest
from trees.config import ROOT_PORT, ConfigBuilder
from trees.function import Function, downstream_port, root_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import GPU_PORT, NIC_PORT, opened, surveyed

from pcietune.address import PciAddress
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.model.port_controls import NO_ACS, PortControls
from pcietune.model.profile import AcsWant
from pcietune.registers.acs import AcsControl
from pcietune.tune.paths.controls import ControlsReader, once_written

SV, TB, RR, CR, UF, EC, DT = AcsControl
LINUX = SV | RR | CR | UF
WITH_VECTOR = 0x087F  # every control, and a vector of 8 bits
EGRESS = 0x0020
ACS_VECTOR, PORT_NUMBER = 0x108, 0x57  # of every port in the trees: see trees.config


def reader(tree: TreeHost) -> tuple[ControlsReader, Fabric]:
    host = opened(tree)
    fabric = surveyed(host)
    return ControlsReader(host, fabric), fabric


def controls(tree: TreeHost, address: str) -> PortControls:
    """Return the controls of one port."""
    read, fabric = reader(tree)
    return read(fabric.functions[PciAddress.parse(address)])


def numbered(address: str, number: int, *, control: int = 0, vector: int = 0) -> Function:
    """Return a downstream port with a Port Number and an Egress Control Vector."""
    made = downstream_port(address, below="0000:21:00.0", acs=(WITH_VECTOR, control))
    made.config.put(PORT_NUMBER, bytes([number])).put(ACS_VECTOR, bytes([vector]))
    return made


def cut(address: str) -> Function:
    """Return a downstream port of which a plain user may read no more than the header."""
    made = downstream_port(address, below="0000:21:00.0")
    made.config.cut(64)
    return made


def test_controls_are_those_of_the_registers(tmp_path: Path) -> None:
    found = controls(one_switch(tmp_path), NIC_PORT)

    assert found == PortControls(LINUX, LINUX | TB | DT)


def test_a_port_without_the_capability_has_none(tmp_path: Path) -> None:
    bare = downstream_port(NIC_PORT, below="0000:21:00.0", acs=None)

    assert controls(one_switch(tmp_path, instead=[bare]), NIC_PORT) == NO_ACS


def test_a_port_that_cannot_be_read_is_not_known_and_a_problem(tmp_path: Path) -> None:
    read, fabric = reader(one_switch(tmp_path, instead=[cut(NIC_PORT)]))
    port = fabric.functions[PciAddress.parse(NIC_PORT)]

    found = read(port)

    assert (found.enabled, found.supported, found.blocked) == (None, None, None)
    assert found.redirects_requests is None
    assert [str(problem) for problem in read.problems] == [found.why_unread]
    assert found.why_unread is not None
    assert "64 bytes" in found.why_unread


def test_a_port_is_read_once(tmp_path: Path) -> None:
    read, fabric = reader(one_switch(tmp_path, instead=[cut(NIC_PORT)]))
    port = fabric.functions[PciAddress.parse(NIC_PORT)]

    read(port)
    read(port)

    assert len(read.problems) == 1


@pytest.mark.parametrize(
    ("vector", "blocked"),
    [
        pytest.param(1 << 3, {GPU_PORT}, id="its bit"),
        pytest.param(0xFF & ~(1 << 3), set[str](), id="all others"),
    ],
)
def test_the_egress_vector_goes_by_port_numbers(
    tmp_path: Path, vector: int, blocked: set[str]
) -> None:
    instead = [numbered(NIC_PORT, 4, control=EGRESS, vector=vector), numbered(GPU_PORT, 3)]
    found = controls(one_switch(tmp_path, instead=instead), NIC_PORT)

    assert found.blocked == frozenset(PciAddress.parse(address) for address in blocked)


def test_the_egress_vector_is_not_looked_at_without_egress_control(tmp_path: Path) -> None:
    instead = [numbered(NIC_PORT, 4, vector=0xFF), cut(GPU_PORT)]

    assert controls(one_switch(tmp_path, instead=instead), NIC_PORT).blocked == frozenset()


@pytest.mark.parametrize(
    "peer",
    [
        pytest.param(cut(GPU_PORT), id="not readable"),
        pytest.param(numbered(GPU_PORT, 8), id="a number beyond the vector"),
        pytest.param(
            Function(GPU_PORT, ConfigBuilder("1000:c010", 0x060400), below="0000:21:00.0"),
            id="no number",
        ),
    ],
)
def test_whom_a_vector_blocks_is_not_known_where_a_peers_number_is_not(
    tmp_path: Path, peer: Function
) -> None:
    instead = [numbered(NIC_PORT, 4, control=EGRESS), peer]
    found = controls(one_switch(tmp_path, instead=instead), NIC_PORT)

    assert (found.enabled, found.blocked) == (EC, None)


def zhaoxin(tree_root: Path) -> tuple[ControlsReader, PciFunction]:
    """Return a host whose root port keeps apart without ACS."""
    config = ConfigBuilder("1d17:0721", 0x060400).power_management().express(ROOT_PORT)
    read, fabric = reader(one_switch(tree_root, instead=[Function("0000:20:01.0", config)]))
    return read, fabric.functions[PciAddress.parse("0000:20:01.0")]


def test_a_port_of_a_quirk_acts_as_if_controls_were_on(tmp_path: Path) -> None:
    read, port = zhaoxin(tmp_path)

    assert read(port) == PortControls(LINUX, LINUX, present=False)


def test_what_is_built_in_cannot_be_turned_off(tmp_path: Path) -> None:
    read, port = zhaoxin(tmp_path)
    once = once_written(read, {port.address: (AcsWant(RR, on=False),)})

    assert once(port) == read(port)


def wanted(tree: TreeHost, *wants: AcsWant) -> PortControls:
    """Return the NIC port's controls once these are written."""
    read, fabric = reader(tree)
    port = fabric.functions[PciAddress.parse(NIC_PORT)]
    return once_written(read, {port.address: wants})(port)


def test_once_written_turns_on_and_off_what_is_wanted_and_nothing_else(tmp_path: Path) -> None:
    once = wanted(one_switch(tmp_path), AcsWant(DT, on=True), AcsWant(CR, on=False))

    assert once.enabled == SV | RR | UF | DT


def test_once_written_turns_on_nothing_that_a_port_does_not_implement(tmp_path: Path) -> None:
    lacking = downstream_port(NIC_PORT, below="0000:21:00.0", acs=(0x001F, 0x001D))

    once = wanted(one_switch(tmp_path, instead=[lacking]), AcsWant(DT, on=True))

    assert once.enabled == LINUX


def test_once_written_says_nothing_of_what_could_not_be_read(tmp_path: Path) -> None:
    once = wanted(one_switch(tmp_path, instead=[cut(NIC_PORT)]), AcsWant(DT, on=True))

    assert once.enabled is None


def test_once_written_leaves_other_ports_as_they_are(tmp_path: Path) -> None:
    read, fabric = reader(one_switch(tmp_path, instead=[root_port("0000:20:01.0")]))
    nic_port, gpu_port = (
        fabric.functions[PciAddress.parse(address)] for address in (NIC_PORT, GPU_PORT)
    )
    once = once_written(read, {nic_port.address: (AcsWant(DT, on=True),)})

    assert once(gpu_port) == read(gpu_port)
