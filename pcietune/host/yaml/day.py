"""A day in YAML, which takes some of them for dates and some for text."""

import re
from datetime import date

import yaml

from pcietune.host.yaml.nodes import DATE, TEXT

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def day(node: yaml.Node) -> date | None:
    """Return the day that is written as ``2026-12-31``; None if there is no such day."""
    if node.tag not in (DATE, TEXT) or not _DAY.fullmatch(node.value):
        return None
    try:
        return date.fromisoformat(node.value)
    except ValueError:
        return None
