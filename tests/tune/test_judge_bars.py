from dataclasses import replace
from pathlib import Path

import pytest
from trees.function import bars, gpu
from trees.machines import one_switch
from tune.judged import GPU, GPU_PORT, finding, judged
from tune.profiles import with_mode

from pcietune.errors import ExitCode
from pcietune.model.finding import Finding, RemedyKind, State
from pcietune.model.profile import Mode
from pcietune.model.severity import Severity

MIB, GIB = 1 << 20, 1 << 30

# Rows as Linux 6.12 prints them; flags from include/linux/ioport.h.
REGISTERS = "0x00000000d0000000 0x00000000d0ffffff 0x0000000000040200"
EMULATED = "0x00000000fba00000 0x00000000fba03fff 0x0000000000140204"  # 64 bits, not prefetchable
NOTHING = "0x0000000000000000 0x0000000000000000 0x0000000000000000"
NOT_SET = "0x0000000000000000 0x0000001fffffffff 0x000000002014220c"
DISABLED = "0x0000004000000000 0x0000005fffffffff 0x000000001014220c"
SMALL = "0x0000004000000000 0x0000004001ffffff 0x000000000014220c"  # 32 MiB
IN_ROM = "0x0000004000000000 0x0000005fffffffff 0x000000000014220c"  # 128 GiB


def table(*rows: str) -> str:
    """Return the whole file, of which only the first rows are given."""
    return "\n".join([*rows, *[NOTHING] * (13 - len(rows))])


def found(root: Path, resource: str) -> Finding:
    function = replace(gpu(GPU, below=GPU_PORT), attributes={"resource": resource})
    audited = judged(one_switch(root, instead=[function]), with_mode(Mode({})))
    return finding(audited, "gpu.bar1", GPU)


@pytest.mark.parametrize(
    ("memory", "text"),
    [(GIB, "1 GiB"), (64 * GIB, "64 GiB"), (128 * GIB, "128 GiB"), (512 * GIB, "512 GiB")],
)
def test_a_large_bar_is_as_wanted(tmp_path: Path, memory: int, text: str) -> None:
    bar = found(tmp_path, bars(memory=memory))

    assert (bar.state, bar.found.text, bar.found.value) == (State.PASS, text, str(memory))


@pytest.mark.parametrize(("memory", "text"), [(256 * MIB, "256 MiB"), (512 * MIB, "512 MiB")])
def test_a_window_of_less_than_1_gib_is_told(tmp_path: Path, memory: int, text: str) -> None:
    bar = found(tmp_path, bars(memory=memory))

    assert (bar.state, bar.severity) == (State.FAIL, Severity.INFO)
    assert bar.reason == f"peers reach only {text} of its memory at a time"
    assert bar.remedy
    assert bar.remedy.kind is RemedyKind.BIOS


@pytest.mark.parametrize("row", [NOT_SET, DISABLED])
def test_a_bar_without_an_address_is_a_warning(tmp_path: Path, row: str) -> None:
    bar = found(tmp_path, table(REGISTERS, row))

    assert (bar.state, bar.severity) == (State.FAIL, Severity.WARNING)
    assert bar.reason == "its BAR of 128 GiB has no address, so nobody reaches its memory"
    assert bar.exit_code(strict=False) is ExitCode.DIFFERS


def test_the_largest_counts(tmp_path: Path) -> None:
    large = bars().splitlines()[1]

    assert found(tmp_path, table(REGISTERS, large, NOTHING, SMALL)).state is State.PASS


@pytest.mark.parametrize(
    "resource",
    [
        pytest.param(table(), id="none at all"),
        pytest.param(table(EMULATED), id="another kind"),
        pytest.param(table(*[NOTHING] * 6, IN_ROM), id="behind the BARs"),
    ],
)
def test_a_gpu_that_shows_no_memory_is_told(tmp_path: Path, resource: str) -> None:
    bar = found(tmp_path, resource)

    assert (bar.state, bar.severity) == (State.FAIL, Severity.INFO)
    assert bar.found.text == "no 64-bit prefetchable BAR"


@pytest.mark.parametrize(
    "resource",
    [
        pytest.param("", id="empty"),
        pytest.param(bars().rsplit("\n", 8)[0], id="cut off"),
        pytest.param(table("nonsense"), id="no numbers"),
        pytest.param(table("0x0 0x0"), id="a column too few"),
    ],
)
def test_what_cannot_be_understood_is_not_known(tmp_path: Path, resource: str) -> None:
    assert found(tmp_path, resource).state is State.ERROR


def test_without_the_file_it_is_not_known(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    (tree.directory(GPU) / "resource").unlink()

    bar = finding(judged(tree, with_mode(Mode({}))), "gpu.bar1", GPU)

    assert (bar.state, bar.severity, bar.found.text) == (State.ERROR, Severity.INFO, "not known")
