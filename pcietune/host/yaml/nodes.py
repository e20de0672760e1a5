"""YAML text as nodes that know their file, line and column; nothing is constructed from it.

PyYAML follows YAML 1.1, where ``off`` is a boolean, ``0302`` an octal number and ``0000:41:00.1``
a number to base 60. What a node was taken for is therefore kept, and can be said.
"""

import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml
from yaml.constructor import SafeConstructor
from yaml.reader import Reader

from pcietune.errors import BadInputError, NotPermittedError, quoted

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's where PyYAML was built with it
_LONGEST_WRITTEN = 60  # characters of the user's text in advice to quote it
_LARGEST = 256 * 1024  # bytes
_DEEPEST = 16  # nested lists and mappings; a profile needs six

Position = tuple[str, int, int]
"""File as the user named it, line and column, in characters, both from 1."""

_TAG = "tag:yaml.org,2002:"
TEXT = _TAG + "str"
BOOLEAN = _TAG + "bool"
WHOLE_NUMBER = _TAG + "int"
NOTHING = _TAG + "null"
DATE = _TAG + "timestamp"
MAPPING = _TAG + "map"
LIST = _TAG + "seq"


@dataclass(frozen=True, slots=True)
class Complaint:
    """What is wrong at one place of a file, printed as compilers do: ``FILE:LINE:COLUMN: text``.

    Attributes:
        file: As the user named it.
        line: From 1.
        column: In characters, from 1.
        text: What is wrong, and what would be right.
        warning: Whether the file can be used all the same.
    """

    file: str
    line: int
    column: int
    text: str
    warning: bool = False

    def __str__(self) -> str:
        kind = "warning: " if self.warning else ""
        return f"{self.file}:{self.line}:{self.column}: {kind}{self.text}"


class DocumentError(BadInputError):
    """A file that is not as it must be.

    Attributes:
        complaints: In the order of the file, at least one; the message has one on each line.
    """

    def __init__(self, complaints: Iterable[Complaint], *, hint: str = "") -> None:
        self.complaints = tuple(
            sorted(complaints, key=lambda each: (each.file, each.line, each.column))
        )
        super().__init__("\n".join(map(str, self.complaints)), hint=hint)


def read_document(file: str, *, hint: str) -> bytes:
    """Return the bytes of a file; one that is too large is cut where ``compose`` refuses it.

    Args:
        file: Its path, which complaints give as it is.
        hint: What to try if there is no such file.

    Raises:
        BadInputError: There is no such file, or it cannot be read.
        NotPermittedError: The kernel keeps it from this user.
    """
    try:
        with Path(file).open("rb") as opened:
            return opened.read(_LARGEST + 1)
    except FileNotFoundError as error:
        raise BadInputError(f"{file}: no such file", hint=hint) from error
    except PermissionError as error:
        raise NotPermittedError(
            f"{file}: not readable by this user", hint="run pcietune as root"
        ) from error
    except OSError as error:
        raise BadInputError(f"{file}: {error.strerror}", hint=hint) from error


def compose(data: bytes, file: str) -> yaml.Node:
    """Return the root node of the document; an empty one is an empty mapping.

    Args:
        data: The YAML text, in UTF-8.
        file: What the marks of all nodes call it.

    Raises:
        DocumentError: ``data`` is not one YAML document in UTF-8, is larger than 256 KiB or nested
            deeper than 16, or uses anchors, aliases or tags.
    """
    text = _decode(data, file)
    try:
        _refuse_what_data_needs_not(text, file)
        root = yaml.compose(_Named(text, file), Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        said = ", ".join(part for part in (error.context, error.problem) if part)
        if mark and text.startswith("\t", mark.index):
            said = "a tab is here, where YAML takes spaces only"
        raise DocumentError([Complaint(file, *place, f"not valid YAML: {said}")]) from error
    except yaml.YAMLError as error:  # a character that libyaml takes and PyYAML does not, or so
        said = str(error).partition("\n")[0]
        raise DocumentError([Complaint(file, 1, 1, f"not valid YAML: {said}")]) from error
    if root is None or is_nothing(root):
        start = yaml.Mark(file, 0, 0, 0, None, 0)
        return yaml.MappingNode(MAPPING, [], start, start)
    return root


class _Named(io.StringIO):
    """Text that PyYAML takes for a file, whose name every mark then has."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text)
        self.name = name


def _decode(data: bytes, file: str) -> str:
    if len(data) > _LARGEST:
        raise DocumentError([Complaint(file, 1, 1, f"larger than {_LARGEST // 1024} KiB")])
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", "replace")
        said = f"not UTF-8: byte {data[error.start]:#04x}"
        raise DocumentError([_complaint_after(before, file, said)]) from error
    if unprintable := Reader.NON_PRINTABLE.search(text):
        said = f"character {ord(unprintable.group()):#06x} is not allowed"
        raise DocumentError([_complaint_after(text[: unprintable.start()], file, said)])
    return text


def _complaint_after(before: str, file: str, text: str) -> Complaint:
    line = before.count("\n") + 1
    return Complaint(file, line, len(before) - before.rfind("\n"), text)


def _refuse_what_data_needs_not(text: str, file: str) -> None:
    """Look before composing, which recurses and follows aliases: the event parser does neither."""
    depth = 0
    for event in yaml.parse(_Named(text, file), Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        refused = None
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            refused = "anchors and aliases are not allowed; write the value out"
        elif getattr(event, "tag", None):
            refused = "tags are not allowed; quote what is to be text"
        elif depth > _DEEPEST:
            refused = f"nested deeper than {_DEEPEST} lists and mappings"
        if refused:
            raise DocumentError([Complaint(*position(event), refused)])


def position(marked: yaml.Node | yaml.Event) -> Position:
    """Return where a node or an event starts."""
    mark = marked.start_mark
    if mark is None:
        raise ValueError(f"{marked} does not come from a text")
    return (mark.name, mark.line + 1, mark.column + 1)


def is_text(node: yaml.Node) -> bool:
    """Return whether YAML takes ``node`` for text."""
    return isinstance(node, yaml.ScalarNode) and node.tag == TEXT


def is_nothing(node: yaml.Node) -> bool:
    """Return whether nothing is there, not even a word for it."""
    return node.tag == NOTHING and not node.value


def text_keys(node: yaml.Node) -> list[str]:
    """Return the keys of a mapping that are text; none of anything else."""
    if not isinstance(node, yaml.MappingNode):
        return []
    return [key.value for key, _ in node.value if is_text(key)]


def found(node: yaml.Node) -> str:
    """Say what YAML takes ``node`` for."""
    if isinstance(node, yaml.MappingNode):
        return "found a mapping"
    if not isinstance(node, yaml.ScalarNode):
        return "found a list"
    if node.tag == TEXT:
        return f"found the text {quoted(node.value)}"
    if is_nothing(node):
        return "nothing is there"
    return f"found {_taken_for(node)}"


def found_for_text(node: yaml.Node) -> str:
    """Say what YAML takes ``node`` for, and how to make it text where it is mistaken for more."""
    if not isinstance(node, yaml.ScalarNode) or is_nothing(node):
        return found(node)
    written = node.value if len(node.value) <= _LONGEST_WRITTEN else "it"
    return f'YAML reads {written} as {_taken_for(node)}; quote it: "{written}"'


def _taken_for(node: yaml.ScalarNode) -> str:
    """Name the value of a scalar that is no text."""
    constructor = SafeConstructor()
    kind = node.tag.removeprefix(_TAG)
    try:
        if kind == "bool":
            return "true" if constructor.construct_yaml_bool(node) else "false"
        if kind == "int":
            return f"the number {constructor.construct_yaml_int(node)}"
        if kind == "float":
            return f"the number {constructor.construct_yaml_float(node)}"
    except (ValueError, OverflowError):  # such as 0x_, or a number of 5,000 digits
        return "a number"
    return {"null": "nothing", "timestamp": "a date"}.get(kind, "a sign of its own")  # << or =
