"""Whether stderr is systemd's journal (systemd.exec(5), ``$JOURNAL_STREAM``)."""

import os

_STDERR = 2


def stderr_is_journal() -> bool:
    """Return whether systemd connected stderr to the journal, and nobody redirected it since."""
    stated = os.environ.get("JOURNAL_STREAM", "")
    try:
        status = os.fstat(_STDERR)
    except OSError:
        return False
    return stated == f"{status.st_dev}:{status.st_ino}"
