"""A plan as text."""

from collections.abc import Iterator

import msgspec

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, quoted
from pcietune.guest.plan import SCHEMA, Plan

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
    except (msgspec.DecodeError, UnicodeError) as error:
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
    wrong = next(_wrong_places(plan), None)
    if wrong is not None:
        raise BadInputError(f"{name}: {wrong}", hint=_AGAIN)
    return plan


def _wrong_places(plan: Plan) -> Iterator[str]:
    """Yield what is nowhere, or at no address: parents stand before what is below them."""
    known = {"pcie.0"}
    for bridge in plan.bridges:
        if bridge.parent not in known:
            yield f"{quoted(bridge.name)}: {quoted(bridge.parent)} is no bridge that stands before"
        if bridge.name in known:
            yield f"{quoted(bridge.name)} is there twice"
        known.add(bridge.name)
    names: set[str] = set()
    for function in plan.functions:
        if function.parent not in known:
            yield f"{quoted(function.name)}: {quoted(function.parent)} is no bridge"
        if function.name in names | known:
            yield f"{quoted(function.name)} is there twice"
        names.add(function.name)
    addresses = [each.address for each in plan.bridges]
    addresses += [text for each in plan.functions for text in (each.address, each.guest_address)]
    for text in addresses:
        try:
            PciAddress.parse(text)
        except BadInputError as error:
            yield str(error)
