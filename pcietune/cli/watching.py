"""``pcietune watch`` at work: wait, look, repair, tell."""

from collections.abc import Callable
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.cli.examining import Examined, examined
from pcietune.cli.judging import collecting
from pcietune.cli.repairing import repair
from pcietune.cli.watch_once import TellsOnce
from pcietune.errors import ExitCode, NotPermittedError, PcietuneError, SwitchedOffError
from pcietune.host.kernel_log import read_kernel_log
from pcietune.host.sysfs import SysfsHost
from pcietune.model.device_event import Action, EventSource
from pcietune.tune.audit.audit import Audit
from pcietune.tune.watch.back_off import BackOff
from pcietune.tune.watch.batch import Concern
from pcietune.tune.watch.concerned import concerned_groups
from pcietune.tune.watch.logged import KernelLog
from pcietune.tune.watch.notice import Notice, NoticeKind
from pcietune.tune.watch.repairs import NO_REPAIRS, Repairs, repairs
from pcietune.tune.watch.schedule import Schedule
from pcietune.tune.watch.seen import Seen
from pcietune.tune.watch.waits import NO_WAITS, Waits, waits


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What watch is given.

    Attributes:
        open_host: Returns the host, of which nothing was read yet.
        events: Where events come from.
        clock: Returns the time, in seconds; it never goes back.
        look_asked: Returns whether somebody asked for a look since it was last called.
        tell: Told each notice.
        status: Told in a few words how things are, after each look at everything.
    """

    open_host: Callable[[], SysfsHost]
    events: EventSource
    clock: Callable[[], float]
    look_asked: Callable[[], bool]
    tell: Callable[[Notice], None]
    status: Callable[[str], None]


@dataclass(slots=True)
class _Last:
    """The last look at everything: its host costs nothing but attributes from then on."""

    host: SysfsHost | None = None
    audit: Audit | None = None
    waits: Waits = NO_WAITS


class Watching:
    """Keeps one host as its profile wants it; its memory is bounded by the host's fabric."""

    def __init__(self, surroundings: Surroundings, interval_s: float) -> None:
        """Look at nothing yet.

        Args:
            surroundings: What it is given.
            interval_s: How long after a look at everything the next is due at the latest.
        """
        self._given = surroundings
        self._schedule = Schedule(interval_s, surroundings.clock())
        self._seen = Seen()
        self._back_off = BackOff()
        self._log = KernelLog()
        self._once = TellsOnce(surroundings.tell)
        self._last = _Last()
        self._added: frozenset[PciAddress] = frozenset()  # and not yet under the lock since

    def begin(self) -> None:
        """Take the first look, and repair what it finds.

        Raises:
            PcietuneError: This host cannot be looked after: pcietune is switched off here, the
                settings or profiles cannot be used, or this user may not read registers.
        """
        if not self._given.open_host().privileged:
            raise NotPermittedError("watch reads registers", hint="run pcietune as root")
        errors = self._look(Concern(whole=True))
        fatal = [e for e in errors if self._last.audit is None or isinstance(e, SwitchedOffError)]
        if fatal:
            code = ExitCode.of_several([error.exit_code for error in fatal])
            raise next(error for error in fatal if error.exit_code is code)
        self._once.troubles(errors)

    def turn(self) -> None:
        """Wait for what comes next, and do what is due then.

        Raises:
            NotPermittedError: Events cannot be heard any more.
        """
        given, schedule = self._given, self._schedule
        now = given.clock()
        if given.look_asked():
            schedule.look_at_all(now)
        heard = given.events.wait(schedule.sleep_s(now))
        now = given.clock()
        schedule.hear(heard, now)
        if heard.lost:
            self._tell(NoticeKind.REMARK, "events were lost: everything is looked at")
        concern = schedule.concern(now)
        if concern is not None:
            if self._groups(concern) != frozenset():
                self._once.troubles(self._look(concern))
        elif schedule.check_is_due(now) and self._waits_ended():
            schedule.look_at_all(now)

    def _look(self, concern: Concern) -> list[PcietuneError]:
        groups = self._groups(concern)
        whole = groups is None
        host = self._given.open_host()
        logged = self._log.new_events(read_kernel_log(host.files))
        todo = NO_REPAIRS
        self._added |= _added(concern)
        with examined(host, groups) as found, collecting(found.outcome):
            look = found.look((*concern.events, *logged), whole=whole)
            for notice in () if look is None else self._seen.tell(look):
                self._given.tell(notice)
            todo = self._todo(found)
            self._remember(found, todo, whole=whole)
        errors, failed = found.outcome.errors, False
        if not found.may_write:
            self._added = frozenset()
        elif todo.plan.steps or self._added:
            repaired = repair(
                self._given.open_host(), self._added, self._seen, self._back_off, self._given.clock
            )
            if repaired.found is not None:
                self._added = frozenset()
            for notice in repaired.notices:
                self._given.tell(notice)
                failed |= notice.kind is NoticeKind.FAILED
            errors, found = repaired.errors, repaired.found or found
        if whole:
            self._once.watching(found)
            self._given.status(self._once.status(found))
        now = self._given.clock()
        self._schedule.looked(
            now,
            whole=whole,
            again=bool(errors or found.unread) or failed,
            paused_until=self._back_off.next_end(todo.paused, now),
        )
        return errors

    def _groups(self, concern: Concern) -> frozenset[str] | None:
        """Return the names of the switch groups to look at, maybe none; None for all."""
        audited = self._last.audit
        if concern.whole or audited is None:
            return None
        return concerned_groups(concern.events, audited.fabric, audited.groups)

    def _todo(self, found: Examined) -> Repairs:
        """Return what is to be repaired; nothing where nothing may be written."""
        audited = found.outcome.audit
        if audited is None or not found.may_write:
            return NO_REPAIRS
        return repairs(found.host, audited, self._back_off, self._given.clock())

    def _remember(self, found: Examined, todo: Repairs, *, whole: bool) -> None:
        """Keep what the next looks and checks need, and tell what is deferred since now."""
        audited = found.outcome.audit
        if audited is None:
            return
        if whole:
            self._last = _Last(found.host, audited)
            self._back_off.keep({(f.subject.path, f.id) for f in audited.findings})
        waiting = waits(found.host, audited.fabric, todo.plan, found.asleep)
        self._last.waits = waiting if whole else self._last.waits.and_also(waiting)
        self._schedule.waits = bool(self._last.waits)
        self._once.deferred(todo.plan, whole=whole)

    def _waits_ended(self) -> bool:
        """Return whether something was let go or woke, of which no event tells."""
        last = self._last
        try:
            return last.host is not None and last.waits.ended(last.host)
        except PcietuneError:  # the next look tells what is wrong
            return False

    def _tell(self, kind: NoticeKind, text: str) -> None:
        self._given.tell(Notice(kind, text))


def _added(concern: Concern) -> frozenset[PciAddress]:
    """Return the functions that were added, which the udev hook's policy may not know yet."""
    return frozenset(event.address for event in concern.events if event.action is Action.ADD)
