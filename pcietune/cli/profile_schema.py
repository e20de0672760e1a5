"""``pcietune profile schema``."""

from typing import Annotated

import typer


def schema(
    *,
    settings: Annotated[
        bool, typer.Option("--settings", help="Of /etc/pcietune/pcietune.yaml instead.")
    ] = False,
) -> None:
    """Print the JSON Schema of profiles, by which editors complete and check them.

    `pcietune profile schema > pcietune-profile.schema.json`
    """
    from pcietune.cli import show
    from pcietune.host.profiles.format_schema import profile_json_schema, settings_json_schema

    show.document(settings_json_schema() if settings else profile_json_schema())
