"""A plan as text."""

import msgspec

from pcietune.errors import BadInputError
from pcietune.guest.plan import SCHEMA, Plan


class _Head(msgspec.Struct):
    schema: int


def plan_text(plan: Plan) -> str:
    """Return a plan as JSON text; of equal plans the texts are equal."""
    return msgspec.json.format(msgspec.json.encode(plan), indent=2).decode()


def parse_plan(text: str, name: str) -> Plan:
    """Return the plan that a text is.

    Args:
        text: JSON.
        name: What the text is called, for messages.

    Raises:
        BadInputError: It is none, or one of another layout.
    """
    try:
        head = msgspec.json.decode(text, type=_Head)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise BadInputError(
            f"{name}: no plan of a VM: {error}", hint="pcietune guest plan --gpus 1 makes one"
        ) from error
    if head.schema != SCHEMA:
        raise BadInputError(
            f"{name}: a plan of layout {head.schema}, and this pcietune knows layout {SCHEMA}",
            hint="make it again: pcietune guest plan",
        )
    try:
        return msgspec.json.decode(text, type=Plan)
    except msgspec.DecodeError as error:
        raise BadInputError(
            f"{name}: {error}", hint="make it again: pcietune guest plan"
        ) from error
