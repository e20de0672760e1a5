"""What every module of the package owes its reader."""

from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "pcietune"
MODULES = [pytest.param(path, id=str(path.relative_to(PACKAGE))) for path in PACKAGE.rglob("*.py")]


@pytest.mark.parametrize("module", MODULES)
def test_a_module_is_shorter_than_250_lines(module: Path) -> None:
    assert len(module.read_text().splitlines()) < 250


@pytest.mark.parametrize("module", MODULES)
def test_a_module_is_named_after_its_subject(module: Path) -> None:
    assert module.stem not in {"base", "common", "helpers", "manager", "misc", "utils"}
