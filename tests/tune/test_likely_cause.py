"""Each row by the words and circumstances that its source describes, and by near misses."""

from dataclasses import replace

import pytest

from pcietune.address import PciAddress
from pcietune.model.device_event import Action, DeviceEvent, ErrorEvent
from pcietune.model.function import PciFunction
from pcietune.registers.acs import AcsControl
from pcietune.tune.watch.cause import ROWS, Cause, Evidence, likely_cause
from pcietune.tune.watch.sight import Sight

ROOT, TOP, PORT = (PciAddress.parse(a) for a in ("0000:20:01.0", "0000:21:00.0", "0000:22:04.0"))
BY_LINUX, TUNED, UNREDIRECTED = 0x001D, 0x005D, 0x0051  # 0x51: ReqRedir and CmpltRedir cleared
DIRECT = AcsControl.DIRECT_TRANSLATED_P2P


def port(*above: PciAddress) -> PciFunction:
    return PciFunction(PORT, above, 0x1000, 0xC010, 0, 0, 0x060400, "pcieport")


def seen(control: int, *, slept_ms: int | None = 0, errors: int | None = 0) -> Sight:
    """Return a port of a switch that offers all controls but Egress Control."""
    supported = AcsControl.decode(0x5F)
    return Sight(port(ROOT, TOP), "20:01.0/00.0", 0x106, supported, control, slept_ms, errors)


CHANGE = Evidence(
    before=seen(TUNED),
    after=seen(BY_LINUX),
    events=(),
    kernel=(6, 12),
    recorded=AcsControl(0),
    alone=True,
)
"""DirectTrans went, though nothing happened and the port's neighbours kept theirs."""


def event(
    action: Action, address: PciAddress = PORT, error: ErrorEvent | None = None
) -> DeviceEvent:
    return DeviceEvent(address, action, error)


RECOVERED = event(Action.CHANGE, TOP, ErrorEvent.SUCCEEDED)
NOT_RECOVERED = event(Action.CHANGE, TOP, ErrorEvent.FAILED)
BOUND = event(Action.BIND)
GAINED = replace(CHANGE, before=seen(UNREDIRECTED), after=seen(TUNED))
AT_ROOT = replace(CHANGE.after, port=port())

CASES = {
    "nothing happened": (CHANGE, Cause.BY_HAND),
    "as the undo record says": (replace(CHANGE, recorded=DIRECT), Cause.PCIETUNE),
    "more than the undo record says": (
        replace(CHANGE, after=seen(0x0019), recorded=DIRECT),
        Cause.BY_HAND,
    ),
    "found again": (replace(CHANGE, events=(event(Action.ADD),)), Cause.ADDED),
    "found again after an error": (
        replace(CHANGE, events=(NOT_RECOVERED, event(Action.ADD, TOP))),
        Cause.ADDED,
    ),
    "recovered": (replace(CHANGE, events=(RECOVERED,)), Cause.RECOVERY),
    "not recovered": (
        replace(CHANGE, after=seen(0), events=(NOT_RECOVERED,)),
        Cause.FAILED_RECOVERY,
    ),
    "errors were counted, though no event came": (
        replace(CHANGE, after=seen(BY_LINUX, errors=2)),
        Cause.RECOVERY,
    ),
    "errors are not counted here": (
        replace(CHANGE, before=seen(TUNED, errors=None), after=seen(BY_LINUX, errors=7)),
        Cause.BY_HAND,
    ),
    "errors were counted, but no recovery takes ReqRedir alone": (
        replace(CHANGE, after=seen(0x0059, errors=2), events=(RECOVERED,)),
        Cause.BY_HAND,
    ),
    "slept, but no waking takes ReqRedir alone": (
        replace(CHANGE, after=seen(0x0059, slept_ms=5000)),
        Cause.BY_HAND,
    ),
    "recovered without an IOMMU": (
        replace(CHANGE, before=seen(0x0040), after=seen(0), events=(RECOVERED,)),
        Cause.RECOVERY,
    ),
    "slept": (replace(CHANGE, after=seen(BY_LINUX, slept_ms=5000)), Cause.RESUME),
    "not known whether it slept": (
        replace(CHANGE, before=seen(TUNED, slept_ms=None), after=seen(BY_LINUX, slept_ms=9)),
        Cause.BY_HAND,
    ),
    "bound, on 7.0": (replace(GAINED, events=(BOUND,), kernel=(7, 0)), Cause.BIND),
    "bound, on 7.1": (replace(GAINED, events=(BOUND,), kernel=(7, 1)), Cause.BIND),
    "bound, on 6.19": (replace(GAINED, events=(BOUND,), kernel=(6, 19)), Cause.BY_HAND),
    "bound, on a kernel that is not known": (
        replace(GAINED, events=(BOUND,), kernel=None),
        Cause.BY_HAND,
    ),
    "bound on 7.0, but something went": (
        replace(CHANGE, events=(BOUND,), kernel=(7, 0)),
        Cause.BY_HAND,
    ),
    "bound on 7.0, but DirectTrans came": (
        replace(CHANGE, before=seen(BY_LINUX), after=seen(TUNED), events=(BOUND,), kernel=(7, 0)),
        Cause.BY_HAND,
    ),
    "what is above was bound": (
        replace(GAINED, events=(event(Action.BIND, TOP),), kernel=(7, 0)),
        Cause.BY_HAND,
    ),
    "its neighbours lost theirs, too": (replace(CHANGE, alone=False), Cause.RESET),
    "it has no neighbours": (replace(CHANGE, alone=None), Cause.RESET),
    "all went": (replace(CHANGE, after=seen(0), alone=False), Cause.RESET_LEFT),
    "all of one port went": (replace(CHANGE, after=seen(0)), Cause.BY_HAND),
    "no reset leaves ReqRedir- alone": (
        replace(CHANGE, after=seen(0x0019), alone=None),
        Cause.BY_HAND,
    ),
    "a root port is never reset": (replace(CHANGE, after=AT_ROOT, alone=None), Cause.BY_HAND),
}


@pytest.mark.parametrize("name", CASES)
def test_a_cause_is_named_where_all_that_is_known_speaks_for_it(name: str) -> None:
    evidence, cause = CASES[name]

    assert likely_cause(evidence).cause is cause


def test_every_row_has_a_case_a_sentence_and_a_source() -> None:
    assert {row.cause for row in ROWS} == set(Cause) == {cause for _, cause in CASES.values()}
    assert all(row.text and row.source for row in ROWS)
