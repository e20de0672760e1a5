"""``pcietune profile list|show|match|lint``."""

from typing import Annotated

import typer

from pcietune.cli.options import FromOption

app = typer.Typer(
    help="Look at profiles: how kinds of hosts are recognised, and what they owe.",
    no_args_is_help=True,
)


@app.command("list")
def list_profiles(source: FromOption = None) -> None:
    """List the shipped profiles and the site's own in /etc/pcietune/profiles.d.

    A broken one does not hide the others; it is told on stderr, and the exit code is 4.

    `pcietune profile list`
    """
    from pcietune.cli import show
    from pcietune.errors import ExitCode, PcietuneError
    from pcietune.host.profile_store import Profiles, shipped_profiles
    from pcietune.host.source import open_host

    broken = []
    rows = []
    with open_host(source) as host:
        store = Profiles(host.files, shipped_profiles())
        for name in store.names():
            try:
                loaded = store.load(name)
            except PcietuneError as error:
                broken.append(error)
            else:
                replaces = (
                    " (in place of the shipped one)" if loaded.source.replaces_shipped else ""
                )
                rows.append((name, loaded.source.origin, f"{loaded.profile.summary}{replaces}"))
    width = max((len(name) for name, _, _ in rows), default=0)
    show.lines(f"{name:{width}}  {origin:7}  {summary}" for name, origin, summary in rows)
    show.end(broken, ExitCode.of_several([error.exit_code for error in broken]))


@app.command("show")
def show_profile(
    profile: Annotated[str, typer.Argument(metavar="NAME|FILE", help="The profile.")],
    source: FromOption = None,
) -> None:
    """Print a profile's file as it is, comments included, if it can be used.

    `pcietune profile show gpu-rdma > /etc/pcietune/profiles.d/ours.yaml`
    """
    from pcietune.cli import show
    from pcietune.host.profile_store import Profiles, shipped_profiles
    from pcietune.host.source import open_host

    with open_host(source) as host:
        loaded = Profiles(host.files, shipped_profiles()).load(profile)
        show.document(loaded.source.path.read_text(encoding="utf-8"))


@app.command("match")
def match(source: FromOption = None) -> None:
    """Say which profile describes this host, and why each other one does not.

    `pcietune profile match`
    """
    from pcietune.cli import show
    from pcietune.host.profile_store import Profiles, shipped_profiles
    from pcietune.host.source import open_host
    from pcietune.tune.match import find_profile, match_profile
    from pcietune.tune.survey import concerned, survey

    with open_host(source) as host:
        loaded = Profiles(host.files, shipped_profiles()).all()
        profiles = [one.profile for one in loaded]
        fabric = survey(host, lambda functions: concerned(functions, profiles))
        results = [match_profile(profile, fabric, host) for profile in profiles]
        show.lines(
            f"{'fits' if result.fits else 'does not fit'}  {result.profile.name}: "
            f"{'; '.join(result.why)}"
            for result in results
        )
        chosen = find_profile(host, fabric, profiles)
    show.lines(
        ["There is no GPU on this host: nothing here for pcietune."]
        if chosen is None
        else [f"chosen  {chosen.profile.name}"]
    )


@app.command("lint")
def lint(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Profiles to check.")],
) -> None:
    """Say everything that is wrong or doubtful in profiles; exit 4 if anything is wrong.

    `pcietune profile lint /etc/pcietune/profiles.d/*.yaml`
    """
    from pcietune.cli import show
    from pcietune.errors import ExitCode
    from pcietune.host.profile_file import lint_file

    complaints = [complaint for file in files for complaint in lint_file(file)]
    show.lines(str(complaint) for complaint in complaints)
    wrong = any(not complaint.warning for complaint in complaints)
    raise typer.Exit(int(ExitCode.BAD_INPUT if wrong else ExitCode.OK))
