"""``pcietune profile learn``."""

from typing import Annotated

import typer

from pcietune.cli.options import FromOption


def learn(
    name: Annotated[
        str | None,
        typer.Option(
            "--name", help="What it is to be called; the default is the product's name, or learned."
        ),
    ] = None,
    source: FromOption = None,
) -> None:
    """Print a profile of this host's kind: its ids, roles and layout, as they are found here.

    What each mode wants comes from a shipped profile, which it extends; the host's own ACS and ATS
    settings are not looked at. Put it into /etc/pcietune/profiles.d once you have read it.

    `pcietune profile learn > our-server.yaml`
    """
    from pcietune.cli import show
    from pcietune.host.profiles.store import Profiles, shipped_profiles
    from pcietune.host.source import open_host
    from pcietune.report.learned_profile import learned_profile
    from pcietune.tune.match import learn as learning
    from pcietune.tune.match.choose import match_profile
    from pcietune.tune.match.survey import concerned, survey

    if name is not None:
        learning.check_name(name)
    with open_host(source) as host:
        learned = learning.learn(host)
        profiles = [one.profile for one in Profiles(host.files, shipped_profiles()).all()]
        fabric = survey(host, lambda functions: concerned(functions, profiles))
        results = [match_profile(profile, fabric, host) for profile in profiles]
        text = learned_profile(
            learned,
            name=learning.name_of(learned) if name is None else name,
            extends=learning.parent_of(results),
            rivals=learning.rivals_of(learned, results),
        )
        show.document(text)
