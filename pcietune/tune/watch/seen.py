"""What earlier looks saw, and what is told of the differences."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pcietune.model.device_event import Action, DeviceEvent
from pcietune.model.finding import Finding, State
from pcietune.model.severity import Severity
from pcietune.model.undo import RegisterChange, UndoRecord
from pcietune.registers.acs import AcsControl, lspci_controls
from pcietune.tune.audit.audit import Audit
from pcietune.tune.watch.asleep import is_unwoken
from pcietune.tune.watch.cause import Evidence, likely_cause
from pcietune.tune.watch.notice import Notice, NoticeKind, about
from pcietune.tune.watch.sight import Sight

_BAD = (State.FAIL, State.ERROR)
_MOST_CARRIED = 16  # events of a port that cannot be read


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the host.

    Attributes:
        audit: How it was judged; of the switch groups that were looked at.
        sights: Ports that could be read, by location.
        events: What udev told since the last look.
        whole: Whether all switch groups were looked at.
        kernel: Major and minor number of the kernel's release; None if not known.
        record: The undo record of this boot; None if there is none or it is not known.
    """

    audit: Audit
    sights: Mapping[str, Sight]
    events: Sequence[DeviceEvent]
    whole: bool
    kernel: tuple[int, int] | None
    record: UndoRecord | None


@dataclass(slots=True)
class Seen:
    """What was seen of the host so far: bounded by its ports and findings."""

    _sights: dict[str, Sight] = field(default_factory=dict)
    _bad: dict[tuple[str, str], Finding] = field(default_factory=dict)
    _carried: dict[str, tuple[DeviceEvent, ...]] = field(default_factory=dict)
    _first: bool = True

    def tell(self, look: Look) -> list[Notice]:
        """Return what is new, in the order of ports, and remember the look.

        Of the first look nothing is a change.
        """
        notices = [] if self._first else [*self._ports(look), *self._findings(look)]
        self.adopt(look)
        return notices

    def adopt(self, look: Look) -> None:
        """Remember a look: also one of which the differences are known."""
        self._first = False
        self._sights |= look.sights
        if look.whole:
            owing = {bit.requirement.placed.port.location for bit in look.audit.bits}
            self._sights = {at: sight for at, sight in self._sights.items() if at in owing}
        unconsumed = {
            location: (*self._carried.get(location, ()), *_about(sight, look.events))
            for location, sight in self._sights.items()
            if location not in look.sights
        }
        self._carried = {
            location: events[-_MOST_CARRIED:] for location, events in unconsumed.items() if events
        }
        judged = {_key(f): f for f in look.audit.findings if not is_unwoken(f)}
        slept = {_key(f) for f in look.audit.findings if is_unwoken(f)}
        kept_bad = {
            key: f
            for key, f in self._bad.items()
            if key not in judged and (key in slept or not look.whole)
        }
        self._bad = kept_bad | {key: f for key, f in judged.items() if _is_bad(f)}

    def _ports(self, look: Look) -> Iterator[Notice]:
        for location, after in sorted(look.sights.items(), key=lambda s: s[1].port.address):
            before = self._sights.get(location)
            events = (*self._carried.get(location, ()), *_about(after, look.events))
            if before is None or before.port.id != after.port.id:
                yield about(
                    after.port,
                    NoticeKind.ADDED,
                    f"is new here; ACSCtl reads {after.control:#06x}",
                    register="ACSCtl",
                    new=f"{after.control:#06x}",
                )
            elif before.control != after.control:
                yield self._changed(before, after, events, look)
        if look.whole:
            here = {function.location for function in look.audit.fabric.functions.values()}
            for location, before in self._sights.items():
                if location not in here:
                    yield about(before.port, NoticeKind.REMOVED, "was removed")

    def _changed(
        self, before: Sight, after: Sight, events: Sequence[DeviceEvent], look: Look
    ) -> Notice:
        evidence = Evidence(
            before=before,
            after=after,
            events=events,
            kernel=look.kernel,
            recorded=_recorded(look.record, after),
            alone=self._is_alone(after, look),
        )
        row = likely_cause(evidence)
        old, new = f"{before.control:#06x}", f"{after.control:#06x}"
        bits = _changed_bits(before.control, after.control)
        return about(
            after.port,
            NoticeKind.CHANGED,
            f"ACSCtl {old} -> {new} ({bits}); likely {row.text}",
            register="ACSCtl",
            old=old,
            new=new,
            bits=bits,
            cause=row.cause,
            group=after.group,
        )

    def _is_alone(self, changed: Sight, look: Look) -> bool | None:
        """Return whether a port next to it kept what a reset would have taken; None: none could."""
        kept: list[bool] = []
        for location, after in look.sights.items():
            before = self._sights.get(location)
            beside = after.port.ports == changed.port.ports and after.port != changed.port
            if before is None or not beside or before.by_the_kernel:
                continue
            kept.append(before.control == after.control)
        return any(kept) if kept else None

    def _findings(self, look: Look) -> Iterator[Notice]:
        for finding in look.audit.findings:
            if is_unwoken(finding):
                continue
            was, now = _key(finding) in self._bad, _is_bad(finding)
            if now and not was:
                yield _of(finding, NoticeKind.FAILS, _why(finding))
            elif was and not now:
                yield _of(finding, NoticeKind.MENDED, f"{finding.id} is as wanted again")


def _key(finding: Finding) -> tuple[str, str]:
    return (finding.subject.path, finding.id)


def _is_bad(finding: Finding) -> bool:
    return finding.state in _BAD and finding.severity is not Severity.INFO


def _of(finding: Finding, kind: NoticeKind, text: str) -> Notice:
    subject = finding.subject
    address = None if subject.address is None else str(subject.address)
    facts = {"finding": finding.id, "state": finding.state.value, "severity": finding.severity}
    return Notice(kind, text, address, subject.path, facts)


def _why(finding: Finding) -> str:
    if finding.state is State.ERROR:
        return f"{finding.id} cannot be judged: {finding.reason}"
    return f"{finding.id} fails: {finding.found.text}, wanted {finding.wanted.text}"


def _about(sight: Sight, events: Sequence[DeviceEvent]) -> tuple[DeviceEvent, ...]:
    """Return the events of a port and of what is above it; those from below change no port.

    What was bound or unbound above it changes nothing here either.
    """
    return tuple(
        event
        for event in events
        if event.address == sight.port.address
        or (event.address in sight.port.ports and event.action in (Action.ADD, Action.CHANGE))
    )


def _recorded(record: UndoRecord | None, sight: Sight) -> AcsControl:
    """Return the controls that read now as pcietune left them, by its record."""
    mask = 0
    for change in () if record is None else record.changes:
        entry = change.entry
        if (
            isinstance(entry, RegisterChange)
            and change.stands
            and (entry.location, entry.id) == (sight.port.location, sight.port.id)
            and entry.offset == sight.offset
        ):
            mask |= entry.mask & ~(entry.new ^ sight.control)
    return AcsControl.decode(mask)


def _changed_bits(old: int, new: int) -> str:
    """Return the controls that changed, as they are now; higher bits by their number."""
    named = [
        now for was, now in zip(lspci_controls(old), lspci_controls(new), strict=True) if was != now
    ]
    higher = [
        f"bit {bit}{'+' if new >> bit & 1 else '-'}"
        for bit in range(7, 16)
        if (old ^ new) >> bit & 1
    ]
    return " ".join([*named, *higher])
