import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from report.outcomes import applied, audited, planned, restored
from trees.fabrics import two_switches
from trees.function import downstream_port, nic
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import all_ones, stuck
from tune.judged import NIC, NIC_PORT
from tune.profiles import PROFILE, rule, with_ports

from pcietune.errors import ExitCode, LockedError
from pcietune.model.boot_guard import BootGuard
from pcietune.model.profile import Layout
from pcietune.model.role_name import RoleName
from pcietune.report.document import Document, ResidualDocument
from pcietune.report.fill_document import document
from pcietune.report.json_text import encode
from pcietune.report.outcome import Outcome

TOP = "0000:20:01.0/00.0"


def decoded(outcome: Outcome) -> Mapping[str, object]:
    text = encode(document(outcome, outcome.exit_code()))
    return msgspec.json.decode(text, type=dict[str, object])


def filled(outcome: Outcome) -> Document:
    return document(outcome, outcome.exit_code())


def summary(residual: list[ResidualDocument]) -> list[tuple[str | None, str]]:
    return [(left.address, left.what) for left in residual]


def test_the_document_says_what_the_boot_guard_holds_back() -> None:
    assert (filled(Outcome()).guard, filled(Outcome(guard=BootGuard(1))).guard) == (None, None)
    held = filled(Outcome(guard=BootGuard(3))).guard
    assert held
    assert held.startswith("the last 3 boots never reached multi-user.target")


def test_the_document_has_the_promised_fields_at_every_stage(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    promised = {
        "schema", "pcietune", "host", "profile", "mode", "group_modes", "enforce", "unattended",
        "channels", "protected", "findings", "writes", "deferred", "residual", "hook",
        "bindings", "changed", "disabled", "guard",
        "reboot_required", "power_cycle_required", "errors", "exit",
    }  # fmt: skip
    after, record = applied(tree)

    for outcome in (Outcome(), audited(tree), planned(tree), after, restored(tree, record)):
        assert decoded(outcome).keys() == promised


def test_a_run_that_reached_nothing_says_so_by_null(tmp_path: Path) -> None:
    del tmp_path
    outcome = Outcome(errors=[LockedError("another pcietune is at work", hint="wait")])

    found = filled(outcome)

    assert (found.host, found.profile, found.mode, found.channels) == (None, None, None, {})
    assert found.protected is None
    assert [(e.message, e.hint) for e in found.errors] == [("another pcietune is at work", "wait")]
    assert found.exit == ExitCode.LOCKED


def test_the_host_the_yardstick_and_the_ways_are_named(tmp_path: Path) -> None:
    found = filled(audited(one_switch(tmp_path)))

    assert found.host
    assert found.host.dmi["product_name"] == "GPU Server 8"
    assert not {"product_serial", "product_uuid"} & found.host.dmi.keys()
    assert found.profile
    assert (found.profile.name, found.profile.sha256) == ("tested", PROFILE.sha256)
    assert found.channels.keys() == {"registers", "group_type", "config_acs", "firmware"}
    assert (found.mode, found.enforce, found.exit) == ("vm", "audit", 3)


def test_there_is_no_time_in_it_and_two_runs_are_equal(tmp_path: Path) -> None:
    tree = two_switches(tmp_path)

    one, other = (encode(filled(audited(tree))) for _ in range(2))

    assert one == other
    assert not re.search(r"\d\d:\d\d:\d\d(?!\.\d|:)|20\d\d-\d\d-\d\d", one)


def test_findings_are_sorted_by_location_and_then_id(tmp_path: Path) -> None:
    found = filled(audited(two_switches(tmp_path))).findings
    located = [(f.subject.path, f.id) for f in found if f.subject.address]

    assert located == sorted(located)


def test_a_planned_write_has_no_readback_and_changes_nothing(tmp_path: Path) -> None:
    found = filled(planned(one_switch(tmp_path)))

    (write,) = found.writes
    assert (write.path, write.address, write.register) == (f"{TOP}/04.0", NIC_PORT, "ACSCtl")
    assert (write.offset, write.old, write.mask, write.new, write.readback) == (
        "0x106",
        "0x001d",
        "0x0040",
        "0x005d",
        None,
    )
    assert (found.changed, found.residual) == (False, [])


def test_a_write_that_was_made_has_its_readback(tmp_path: Path) -> None:
    outcome, _ = applied(one_switch(tmp_path))

    found = filled(outcome)

    assert [(w.old, w.new, w.readback) for w in found.writes] == [("0x001d", "0x005d", "0x005d")]
    assert (found.changed, found.residual, found.exit) == (True, [], 0)


def test_what_was_put_back_is_a_write(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    _, record = applied(tree)

    found = filled(restored(tree, record))

    (write,) = found.writes
    assert (write.address, write.old, write.mask, write.new, write.readback) == (
        NIC_PORT,
        "0x005d",
        "0x0040",
        "0x001d",
        "0x001d",
    )
    assert found.changed


def test_what_restore_left_is_residual(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    _, record = applied(tree)
    all_ones(tree, NIC_PORT)

    found = filled(restored(tree, record))

    assert summary(found.residual) == [(NIC_PORT, "ACSCtl mask 0x0040")]
    assert found.exit == ExitCode.UNREADABLE


def test_a_group_that_was_rolled_back_is_an_error_and_residual(tmp_path: Path) -> None:
    outcome, _ = applied(two_switches(tmp_path), stuck("0000:22:08.0", 1 << 6))

    found = filled(outcome)

    assert [write.address for write in found.writes] == ["0000:42:04.0", "0000:42:08.0"]
    assert len(found.errors) == 1
    assert summary(found.residual) == [
        ("0000:22:04.0", "port.nic-side.DirectTrans"),
        ("0000:22:08.0", "port.nic-side.DirectTrans"),
    ]
    assert found.exit == ExitCode.ROLLED_BACK


def test_a_deferred_write_is_deferred_and_residual_once(tmp_path: Path) -> None:
    user = replace(nic(NIC, below=NIC_PORT, driver="vfio-pci"), attributes={"enable": "1"})

    found = filled(planned(one_switch(tmp_path, instead=[user])))

    assert summary(found.deferred) == summary(found.residual) == [(NIC_PORT, "DirectTrans+")]
    assert found.deferred[0].reason == "in use by VFIO: 0000:24:00.0"
    assert found.writes == []


def test_a_group_that_is_not_begun_is_residual_with_its_reason(tmp_path: Path) -> None:
    tree = two_switches(tmp_path)
    all_ones(tree, "0000:22:04.0")

    found = filled(planned(tree))

    not_begun = [left for left in found.residual if left.what == "switch group not begun"]
    assert [(left.path, left.address) for left in not_begun] == [(TOP, None)]
    assert "0000:22:04.0 does not answer" in not_begun[0].reason


def test_what_no_write_can_mend_is_residual_of_a_plan(tmp_path: Path) -> None:
    profile = replace(PROFILE, layout=Layout({RoleName.GPU: (8,)}))
    cannot = downstream_port(NIC_PORT, below="0000:21:00.0", acs=(0x001F, 0x001D))

    found = filled(planned(one_switch(tmp_path, instead=[cannot]), profile))

    assert set(summary(found.residual)) == {
        (NIC_PORT, "port.nic-side.DirectTrans"),
        (None, "layout.gpu"),
    }


def test_what_is_only_information_is_not_residual(tmp_path: Path) -> None:
    loose = downstream_port(NIC_PORT, below="0000:21:00.0", acs=(0x005F, 0x005C))

    found = filled(planned(one_switch(tmp_path, instead=[loose])))

    assert (found.residual, found.exit) == ([], 0)


@pytest.mark.parametrize(("iommu", "reboot"), [(True, False), (False, True)])
def test_a_reboot_is_required_where_kernel_arguments_are_the_remedy(
    tmp_path: Path, *, iommu: bool, reboot: bool
) -> None:
    assert filled(audited(one_switch(tmp_path, iommu=iommu))).reboot_required is reboot


def refusing(tree: TreeHost) -> Outcome:
    return planned(tree, with_ports(nic_side=rule(set="ReqRedir-")))


def test_a_refused_write_is_residual_and_something_to_tell(tmp_path: Path) -> None:
    outcome = refusing(one_switch(tmp_path, driver="vfio-pci"))

    assert summary(filled(outcome).residual) == [(NIC_PORT, "ReqRedir-")]
    assert outcome.plan_exit_code() == ExitCode.DIFFERS


def test_a_plan_with_nothing_to_write_exits_0_and_one_with_something_3(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)

    assert planned(tree).plan_exit_code() == ExitCode.DIFFERS
    applied(tree)
    assert planned(tree).plan_exit_code() == ExitCode.OK


def test_a_plan_over_what_cannot_be_read_says_so_by_its_exit_code(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    all_ones(tree, NIC_PORT)

    assert planned(tree).plan_exit_code() == ExitCode.UNREADABLE


def test_a_plan_that_was_not_reached_exits_as_its_error_says() -> None:
    assert Outcome(errors=[LockedError("busy")]).plan_exit_code() == ExitCode.LOCKED


def test_a_status_tells_and_does_not_judge(tmp_path: Path) -> None:
    outcome = audited(one_switch(tmp_path))

    assert (outcome.exit_code(), outcome.status_exit_code()) == (ExitCode.DIFFERS, ExitCode.OK)
