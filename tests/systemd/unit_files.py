"""The shipped unit files, read as systemd reads them, and systemd's own opinion of them."""

import os
import re
import shutil
import subprocess
from pathlib import Path

UNITS = Path(__file__).parents[2] / "systemd"
_SYSTEM = "usr/lib/systemd/system"
_DEBIANS = Path("/usr/lib/systemd/system")


def settings(name: str) -> list[tuple[str, str]]:
    """Return every assignment of a unit file in order; a line that ends in ``\\`` goes on."""
    text = (UNITS / name).read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if "=" in line and not line.startswith("#")]
    return [
        (key.strip(), value.strip()) for key, _, value in (line.partition("=") for line in lines)
    ]


def values(name: str, key: str) -> list[str]:
    """Return all that a unit file assigns to a key."""
    return [value for each, value in settings(name) if each == key]


def words(name: str, key: str) -> set[str]:
    """Return the units that a unit file names under a key such as ``Before``."""
    return {word for value in values(name, key) for word in value.split()}


def said_of(*units: str | Path, path: str = str(_DEBIANS)) -> str:
    """Return what systemd complains of when it loads units, by default beside this machine's."""
    run = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *units],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "SYSTEMD_UNIT_PATH": path},
    )
    return run.stdout + run.stderr


class Host:
    """A root with the distribution's units and pcietune's, as after make install.

    Attributes:
        root: Its ``/``.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        shutil.copytree(_DEBIANS, root / _SYSTEM, symlinks=True)
        shutil.copytree(UNITS, root / _SYSTEM, dirs_exist_ok=True)
        presets = root / "usr/lib/systemd/system-preset"
        presets.mkdir()
        for preset in (root / _SYSTEM).glob("*.preset"):
            preset.rename(presets / preset.name)

    def add(self, name: str, text: str) -> None:
        """Add a unit file or a drop-in below the administrator's directory."""
        file = self.root / "etc/systemd/system" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def want(self, target: str, unit: str) -> None:
        """Have a target want one of the distribution's units, as a generator does."""
        link = self.root / "etc/systemd/system" / f"{target}.wants" / unit
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(self.root / _SYSTEM / unit)

    def enable(self, *names: str) -> None:
        """Enable units as an administrator does; ``--runtime`` among them is for this boot only."""
        subprocess.run(
            ["systemctl", f"--root={self.root}", "--quiet", "enable", *names], check=True
        )

    def preset(self, *names: str) -> None:
        """Enable units that no preset forbids, as systemd does when an image boots first."""
        subprocess.run(
            ["systemctl", f"--root={self.root}", "--quiet", "preset", *names], check=True
        )

    def mask(self, name: str, *options: str) -> None:
        """Mask a unit as an administrator does."""
        command = ["systemctl", f"--root={self.root}", "--quiet", *options, "mask", name]
        subprocess.run(command, check=True)

    def enabled(self) -> set[str]:
        """Return what is enabled, each as ``target.wants/unit``."""
        made = (self.root / "etc/systemd/system").glob("*.wants/*")
        return {f"{link.parent.name}/{link.name}" for link in made}

    def said_of(self, unit: str) -> str:
        """Return what systemd complains of when it lays out how to start a unit here."""
        return said_of(unit, path=self._path)

    def conditions_of(self, unit: str) -> set[str]:
        """Return the conditions that systemd would look at before it starts a unit."""
        run = subprocess.run(
            ["systemd-analyze", "condition", f"--unit={unit}"],
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "SYSTEMD_UNIT_PATH": self._path},
        )
        return set(
            re.findall(r": (Condition\S+) (?:succeeded|failed)\.$", run.stderr, re.MULTILINE)
        )

    @property
    def _path(self) -> str:
        return f"{self.root / 'etc/systemd/system'}:{self.root / _SYSTEM}"
