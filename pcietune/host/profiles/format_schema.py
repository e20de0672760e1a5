"""The JSON Schemas of the YAML files that people write, for editors and their own checks."""

import json
from collections.abc import Mapping

import msgspec

from pcietune.host.explanation_files import shipped_explanations
from pcietune.host.profiles.chain import EXTENDS
from pcietune.host.profiles.schema import ProfileSchema
from pcietune.host.settings_file import SettingsSchema

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_VERSION = 1  # of both formats
_REF = "#/$defs/"
_SEVERITY = "severity"  # by the ids of findings
_EXTENDING = "Extending"
_NEEDED = frozenset({"required", "minProperties", "allOf"})
_NOTHING: dict[str, object] = {"type": "null"}


def profile_json_schema() -> str:
    """Return the JSON Schema of a profile, draft 2020-12, as text that ends with a line break.

    A profile that extends another needs no key but that, and drops the other's by nothing.
    """
    return _text(
        "profile",
        {
            "if": {"type": "object", "required": [EXTENDS]},
            "then": {"$ref": f"{_REF}{_EXTENDING}ProfileSchema"},
            "else": {"$ref": f"{_REF}ProfileSchema"},
        },
        _definitions(ProfileSchema) | _definitions(ProfileSchema, prefix=_EXTENDING),
    )


def settings_json_schema() -> str:
    """Return the JSON Schema of /etc/pcietune/pcietune.yaml, as ``profile_json_schema``."""
    return _text(
        "settings",
        {"$ref": f"{_REF}SettingsSchema"},
        _definitions(SettingsSchema),
    )


def _text(name: str, root: Mapping[str, object], definitions: Mapping[str, object]) -> str:
    identity = f"urn:pcietune:{name}:{_VERSION}"
    schema = {
        "$schema": _DRAFT,
        "$id": identity,
        "title": f"pcietune {name}",
        **root,
        "$defs": definitions,
    }
    return json.dumps(schema, indent=2) + "\n"


def _definitions(struct: type[msgspec.Struct], prefix: str = "") -> dict[str, object]:
    """Return the schemas of a Struct and its parts by name; with a prefix nothing is needed."""
    _, found = msgspec.json.schema_components([struct], ref_template=f"{_REF}{prefix}{{name}}")
    return {f"{prefix}{name}": _converted(part, "", prefix) for name, part in found.items()}


def _converted(node: object, name: str, prefix: str) -> object:
    """Return a part of a schema as JSON Schema has it; every key gets a title.

    Args:
        node: The part as msgspec makes it.
        name: The key in the document that it describes; "" for none.
        prefix: Not empty where keys may be missing, or nothing.
    """
    match node:
        case {"properties": dict(properties), **rest}:
            keys = {key: _key(part, key, prefix) for key, part in properties.items()}
            return {"properties": keys, **_members(rest, prefix)}
        case dict():
            titled = {"title": name} if name else {}
            return titled | _members(node, prefix)
        case list():
            return [_converted(each, "", prefix) for each in node]
        case _:
            return node


def _key(part: object, name: str, prefix: str) -> object:
    converted = _converted(part, name, prefix)
    if name == _SEVERITY and isinstance(converted, dict):
        converted["propertyNames"] = {"enum": list(shipped_explanations())}
    may_be_nothing = prefix and name != EXTENDS
    return {"title": name, "anyOf": [converted, _NOTHING]} if may_be_nothing else converted


def _members(node: Mapping[object, object], prefix: str) -> dict[str, object]:
    return {
        str(key): value.replace(r"\Z", "$")  # JSON Schema takes ECMA's patterns
        if key == "pattern" and isinstance(value, str)
        else _converted(value, "", prefix)
        for key, value in node.items()
        if not (prefix and key in _NEEDED)
    }
