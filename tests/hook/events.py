"""Events as udev has them, for a hook in an interpreter as bare as udev starts it."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trees.host import TreeHost
from tune.judged import judge, opened
from tune.profiles import PROFILE

from pcietune.cli.keeping import leave_policy
from pcietune.model.kept_policy import KeptPolicy
from pcietune.model.profile import ModeName, Profile

_CHECKOUT = Path(__file__).parents[2]
_INSTALLED = '"/usr/lib/pcietune/python%d.%d" % sys.version_info[:2]'


@dataclass(frozen=True)
class Told:
    """What a hook left: its exit code, and what it said."""

    exit_code: int
    stderr: str


def program(root: Path) -> str:
    """Return the program that is installed, but of this checkout, and for a host below ``root``."""
    text = (_CHECKOUT / "install/hook").read_text()
    assert _INSTALLED in text
    return text.replace(_INSTALLED, repr(str(_CHECKOUT))).replace(
        "main()", f"main(root={str(root)!r})"
    )


def start(
    root: Path, environ: Mapping[str, str], *, under: Sequence[str] = ()
) -> subprocess.Popen[bytes]:
    """Start a hook below ``root`` with just this environment, ``under`` another program if any."""
    return subprocess.Popen(
        [*under, sys.executable, "-I", "-S", "-B", "-c", program(root)],
        env=dict(environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(process: subprocess.Popen[bytes]) -> Told:
    """Return what it left; it says nothing on stdout."""
    stdout, stderr = process.communicate(timeout=60)
    assert stdout == b""
    return Told(process.returncode, stderr.decode())


def hook(root: Path, environ: Mapping[str, str]) -> Told:
    """Run a hook to its end."""
    return finish(start(root, environ))


def event(tree: TreeHost, action: str, address: str, **more: str) -> dict[str, str]:
    """Return the environment of an event about a function that is there (pci_uevent)."""
    directory = tree.directory(address)
    lines = (directory / "uevent").read_text().splitlines()
    told = dict(line.split("=", 1) for line in lines)
    path = str(directory.relative_to(tree.root.resolve() / "sys"))
    return {**told, "ACTION": action, "SUBSYSTEM": "pci", "DEVPATH": f"/{path}", **more}


def add(tree: TreeHost, address: str) -> Told:
    """Return what a hook makes of a function that was added."""
    return hook(tree.root, event(tree, "add", address))


def stamp(tree: TreeHost, address: str) -> dict[str, object] | None:
    """Return what a function's stamp says; None if it has none."""
    file = tree.root / "run/pcietune/stamps" / address
    if not file.exists():
        return None
    told = json.loads(file.read_text())
    assert isinstance(told, dict)
    return told


def without_stamps(tree: TreeHost) -> None:
    """Let no function have a stamp, as if it had come after apply."""
    for file in (tree.root / "run/pcietune/stamps").iterdir():
        file.unlink()


def leave(
    tree: TreeHost,
    *,
    profile: Profile = PROFILE,
    mode: ModeName = ModeName.VM,
    enforce: bool = True,
) -> KeptPolicy:
    """Leave the policy of what ``tree`` is now, as apply does, and no stamps."""
    host = opened(tree)
    kept = leave_policy(host, judge(host, profile, mode), enforce=enforce, unattended=True)
    assert kept is not None
    without_stamps(tree)
    return kept
