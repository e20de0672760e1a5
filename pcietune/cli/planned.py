"""Reads the plan of a VM that a command is given."""

from pathlib import Path

from pcietune.guest.plan import Plan
from pcietune.guest.plan_text import parse_plan
from pcietune.host.text_file import read_text


def read_plan(path: Path) -> Plan:
    """Return the plan in a file, or on standard input for ``-``.

    Raises:
        BadInputError: There is no such file, or it holds no plan of this layout.
        NotPermittedError: The kernel keeps it from this user.
    """
    text = read_text(path, hint="pcietune guest plan --gpus 1 -o FILE makes one")
    return parse_plan(text, "standard input" if str(path) == "-" else str(path))
