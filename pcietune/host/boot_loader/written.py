"""What pcietune wrote into a line that others write, too, so that it can be taken out again."""

import msgspec

from pcietune.errors import BadInputError
from pcietune.host.boot_loader.text_file import read_text
from pcietune.host.host_files import HostFiles
from pcietune.host.run.run_files import STATE
from pcietune.model.boot_loader import FileChange, LoaderName
from pcietune.tune.kernel_args.command_line import split


class Written(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line before and after.

    Attributes:
        before: The line without anything of pcietune's.
        lines: What pcietune wrote instead; of two the second may not have got there.
        created: Whether there was no file with the line.
    """

    before: str
    lines: tuple[str, ...]
    created: bool = False

    def ours_in(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """Return the words of a line that pcietune wrote; empty if they are not all there."""
        line = self._line_in(words)
        return () if line is None else self._added_by(line)

    def without(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """Return a line with the site's own words where pcietune's are."""
        line = self._line_in(words)
        if line is None:
            return words
        ours = self._added_by(line)
        gone = [word for word in split(self.before) if word not in split(line)]
        place = words.index(ours[0])
        return (*words[:place], *gone, *(word for word in words[place:] if word not in ours))

    def _line_in(self, words: tuple[str, ...]) -> str | None:
        """Return the line that pcietune wrote last of those whose words are there."""
        for line in reversed(self.lines):
            added = self._added_by(line)
            if added and all(word in words for word in added):
                return line
        return None

    def _added_by(self, line: str) -> tuple[str, ...]:
        return tuple(word for word in split(line) if word not in split(self.before))


def written_path(loader: LoaderName) -> str:
    """Return where the note about a boot loader is, below the host's root."""
    return f"{STATE}/kernel-args-{loader}.json"


def read_written(files: HostFiles, loader: LoaderName) -> Written | None:
    """Return what pcietune wrote there; None if it did not.

    Raises:
        BadInputError: The note makes no sense.
        NotPermittedError: It may not be read.
    """
    path = written_path(loader)
    text = read_text(files, path)
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=Written)
    except msgspec.DecodeError as error:
        raise BadInputError(
            f"/{path} makes no sense: {error}",
            hint="take pcietune's words out by hand, then remove that file",
        ) from error


def note_change(files: HostFiles, loader: LoaderName, note: Written | None) -> FileChange:
    """Return the change of the note, which is made before that of the line."""
    path = written_path(loader)
    after = None if note is None else msgspec.json.encode(note).decode() + "\n"
    return FileChange(path, read_text(files, path), after)
