"""YAML read by a msgspec Struct: every complaint at once, each with its place and a way out.

The Struct is the only description of the document: it is walked here as data, beside the nodes,
because msgspec itself stops at the first complaint and knows no lines.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Generic, TypeVar

import msgspec
import yaml
from msgspec import inspect

from pcietune.errors import quoted
from pcietune.host.yaml import nodes as yaml_nodes
from pcietune.host.yaml.day import day
from pcietune.host.yaml.nearest_name import hint
from pcietune.host.yaml.nodes import Complaint, DocumentError, Position

T = TypeVar("T", bound=msgspec.Struct)
Path = tuple[str | int, ...]

_DECIMAL = re.compile(r"0|[1-9][0-9]{0,8}")


@dataclass(frozen=True, slots=True)
class Document(Generic[T]):
    """A document as its Struct has it, and where all of it stands.

    Attributes:
        value: The whole document.
        places: Of every value, by the keys and indices that lead to it; () is the document.
    """

    value: T
    places: Mapping[Path, Position]

    def complain(self, path: Path, text: str, *, warning: bool = False) -> Complaint:
        """Return a complaint about the value at ``path``, or about the nearest that holds it."""
        while path not in self.places:
            path = path[:-1]
        return Complaint(*self.places[path], text, warning)


def read(data: bytes, schema: type[T], *, file: str) -> Document[T]:
    """Return the document in ``data``.

    Raises:
        DocumentError: ``data`` is not YAML, or breaks ``schema``; it has every complaint.
    """
    return read_node(yaml_nodes.compose(data, file), schema)


def read_node(root: yaml.Node, schema: type[T]) -> Document[T]:
    """Return the document below ``root``.

    Raises:
        DocumentError: It breaks ``schema``; it has every complaint.
    """
    walk = _Walk()
    value = walk.value(root, inspect.type_info(schema), ())
    if walk.complaints:
        raise DocumentError(walk.complaints)
    return Document(msgspec.convert(value, schema), walk.places)


def _meant(node: yaml.Node, types: Sequence[inspect.Type]) -> inspect.Type:
    """Return which type of a union ``node`` is to be: of its own kind, or else the first."""
    kind = inspect.DictType if isinstance(node, yaml.MappingNode) else inspect.VarTupleType
    alike = [each for each in types if isinstance(each, kind)]
    return alike[0] if alike and isinstance(node, yaml.CollectionNode) else types[0]


def _place(path: Path) -> str:
    last = path[-1]
    return f"entry {last + 1} of {path[-2]!r}" if isinstance(last, int) else repr(last)


def _keys(wanted: inspect.Type) -> list[str]:
    """Return the only keys that a mapping may have; none if it may have any."""
    match wanted:
        case inspect.Metadata(extra_json_schema={"enum": [*names]}):
            return names
        case _:
            return []


class _Walk:
    """One walk along a Struct and its nodes; what it returns is used only without complaints."""

    def __init__(self) -> None:
        self.complaints: list[Complaint] = []
        self.places: dict[Path, Position] = {}

    def value(self, node: yaml.Node, wanted: inspect.Type, path: Path) -> object:
        """Return what ``node`` holds as msgspec.convert takes it."""
        self.places[path] = yaml_nodes.position(node)
        match wanted:
            case inspect.UnionType(types=types):
                return self.value(node, _meant(node, types), path)
            case inspect.Metadata(type=inner, extra_json_schema=extra):
                return self._described(node, inner, extra or {}, path)
            case inspect.VarTupleType(item_type=item, min_length=least):
                return self._list(node, item, path, least or 0)
            case inspect.DictType(key_type=key, value_type=item):
                keys = _keys(key) or yaml_nodes.text_keys(node)
                return self._mapping(node, dict.fromkeys(keys, item), path)
            case inspect.StructType(fields=fields):
                members = {field.encode_name: field.type for field in fields}
                required = [field.encode_name for field in fields if field.required]
                return self._mapping(node, members, path, required)
            case _:
                return self._scalar(node, wanted)

    def _scalar(self, node: yaml.Node, wanted: inspect.Type) -> object:
        match wanted:
            case inspect.EnumType(cls=cls):
                return self._word(node, [member.value for member in cls])
            case inspect.LiteralType(values=values):
                return self._literal(node, values)
            case inspect.StrType():
                return self._text(node)
            case inspect.BoolType():
                return self._boolean(node)
            case inspect.IntType(ge=least):
                return self._number(node, least or 0)
            case inspect.DateType():
                return self._day(node)
            case _:
                raise TypeError(f"a schema may not have {wanted}")

    def _described(
        self, node: yaml.Node, inner: inspect.Type, extra: Mapping[str, object], path: Path
    ) -> object:
        if isinstance(names := extra.get("enum"), list):
            return self._word(node, names)
        value = self.value(node, inner, path)
        if isinstance(inner, inspect.StrType) and inner.pattern and isinstance(value, str):
            self._follow(node, value, inner.pattern, f"{extra['title']}; {extra['description']}")
        return value

    def _follow(self, node: yaml.Node, text: str, pattern: str, wanted: str) -> None:
        if re.search(pattern, text):
            return
        if re.search(pattern, text.lower()):
            self._complain(node, f"{quoted(text)} must be in lower case: {text.lower()}")
        else:
            self._complain(node, f"{quoted(text)} is not {wanted}")

    def _text(self, node: yaml.Node, names: Sequence[str] = ()) -> str | None:
        if yaml_nodes.is_text(node):
            return str(node.value)
        valid = f"; valid: {', '.join(names)}" if names else ""
        self._complain(node, f"expected text, but {yaml_nodes.found_for_text(node)}{valid}")
        return None

    def _word(self, node: yaml.Node, names: Sequence[str]) -> str | None:
        word = self._text(node, names)
        if word is not None and word not in names:
            self._complain(node, f"{quoted(word)} is not valid here; {hint(word, names)}")
        return word

    def _literal(self, node: yaml.Node, values: Sequence[str | int | None]) -> object:
        if names := [value for value in values if isinstance(value, str)]:
            return self._word(node, names)
        number = self._number(node, 0)
        if number is not None and number not in values:
            valid = ", ".join(map(str, values))
            self._complain(node, f"{number} is not valid here; valid: {valid}")
        return number

    def _boolean(self, node: yaml.Node) -> bool | None:
        if node.tag == yaml_nodes.BOOLEAN and isinstance(node, yaml.ScalarNode):
            return node.value.lower() in {"true", "yes", "on"}
        self._expected(node, "true or false")
        return None

    def _number(self, node: yaml.Node, least: int) -> int | None:
        if node.tag != yaml_nodes.WHOLE_NUMBER or not isinstance(node, yaml.ScalarNode):
            self._expected(node, "a whole number")
            return None
        if not _DECIMAL.fullmatch(node.value):
            said = f"expected a whole number in plain digits, but found {quoted(node.value)}"
            self._complain(node, said)
            return None
        if (number := int(node.value)) < least:
            self._complain(node, f"expected at least {least}, but found {number}")
        return number

    def _day(self, node: yaml.Node) -> date | None:
        found = day(node)
        if found is None:
            self._complain(node, "expected a day that there is, written as 2026-12-31")
        return found

    def _list(
        self, node: yaml.Node, item: inspect.Type, path: Path, least: int
    ) -> list[object] | None:
        if not isinstance(node, yaml.SequenceNode) or node.tag != yaml_nodes.LIST:
            self._expected(node, "a list")
            return None
        if len(node.value) < least:
            self._complain(node, "an empty list says nothing; leave the key out")
        return [self.value(each, item, (*path, index)) for index, each in enumerate(node.value)]

    def _mapping(
        self,
        node: yaml.Node,
        types: Mapping[str, inspect.Type],
        path: Path,
        required: Sequence[str] = (),
    ) -> dict[str, object] | None:
        if not isinstance(node, yaml.MappingNode) or node.tag != yaml_nodes.MAPPING:
            self._expected(node, "a mapping")
            return None
        values = {}
        keys: dict[str, yaml.Node] = {}
        for key, key_node, value_node in self._entries(node):
            if key in keys:
                _, first, _ = yaml_nodes.position(keys[key])
                self._complain(key_node, f"repeated key {quoted(key)}, first on line {first}")
            elif key not in types:
                self._complain(key_node, f"unknown key {quoted(key)}; {hint(key, list(types))}")
            else:
                values[key] = self.value(value_node, types[key], (*path, key))
            keys.setdefault(key, key_node)
        for name in required:
            if name not in keys:
                where = f" in {_place(path)}" if path else ""
                self._complain(node, f"missing key {name!r}{where}")
        return values

    def _entries(self, node: yaml.MappingNode) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
        for key, value in node.value:
            if yaml_nodes.is_text(key):
                yield key.value, key, value
            else:
                said = f"expected text as a key, but {yaml_nodes.found_for_text(key)}"
                self._complain(key, said)

    def _expected(self, node: yaml.Node, wanted: str) -> None:
        self._complain(node, f"expected {wanted}, but {yaml_nodes.found(node)}")

    def _complain(self, node: yaml.Node, text: str) -> None:
        self.complaints.append(Complaint(*yaml_nodes.position(node), text))
