"""The disk with the code under test: the checkout and the packages that it needs, as they are now.

Files lie at the same absolute paths as on this machine. A copy that is made for each boot costs
less than a shared directory: under emulation each look at a file over 9p takes a millisecond.
"""

import io
import os
import re
import sysconfig
import tarfile
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

from bench import systemd_parts
from bench.installation import installed
from bench.machine import Machine
from bench.squashfs import pack_files

CHECKOUT = Path(__file__).parents[2]
SITE_PACKAGES = Path(sysconfig.get_path("platlib"))

_GUEST_PARTS = Path(__file__).parent / "guest_parts"
_IN_GUEST = {
    "agent.py": "bench/agent.py",
    "bench-doorbell": "usr/local/bin/bench-doorbell",
    "modprobe.conf": "etc/modprobe.d/bench.conf",
}


def python_path(machine: Machine) -> list[str]:
    """Return where the guest's Python finds pcietune, and what it imports."""
    if machine.systemd:
        return [f"/{packages.relative_to(installed().root)}" for packages in installed().packages()]
    return [str(CHECKOUT), str(SITE_PACKAGES)]


def make_code_disk(machine: Machine, image: Path) -> None:
    """Make the image for a machine.

    Raises:
        CacheError: mksquashfs failed or is not installed.
    """
    pack_files(lambda archive: _add_files(machine, archive), image)


def _add_files(machine: Machine, archive: tarfile.TarFile) -> None:
    start = "start-systemd" if machine.systemd else "start"
    for name, path in {start: "bench/start", **_IN_GUEST}.items():
        archive.add(_GUEST_PARTS / name, path, filter=_program)
    if machine.systemd:
        for path, content in systemd_parts.files().items():
            _add_text(archive, path, content)
        installation = installed()
        archive.add(installation.root / "usr", "usr", filter=_root_owned)
        units = installation.units() | systemd_parts.units_among(machine.files)
        for path, target in systemd_parts.links(machine.enabled, units).items():
            link = tarfile.TarInfo(path.lstrip("/"))
            link.type, link.linkname = tarfile.SYMTYPE, target
            archive.addfile(link)
    else:
        _add_checkout(archive)
    for path, content in machine.files.items():
        _add_text(archive, path, content)


def _add_checkout(archive: tarfile.TarFile) -> None:
    archive.add(CHECKOUT, filter=_of_checkout)
    for package in _needed_distributions():
        for file in package.files or []:
            # Commands lie in ../../../bin.
            place = Path(os.path.normpath(str(package.locate_file(file))))
            if place.is_file() and place.is_relative_to(SITE_PACKAGES):
                archive.add(place, filter=_root_owned)


def _add_text(archive: tarfile.TarFile, path: str, content: str) -> None:
    member = tarfile.TarInfo(path.lstrip("/"))
    member.mode, member.size = 0o644, len(content.encode())
    archive.addfile(member, io.BytesIO(content.encode()))


def _needed_distributions() -> Iterator[Distribution]:
    """Yield the installed packages that the project needs when it runs."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    wanted: list[str] = project["dependencies"]
    seen: set[str] = set()
    while wanted:
        requirement = Requirement(wanted.pop())
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        if name in seen or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        seen.add(name)
        package = distribution(name)
        wanted += package.requires or []
        yield package


def _root_owned(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member


def _program(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.mode = 0o755
    return _root_owned(member)


def _of_checkout(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Leave out what tools keep there: .git, .venv, caches."""
    inside = Path("/", member.name).relative_to(CHECKOUT)
    return None if inside.name.startswith(".") else _root_owned(member)
