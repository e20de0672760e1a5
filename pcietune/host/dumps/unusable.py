"""Knows what people paste and nothing can be judged by, and says what to run instead."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pcietune.errors import BadInputError
from pcietune.host.dumps.text_lines import Line, Place

_RUN = "run this instead, as root: lspci -D -xxxx > FILE"
_ADDRESS = r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[01][0-9a-f]\.[0-7]"


@dataclass(frozen=True, slots=True)
class _Form:
    """A kind of text that does not do.

    Attributes:
        line: One of its lines.
        why: What it lacks.
        only: Whether all its lines must be such.
    """

    line: re.Pattern[str]
    why: str
    only: bool = False


_FORMS = (
    _Form(
        re.compile(r"(?:[^\s:]+[:-])?\s*(?:ACSC(?:tl|ap):|Capabilities: \[.*\] Access Control ).*"),
        "these lines of lspci's have no addresses, so they cannot be judged: which function has "
        "which ACS, and where it stands, is not told",
    ),
    _Form(
        re.compile(r"\s*GPU0\s+(?:X|GPU1|NIC0|mlx5_\d+|CPU Affinity)\b.*"),
        "a matrix of nvidia-smi topo -m tells how near GPUs and NICs are; bridges, ACS and ATS "
        "are not in it",
    ),
    _Form(
        re.compile(rf"{_ADDRESS} (?:\(e?cap \w+ @\w+\) )?@[0-9a-f]+ (?:= [0-9a-f]+|[0-9a-f]+->.*)"),
        "setpci -v tells single registers; which functions there are, and which bridges above "
        "them, is not told",
    ),
    _Form(
        re.compile(r"(?:0x)?(?:[0-9a-f]{2}|[0-9a-f]{4}|[0-9a-f]{8})", re.IGNORECASE),
        "numbers alone, as setpci prints them, do not tell which function's they are, nor of "
        "which register",
        only=True,
    ),
)


def why_unusable(lines: Sequence[Line], source: str) -> BadInputError | None:
    """Return why lines of the text called ``source`` are of no use; None if they are of no form."""
    told = [(number, line) for number, line in lines if line]
    for form in _FORMS:
        found = [number for number, line in told if form.line.fullmatch(line)]
        if found and (not form.only or len(found) == len(told)):
            return Place(source, found[0]).refused(form.why, hint=_RUN)
    return None
