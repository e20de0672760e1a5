"""grubby, which changes the boot entries of Fedora, RHEL and their kin by itself.

It takes an argument's name for the whole of it, so what pcietune and the site want of ``pci=`` is
one word. What a ``;`` parts is in single quotes: GRUB reads the entries as its script, and grubby
copies the word into double quotes of /etc/default/grub.
"""

import re
import subprocess
from collections.abc import Sequence

from pcietune.errors import BadInputError, NotPermittedError
from pcietune.host.boot_loader.sites import Merge
from pcietune.host.boot_loader.written import Written, note_change, read_written
from pcietune.host.host_files import HostFiles
from pcietune.model.boot_loader import IntendedWord, LoaderChange, LoaderName
from pcietune.tune.kernel_args.command_line import FOR_INIT, options_of, pci_word, split

_PROGRAMS = ("usr/sbin/grubby", "usr/bin/grubby")
_ARGS = re.compile(r'^args="(.*)"$', re.MULTILINE)
_KERNEL = re.compile(r'^kernel="?([^"\n]*)', re.MULTILINE)
_TIMEOUT_S = 60
_PCI = "pci"


class Grubby:
    """Boot entries by grubby; a Loader."""

    name = LoaderName.GRUBBY

    def intended(self, files: HostFiles) -> list[IntendedWord]:
        """Return the words of every entry, each once."""
        program = _program(files)
        found: dict[str, IntendedWord] = {}
        for kernel, words in () if program is None else _entries(program):
            for word in words:
                found.setdefault(word, IntendedWord(word, kernel))
        return list(found.values())

    def insert(self, files: HostFiles, merge: Merge) -> LoaderChange:
        """Return the call that gives every entry the words; the Loader's errors."""
        program = _needed(files)
        note = read_written(files, self.name)
        wanted: dict[tuple[str, ...], str] = {}
        sites: dict[tuple[str, ...], None] = {}
        gone: dict[str, None] = {}
        changes = False
        for kernel, words in _entries(program):
            ours = () if note is None else note.ours_in(words)
            site = words if note is None else note.without(words)
            merged = merge(site, ours)
            if FOR_INIT in words and merged.added:
                raise BadInputError(
                    f"the boot entry {kernel} has {FOR_INIT}, and what grubby puts behind it would "
                    "be for init, not for the kernel",
                    hint="grubby --info ALL; take it out first",
                )
            new = (*_one_pci_word(merged.words), *(w for w in merged.added if not options_of(w)))
            wanted.setdefault(new, kernel)
            sites[_one_pci_word(site)] = None
            gone |= {word: None for word in ours if not options_of(word) and word not in new}
            changes = changes or bool(gone) or not _has(words, new)
        if not changes:
            return LoaderChange(self.name)
        if len(wanted) != 1 or len(sites) != 1:
            raise BadInputError(
                f"the boot entries {', '.join(wanted.values())} have different pci= words, and "
                "one call would make them the same",
                hint="grubby --info ALL; make them alike first, or remove the entries that are old",
            )
        new, site = next(iter(wanted)), next(iter(sites))
        lines = note.lines[-1:] if note is not None else ()
        line = Written(" ".join(site), (*lines, " ".join(new)))
        commands = [_call(program, "--args", " ".join(map(_quoted, new)))]
        if gone:
            commands.append(_call(program, "--remove-args", " ".join(gone)))
        return LoaderChange(
            self.name,
            note=note_change(files, self.name, line),
            commands=tuple(commands),
            then=("reboot",),
        )

    def remove(self, files: HostFiles) -> LoaderChange:
        """Return the calls that give every entry back what the site had; the Loader's errors."""
        note = read_written(files, self.name)
        if note is None:
            return LoaderChange(self.name)
        forget = note_change(files, self.name, None)
        program = _needed(files)
        ours = {word: None for _, words in _entries(program) for word in note.ours_in(words)}
        if not ours:
            return LoaderChange(self.name, note=forget)
        site = split(note.before)
        gone = [word for word in ours if not options_of(word)]
        if not site:
            gone.insert(0, _PCI)
        commands = []
        if site:
            commands.append(_call(program, "--args", " ".join(map(_quoted, site))))
        if gone:
            commands.append(_call(program, "--remove-args", " ".join(gone)))
        return LoaderChange(self.name, (), forget, tuple(commands), then=("reboot",))


def run(command: Sequence[str]) -> str:
    """Run a program and return what it printed.

    Raises:
        NotPermittedError: It could not be started, or failed.
    """
    try:
        done = subprocess.run(  # noqa: S603 -- a list of arguments, no shell
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotPermittedError(f"{command[0]} could not be run: {error}") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise NotPermittedError(
            f"{command[0]} failed with {done.returncode}: {said[-1] if said else 'without a word'}",
            hint="run pcietune as root",
        )
    return done.stdout


def _entries(program: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return each boot entry's kernel and words, without quotes."""
    told = run([program, "--info", "ALL"])
    entries = []
    for entry in re.split(r"^index=\d+$", told, flags=re.MULTILINE):
        args, kernel = _ARGS.search(entry), _KERNEL.search(entry)
        if args is None:
            continue
        words = (word.replace('"', "") for word in split(args[1].replace("'", '"')))
        entries.append((kernel[1] if kernel else "entry", tuple(words)))
    return entries


def _one_pci_word(words: Sequence[str]) -> tuple[str, ...]:
    options = [option for word in words for option in options_of(word)]
    return (pci_word(options),) if options else ()


def _has(words: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return whether an entry has these words, and no other pci= word."""
    there = [word for word in words if options_of(word)]
    return all(word in words for word in wanted) and len(there) <= 1


def _quoted(word: str) -> str:
    options = options_of(word)
    if not options or ";" not in word:
        return word
    parts = (option.partition("=") for option in options)
    return pci_word([f"{n}{e}'{v}'" if ";" in v else f"{n}{e}{v}" for n, e, v in parts])


def _call(program: str, option: str, value: str) -> tuple[str, ...]:
    return (program, "--update-kernel", "ALL", option, value)


def _program(files: HostFiles) -> str | None:
    """Return grubby's path; None if the host has none. Nothing of a recording is ever run."""
    if files.recorded:
        return None
    path = next((path for path in _PROGRAMS if files.exists(path)), None)
    return None if path is None else files.path(path)


def _needed(files: HostFiles) -> str:
    program = _program(files)
    if program is None:
        raise BadInputError(
            "this host has no grubby", hint="is it --write grub, systemd-boot or cmdline.d?"
        )
    return program
