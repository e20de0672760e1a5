from datetime import date
from pathlib import Path

import pytest
from trees.fabrics import two_switches
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import all_ones
from tune.judged import GPU, NIC, NIC_PORT, ROOT_PORT, opened, surveyed
from tune.profiles import PROFILE

from pcietune.errors import BadInputError, ExitCode
from pcietune.model.finding import State
from pcietune.model.profile import ModeName
from pcietune.model.selection import Selection
from pcietune.model.settings import Waiver
from pcietune.model.yardstick import Yardstick
from pcietune.tune.audit.audit import Audit, audit

DIRECT = "port.nic-side.DirectTrans"
TOP = "0000:21:00.0"


def judged(tree: TreeHost, selection: Selection) -> Audit:
    host = opened(tree)
    return audit(host, surveyed(host), Yardstick(PROFILE, ModeName.VM, selection=selection))


def asked(audited: Audit) -> set[tuple[str, str]]:
    return {
        (f.id, str(f.subject.address or f.subject.path))
        for f in audited.findings
        if f.state is not State.SKIP
    }


def test_only_what_is_asked_for_counts_and_the_rest_stays_as_skipped(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)

    everything, some = judged(tree, Selection()), judged(tree, Selection(only=("nic.ats",)))

    assert asked(some) == {("nic.ats", NIC)}
    assert len(some.findings) == len(everything.findings)
    assert {f.reason for f in some.findings if f.state is State.SKIP} == {"not asked for"}
    assert (everything.exit_code(), some.exit_code()) == (ExitCode.DIFFERS, ExitCode.OK)


def test_an_id_may_be_a_pattern_and_several_add_up(tmp_path: Path) -> None:
    audited = judged(one_switch(tmp_path), Selection(only=("port.*.DirectTrans", "nic.*")))

    assert asked(audited) == {(DIRECT, NIC_PORT), ("nic.ats", NIC)}


def test_what_is_skipped_does_not_count(tmp_path: Path) -> None:
    audited = judged(one_switch(tmp_path), Selection(skip=("port.*",)))

    assert {finding_id.partition(".")[0] for finding_id, _ in asked(audited)} >= {"nic", "group"}
    assert not [finding_id for finding_id, _ in asked(audited) if finding_id.startswith("port.")]
    assert audited.exit_code() is ExitCode.OK


def test_of_only_and_skip_skip_wins(tmp_path: Path) -> None:
    audited = judged(one_switch(tmp_path), Selection(only=("port.*",), skip=(DIRECT,)))

    assert (DIRECT, NIC_PORT) not in asked(audited)
    assert ("port.nic-side.ReqRedir", NIC_PORT) in asked(audited)


@pytest.mark.parametrize("name", [NIC, "24:00.0", "0000:20:01.0/00.0/04.0/00.0"])
def test_a_device_stands_for_itself_and_the_ports_above_it(tmp_path: Path, name: str) -> None:
    audited = judged(one_switch(tmp_path), Selection(devices=(name,)))

    subjects = {subject for _, subject in asked(audited)}
    assert {NIC, NIC_PORT, ROOT_PORT} <= subjects <= {NIC, NIC_PORT, TOP, ROOT_PORT}


def test_several_devices_add_up(tmp_path: Path) -> None:
    tree = two_switches(tmp_path)

    audited = judged(tree, Selection(devices=(GPU, "0000:44:00.0")))

    subjects = {subject for _, subject in asked(audited)}
    assert {GPU, "0000:44:00.0"} <= subjects
    assert NIC not in subjects


@pytest.mark.parametrize("name", ["0000:99:00.0", "the NIC", ""])
def test_a_device_that_is_not_there_is_bad_input(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInputError, match=f"there is no function '{name}' here"):
        judged(one_switch(tmp_path), Selection(devices=(name,)))


def test_what_could_not_be_read_and_was_not_asked_for_does_not_count(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    all_ones(tree, ROOT_PORT)

    assert judged(tree, Selection(only=("group.separate",))).exit_code() is ExitCode.OK
    assert judged(tree, Selection(only=("port.upstream.*",))).exit_code() is ExitCode.UNREADABLE


def test_what_is_waived_and_not_asked_for_is_not_told_as_waived(tmp_path: Path) -> None:
    host = opened(one_switch(tmp_path))
    waiver = Waiver(DIRECT, None, "known", None, date.max)
    yardstick = Yardstick(
        PROFILE, ModeName.VM, waivers=(waiver,), selection=Selection(only=("nic.ats",))
    )

    found = audit(host, surveyed(host), yardstick).findings

    assert {f.waiver for f in found} == {None}


def test_of_a_switch_group_that_is_not_looked_at_no_register_is_judged(tmp_path: Path) -> None:
    tree = two_switches(tmp_path)
    first, _ = judged(tree, Selection()).groups
    all_ones(tree, "0000:42:04.0")

    audited = judged(tree, Selection(groups=frozenset({first.name})))

    assert {bit.requirement.group.name for bit in audited.bits} == {first.name}
    assert {each.group for each in audited.ats} == {first.name}
    unread = [f for f in audited.findings if f.state is State.ERROR]
    assert {f.subject.address for f in unread} == {None}
