"""``pcietune schema``."""


def schema() -> None:
    """Print the JSON Schema of what --json prints: status, audit, plan, apply and restore.

    Every document of this version is valid by it, at every exit code. Example:

    `pcietune schema > pcietune.schema.json`
    """
    from pcietune.cli import show
    from pcietune.report.json_schema import json_schema

    show.document(json_schema())
