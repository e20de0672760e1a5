"""What ``pcietune kernel-args`` does, step by step."""

import sys

import typer

from pcietune.cli import show
from pcietune.cli.judging import Request, judge
from pcietune.cli.progress import told
from pcietune.errors import BadInputError
from pcietune.host.boot_loader.loaders import LOADERS, carry_out, check_inserted, loader_of
from pcietune.host.run.lock import locked
from pcietune.host.sysfs import SysfsHost
from pcietune.model.boot_loader import LoaderChange, LoaderName
from pcietune.report import text
from pcietune.report.kernel_args import (
    KernelArgsOutcome,
    advice_lines,
    change_lines,
    check_lines,
    note_lines,
    then_lines,
)
from pcietune.report.outcome import Outcome
from pcietune.tune.kernel_args.advise import advise
from pcietune.tune.kernel_args.check import check
from pcietune.tune.kernel_args.command_line import split
from pcietune.tune.kernel_args.takes import named_kernel_takes, running_kernel_takes


def check_asked(
    host: SysfsHost,
    release: str | None,
    write: LoaderName | None,
    *,
    undo: bool,
    check: bool,
) -> None:
    """Do nothing if the options go together on this host.

    Raises:
        BadInputError: They do not.
    """
    given = [n for n, g in (("--write", write), ("--undo", undo), ("--check", check)) if g]
    if len(given) > 1:
        raise BadInputError(f"{' and '.join(given)}: one at a time", hint="run pcietune twice")
    if given and release is not None:
        raise BadInputError(
            f"{given[0]} is about the kernel that runs here, and --for about another one",
            hint="leave out --for",
        )
    if host.recorded and (write or undo):
        raise BadInputError(
            f"{given[0]} is for the host itself: a recording has no boot loader",
            hint="run it on the host, or take the words that pcietune prints",
        )


class Steps:
    """One run.

    Attributes:
        outcome: How the host was judged, and what went wrong.
        done: What the run found out and did beyond that.
    """

    def __init__(self, request: Request, *, wait_s: float, asks: bool, tells: bool) -> None:
        """Do nothing yet.

        Args:
            request: By what the host is judged.
            wait_s: How long to wait for another pcietune, in seconds.
            asks: Whether somebody must agree before something is written.
            tells: Whether text is printed.
        """
        self.outcome = Outcome()
        self.done = KernelArgsOutcome()
        self._request = request
        self._wait_s = wait_s
        self._asks = asks
        self._tells = tells

    def advise(self, host: SysfsHost, release: str | None, *, in_full: bool) -> None:
        """Find out what is to stand on the command line, and tell it; errors as ``advise``.

        Args:
            host: The host.
            release: Of the kernel that it is for; None for the running one.
            in_full: Whether to tell the words and all ports, not only what else to know.
        """
        try:
            with told(host):
                judge(host, self._request, self.outcome)
                if self.outcome.audit is not None:
                    takes = (
                        running_kernel_takes(host)
                        if release is None
                        else named_kernel_takes(release)
                    )
                    self.done.advice = advise(host, self.outcome.audit, takes)
        finally:
            if self._tells:
                show.lines(text.heading(self.outcome))
        if self._tells and self.done.advice is not None:
            tell = advice_lines if in_full else note_lines
            show.lines(tell(self.done.advice))

    def check(self, host: SysfsHost) -> None:
        """Compare files, command line and registers.

        Raises:
            BadInputError: A recording does not tell what files ask for.
        """
        if self.done.advice is None:
            return
        intended = {loader.name: loader.intended(host.files) for loader in LOADERS}
        if host.recorded and not any(intended.values()):
            raise BadInputError(
                "the recording has no boot loader's files, so what they ask for is not known",
                hint="run pcietune kernel-args --check on the host",
            )
        running = split(host.platform().cmdline or "")
        self.done.check = check(self.done.advice, running, intended)
        if self._tells:
            show.lines(["", *check_lines(self.done.check)])

    def write(self, host: SysfsHost, target: LoaderName) -> None:
        """Put the words where a boot loader takes them.

        Raises:
            BadInputError: They cannot be put there, or nobody agreed.
        """
        advice = self.done.advice
        if advice is None or self.outcome.errors:
            return
        if advice.why_not:
            raise BadInputError(f"nothing is written: {advice.why_not}")
        with locked(host.files, "kernel-args", wait_s=self._wait_s, on_wait=_say_who):
            self._make(host, [loader_of(target).insert(host.files, advice.merge)])
            check_inserted(host.files, target, advice.merge)
        if self.done.written and self._tells:
            show.lines(["then: pcietune kernel-args --check"])

    def undo(self, host: SysfsHost) -> None:
        """Take out what pcietune put in, wherever it is; errors as ``write``."""
        with locked(host.files, "kernel-args", wait_s=self._wait_s, on_wait=_say_who):
            self._make(host, [loader.remove(host.files) for loader in LOADERS])

    def _make(self, host: SysfsHost, changes: list[LoaderChange]) -> None:
        """Show the changes, ask, and make them."""
        due = tuple(change for change in changes if not change.is_empty)
        self.done.changes = due
        if self._tells:
            show.lines(["", *change_lines(due)] if due else ["", "nothing to change"])
        if due and self._asks:
            _ask()
        for change in changes:
            carry_out(host.files, change)
        self.done.written = bool(due)
        if due and self._tells:
            show.lines(then_lines(due))


def _ask() -> None:
    """Do nothing if somebody agrees.

    Raises:
        BadInputError: Nobody does, or nobody is there.
    """
    if not sys.stdin.isatty():
        raise BadInputError("nobody is there to ask, so nothing is written", hint="add --yes")
    if not typer.confirm("Write this?", err=True):
        raise BadInputError("nothing is written, as asked")


def _say_who(holder: str) -> None:
    show.note(f"waiting for {holder}")
