"""What was seen of ATS after VMs had opened their functions, as lines and as a JSON document."""

from collections.abc import Iterator, Sequence

import msgspec

from pcietune.errors import ExitCode
from pcietune.model.ats_seen import AtsSeen, Sight
from pcietune.report.json_text import encode

_WORDS = {
    Sight.NO_CAPABILITY: "no ATS capability, so there is nothing to see",
    Sight.NOT_OPEN: "not open: no VM has it",
}


class SeenDocument(msgspec.Struct, kw_only=True, frozen=True):
    """One function; ats_control is null where the register was not read."""

    path: str
    address: str
    id: str
    result: str
    ats_control: str | None
    error: str | None


class AtsSeenDocument(msgspec.Struct, kw_only=True, frozen=True):
    """What was seen of each function of a VM."""

    schema: int
    functions: list[SeenDocument]
    recorded: bool
    errors: list[str]
    exit: int


def seen_lines(seen: Sequence[AtsSeen]) -> Iterator[str]:
    """Yield a line for each function; what could not be read is told among the errors."""
    for each in seen:
        if each.error is not None:
            continue
        words = _WORDS.get(each.sight)
        if words is None:
            words = f"{each.sight} (ATSCtl {each.control or 0:#06x})"
        yield f"{each.function.address}: {words}"


def seen_document(
    seen: Sequence[AtsSeen], *, recorded: bool, errors: Sequence[str], exit_code: ExitCode
) -> str:
    """Return it as JSON.

    Args:
        seen: What was seen.
        recorded: Whether it was appended to the host's log.
        errors: Sentences on what ended the run early.
        exit_code: What the run ends with.
    """
    functions = [_document(each) for each in seen]
    return encode(
        AtsSeenDocument(
            schema=1,
            functions=functions,
            recorded=recorded,
            errors=list(errors),
            exit=int(exit_code),
        )
    )


def _document(each: AtsSeen) -> SeenDocument:
    return SeenDocument(
        path=each.function.location,
        address=str(each.function.address),
        id=each.function.id,
        result=each.sight,
        ats_control=None if each.control is None else f"{each.control:#06x}",
        error=None if each.error is None else str(each.error),
    )
