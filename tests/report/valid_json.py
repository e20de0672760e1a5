"""The shipped JSON Schema, as another program reads it."""

import json
from functools import cache
from pathlib import Path

from jsonschema import Draft202012Validator

SHIPPED = Path(__file__).parents[2] / "pcietune" / "schemas" / "document-1.json"


@cache
def _validator() -> Draft202012Validator:
    schema = json.loads(SHIPPED.read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def broken(text: str) -> list[str]:
    """Return what breaks the schema in a document, each with its place."""
    return [
        f"{error.json_path}: {error.message}"
        for error in _validator().iter_errors(json.loads(text))
    ]
