"""``pcietune profile match``."""

from pcietune.cli.options import FromOption, JsonOption


def match(source: FromOption = None, *, as_json: JsonOption = False) -> None:
    """Say which profile describes this host, and why each other one does not.

    Exits 9 if there are GPUs, but no profile fits, or two fit equally.

    `pcietune profile match`
    """
    from pcietune.cli import show
    from pcietune.errors import ExitCode, NoProfileError
    from pcietune.host.profiles.store import Profiles, shipped_profiles
    from pcietune.host.source import open_host
    from pcietune.report import matches
    from pcietune.report.json_text import encode
    from pcietune.tune.match.choose import choose, match_profile
    from pcietune.tune.match.survey import concerned, survey

    chosen, undecided = None, []
    with open_host(source) as host:
        loaded = Profiles(host.files, shipped_profiles()).all()
        profiles = [one.profile for one in loaded]
        fabric = survey(host, lambda functions: concerned(functions, profiles))
        results = [match_profile(profile, fabric, host) for profile in profiles]
        try:
            chosen = choose(fabric, results)
        except NoProfileError as error:
            undecided.append(error)
        origins = {one.profile.name: one.source.origin for one in loaded}
        document = matches.matches(results, chosen, origins, undecided=bool(undecided))
        if as_json:
            show.document(encode(document))
        else:
            show.lines(matches.lines(document))
    show.end(undecided, ExitCode.of_several([error.exit_code for error in undecided]))
