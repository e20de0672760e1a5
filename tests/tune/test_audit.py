from dataclasses import replace
from pathlib import Path

import pytest
from trees.fabrics import two_switches
from trees.machines import one_switch
from tune.faults import set_word
from tune.judged import NIC, NIC_PORT, finding, judge, judged, opened, surveyed
from tune.profiles import PROFILE
from tune.undo_in_memory import BOOT_ID

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, ExitCode, NotPermittedError
from pcietune.model.finding import RemedyKind, State
from pcietune.model.profile import ModeName
from pcietune.model.undo import Outcome, RecordedChange, RegisterChange, UndoRecord
from pcietune.model.yardstick import Yardstick
from pcietune.tune.audit.audit import audit
from pcietune.tune.audit.memory import Memory

ATS_CONTROL = 0x112  # of a NIC in the trees: ATS follows the serial number


def test_what_fails_makes_the_audit_differ(tmp_path: Path) -> None:
    assert judged(one_switch(tmp_path)).exit_code() == ExitCode.DIFFERS


def test_pending_differs_only_where_it_is_asked_for(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, driver="vfio-pci")
    set_word(tree, NIC_PORT, 0x005D)  # DirectTrans+
    set_word(tree, NIC, 0x0000, ATS_CONTROL)  # Enable-
    tree.group_type(5, "identity")

    audited = judged(tree)

    assert finding(audited, "nic.ats", NIC).state is State.PENDING
    assert audited.exit_code() == ExitCode.OK
    assert audited.exit_code(strict=True) == ExitCode.DIFFERS


def test_a_mode_that_the_profile_does_not_have_is_bad_input(tmp_path: Path) -> None:
    profile = replace(PROFILE, modes={ModeName.BAREMETAL: PROFILE.modes[ModeName.BAREMETAL]})

    with pytest.raises(BadInputError, match="profile tested has no mode vm") as said:
        judged(one_switch(tmp_path), profile)

    assert said.value.hint == "it has baremetal"


def test_two_audits_of_the_same_host_find_the_same_in_the_same_order(tmp_path: Path) -> None:
    tree = two_switches(tmp_path)

    assert judged(tree).findings == judged(tree).findings


def test_findings_are_sorted_by_location_and_id(tmp_path: Path) -> None:
    keys = [(f.subject.path, f.id) for f in judged(two_switches(tmp_path)).findings]

    assert [k for k in keys if k[0] != "dmar0"] == sorted(k for k in keys if k[0] != "dmar0")
    assert keys[-1] == ("dmar0", "iommu.device-tlb")  # no location: behind those of four digits


def test_a_killed_apply_is_told_with_its_switch_group(tmp_path: Path) -> None:
    group = "0000:20:01.0/00.0"
    entry = RegisterChange(
        group, f"{group}/04.0", PciAddress.parse(NIC_PORT), "1000:c010", 0x106, 0x40, 0, 0x40
    )
    record = UndoRecord(
        BOOT_ID,
        (
            RecordedChange(entry, Outcome.BEGUN),
            RecordedChange(replace(entry, group="0000:40:01.0/00.0"), Outcome.KEPT),
        ),
    )

    audited = judge(opened(one_switch(tmp_path)), record=record)

    (told,) = (f for f in audited.findings if f.id == "apply.unfinished")
    assert (told.subject.path, told.state, told.found.text) == (
        group,
        State.FAIL,
        "1 changes begun",
    )
    assert told.remedy
    assert told.remedy.kind is RemedyKind.REGISTER


def test_a_record_that_this_user_may_not_read_is_no_proof_that_every_apply_ended(
    tmp_path: Path,
) -> None:
    host = opened(one_switch(tmp_path))
    refusal = NotPermittedError("cannot read the undo record", hint="run pcietune as root")

    audited = audit(host, surveyed(host), Yardstick(PROFILE, ModeName.VM), Memory(refusal))

    found = finding(audited, "apply.unfinished", "host")
    assert (found.state, found.reason) == (State.ERROR, "cannot read the undo record")
    assert audited.exit_code() == ExitCode.NOT_PERMITTED


def test_a_switch_group_may_have_a_mode_of_its_own(tmp_path: Path) -> None:
    host = opened(two_switches(tmp_path))
    other = "0000:40:01.0/00.0"
    yardstick = Yardstick(PROFILE, ModeName.VM, {other: ModeName.BAREMETAL})

    found = audit(host, surveyed(host), yardstick).findings

    wanted = {
        f.subject.path.startswith(other): f.wanted.text
        for f in found
        if f.id == "port.nic-side.ReqRedir"
    }
    assert wanted == {False: "ReqRedir+", True: "ReqRedir-"}


def test_a_mode_of_a_switch_group_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    host = opened(one_switch(tmp_path))
    yardstick = Yardstick(PROFILE, ModeName.VM, {"0000:40:01.0/00.0": ModeName.BAREMETAL})

    with pytest.raises(
        BadInputError, match=r"^/etc/pcietune/pcietune\.yaml: .* has a mode, but is no switch group"
    ) as said:
        audit(host, surveyed(host), yardstick)

    assert said.value.hint == "its switch groups are 0000:20:01.0/00.0"
