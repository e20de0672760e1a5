"""Where NCCL looks for a topology file (its src/misc/param.cc and src/graph/topo.cc)."""

import os
import subprocess
import sys
from pathlib import Path

_PROGRAM = """
import sys
from pathlib import Path
from pcietune.host.host_files import HostFiles
from pcietune.host.topology_file import named_topology_file
print(named_topology_file(HostFiles(Path(sys.argv[1]), recorded=len(sys.argv) > 2)))
"""
_DEFAULT = "var/run/nvidia-topologyd/virtualTopology.xml"


def _named(root: Path, *recorded: str, variable: str = "") -> str:
    """Return what a process with the variable in its environment says."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(root), *recorded],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "NCCL_TOPO_FILE": variable},
        cwd=Path(__file__).parents[2],
    )
    return done.stdout.strip()


def _configured(root: Path, text: str) -> Path:
    (root / "etc").mkdir()
    (root / "etc/nccl.conf").write_text(text)
    return root


def test_nothing_names_a_file_where_nothing_does(tmp_path: Path) -> None:
    assert _named(tmp_path) == "None"


def test_the_environment_comes_first(tmp_path: Path) -> None:
    _configured(tmp_path, "NCCL_TOPO_FILE=/b.xml\n")

    assert _named(tmp_path, variable="/a.xml") == "('/a.xml', 'NCCL_TOPO_FILE')"


def test_the_first_line_of_the_configuration_counts(tmp_path: Path) -> None:
    text = (
        "# NCCL_TOPO_FILE=/c.xml\nNCCL_DEBUG=INFO\nNCCL_TOPO_FILE=/b.xml\nNCCL_TOPO_FILE=/d.xml\n"
    )

    assert _named(_configured(tmp_path, text)) == "('/b.xml', '/etc/nccl.conf')"


def test_the_default_is_named_only_where_it_is(tmp_path: Path) -> None:
    (tmp_path / _DEFAULT).parent.mkdir(parents=True)
    (tmp_path / _DEFAULT).touch()

    assert (
        _named(_configured(tmp_path, "NCCL_DEBUG=INFO\n")) == f"('/{_DEFAULT}', \"NCCL's default\")"
    )


def test_of_a_recording_nothing_is_known(tmp_path: Path) -> None:
    assert _named(tmp_path, "recorded", variable="/a.xml") == "None"
