"""Takes apart what people paste as one: outputs of several commands, prompts and fences between."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, groupby

from pcietune.host.dumps.kinds import Kind, kind_of, plain_kind_of
from pcietune.host.dumps.text_lines import Line, has_offset
from pcietune.host.dumps.wrapped_lines import is_wrapped

# root@gpu7:~# lspci, [root@gpu7 ~]# lspci, $ lspci
_PROMPT = re.compile(
    r"(?:\[[^\]]{1,80}\][$#]|[\w.-]{1,40}@[\w.-]{1,80}(?:[: ][^$#%]{0,80})?[$#%]|\$) *(.*)"
)
_COMMAND = (
    r"(?:sudo +)?(?:lspci|setpci|cat|find|grep|uname|dmesg|journalctl|ls|for|head|nvidia-smi)"
)
# As a heading of Markdown's or of a script's, and as head and tail print the names of files
_TITLE = re.compile(rf"#{{1,6}} *`?({_COMMAND}\b.*)|={{2,}}>? ?(.*?) ?<?={{2,}}")
_FENCE = re.compile(
    r"(?:`{3,}|~{3,}) *[\w+-]*|\[/?code\]|\{(?:code|noformat)(?::\w+)?\}|</?(?:pre|code)>"
)
_FIRST_OF_A_BORDER = frozenset("`~[{<$#=")
_COMMAND_LINE = "/proc/cmdline"


@dataclass(frozen=True, slots=True)
class Section:
    """The lines between two borders; to be read before the next section is.

    Attributes:
        lines: Without the border.
        kind: What the command before them prints; None if the lines must show it.
    """

    lines: Iterator[Line]
    kind: Kind | None


def sections(lines: Iterable[Line]) -> Iterator[Section]:
    """Yield the parts of a text, each of one kind as far as that can be seen.

    A part ends at a prompt, a fence or a heading; and behind an empty line where a line of
    another kind follows, which could not be taken for one of the part's.
    """
    for _, part in groupby(lines, _Cutter().section_of):
        yield _section(part)


def _section(lines: Iterator[Line]) -> Section:
    first = next(lines)
    command = _border(first[1])
    if command is None:
        return Section(chain([first], lines), None)
    return Section(lines, _kind_after(command))


class _Cutter:
    """Counts sections, line by line."""

    def __init__(self) -> None:
        self._number = 0
        self._kind: Kind | None = None
        self._begun = False
        self._gap = False
        self._before = ""

    def section_of(self, line: Line) -> int:
        """Return the number of the section that the next line is part of."""
        text = line[1]
        if has_offset(text) or text[:1].isspace():  # the most by far, and never a border
            self._begun, self._gap = True, False
            if self._kind is None:
                self._kind = plain_kind_of(text)
        elif not text:
            self._gap = True
        else:
            self._take(text)
            self._before = text
        return self._number

    def _take(self, text: str) -> None:
        command = _border(text)
        if command is not None:
            self._number += 1
            self._begin(_kind_after(command))
            return
        if not self._begun:
            self._kind = self._kind or kind_of(text)
        elif self._ends(text):
            self._number += 1
            self._begin(kind_of(text))
        elif self._kind is None:
            self._kind = plain_kind_of(text)
        self._begun, self._gap = True, False

    def _ends(self, text: str) -> bool:
        """Return whether a line is none of the section that there is."""
        if self._kind is None:
            return False
        if self._kind.is_one_line:
            return self._gap or not is_wrapped(self._before, text)
        other = plain_kind_of(text) if self._gap else None
        return other not in (None, self._kind)

    def _begin(self, kind: Kind | None) -> None:
        self._kind = kind
        self._begun = False
        self._gap = False
        self._before = ""


def _border(text: str) -> str | None:
    """Return the command that a border names, empty if it names none; None of any other line."""
    if not text or (text[0] not in _FIRST_OF_A_BORDER and "@" not in text):
        return None
    if _FENCE.fullmatch(text):
        return ""
    prompt = _PROMPT.fullmatch(text)
    if prompt is not None:
        return prompt[1]
    title = _TITLE.fullmatch(text)
    return None if title is None else title[1] or title[2]


def _kind_after(command: str) -> Kind | None:
    """Return what kind a command prints that says so; lines of the others do."""
    return Kind.COMMAND_LINE if _COMMAND_LINE in command and "|" not in command else None
