"""A small grubby: boot entries in a file beside it, arguments known by their names."""

import json
import shlex
import sys
from pathlib import Path

from host.boot_loader.roots import put

_PROGRAM = """#!{python}
import json, shlex, sys
from pathlib import Path

state = Path({state!r})
entries = json.loads(state.read_text())
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
if "--info" in options:
    for number, (kernel, args) in enumerate(entries.items()):
        print(f'index={{number}}\\nkernel="{{kernel}}"\\nargs="{{args}}"\\nroot="/dev/sda1"')
    sys.exit()
with state.with_name("calls").open("a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
assert options["--update-kernel"] == "ALL"


def named(text):
    return {{word.partition("=")[0]: word for word in text.split()}}


for kernel, args in entries.items():
    gone = named(options.get("--remove-args", "")) | named(options.get("--args", ""))
    kept = [word for word in args.split() if word.partition("=")[0] not in gone]
    entries[kernel] = " ".join([*kept, *named(options.get("--args", "")).values()])
if not state.with_name("lazy").exists():
    state.write_text(json.dumps(entries))
"""


class FakeGrubby:
    """grubby below a root."""

    def __init__(self, root: Path, **entries: str) -> None:
        """Put it there, with boot entries by kernel."""
        self.state = put(root, "usr/sbin/entries.json", json.dumps(entries))
        program = _PROGRAM.format(python=sys.executable, state=str(self.state))
        put(root, "usr/sbin/grubby", program, 0o755)

    def entries(self) -> dict[str, str]:
        """Return each kernel's arguments."""
        found: dict[str, str] = json.loads(self.state.read_text())
        return found

    def calls(self) -> list[list[str]]:
        """Return the argument lists of the calls that change something."""
        calls = self.state.with_name("calls")
        return [json.loads(line) for line in calls.read_text().splitlines()]

    def be_lazy(self) -> None:
        """Say from now on that all is well, and change nothing."""
        self.state.with_name("lazy").touch()


def as_booted(args: str) -> list[str]:
    """Return the words that GRUB's script makes of an entry: it has the quotes of sh."""
    return shlex.split(args)
