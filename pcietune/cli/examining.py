"""One look of watch at a host: judge it, and wake nothing for that."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.cli.judging import Request, collecting, judge, record_of_this_boot
from pcietune.errors import PcietuneError
from pcietune.host.sysfs import SysfsHost
from pcietune.model.device_event import DeviceEvent
from pcietune.model.finding import Finding, State
from pcietune.model.selection import Selection
from pcietune.model.severity import Severity
from pcietune.model.undo import UndoRecord
from pcietune.report.outcome import Outcome
from pcietune.tune.watch.asleep import is_unwoken, let_sleep
from pcietune.tune.watch.seen import Look
from pcietune.tune.watch.sight import sights


@dataclass(frozen=True, slots=True)
class Examined:
    """A host that was looked at.

    Attributes:
        host: As it was at that moment.
        outcome: What is known of it; with the errors that ended the look, if any did.
        asleep: Functions that were not read, lest something wakes.
    """

    host: SysfsHost
    outcome: Outcome
    asleep: AbstractSet[PciAddress]

    @property
    def may_write(self) -> bool:
        """Whether something may be written here that nobody typed."""
        return self.outcome.writes_unattended and self.outcome.disabled is None

    def look(self, events: Sequence[DeviceEvent], *, whole: bool) -> Look | None:
        """Return what it tells watch; None if the host could not be judged."""
        audited = self.outcome.audit
        if audited is None:
            return None
        return Look(
            audit=audited,
            sights=sights(self.host, audited),
            events=events,
            whole=whole,
            kernel=self.host.platform().release,
            record=_record(self.host),
        )

    @property
    def failing(self) -> list[Finding]:
        """What fails and counts."""
        return [f for f in self._counting() if f.state is State.FAIL]

    @property
    def unread(self) -> list[Finding]:
        """What counts and could not be read, though nothing sleeps there."""
        return [f for f in self._counting() if f.state is State.ERROR and not is_unwoken(f)]

    def _counting(self) -> list[Finding]:
        audited = self.outcome.audit
        findings = () if audited is None else audited.findings
        return [finding for finding in findings if finding.severity is not Severity.INFO]


@contextmanager
def examined(host: SysfsHost, groups: frozenset[str] | None = None) -> Iterator[Examined]:
    """Yield the host, judged by the settings and profiles as they are now; nothing is woken.

    Args:
        host: Of which nothing was read yet. What sleeps cannot be read until the context ends.
        groups: Names of the switch groups to look at; None for all.
    """
    outcome = Outcome()
    asleep: set[PciAddress] = set()
    request = Request(writes=True, selection=Selection(groups=groups))
    with ExitStack() as awake_only:
        with collecting(outcome):
            awake_only.enter_context(host.watched(let_sleep(host, asleep.add)))
            judge(host, request, outcome)
        yield Examined(host, outcome, asleep)


def _record(host: SysfsHost) -> UndoRecord | None:
    with suppress(PcietuneError):  # the audit tells of it
        return record_of_this_boot(host)
    return None
