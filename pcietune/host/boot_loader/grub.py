"""GRUB where its configuration is made by ``update-grub``: a file below /etc/default/grub.d.

The word goes into GRUB_CMDLINE_LINUX_DEFAULT, which recovery entries do not have: they boot without
it. Not every ``grub-mkconfig`` reads that directory: it is a script, and is looked at for it.
"""

from collections.abc import Iterable

from pcietune.errors import BadInputError
from pcietune.host.boot_loader.grub_script import GrubCommand, grub_command
from pcietune.host.boot_loader.sh_variables import Values, source
from pcietune.host.boot_loader.sites import Merge, added_to
from pcietune.host.boot_loader.text_file import read_text
from pcietune.host.host_files import HostFiles
from pcietune.model.boot_loader import FileChange, IntendedWord, LoaderChange, LoaderName

_DEFAULTS = "etc/default/grub"
_DIRECTORY = "etc/default/grub.d"
OWN = f"{_DIRECTORY}/50-pcietune.cfg"
_HEADER = "# Written by pcietune kernel-args --write grub, and removed by --undo."
_VARIABLE = "GRUB_CMDLINE_LINUX_DEFAULT"
_VARIABLES = ("GRUB_CMDLINE_LINUX", _VARIABLE)
_BY_ENTRIES = "GRUB_ENABLE_BLSCFG"
_PROGRAMS = ("usr/sbin/grub-mkconfig", "usr/bin/grub-mkconfig", "usr/sbin/grub2-mkconfig")
_GRUBBY = ("usr/sbin/grubby", "usr/bin/grubby")
_UPDATE = "usr/sbin/update-grub"
_MADE = ("boot/grub/grub.cfg", "boot/grub2/grub.cfg")


class Grub:
    """GRUB, by files that ``grub-mkconfig`` sources; a Loader."""

    name = LoaderName.GRUB

    def intended(self, files: HostFiles) -> list[IntendedWord]:
        """Return the words of both variables, as ``grub-mkconfig`` comes to them.

        None where GRUB has its entries from elsewhere, and grubby tells what is in them.
        """
        if _mkconfig(files) is None:
            return []
        values = _values(files, self._sourced(files))
        if _by_entries(values) and _has_grubby(files) and not files.recorded:
            return []
        return _command(values).words

    def insert(self, files: HostFiles, merge: Merge) -> LoaderChange:
        """Return the change of pcietune's own file; the Loader's errors."""
        self._check_sourced(files)
        before = read_text(files, OWN)
        ours = _own_words(before)
        sites = _values(files, [path for path in self._sourced(files) if path != OWN])
        command = _command(sites)
        if command.ended_by is not None:
            raise BadInputError(
                f"{command.ended_by.place}: GRUB ends the command at the ; in "
                f"{command.ended_by.word}, and all behind it is lost",
                hint=r"put what has the ; in \"quotes\" that reach GRUB",
            )
        added = added_to(command.words, ours, merge)
        after = _text(added) if added else None
        if after == before:
            return LoaderChange(self.name)
        self._check_kept(files)
        return LoaderChange(self.name, (FileChange(OWN, before, after),), then=_then(files))

    def remove(self, files: HostFiles) -> LoaderChange:
        """Return the removal of pcietune's own file; the Loader's errors."""
        before = read_text(files, OWN)
        _own_words(before)
        if before is None:
            return LoaderChange(self.name)
        return LoaderChange(self.name, (FileChange(OWN, before, None),), then=_then(files))

    def _sourced(self, files: HostFiles) -> list[str]:
        names = [n for n in files.names(_DIRECTORY) if n.endswith(".cfg") and n[0] != "."]
        more = [f"{_DIRECTORY}/{name}" for name in names] if _reads_directory(files) else []
        return [_DEFAULTS, *more]

    def _check_sourced(self, files: HostFiles) -> None:
        if _mkconfig(files) is None:
            raise BadInputError(
                "this host has no grub-mkconfig, so nothing reads /etc/default/grub",
                hint="is it --write systemd-boot, or cmdline.d?",
            )
        if not any(files.exists(path) for path in _MADE):
            raise BadInputError(
                "there is no /boot/grub/grub.cfg, so GRUB does not boot this host",
                hint="is it --write systemd-boot, or cmdline.d?",
            )
        by_entries = _by_entries(_values(files, self._sourced(files)))
        if by_entries:
            raise BadInputError(
                f"GRUB takes its entries from /boot/loader/entries ({by_entries}: "
                f"{_BY_ENTRIES}=true), which grub-mkconfig does not change",
                hint="use --write grubby"
                if _has_grubby(files)
                else "add the word that `pcietune kernel-args` prints to the options there",
            )
        if not _reads_directory(files):
            raise BadInputError(
                f"the grub-mkconfig of this host does not read /{_DIRECTORY}: a file there would "
                "do nothing",
                hint="use --write grubby"
                if _has_grubby(files)
                else f"add the word that `pcietune kernel-args` prints to {_VARIABLE} in "
                f"/{_DEFAULTS}, its value in quotes",
            )

    def _check_kept(self, files: HostFiles) -> None:
        """Refuse where a later file sets the variable anew, and so loses the word."""
        for path in self._sourced(files):
            values: Values = {_VARIABLE: [IntendedWord("kept", "")]}
            source(path, read_text(files, path) or "", values)
            if path > OWN and not any(word.word == "kept" for word in values[_VARIABLE]):
                raise BadInputError(
                    f"/{path} is read after /{OWN} and sets {_VARIABLE} anew, so the word would be "
                    "lost",
                    hint=f'have it start with "${_VARIABLE} ...", or rename it',
                )


def _values(files: HostFiles, paths: Iterable[str]) -> Values:
    values: Values = {}
    for path in paths:
        source(path, read_text(files, path) or "", values)
    return values


def _command(values: Values) -> GrubCommand:
    """Return the words of both variables, in the order in which the kernel gets them."""
    return grub_command([word for name in _VARIABLES for word in values.get(name, ())])


def _by_entries(values: Values) -> str:
    """Return where it is said that GRUB's script has no entries of its own; empty if nowhere."""
    said = values.get(_BY_ENTRIES, [])
    return said[0].place if [word.word for word in said] == ["true"] else ""


def _has_grubby(files: HostFiles) -> bool:
    return any(files.exists(path) for path in _GRUBBY)


def _reads_directory(files: HostFiles) -> bool:
    return "/default/grub.d" in (_mkconfig(files) or "")


def _mkconfig(files: HostFiles) -> str | None:
    """Return the script that makes GRUB's configuration; None if there is none."""
    texts = (read_text(files, path) for path in _PROGRAMS)
    return next((text for text in texts if text is not None), None)


def _own_words(text: str | None) -> tuple[str, ...]:
    """Return the words of pcietune's own file.

    Raises:
        BadInputError: Somebody changed it.
    """
    values: Values = {_VARIABLE: []}
    source(OWN, text or "", values)
    words = tuple(word.word for word in grub_command(values[_VARIABLE]).words)
    if text is not None and text != _text(words):
        raise BadInputError(
            f"/{OWN} is not as pcietune wrote it, so it is left alone",
            hint="move what is not pcietune's into another file, and remove this one",
        )
    return words


def _text(words: tuple[str, ...]) -> str:
    """Return pcietune's own file: what a ``;`` parts is in quotes that reach GRUB's own script."""
    quoted = [_quoted(word) for word in words]
    return f'{_HEADER}\n{_VARIABLE}="${_VARIABLE} {" ".join(quoted)}"\n'


def _quoted(word: str) -> str:
    name, equals, value = word.rpartition("=")
    return rf"{name}{equals}\"{value}\"" if ";" in word else word


def _then(files: HostFiles) -> tuple[str, ...]:
    update = files.exists(_UPDATE)
    return ("update-grub" if update else "grub-mkconfig -o /boot/grub/grub.cfg", "reboot")
