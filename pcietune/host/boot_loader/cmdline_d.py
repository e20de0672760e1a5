"""Unified kernel images whose command line is made of /etc/cmdline.d: a file there.

mkinitcpio joins those files into the image's command line; so does dracut with ``--uefi``. In an
image that is no unified one they are for dracut alone, and the kernel never sees them. What stands
in them is handed over as it is, comments too, so the file has none.
"""

import re
from collections.abc import Sequence

from pcietune.errors import BadInputError
from pcietune.host.boot_loader.sites import Merge, added_to
from pcietune.host.boot_loader.text_file import read_text
from pcietune.host.host_files import HostFiles
from pcietune.model.boot_loader import FileChange, IntendedWord, LoaderChange, LoaderName
from pcietune.tune.kernel_args.command_line import split

_DIRECTORY = "etc/cmdline.d"
OWN = f"{_DIRECTORY}/50-pcietune.conf"
_REBOOT = "reboot"
_PRESETS = "etc/mkinitcpio.d"
_DRACUT = ("etc/dracut.conf.d", "usr/lib/dracut/dracut.conf.d")
_UKI_BY_MKINITCPIO = re.compile(r"^\s*\w+_uki=", re.MULTILINE)
_UKI_BY_DRACUT = re.compile(r"""^\s*uefi=["']?yes""", re.MULTILINE)


class CmdlineD:
    """Files below /etc/cmdline.d; a Loader."""

    name = LoaderName.CMDLINE_D

    def intended(self, files: HostFiles) -> list[IntendedWord]:
        """Return the words of all files, in their order."""
        return [word for path in _paths(files) for word in _words(files, path)]

    def insert(self, files: HostFiles, merge: Merge) -> LoaderChange:
        """Return the change of pcietune's own file; the Loader's errors."""
        then = _makers(files)
        if not then:
            raise BadInputError(
                "neither mkinitcpio (default_uki=) nor dracut (uefi=yes) makes unified kernel "
                f"images here, so the kernel would not see what is in /{_DIRECTORY}",
                hint="is it --write grub, grubby or systemd-boot?",
            )
        before = read_text(files, OWN)
        sites = [w for path in _paths(files) if path != OWN for w in _words(files, path)]
        added = added_to(sites, split(before or ""), merge)
        after = f"{' '.join(added)}\n" if added else None
        if after == before:
            return LoaderChange(self.name)
        return LoaderChange(self.name, (FileChange(OWN, before, after),), then=(*then, _REBOOT))

    def remove(self, files: HostFiles) -> LoaderChange:
        """Return the removal of pcietune's own file; the Loader's errors."""
        before = read_text(files, OWN)
        if before is None:
            return LoaderChange(self.name)
        return LoaderChange(
            self.name, (FileChange(OWN, before, None),), then=(*_makers(files), _REBOOT)
        )


def _paths(files: HostFiles) -> list[str]:
    return [f"{_DIRECTORY}/{name}" for name in files.names(_DIRECTORY) if name.endswith(".conf")]


def _words(files: HostFiles, path: str) -> list[IntendedWord]:
    lines = enumerate((read_text(files, path) or "").splitlines(), 1)
    return [
        IntendedWord(word.replace('"', ""), f"/{path}:{number}")
        for number, line in lines
        if not line.lstrip().startswith("#")
        for word in split(line)
    ]


def _makers(files: HostFiles) -> tuple[str, ...]:
    """Return what makes the images anew; empty if nothing here makes a unified one."""
    if _any_has(files, (_PRESETS,), ".preset", _UKI_BY_MKINITCPIO):
        return ("mkinitcpio -P",)
    if _any_has(files, _DRACUT, ".conf", _UKI_BY_DRACUT):
        return ("dracut --force --regenerate-all",)
    return ()


def _any_has(
    files: HostFiles, directories: Sequence[str], suffix: str, what: re.Pattern[str]
) -> bool:
    return any(
        what.search(read_text(files, f"{directory}/{name}") or "")
        for directory in directories
        for name in files.names(directory)
        if name.endswith(suffix)
    )
