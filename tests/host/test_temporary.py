"""A recording that is looked at lies where there is room, and is gone afterwards."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
from pcietune.host.temporary import temporary_directory
with temporary_directory() as directory:
    print(directory, directory.is_dir())
print(directory.exists())
"""


def test_tmpdir_decides_where_and_nothing_is_left(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}

    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, check=True, capture_output=True, text=True
    )

    directory, was_there, is_there = run.stdout.split()
    assert Path(directory).parent == tmp_path
    assert (was_there, is_there) == ("True", "False")
    assert list(tmp_path.iterdir()) == []
