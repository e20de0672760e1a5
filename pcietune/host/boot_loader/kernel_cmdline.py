"""systemd-boot and unified kernel images by kernel-install: /etc/kernel/cmdline.

One file with the whole command line. Without it kernel-install takes /usr/lib/kernel/cmdline, or
the command line of the running kernel (90-loaderentry.install): a new file starts with the same.
"""

from pcietune.errors import BadInputError
from pcietune.host.boot_loader.sites import Merge
from pcietune.host.boot_loader.text_file import read_text
from pcietune.host.boot_loader.written import Written, note_change, read_written
from pcietune.host.host_files import HostFiles
from pcietune.host.platform import CMDLINE, OSRELEASE
from pcietune.model.boot_loader import FileChange, IntendedWord, LoaderChange, LoaderName
from pcietune.tune.kernel_args.command_line import split

PATH = "etc/kernel/cmdline"
_SHIPPED = "usr/lib/kernel/cmdline"
_LOADERS_OWN = ("BOOT_IMAGE=", "initrd=")
_PROGRAMS = ("usr/bin/kernel-install", "bin/kernel-install")
_GRUBBY = ("usr/sbin/grubby", "usr/bin/grubby")
_ENTRIES = tuple(
    f"{root}/{kind}"
    for root in ("boot", "efi", "boot/efi")
    for kind in ("loader/entries", "EFI/Linux")
)
"""Where systemd-boot looks for entries and unified kernel images."""


class KernelCmdline:
    """/etc/kernel/cmdline; a Loader."""

    name = LoaderName.SYSTEMD_BOOT

    def intended(self, files: HostFiles) -> list[IntendedWord]:
        """Return the words of the file."""
        lines = enumerate((read_text(files, PATH) or "").splitlines(), 1)
        return [
            IntendedWord(word.replace('"', ""), f"/{PATH}:{number}")
            for number, line in lines
            if not _is_comment(line)
            for word in split(line)
        ]

    def insert(self, files: HostFiles, merge: Merge) -> LoaderChange:
        """Return the change of the file; the Loader's errors."""
        text = read_text(files, PATH)
        _check_read(files, text)
        start = _start(files) if text is None else text
        words = _words(start)
        note = read_written(files, self.name)
        ours = () if note is None else note.ours_in(words)
        site = words if note is None else note.without(words)
        merged = merge(site, ours)
        if text is not None and merged.words == words:
            return LoaderChange(self.name)
        if text is None and not merged.added:
            return LoaderChange(self.name)
        after = _with_words(text or "", merged.words)
        if note is not None and ours:
            new = Written(note.before, (*note.lines[-1:], after), note.created)
        else:
            new = Written(start, (after,), created=text is None)
        return LoaderChange(
            self.name,
            (FileChange(PATH, text, after),),
            note_change(files, self.name, new),
            then=_then(files),
        )

    def remove(self, files: HostFiles) -> LoaderChange:
        """Return what makes the file as it would be without pcietune; the Loader's errors.

        Raises:
            BadInputError: pcietune's words are not there as it wrote them.
        """
        note, text = read_written(files, self.name), read_text(files, PATH)
        if note is None:
            return LoaderChange(self.name)
        forget = note_change(files, self.name, None)
        if text is None or text == note.before:
            return LoaderChange(self.name, note=forget)
        after = None if note.created else note.before
        if text not in note.lines:
            words = _words(text)
            if not note.ours_in(words):
                raise BadInputError(
                    f"/{PATH} no longer has the words that pcietune wrote, so it is left alone",
                    hint="take out by hand what is left of them",
                )
            after = _with_words(text, note.without(words))
        change = FileChange(PATH, text, after)
        return LoaderChange(self.name, (change,), forget, then=_then(files))


def _check_read(files: HostFiles, text: str | None) -> None:
    """Refuse where nothing would read the file, or GRUB what is made of it.

    kernel-install alone says nothing: it comes with systemd, whatever boots the host.
    """
    if any(files.exists(path) for path in _GRUBBY):
        raise BadInputError(
            f"GRUB boots this host and ends a command at a ;, which /{PATH} cannot quote",
            hint="use --write grubby",
        )
    if not any(files.exists(path) for path in _PROGRAMS):
        raise BadInputError(
            f"this host has no kernel-install, so nothing reads /{PATH}",
            hint="is it --write grub or cmdline.d?",
        )
    if text is None and not any(files.exists(path) for path in _ENTRIES):
        raise BadInputError(
            f"there is no /{PATH}, and no entry of systemd-boot or unified kernel image below "
            "/boot or /efi, so nothing would read it",
            hint="is it --write grub or cmdline.d?",
        )


def _start(files: HostFiles) -> str:
    """Return the line that kernel-install would take without the file."""
    shipped = read_text(files, _SHIPPED)
    if shipped is not None:
        return shipped
    running = split(read_text(files, CMDLINE) or "")
    return " ".join(word for word in running if not word.startswith(_LOADERS_OWN))


def _words(text: str) -> tuple[str, ...]:
    lines = (line for line in text.splitlines() if not _is_comment(line))
    return tuple(word for line in lines for word in split(line))


def _with_words(text: str, words: tuple[str, ...]) -> str:
    """Return the file with another command line; comments stay on top of it."""
    comments = [line for line in text.splitlines() if _is_comment(line)]
    return "\n".join([*comments, " ".join(words)]) + "\n"


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _then(files: HostFiles) -> tuple[str, ...]:
    release = files.text(OSRELEASE) or "$(uname -r)"
    image = f"usr/lib/modules/{release}/vmlinuz"
    if not files.exists(image):
        image = f"boot/vmlinuz-{release}"
    return (f"kernel-install add {release} /{image}", "reboot")
