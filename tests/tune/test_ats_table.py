"""When the kernel turns ATS on: each row of the table, by hand from the kernel's sources."""

from itertools import product

import pytest

from pcietune.model.finding import State
from pcietune.model.severity import Severity
from pcietune.tune.ats.action import AtsAction
from pcietune.tune.ats.situation import Domain, Iommu, Situation, Use
from pcietune.tune.ats.table import ATS_TABLE, row_for

KERNELS = (None, (5, 15), (6, 6), (6, 7), (6, 11), (6, 12), (6, 14), (6, 15), (7, 2))
SITUATIONS = [
    Situation(*parts)
    for parts in product(Iommu, Domain, Use, KERNELS, (True, False), (True, False))
]


def off(
    iommu: Iommu,
    domain: Domain,
    use: Use = Use.NO_DRIVER,
    kernel: tuple[int, int] | None = (6, 12),
    *,
    proved: bool = False,
) -> Situation:
    return Situation(iommu, domain, use, kernel, enabled=False, proved=proved)


def on(
    iommu: Iommu,
    domain: Domain,
    use: Use = Use.NO_DRIVER,
    kernel: tuple[int, int] | None = (6, 12),
) -> Situation:
    return Situation(iommu, domain, use, kernel, enabled=True)


LEGACY, SCALABLE, UNSURE = Iommu.INTEL_LEGACY, Iommu.INTEL_SCALABLE, Iommu.INTEL
AMD, SMMU = Iommu.AMD, Iommu.SMMU_V3
DMA, IDENTITY, BLOCKED = Domain.TRANSLATING, Domain.IDENTITY, Domain.BLOCKED
PASS, FAIL, PENDING, ERROR = State.PASS, State.FAIL, State.PENDING, State.ERROR
PROVE, HEAL = AtsAction.PROVE, AtsAction.HEAL
WRITTEN = "on without VFIO, where this kernel does not turn it on"
WRITTEN_SMMU = "on without VFIO behind an SMMUv3 that is bypassed"
IN_EVERY_MODE = "on under identity, where this kernel turns it on in every mode"
NOT_EVERY = "on where not every kernel and IOMMU has it on"

EXPECTED = [
    ("no IOMMU", off(Iommu.UNKNOWN, Domain.NONE), FAIL, None),
    ("no IOMMU", on(Iommu.UNKNOWN, Domain.NONE), FAIL, None),
    ("on behind an IOMMU of another kind", on(Iommu.OTHER, DMA), ERROR, None),
    ("in use and on", on(LEGACY, IDENTITY, Use.VFIO_USED), PASS, None),
    ("in use and on", on(SMMU, IDENTITY, Use.VFIO_USED), PASS, None),
    ("in use and on", on(LEGACY, Domain.UNKNOWN, Use.VFIO_USED), PASS, None),
    (WRITTEN, on(LEGACY, IDENTITY), FAIL, None),
    (WRITTEN, on(LEGACY, BLOCKED, Use.OWN_DRIVER), FAIL, None),
    ("on before VFIO opens it", on(LEGACY, IDENTITY, Use.VFIO_IDLE), PENDING, None),
    (WRITTEN_SMMU, on(SMMU, IDENTITY), FAIL, None),
    (WRITTEN_SMMU, on(SMMU, BLOCKED, kernel=(6, 6)), FAIL, None),
    (WRITTEN_SMMU, on(SMMU, IDENTITY, Use.OWN_DRIVER, (7, 1)), FAIL, None),
    (
        "on behind an SMMUv3 before VFIO opens it",
        on(SMMU, IDENTITY, Use.VFIO_IDLE),
        PENDING,
        None,
    ),
    (IN_EVERY_MODE, on(LEGACY, IDENTITY, kernel=(6, 6)), PASS, None),
    (IN_EVERY_MODE, on(LEGACY, IDENTITY, Use.VFIO_IDLE, (6, 1)), PASS, None),
    (IN_EVERY_MODE, on(UNSURE, IDENTITY, kernel=(6, 6)), PASS, None),
    ("on in a mode that is not known", on(UNSURE, IDENTITY, Use.VFIO_IDLE), PENDING, None),
    ("on in a mode that is not known", on(UNSURE, IDENTITY, kernel=(6, 7)), PENDING, None),
    ("on in a mode that is not known", on(UNSURE, IDENTITY, kernel=None), PENDING, None),
    (NOT_EVERY, on(LEGACY, IDENTITY, kernel=None), PENDING, None),
    (NOT_EVERY, on(SMMU, IDENTITY, kernel=None), PENDING, None),
    (NOT_EVERY, on(SMMU, IDENTITY, kernel=(7, 2)), PENDING, None),
    (NOT_EVERY, on(Iommu.UNKNOWN, IDENTITY), PENDING, None),
    ("on, and its use not known", on(LEGACY, IDENTITY, Use.UNKNOWN), ERROR, None),
    ("on, and its use not known", on(SMMU, IDENTITY, Use.UNKNOWN), ERROR, None),
    ("on under another domain", on(AMD, Domain.OTHER), ERROR, None),
    ("on and blocked, where it is kept on", on(SCALABLE, BLOCKED, kernel=(6, 15)), PASS, None),
    ("on and blocked", on(SCALABLE, BLOCKED, kernel=(6, 11)), PENDING, None),
    ("on and blocked", on(AMD, BLOCKED), PENDING, None),
    ("on", on(LEGACY, DMA), PASS, None),
    ("on", on(SCALABLE, IDENTITY), PASS, None),
    ("on", on(AMD, IDENTITY), PASS, None),
    ("on", on(SMMU, DMA), PASS, None),
    ("in use and off", off(LEGACY, IDENTITY, Use.VFIO_USED), FAIL, None),
    ("in use and off", off(AMD, DMA, Use.VFIO_USED, None), FAIL, None),
    ("in use and off", off(Iommu.UNKNOWN, Domain.UNKNOWN, Use.VFIO_USED), FAIL, None),
    ("off, and its use not known", off(LEGACY, IDENTITY, Use.UNKNOWN), ERROR, None),
    ("off, and its use not known", off(LEGACY, Domain.UNKNOWN, Use.UNKNOWN), ERROR, None),
    ("off under a domain that is not known", off(LEGACY, Domain.UNKNOWN), ERROR, None),
    (
        "on under a domain that is not known",
        on(Iommu.UNKNOWN, Domain.UNKNOWN, Use.UNKNOWN),
        ERROR,
        None,
    ),
    (
        "on under a domain that is not known",
        on(LEGACY, Domain.UNKNOWN, Use.VFIO_IDLE),
        ERROR,
        None,
    ),
    ("off under another domain", off(LEGACY, Domain.OTHER), ERROR, None),
    ("off behind another IOMMU", off(Iommu.OTHER, IDENTITY), ERROR, None),
    ("off behind another IOMMU", off(Iommu.UNKNOWN, DMA), ERROR, None),
    ("proved", off(LEGACY, IDENTITY, proved=True), PASS, None),
    ("proved", off(UNSURE, IDENTITY, Use.VFIO_IDLE, proved=True), PASS, None),
    ("without a driver, before VFIO", off(LEGACY, IDENTITY), PENDING, PROVE),
    ("without a driver, before VFIO", off(SMMU, IDENTITY), PENDING, PROVE),
    ("before VFIO", off(LEGACY, IDENTITY, Use.VFIO_IDLE), PENDING, None),
    ("before VFIO", off(LEGACY, IDENTITY, Use.OWN_DRIVER), PENDING, None),
    ("before VFIO", off(SMMU, BLOCKED), PENDING, None),
    ("without a driver, in a mode that is not known", off(UNSURE, IDENTITY), PENDING, PROVE),
    ("in a mode that is not known", off(UNSURE, IDENTITY, Use.VFIO_IDLE), PENDING, None),
    ("in a mode that is not known", off(UNSURE, BLOCKED), PENDING, None),
    ("blocked on AMD", off(AMD, BLOCKED), PENDING, None),
    (
        "blocked in scalable mode, where attaching turns it on",
        off(SCALABLE, BLOCKED, kernel=(6, 11)),
        PENDING,
        None,
    ),
    (
        "lost in scalable mode, where it is kept on",
        off(SCALABLE, BLOCKED, kernel=(6, 15)),
        FAIL,
        None,
    ),
    ("lost in scalable mode, where it is kept on", off(SCALABLE, DMA, kernel=(7, 2)), FAIL, None),
    (
        "blocked in scalable mode, by a kernel of which it is not known",
        off(SCALABLE, BLOCKED, kernel=(6, 12)),
        ERROR,
        None,
    ),
    (
        "blocked in scalable mode, by a kernel of which it is not known",
        off(SCALABLE, BLOCKED, kernel=(6, 14)),
        ERROR,
        None,
    ),
    (
        "blocked in scalable mode, by a kernel of which it is not known",
        off(SCALABLE, BLOCKED, kernel=None),
        ERROR,
        None,
    ),
    ("lost under identity, without a driver", off(AMD, IDENTITY), FAIL, PROVE),
    ("lost under identity, without a driver", off(SCALABLE, IDENTITY), FAIL, PROVE),
    ("lost without a driver", off(LEGACY, DMA), FAIL, HEAL),
    ("lost without a driver", off(UNSURE, DMA), FAIL, HEAL),
    ("lost without a driver", off(AMD, DMA), FAIL, HEAL),
    ("lost without a driver", off(SMMU, DMA), FAIL, HEAL),
    ("lost with a driver", off(LEGACY, DMA, Use.OWN_DRIVER), FAIL, None),
    ("lost before VFIO", off(LEGACY, DMA, Use.VFIO_IDLE), PENDING, None),
    ("lost before VFIO", off(AMD, IDENTITY, Use.VFIO_IDLE), PENDING, None),
    ("lost before VFIO", off(SMMU, DMA, Use.VFIO_IDLE), PENDING, None),
    (
        "lost in scalable mode, where it is kept on",
        off(SCALABLE, DMA, Use.VFIO_IDLE, (6, 15)),
        FAIL,
        None,
    ),
]


@pytest.mark.parametrize(
    ("name", "found", "state", "action"),
    [
        pytest.param(*each, id=f"{each[0]}: {each[1].iommu.value}, {each[1].use.value}")
        for each in EXPECTED
    ],
)
def test_a_situation_is_judged_by_its_row(
    name: str, found: Situation, state: State, action: AtsAction | None
) -> None:
    row = row_for(found)

    assert (row.name, row.state, row.action) == (name, state, action)


def test_every_row_has_a_test() -> None:
    assert {name for name, *_ in EXPECTED} == {row.name for row in ATS_TABLE}


def test_no_situation_is_without_a_row() -> None:
    assert [s for s in SITUATIONS if not any(row.fits(s) for row in ATS_TABLE)] == []


def test_every_row_is_reached() -> None:
    reached = {row_for(s).name for s in SITUATIONS}

    assert reached == {row.name for row in ATS_TABLE}
    assert len(reached) == len(ATS_TABLE)


def test_what_is_off_passes_only_where_it_was_proved_and_vfio_has_not_come_yet() -> None:
    passing = [s for s in SITUATIONS if not s.enabled and row_for(s).state is State.PASS]

    assert {(s.proved, s.domain) for s in passing} == {(True, IDENTITY), (True, BLOCKED)}
    assert {s.use for s in passing} == {Use.NO_DRIVER, Use.OWN_DRIVER, Use.VFIO_IDLE}
    assert {s.iommu for s in passing} == {LEGACY, SCALABLE, UNSURE, AMD, SMMU}


def test_what_is_on_passes_without_a_vm_only_where_the_kernel_is_known_to_turn_it_on() -> None:
    passing = {
        (s.iommu, s.domain, s.kernel)
        for s in SITUATIONS
        if s.enabled and row_for(s).state is State.PASS and s.use is not Use.VFIO_USED
    }
    before_6_7 = ((5, 15), (6, 6))

    assert {domain for _, domain, _ in passing} == {DMA, IDENTITY, BLOCKED}
    assert {iommu for iommu, domain, _ in passing if domain is BLOCKED} == {SCALABLE}
    assert {(iommu, kernel) for iommu, domain, kernel in passing if domain is IDENTITY} == {
        *product((AMD, SCALABLE), KERNELS),
        *product((LEGACY, UNSURE), before_6_7),
    }


def test_what_is_off_in_a_running_vm_always_fails() -> None:
    running = [s for s in SITUATIONS if not s.enabled and s.use is Use.VFIO_USED]

    assert {(row_for(s).state, row_for(s).severity) for s in running} == {(FAIL, Severity.ERROR)}


def test_apply_touches_no_function_that_somebody_has() -> None:
    touched = [s for s in SITUATIONS if row_for(s).action is not None]

    assert {s.use for s in touched} == {Use.NO_DRIVER}
    assert {s.domain for s in touched} == {DMA, IDENTITY}
    assert {s.enabled for s in touched} == {False}


def test_a_proof_is_tried_only_under_identity_and_healing_only_under_translation() -> None:
    domains = {(row_for(s).action, s.domain) for s in SITUATIONS if row_for(s).action}

    assert domains == {(PROVE, IDENTITY), (HEAL, DMA)}


def test_a_row_says_where_it_is_known_from_and_what_fails_says_why_and_what_to_do() -> None:
    assert all(row.source for row in ATS_TABLE)
    assert all(row.reason for row in ATS_TABLE if row.state is not State.PASS)
    assert all(row.remedy for row in ATS_TABLE if row.state is State.FAIL)
