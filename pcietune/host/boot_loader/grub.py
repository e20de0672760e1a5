"""GRUB where its configuration is made by ``update-grub``: a file below /etc/default/grub.d.

The word goes into GRUB_CMDLINE_LINUX_DEFAULT, which recovery entries do not have: they boot without
it. Not every ``grub-mkconfig`` reads that directory: it is a script, and is looked at for it.
"""

import re
import shlex
from itertools import chain

from pcietune.errors import BadInputError
from pcietune.host.boot_loader.sites import Merge, added_to
from pcietune.host.boot_loader.text_file import read_text
from pcietune.host.host_files import HostFiles
from pcietune.model.boot_loader import FileChange, IntendedWord, LoaderChange, LoaderName
from pcietune.tune.kernel_args.command_line import LISTS, split

_DEFAULTS = "etc/default/grub"
_DIRECTORY = "etc/default/grub.d"
OWN = f"{_DIRECTORY}/50-pcietune.cfg"
_HEADER = "# Written by pcietune kernel-args --write grub, and removed by --undo."
_VARIABLE = "GRUB_CMDLINE_LINUX_DEFAULT"
_VARIABLES = ("GRUB_CMDLINE_LINUX", _VARIABLE)
_ASSIGNMENT = re.compile(rf"({'|'.join(_VARIABLES)})=(.*)", re.DOTALL)
_PROGRAMS = ("usr/sbin/grub-mkconfig", "usr/bin/grub-mkconfig", "usr/sbin/grub2-mkconfig")
_GRUBBY = ("usr/sbin/grubby", "usr/bin/grubby")
_UPDATE = "usr/sbin/update-grub"
_MADE = ("boot/grub/grub.cfg", "boot/grub2/grub.cfg")

_Values = dict[str, list[IntendedWord]]


class Grub:
    """GRUB, by files that ``grub-mkconfig`` sources; a Loader."""

    name = LoaderName.GRUB

    def intended(self, files: HostFiles) -> list[IntendedWord]:
        """Return the words of both variables, as ``grub-mkconfig`` comes to them."""
        values: _Values = {name: [] for name in _VARIABLES}
        if _mkconfig(files) is None:
            return []
        for path in self._sourced(files):
            _source(path, read_text(files, path) or "", values)
        return [*chain.from_iterable(values.values())]

    def insert(self, files: HostFiles, merge: Merge) -> LoaderChange:
        """Return the change of pcietune's own file; the Loader's errors."""
        self._check_sourced(files)
        before = read_text(files, OWN)
        ours = _own_words(before)
        sites: _Values = {name: [] for name in _VARIABLES}
        for path in self._sourced(files):
            if path != OWN:
                _source(path, read_text(files, path) or "", sites)
        added = added_to([*chain.from_iterable(sites.values())], ours, merge)
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
        if not _reads_directory(files):
            by_grubby = any(files.exists(path) for path in _GRUBBY)
            raise BadInputError(
                f"the grub-mkconfig of this host does not read /{_DIRECTORY}: a file there would "
                "do nothing",
                hint="use --write grubby"
                if by_grubby
                else f"add the word that `pcietune kernel-args` prints to {_VARIABLE} in "
                f"/{_DEFAULTS}, its value in quotes",
            )

    def _check_kept(self, files: HostFiles) -> None:
        """Refuse where a later file sets the variable anew, and so loses the word."""
        for path in self._sourced(files):
            values: _Values = {_VARIABLE: [IntendedWord("kept", "")]}
            _source(path, read_text(files, path) or "", values)
            if path > OWN and not any(word.word == "kept" for word in values[_VARIABLE]):
                raise BadInputError(
                    f"/{path} is read after /{OWN} and sets {_VARIABLE} anew, so the word would be "
                    "lost",
                    hint=f'have it start with "${_VARIABLE} ...", or rename it',
                )


def _reads_directory(files: HostFiles) -> bool:
    return "/default/grub.d" in (_mkconfig(files) or "")


def _mkconfig(files: HostFiles) -> str | None:
    """Return the script that makes GRUB's configuration; None if there is none."""
    texts = (read_text(files, path) for path in _PROGRAMS)
    return next((text for text in texts if text is not None), None)


def _source(path: str, text: str, values: _Values) -> None:
    """Take over what a file assigns, as the shell does that sources it.

    Raises:
        BadInputError: A line with words that matter makes no sense.
    """
    for number, line in enumerate(text.splitlines(), 1):
        try:
            tokens = shlex.split(line, comments=True)
        except ValueError as error:
            if any(name in line.partition("#")[0] for name in LISTS):
                raise BadInputError(
                    f"/{path}:{number} makes no sense: {error}",
                    hint="write the assignment on one line",
                ) from error
            continue
        for token in tokens:
            assigned = _ASSIGNMENT.fullmatch(token)
            if assigned is not None and assigned[1] in values:
                values[assigned[1]] = _value(assigned, values, f"/{path}:{number}")


def _value(assigned: re.Match[str], values: _Values, place: str) -> list[IntendedWord]:
    words: list[IntendedWord] = []
    for word in split(assigned[2]):
        bare = word.replace('"', "").replace("'", "")
        if bare in (f"${assigned[1]}", f"${{{assigned[1]}}}"):
            words += values[assigned[1]]
        elif not bare.startswith("$"):
            words.append(IntendedWord(bare, place))
    return words


def _own_words(text: str | None) -> tuple[str, ...]:
    """Return the words of pcietune's own file.

    Raises:
        BadInputError: Somebody changed it.
    """
    values: _Values = {_VARIABLE: []}
    _source(OWN, text or "", values)
    words = tuple(word.word for word in values[_VARIABLE])
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
