from dataclasses import replace
from pathlib import Path

import pytest
from trees.config import ConfigBuilder
from trees.express import Express
from trees.function import Function, downstream_port, gpu, nic, root_port, upstream_port
from trees.machines import one_switch
from tune.faults import all_ones
from tune.judged import GPU, GPU_PORT, NIC, NIC_PORT, ROOT_PORT, finding, judged
from tune.profiles import with_mode

from pcietune.errors import ExitCode
from pcietune.model.finding import Finding, RemedyKind, State
from pcietune.model.profile import Mode
from pcietune.model.severity import Severity

ID = "path.max-payload"
NOTHING_ELSE = with_mode(Mode({}))
UPSTREAM_PORT = "0000:21:00.0"


def found(root: Path, *instead: Function, at: str = NIC) -> Finding:
    return finding(judged(one_switch(root, instead=instead), NOTHING_ELSE), ID, at)


def able(capable: int, size: int) -> Express:
    """Return payload codes: what is supported, and what is set."""
    return Express(payload_capable=capable, payload=size)


def whole_path(express: Express) -> list[Function]:
    """Return all of one_switch's functions with the same payloads."""
    return [
        root_port(ROOT_PORT, express=express),
        upstream_port(UPSTREAM_PORT, below=ROOT_PORT, express=express),
        downstream_port(GPU_PORT, below=UPSTREAM_PORT, express=express),
        downstream_port(NIC_PORT, below=UPSTREAM_PORT, express=express),
        gpu(GPU, below=GPU_PORT, express=express),
        nic(NIC, below=NIC_PORT, express=express),
    ]


def test_one_size_that_is_the_most_of_all_is_as_wanted(tmp_path: Path) -> None:
    payload = found(tmp_path, *whole_path(able(2, 2)))

    assert (payload.state, payload.found.text, payload.found.value) == (
        State.PASS,
        "512 bytes",
        "512",
    )


@pytest.mark.parametrize(
    ("smaller", "address"),
    [
        pytest.param(root_port(ROOT_PORT, express=able(1, 0)), ROOT_PORT, id="root port"),
        pytest.param(
            upstream_port(UPSTREAM_PORT, below=ROOT_PORT, express=able(1, 0)),
            UPSTREAM_PORT,
            id="upstream port",
        ),
        pytest.param(
            downstream_port(NIC_PORT, below=UPSTREAM_PORT, express=able(1, 0)),
            NIC_PORT,
            id="downstream port",
        ),
        pytest.param(gpu(GPU, below=GPU_PORT, express=able(1, 0)), GPU, id="peer"),
    ],
)
def test_a_nic_that_sends_more_than_is_taken_on_its_way_is_a_warning(
    tmp_path: Path, smaller: Function, address: str
) -> None:
    payload = found(tmp_path, smaller)

    assert (payload.state, payload.severity) == (State.FAIL, Severity.WARNING)
    assert (payload.found.text, payload.wanted.text) == ("256 bytes", "128 bytes")
    assert payload.reason == (
        f"it sends up to 256 bytes, but {address} takes 128: more is malformed there"
    )
    assert payload.remedy
    assert payload.remedy.kind is RemedyKind.KERNEL_ARGS
    assert payload.exit_code(strict=False) is ExitCode.DIFFERS


def test_the_port_of_another_function_is_not_on_its_way(tmp_path: Path) -> None:
    port = downstream_port(GPU_PORT, below=UPSTREAM_PORT, express=able(1, 0))

    assert found(tmp_path, port).state is State.PASS


def test_a_size_that_all_on_the_way_can_exceed_is_told(tmp_path: Path) -> None:
    payload = found(tmp_path, *whole_path(able(2, 0)))

    assert (payload.state, payload.severity) == (State.FAIL, Severity.INFO)
    assert payload.reason == "128 of 512 bytes: all on its way can 512"
    assert payload.wanted.text == "512 bytes"


def test_the_weakest_on_the_way_decides_what_all_can(tmp_path: Path) -> None:
    weakest = root_port(ROOT_PORT, express=able(1, 0))

    payload = found(tmp_path, *whole_path(able(2, 0)), weakest)

    assert payload.reason == "128 of 256 bytes: all on its way can 256"


def test_what_does_not_answer_on_the_way_leaves_it_unknown(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    all_ones(tree, NIC_PORT)

    payload = finding(judged(tree, NOTHING_ELSE), ID, NIC)

    assert (payload.state, payload.severity) == (State.ERROR, Severity.INFO)
    assert finding(judged(tree, NOTHING_ELSE), ID, GPU).state is State.PASS


def test_a_function_of_conventional_pci_has_none(tmp_path: Path) -> None:
    conventional = ConfigBuilder("10de:20f3", 0x030200).power_management()

    payload = found(tmp_path, replace(gpu(GPU, below=GPU_PORT), config=conventional), at=GPU)

    assert payload.state is State.NOT_APPLICABLE
