"""The body of the vfio commands: look at functions, bind them, or take them back."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path

from pcietune.cli import show
from pcietune.cli.gating import scene_of
from pcietune.cli.interrupts import held_back
from pcietune.cli.judging import Request, collecting, judge
from pcietune.cli.progress import told
from pcietune.cli.report import print_outcome
from pcietune.cli.writing import writable_host
from pcietune.errors import BadInputError
from pcietune.host.run.hosts_own import read_hosts_own
from pcietune.host.source import open_host
from pcietune.host.sysfs import SysfsHost
from pcietune.model.binding import HANDED_BACK, HANDED_OVER, BindState, Bound
from pcietune.model.function import PciFunction
from pcietune.model.profile import ModeName
from pcietune.report import binding, text, writes_text
from pcietune.report.outcome import Outcome
from pcietune.tune.bind.candidates import everything, named, serving, wanted
from pcietune.tune.bind.gate import binds_at_once
from pcietune.tune.bind.judge import Judged, flat
from pcietune.tune.bind.judge import judge as judge_bindings
from pcietune.tune.bind.judge_release import judge_release
from pcietune.tune.bind.run import bind, release
from pcietune.tune.bind.scene import Scene


@dataclass(frozen=True, slots=True)
class Wish:
    """What the command line asked for.

    Attributes:
        addresses: Functions, by address or location; empty for those that are wanted anyway.
        everything: Whether all are meant that could be handed over.
        profile: ``--profile``; None to match the host.
        mode: ``--mode``; None for the setting.
        as_json: Whether to print the one document.
    """

    addresses: Sequence[str]
    everything: bool
    profile: str | None
    mode: ModeName | None
    as_json: bool


def look(wish: Wish, source: Sequence[Path] | None) -> None:
    """Show how functions stand to VFIO.

    Raises:
        typer.Exit: Always.
    """
    outcome = Outcome()
    with collecting(outcome), open_host(source) as host, told(host):
        scene = _scene(host, wish, outcome, writes=False)
        if scene is not None:
            functions = _named(scene, wish) or everything(host, scene.audited)
            asked = {function.address for function in wanted(host, scene.audited)}
            outcome.bound = Bound(
                flat(
                    judge_bindings(
                        scene,
                        functions,
                        asked,
                        takes=True,
                        probes=lambda f: f.address not in asked or binds_at_once(scene, f),
                    )
                )
            )
    sections = (text.heading(outcome), binding.table(outcome))
    code = outcome.status_exit_code()
    print_outcome(outcome, code, as_json=wish.as_json, sections=sections)


def give(
    wish: Wish,
    source: Sequence[Path] | None,
    *,
    unattended: bool,
    dry_run: bool,
    wait_s: float,
) -> None:
    """Bind functions to VFIO.

    Raises:
        typer.Exit: Always.
    """

    def units(scene: Scene) -> list[Judged]:
        choose = serving if wish.everything else wanted
        functions = _named(scene, wish) or choose(scene.host, scene.audited)
        if not functions:
            show.note("vfio.bind names no function here: name some, or all with --all")
        asked = {function.address for function in functions}
        return judge_bindings(scene, functions, asked, takes=True)

    outcome = Outcome(unattended=unattended)
    _run(wish, source, outcome, units, _bind, settled=HANDED_OVER, dry_run=dry_run, wait_s=wait_s)


def take_back(wish: Wish, source: Sequence[Path] | None, *, dry_run: bool, wait_s: float) -> None:
    """Take functions from VFIO.

    Raises:
        typer.Exit: Always.
    """

    def units(scene: Scene) -> list[Judged]:
        functions = _named(scene, wish)
        if wish.everything:
            functions = everything(scene.host, scene.audited)
        elif not functions:
            raise BadInputError(
                "which functions shall VFIO give back?", hint="name some, or all with --all"
            )
        return judge_release(scene, functions, {function.address for function in functions})

    _run(
        wish,
        source,
        Outcome(),
        units,
        _release,
        settled=HANDED_BACK,
        dry_run=dry_run,
        wait_s=wait_s,
    )


def _run(  # noqa: PLR0913 -- what two commands have in common
    wish: Wish,
    source: Sequence[Path] | None,
    outcome: Outcome,
    units: Callable[[Scene], list[Judged]],
    act: Callable[[Scene, list[Judged], Callable[[], bool]], Bound],
    *,
    settled: tuple[BindState, ...],
    dry_run: bool,
    wait_s: float,
) -> None:
    with ExitStack() as until_it_is_told:
        with collecting(outcome), _opened(source, dry_run=dry_run, wait_s=wait_s) as host:
            with told(host):
                scene = _scene(host, wish, outcome, writes=not dry_run)
            if scene is not None and (dry_run or outcome.disabled is None):
                judged = units(scene)
                if dry_run or outcome.only_judges:
                    outcome.bound = Bound(flat(judged), settled)
                else:
                    interrupts = until_it_is_told.enter_context(held_back())
                    outcome.bound = act(scene, judged, interrupts.asked)
                    outcome.errors += outcome.bound.errors
        steps = binding.steps(outcome) if dry_run else ()
        sections = (
            text.heading(outcome),
            writes_text.applied(outcome),
            binding.table(outcome),
            steps,
        )
        code = outcome.vfio_exit_code()
        print_outcome(outcome, code, as_json=wish.as_json, sections=sections)


def _bind(scene: Scene, units: list[Judged], stop: Callable[[], bool]) -> Bound:
    return bind(scene, units, stop=stop)


def _release(scene: Scene, units: list[Judged], stop: Callable[[], bool]) -> Bound:
    return release(scene, units, stop=stop)


def _opened(
    source: Sequence[Path] | None, *, dry_run: bool, wait_s: float
) -> AbstractContextManager[SysfsHost]:
    """Return the host, locked unless it is only looked at.

    Raises:
        BadInputError: Something is to be changed in a recording.
    """
    if dry_run:
        return open_host(source)
    if source:
        raise BadInputError(
            f"{source[0]} is a recording, which has no kernel that could bind a function",
            hint="--dry-run says what would be done",
        )
    return writable_host(None, None, in_place=False, command="vfio", wait_s=wait_s)


def _scene(host: SysfsHost, wish: Wish, outcome: Outcome, *, writes: bool) -> Scene | None:
    """Judge the host; return what decides about binding, None where there is no GPU."""
    judge(host, Request(wish.profile, wish.mode, writes=writes), outcome)
    if outcome.audit is None:
        return None
    remembered = read_hosts_own(host.files) if outcome.unattended else None
    return scene_of(host, outcome.audit, remembered)


def _named(scene: Scene, wish: Wish) -> list[PciFunction]:
    return named(scene.audited, wish.addresses)
