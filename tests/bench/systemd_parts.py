"""What the guest's file system has besides Debian's own where systemd boots it."""

from pathlib import Path, PurePosixPath

_AGENT = Path(__file__).parent / "guest_parts/bench-agent.service"
_UNITS = PurePosixPath("/etc/systemd/system")
_DEFAULT = _UNITS / "default.target"
_WANTED = _UNITS / "multi-user.target.wants/bench-agent.service"

# What takes time in every boot and is nothing to pcietune: logins, and a distribution's chores.
_MASKED = [
    *("getty.target", "systemd-logind.service", "systemd-user-sessions.service"),
    *("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer"),
    *("e2scrub_all.timer", "e2scrub_reap.service", "fstrim.timer", "kmod-static-nodes.service"),
]


def files() -> dict[str, str]:
    """Return the content of files, by path."""
    return {
        "/etc/fstab": "overlay / overlay rw 0 0\n",  # systemd-remount-fs makes it writable
        "/etc/machine-id": "b" * 32 + "\n",  # else it is a first boot, which asks questions
        "/etc/hostname": "bench\n",
        str(_UNITS / "bench-agent.service"): _AGENT.read_text(),
    }


def units_among(files: dict[str, str]) -> dict[str, str]:
    """Return those files that are units, by path."""
    return {path: text for path, text in files.items() if PurePosixPath(path).parent == _UNITS}


def links(enabled: list[str], units: dict[str, str]) -> dict[str, str]:
    """Return the links in /etc/systemd/system, as ``systemctl enable`` and ``mask`` make them.

    Args:
        enabled: The units to enable.
        units: The text of unit files, by path; of an instance, its template's.

    Raises:
        KeyError: A unit to enable has no file.
    """
    made = {str(_DEFAULT): "/usr/lib/systemd/system/multi-user.target"}
    made |= {str(_WANTED): str(_UNITS / "bench-agent.service")}
    made |= {str(_UNITS / unit): "/dev/null" for unit in _MASKED}
    paths = {PurePosixPath(path).name: path for path in units}
    for unit in enabled:
        path = paths[unit.partition("@")[0] + "@.service" if "@" in unit else unit]
        for line in units[path].splitlines():
            key, _, targets = line.partition("=")
            if key == "WantedBy":
                for target in targets.split():
                    made[str(_UNITS / f"{target}.wants" / unit)] = path
    return made
