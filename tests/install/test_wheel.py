"""What is shipped works where it is installed, not only in a checkout."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from pcietune import __version__

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel, install it in a new environment, and give that environment's bin folder."""
    folder = tmp_path_factory.mktemp("install")
    pip = [sys.executable, "-m", "pip", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", folder, CHECKOUT], check=True)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "venv", symlinks=True)
    python = folder / "venv" / "bin" / "python"
    subprocess.run([*pip, "--python", python, "install", wheel], check=True)
    return python.parent


def test_the_version_is_the_projects(installed: Path, tmp_path: Path) -> None:
    said = _run(installed / "pcietune", "--version", folder=tmp_path)

    assert said == f"pcietune {__version__}\n"


def test_the_command_and_the_module_are_the_same(installed: Path, tmp_path: Path) -> None:
    command = _run(installed / "pcietune", "--help", folder=tmp_path)
    module = _run(installed / "python", "-m", "pcietune", "--help", folder=tmp_path)

    assert module == command


def test_every_finding_is_explained_and_the_schema_printed(installed: Path, tmp_path: Path) -> None:
    explained = _run(installed / "pcietune", "explain", "--markdown", folder=tmp_path)
    schema = _run(installed / "pcietune", "schema", folder=tmp_path)

    assert explained == (CHECKOUT / "docs" / "findings.md").read_text()
    shipped = CHECKOUT / "pcietune" / "schemas" / "document-1.json"
    assert schema == shipped.read_text()
    assert (_package(installed, tmp_path) / "schemas" / shipped.name).read_text() == schema


def test_every_shipped_profile_is_found(installed: Path, tmp_path: Path) -> None:
    names = {path.stem for path in (CHECKOUT / "profiles").glob("*.yaml")}

    listed = set(_run(installed / "pcietune", "profile", "list", folder=tmp_path).split())

    assert names
    assert names <= listed


def test_the_recorded_host_of_the_demo_is_found(installed: Path, tmp_path: Path) -> None:
    host = _package(installed, tmp_path) / "recorded_hosts" / "a800-sxm4-8gpu.tar.gz"
    assert "next " in _run(installed / "pcietune", "status", "--from", host, folder=tmp_path)


def _package(installed: Path, folder: Path) -> Path:
    """Return where the package is installed."""
    code = "import pcietune, pathlib; print(pathlib.Path(pcietune.__file__).parent)"
    return Path(_run(installed / "python", "-c", code, folder=folder).strip())


def _run(*command: str | Path, folder: Path) -> str:
    """Run a command of the new environment outside of the checkout, and give its output."""
    surroundings = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=folder, env=surroundings
    ).stdout
