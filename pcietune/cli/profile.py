"""``pcietune profile``: its smaller commands, and where the others are added."""

from typing import Annotated

import typer

from pcietune.cli import profile_learn, profile_match, profile_schema
from pcietune.cli.options import FromOption

app = typer.Typer(
    help="Look at profiles: how kinds of hosts are recognised, and what they owe.",
    no_args_is_help=True,
)
app.command()(profile_match.match)
app.command()(profile_schema.schema)
app.command()(profile_learn.learn)


@app.command("list")
def list_profiles(source: FromOption = None) -> None:
    """List the shipped profiles and the site's own in /etc/pcietune/profiles.d.

    A broken one does not hide the others; it is told on stderr, and the exit code is 4.

    `pcietune profile list`
    """
    from pcietune.cli import show
    from pcietune.errors import ExitCode, PcietuneError
    from pcietune.host.profiles.store import Profiles, shipped_profiles
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
    *,
    resolved: Annotated[
        bool, typer.Option("--resolved", help="Merge it with what it extends, without comments.")
    ] = False,
) -> None:
    """Print a profile's file as it is, comments included, if it can be used.

    `pcietune profile show gpu-rdma > /etc/pcietune/profiles.d/ours.yaml`
    """
    from pcietune.cli import show
    from pcietune.host.profiles.resolved import resolved_text
    from pcietune.host.profiles.store import Profiles, shipped_profiles
    from pcietune.host.source import open_host

    with open_host(source) as host:
        profiles = Profiles(host.files, shipped_profiles())
        found = profiles.load(profile).source
        as_is = found.path.read_text(encoding="utf-8")
        show.document(resolved_text(found, profiles) if resolved else as_is)


@app.command("lint")
def lint(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Profiles to check.")],
    source: FromOption = None,
) -> None:
    """Say everything that is wrong or doubtful in profiles; exit 4 if anything is wrong.

    What a profile extends is looked for beside it, then on this host. A file that cannot be read
    is told on stderr, and the others are checked all the same. Stdout is empty if all is well.

    `pcietune profile lint /etc/pcietune/profiles.d/*.yaml`
    """
    from pcietune.cli import show
    from pcietune.errors import ExitCode, PcietuneError
    from pcietune.host.profiles.file import lint_file
    from pcietune.host.profiles.store import Profiles, shipped_profiles
    from pcietune.host.source import open_host
    from pcietune.host.yaml.nodes import Complaint

    unread = []
    complaints: list[Complaint] = []
    with open_host(source) as host:
        profiles = Profiles(host.files, shipped_profiles())
        for file in files:
            try:
                complaints += lint_file(file, profiles)
            except PcietuneError as error:
                unread.append(error)
    show.lines(str(complaint) for complaint in complaints)
    if not complaints and not unread:
        show.note(f"nothing is wrong or doubtful in {', '.join(files)}")
    wrong = [ExitCode.BAD_INPUT for complaint in complaints if not complaint.warning]
    show.end(unread, ExitCode.of_several([*wrong, *(error.exit_code for error in unread)]))
