"""The hosts that documents look at are what lspci prints of servers built here by hand."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from cli.in_process import Pcietune
from style.console_blocks import CHECKOUT
from style.example_hosts import EXAMPLES, lspci_of
from trees.function import Function


@pytest.fixture
def pcietune(capsys: pytest.CaptureFixture[str]) -> Pcietune:
    return Pcietune(capsys)


@pytest.mark.parametrize(("name", "functions"), EXAMPLES.items(), ids=EXAMPLES)
def test_an_example_differs_in_nothing_from_what_lspci_prints_of_its_server(
    pcietune: Pcietune, tmp_path: Path, name: str, functions: Sequence[Function]
) -> None:
    example = CHECKOUT / "docs" / "hosts" / name
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

    run = pcietune("diff", CHECKOUT / "docs" / "hosts" / "small.txt", printed)

    assert run.exit_code == 3
