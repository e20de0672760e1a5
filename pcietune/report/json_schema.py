"""The JSON Schema of the one document, made from its Structs."""

import json

import msgspec

from pcietune.report.document import SCHEMA, Document

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> str:
    """Return the JSON Schema, draft 2020-12, as JSON text that ends with a line break."""
    (of_document,), definitions = msgspec.json.schema_components(
        [Document], ref_template="#/$defs/{name}"
    )
    schema = {
        "$schema": _DRAFT,
        "title": f"What pcietune prints with --json, schema {SCHEMA}",
        **of_document,
        "$defs": {name: definitions[name] for name in sorted(definitions)},
    }
    return json.dumps(schema, indent=2) + "\n"
