"""The hosts that documents look at are what lspci prints of servers built here by hand."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from cli.in_process import Pcietune
from style.console_blocks import CHECKOUT
from style.example_hosts import EXAMPLES, RECORDINGS, lspci_of, record
from trees.function import Function

_HOSTS = CHECKOUT / "docs" / "hosts"


@pytest.fixture
def pcietune(capsys: pytest.CaptureFixture[str]) -> Pcietune:
    return Pcietune(capsys)


@pytest.mark.parametrize(("name", "functions"), EXAMPLES.items(), ids=EXAMPLES)
def test_an_example_differs_in_nothing_from_what_lspci_prints_of_its_server(
    pcietune: Pcietune, tmp_path: Path, name: str, functions: Sequence[Function]
) -> None:
    example = _HOSTS / name
    printed = tmp_path / "printed.txt"
    printed.write_text(lspci_of(functions, tmp_path / "server"))

    run = pcietune("diff", example, printed)

    assert run.exit_code == 0, run.stdout


def test_an_example_would_differ_from_a_server_with_another_driver(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    functions = EXAMPLES["small.txt"]
    printed = tmp_path / "printed.txt"
    other = [*functions[:-1], replace(functions[-1], driver="mlx5_core")]
    printed.write_text(lspci_of(other, tmp_path / "server"))

    run = pcietune("diff", _HOSTS / "small.txt", printed)

    assert run.exit_code == 3


@pytest.mark.parametrize(("name", "make"), RECORDINGS.items(), ids=RECORDINGS)
def test_a_recording_differs_in_nothing_from_that_of_its_server(
    pcietune: Pcietune, tmp_path: Path, name: str, make: Callable[[Path], None]
) -> None:
    anew = tmp_path / name
    record(make, anew)

    run = pcietune("diff", _HOSTS / name, anew)

    assert run.exit_code == 0, run.stdout


def test_a_vm_planned_of_a_recording_is_that_planned_of_its_server(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    anew = tmp_path / "l20.tar.gz"
    record(RECORDINGS["l20.tar.gz"], anew)
    asked = ("guest", "plan", "--gpus", "8", "--mode", "vm", "--hugepages", "1G", "--json")

    plans = [pcietune(*asked, "--from", each).stdout for each in (_HOSTS / anew.name, anew)]

    assert plans[0] == plans[1]
