"""The udev hook starts for each device that appears, and udev waits for what it imports."""

import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
ALLOWED = ["enum", "fcntl", "json", "os", "re", "struct"]


def test_the_hooks_modules_load_six_of_the_standard_library_and_what_those_load() -> None:
    registers = sorted(path.stem for path in (CHECKOUT / "pcietune" / "registers").glob("[!_]*.py"))
    ours = [
        "pcietune.address",
        "pcietune.errors",
        "pcietune.host.config_space",
        *(f"pcietune.registers.{name}" for name in registers),
    ]

    extra = _modules_loaded_by(ours) - _modules_loaded_by(ALLOWED)

    assert {name for name in extra if name.partition(".")[0] != "pcietune"} == set()


def _modules_loaded_by(imports: list[str]) -> set[str]:
    """Import in an interpreter as bare as the hook's, and say what is loaded then."""
    program = (
        f"import sys; sys.path.append({str(CHECKOUT)!r}); import {', '.join(imports)}; "
        "print(*sys.modules, sep='\\n')"
    )
    loaded = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], check=True, stdout=subprocess.PIPE, text=True
    )
    return set(loaded.stdout.split())
