"""Judge the links of GPUs, NICs and switches: width and speed against what both ends can.

A link that trained down costs bandwidth and breaks nothing. What is between the ports of one
switch is no link, and not judged.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.finding import Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.function import PciFunction
from pcietune.model.severity import Severity
from pcietune.model.switch_group import SwitchGroup
from pcietune.registers.express import Express, Link
from pcietune.tune.audit.idleness import why_idle
from pcietune.tune.audit.path_ports import upstream_ports
from pcietune.tune.match.survey import is_gpu

_BEST = Value("what both ends can")
_RETRAIN = Remedy(
    RemedyKind.HARDWARE,
    "look at dmesg and at both ends' AER counters; reseat the card, its riser or its cable",
)
_UNLIMIT = Remedy(RemedyKind.BIOS, "set the slot's link speed to Auto in the firmware's setup")


@dataclass(frozen=True, slots=True)
class _Measure:
    """One of the two numbers of a link.

    Attributes:
        id: Of the finding.
        of: The number: lanes, or the code of a speed; 0 where there is no link.
        named: The number for people and for programs.
    """

    id: str
    of: Callable[[Link], int]
    named: Callable[[int], Value]


@dataclass(frozen=True, slots=True)
class _Question:
    """What is asked of one link.

    Attributes:
        host: Where registers come from.
        function: At the lower end.
        above: The port at the upper end; None if it vanished.
        measure: Which of its numbers is meant.
    """

    host: HostAccess
    function: PciFunction
    above: PciFunction | None
    measure: _Measure

    @property
    def lower(self) -> Express | None:
        """The lower end's registers; None if it is no PCI Express function."""
        return Express.find(self.host.config(self.function))

    @property
    def upper(self) -> Express | None:
        """The upper end's, which are asked for only where they matter; None if there are none."""
        return None if self.above is None else Express.find(self.host.config(self.above))


def _width(lanes: int) -> Value:
    return Value(f"x{lanes}", str(lanes))


def _speed(code: int) -> Value:
    gigatransfers = Link(code).speed
    if gigatransfers is None:
        return Value(f"speed code {code}")
    return Value(f"{gigatransfers:g} GT/s", f"{gigatransfers:g}")


_WIDTH = _Measure("link.width", lambda link: link.lanes, _width)
_SPEED = _Measure("link.speed", lambda link: link.code, _speed)


def judge_links(host: HostAccess, fabric: Fabric, group: SwitchGroup) -> list[Finding]:
    """Judge the link above each GPU and NIC, and that above each switch, which all of it shares."""
    findings = []
    for function in (*group.gpus, *group.nics, *upstream_ports(fabric, group)):
        above = next(reversed(fabric.ports_above(function)), None)
        findings.append(_told(_Question(host, function, above, _WIDTH), _judge))
        findings.append(_told(_Question(host, function, above, _SPEED), _judge_speed))
    return findings


def _told(question: _Question, judge: Callable[[_Question], Finding]) -> Finding:
    """Return the finding, or that a register could not be read."""
    try:
        return judge(question)
    except PcietuneError as error:
        subject = Subject.of(question.function)
        return Finding.unread(question.measure.id, subject, _BEST, error, Severity.INFO)


def _judge(question: _Question) -> Finding:
    """Judge a number whatever the function is doing."""
    measure, lower = question.measure, question.lower
    could = 0 if lower is None else measure.of(lower.link_capable)
    if lower is None or could == 0:
        return _finding(question, State.NOT_APPLICABLE, 0, 0, "it is capable of no link")
    now = measure.of(lower.link)
    if now == 0:
        reason = "it reports no link: it is down, or only emulated"
        return _finding(question, State.FAIL, now, could, reason)
    if now < could and (upper := question.upper) is not None:
        could = min(could, measure.of(upper.link_capable) or could)
    if now >= could:
        return _finding(question, State.PASS, now, could, "")
    less, full = measure.named(now).text, measure.named(could).text
    reason = f"{less} of {full}: both ends can {full}, so the link trained down"
    return replace(_finding(question, State.FAIL, now, could, reason), remedy=_RETRAIN)


def _judge_speed(question: _Question) -> Finding:
    """Judge the speed: links of what is idle may run slower, and a port may hold a link back."""
    judged = _judge(question)
    if judged.state is not State.FAIL:
        return judged
    idle = why_idle(question.host, question.function)
    if idle is not None:
        reason = f"not judged, for links of what is idle may slow down: {idle}"
        return replace(judged, state=State.NOT_APPLICABLE, reason=reason, remedy=None)
    above, upper = question.above, question.upper
    target = None if upper is None else upper.target_speed
    if above is not None and target is not None and _speed(target) == judged.found:
        reason = f"{judged.found.text}: Target Link Speed of {above.address} holds it back"
        return replace(judged, reason=reason, remedy=_UNLIMIT)
    if is_gpu(question.function):
        reason = f"{judged.reason}, or its driver slowed it down: look again while the GPU works"
        return replace(judged, reason=reason)
    return judged


def _finding(question: _Question, state: State, now: int, could: int, reason: str) -> Finding:
    measure = question.measure
    found = measure.named(now) if now else Value("no link")
    wanted = measure.named(could) if could else _BEST
    subject = Subject.of(question.function)
    return Finding(measure.id, subject, Severity.INFO, state, found, wanted, reason)
