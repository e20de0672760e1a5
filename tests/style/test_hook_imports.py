"""The udev hook starts for each device that appears, and udev waits for what it imports."""

import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
ALLOWED = ["enum", "fcntl", "json", "os", "re", "struct", "time"]


def test_the_hooks_modules_load_seven_of_the_standard_library_and_what_those_load() -> None:
    package = CHECKOUT / "pcietune"
    registers = sorted(path.stem for path in (package / "registers").glob("[!_]*.py"))
    of_hook = sorted(path.stem for path in (package / "host" / "hook").glob("[!_]*.py"))
    ours = [
        "pcietune.address",
        "pcietune.errors",
        "pcietune.hook",
        "pcietune.host.config_space",
        *(f"pcietune.host.hook.{name}" for name in of_hook),
        *(f"pcietune.host.run.{name}" for name in ("policy_file", "policy_lines", "stamp_file")),
        *(f"pcietune.registers.{name}" for name in registers),
    ]

    extra = _modules_loaded_by(ours) - _modules_loaded_by(ALLOWED)

    assert {name for name in extra if name.partition(".")[0] != "pcietune"} == set()


def test_a_hook_begins_without_json_and_regular_expressions_which_are_dear() -> None:
    assert _modules_loaded_by(["pcietune.hook"]) & {"json", "re", "struct"} == set()


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
