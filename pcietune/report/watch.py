"""What watch tells, one line for each thing: for people, or as JSON for programs."""

from datetime import datetime

import msgspec

from pcietune.report.printable import printable
from pcietune.tune.watch.notice import GOOD, Notice

MESSAGE_ID = "7a4e771a3de04b78a3423ca1ba3aaa18"
"""``MESSAGE_ID`` of all that watch tells."""

_WARNING, _INFO = "4", "6"  # syslog(3)


class NoticeDocument(msgspec.Struct, omit_defaults=True):
    """One line of ``pcietune watch --json``; it may gain keys.

    Attributes:
        time: When it was told, in ISO 8601.
        kind: What kind of thing.
        text: The line for people.
        address: The function's.
        location: The function's, or another path that a finding is about.
        facts: By name.
    """

    time: str
    kind: str
    text: str
    address: str | None = None
    location: str | None = None
    facts: dict[str, str] = {}


def line(notice: Notice) -> str:
    """Return a notice as one line of text."""
    where = notice.address or notice.location
    return printable(notice.text if where is None else f"{where}  {notice.text}")


def json_line(notice: Notice, time: datetime) -> str:
    """Return a notice as one line of JSON."""
    document = NoticeDocument(
        time.isoformat(timespec="milliseconds"),
        notice.kind,
        printable(notice.text),
        notice.address,
        notice.location,
        dict(notice.facts),
    )
    return msgspec.json.encode(document).decode()


def entry(notice: Notice) -> dict[str, str]:
    """Return a notice as an entry of systemd's journal."""
    where = {"ADDRESS": notice.address, "LOCATION": notice.location}
    fields = {name: value for name, value in where.items() if value is not None}
    fields |= {name.upper(): value for name, value in notice.facts.items()}
    return {
        "MESSAGE": line(notice),
        "MESSAGE_ID": MESSAGE_ID,
        "PRIORITY": _INFO if notice.kind in GOOD else _WARNING,
        "SYSLOG_IDENTIFIER": "pcietune",
        "PCIETUNE_KIND": notice.kind,
        **{f"PCIETUNE_{name}": value for name, value in fields.items()},
    }
