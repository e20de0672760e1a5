from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import all_ones
from tune.judged import NIC, NIC_PORT, ROOT_PORT, finding, opened, surveyed
from tune.profiles import PROFILE

from pcietune.errors import ExitCode
from pcietune.model.finding import State
from pcietune.model.profile import ModeName
from pcietune.model.settings import Waiver
from pcietune.model.severity import Severity
from pcietune.model.yardstick import Yardstick
from pcietune.tune.audit.audit import Audit, audit
from pcietune.tune.change.plan import plan

TODAY = date(2026, 3, 31)
DIRECT = "port.nic-side.DirectTrans"  # all that fails on the host of these tests
LOCATION = "0000:20:01.0/00.0/04.0"  # of NIC_PORT
WAIVER = Waiver(DIRECT, NIC_PORT, "the switch is being replaced", "OPS-17", TODAY)


def judged(tree: TreeHost, *waivers: Waiver, mode: ModeName = ModeName.VM) -> Audit:
    host = opened(tree)
    yardstick = Yardstick(PROFILE, mode, waivers=waivers, today=TODAY)
    return audit(host, surveyed(host), yardstick)


def about_waivers(audited: Audit) -> list[tuple[str, str, str]]:
    return [
        (f.id, f.subject.path, f.reason) for f in audited.findings if f.id.startswith("waiver.")
    ]


def test_a_waived_finding_is_skipped_names_its_waiver_and_does_not_count(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)

    audited = judged(tree, WAIVER)

    found = finding(audited, DIRECT, NIC_PORT)
    assert (found.state, found.waiver, found.remedy) == (State.SKIP, WAIVER, None)
    assert (judged(tree).exit_code(), audited.exit_code()) == (ExitCode.DIFFERS, ExitCode.OK)
    assert about_waivers(audited) == []


@pytest.mark.parametrize("subject", [NIC_PORT, "22:04.0", LOCATION, None])
def test_a_subject_is_an_address_a_location_or_anything(
    tmp_path: Path, subject: str | None
) -> None:
    waiver = replace(WAIVER, subject=subject)

    found = finding(judged(one_switch(tmp_path), waiver), DIRECT, NIC_PORT)

    assert found.state is State.SKIP


@pytest.mark.parametrize(
    "waiver",
    [
        replace(WAIVER, subject=ROOT_PORT),
        replace(WAIVER, id="port.nic-side.SrcValid"),
        replace(WAIVER, id="port.nic-side.*"),
        replace(WAIVER, subject="the port above the NIC"),
    ],
    ids=["another port", "another control", "a pattern", "a name of no kind"],
)
def test_a_waiver_of_something_else_waives_nothing_and_is_told(
    tmp_path: Path, waiver: Waiver
) -> None:
    audited = judged(one_switch(tmp_path), waiver)

    assert finding(audited, DIRECT, NIC_PORT).state is State.FAIL
    assert [told[0] for told in about_waivers(audited)] == ["waiver.unused"]
    assert audited.exit_code() is ExitCode.DIFFERS


def test_a_waiver_whose_id_is_misspelt_is_told_the_one_that_may_be_meant(tmp_path: Path) -> None:
    audited = judged(one_switch(tmp_path), replace(WAIVER, id="port.nic-side.DirectTran"))

    (told,) = about_waivers(audited)
    assert told[2] == f"nothing of that name is judged here; did you mean {DIRECT}?"


def test_a_waiver_holds_on_its_last_day_and_not_on_the_next(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    over = replace(WAIVER, expires=date(2026, 3, 30))

    audited = judged(tree, over)

    assert finding(judged(tree, WAIVER), DIRECT, NIC_PORT).state is State.SKIP
    assert finding(audited, DIRECT, NIC_PORT).state is State.FAIL
    assert about_waivers(audited) == [
        (
            "waiver.expired",
            f"waiver {DIRECT} {NIC_PORT}",
            "the waiver is over: what it waived counts again",
        )
    ]


def test_of_two_waivers_the_one_that_holds_counts(tmp_path: Path) -> None:
    over = replace(WAIVER, subject=None, expires=date(2026, 3, 30))

    audited = judged(one_switch(tmp_path), over, WAIVER)

    assert finding(audited, DIRECT, NIC_PORT).waiver == WAIVER


def test_a_waiver_of_what_is_as_wanted_is_told_as_unused(tmp_path: Path) -> None:
    waiver = replace(WAIVER, id="nic.ats", subject=NIC)

    audited = judged(one_switch(tmp_path), waiver)

    assert finding(audited, "nic.ats", NIC).state is State.PASS
    assert about_waivers(audited) == [
        ("waiver.unused", f"waiver nic.ats {NIC}", "what it waives is as wanted here")
    ]


def test_what_could_not_be_read_is_never_waived(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    all_ones(tree, NIC_PORT)

    audited = judged(tree, WAIVER)

    assert finding(audited, DIRECT, NIC_PORT).state is State.ERROR
    assert audited.exit_code() is ExitCode.UNREADABLE
    assert about_waivers(audited) == []


def test_a_waiver_that_is_over_or_unused_turns_no_good_host_red(tmp_path: Path) -> None:
    over = replace(WAIVER, id="nic.ats", expires=date.min)
    unused = replace(WAIVER, id="nic.ats", subject=NIC)

    audited = judged(one_switch(tmp_path), WAIVER, over, unused)

    assert {f.severity for f in audited.findings if f.id.startswith("waiver.")} == {Severity.INFO}
    assert audited.exit_code(strict=True) is ExitCode.OK


def test_nothing_is_planned_for_what_is_waived(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)

    assert len(plan(opened(tree), judged(tree), while_in_use=False).writes) == 1
    assert plan(opened(tree), judged(tree, WAIVER), while_in_use=False).writes == ()
