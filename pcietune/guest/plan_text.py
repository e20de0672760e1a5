"""A plan as text."""

import msgspec

from pcietune.errors import BadInputError
from pcietune.guest.plan import SCHEMA, Plan
from pcietune.guest.plan_faults import plan_faults

_AGAIN = "make it again: pcietune guest plan"


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
        BadInputError: It is none, one of another layout, or one whose names or addresses lead
            nowhere.
    """
    try:
        head = msgspec.json.decode(text, type=_Head)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise BadInputError(
            f"{name}: no plan of a VM: {error}", hint="pcietune guest plan --gpus 1 makes one"
        ) from error
    if head.schema != SCHEMA:
        raise BadInputError(
            f"{name}: a plan of layout {head.schema}, and this pcietune knows layout {SCHEMA}",
            hint=_AGAIN,
        )
    try:
        plan = msgspec.json.decode(text, type=Plan)
    except msgspec.DecodeError as error:
        raise BadInputError(f"{name}: {error}", hint=_AGAIN) from error
    fault = next(plan_faults(plan), None)
    if fault is not None:
        raise BadInputError(f"{name}: {fault}", hint=_AGAIN)
    return plan
