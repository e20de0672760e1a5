from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from report.outcomes import applied, audited, planned, restored
from trees.fabrics import two_switches
from trees.function import downstream_port, gpu, nic, root_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import all_ones, set_word, stuck
from tune.judged import GPU, NIC, NIC_PORT, ROOT_PORT
from tune.profiles import rule, with_ports
from tune.registers import register_changes

from pcietune.errors import LockedError
from pcietune.model.done import GroupFailure
from pcietune.model.profile import ModeName
from pcietune.model.undo import UndoRecord
from pcietune.report import text, writes_text
from pcietune.report.outcome import Outcome

LOOK_ELSEWHERE = (
    "ACS redirects nothing on the GPU-NIC paths: whatever is slow or fails here, look elsewhere"
)
# One switch has 7 of the NIC's port, 5 of the GPU's (TransBlk is not its business), 6 of the root
# port's, and 5 on ATS, the two groups, the IOMMU and its device TLB.
COUNTED = "1 switch group, 23 findings: 22 pass, 1 FAIL"


def joined(lines: Iterable[str]) -> str:
    return "\n".join(lines)


def findings(outcome: Outcome, *, passes: bool = False) -> str:
    return joined(text.findings(outcome, passes=passes))


def test_the_heading_says_what_the_host_is_and_how_it_is_judged(tmp_path: Path) -> None:
    outcome = audited(one_switch(tmp_path))
    outcome.disabled = "pcietune=off is on the kernel command line"

    assert list(text.heading(outcome)) == [
        "host     Example Systems GPU Server 8, kernel 6.12.0-amd64",
        "profile  tested: 1 x 10de:20f3 (10de:20f3)",
        "mode     vm",
        "disabled pcietune=off is on the kernel command line",
    ]


def test_the_heading_of_a_host_without_names_or_gpus_says_so(tmp_path: Path) -> None:
    tree = TreeHost(tmp_path)
    (tmp_path / "sys/class/dmi/id").unlink()
    (tmp_path / "proc/sys/kernel/osrelease").unlink()
    outcome = Outcome(platform=audited(tree).platform, nothing_here=True)

    assert list(text.heading(outcome)) == [
        "host     not named by its firmware, kernel ?",
        "There is no GPU on this host: nothing here for pcietune.",
    ]


def test_failures_come_before_what_is_pending_and_passes_only_if_asked_for(
    tmp_path: Path,
) -> None:
    off = nic(NIC, below=NIC_PORT, ats=(0x0020, 0))
    tree = one_switch(tmp_path, instead=[off])
    tree.group_type(5, "identity")
    all_ones(tree, ROOT_PORT)
    outcome = audited(tree)

    words = [
        line.split("  ")[0]
        for line in findings(outcome, passes=True).splitlines()
        if line and not line.startswith(" ")
    ]

    order = ["NOT READ", "FAIL", "PENDING", "pass"]
    assert sorted(words[:-1], key=order.index) == words[:-1]
    assert set(words[:-1]) == set(order)
    assert "pass  " not in findings(outcome)


def test_findings_that_differ_in_their_subject_alone_are_told_together(tmp_path: Path) -> None:
    said = findings(audited(two_switches(tmp_path)))

    assert said.count("FAIL  port.nic-side.DirectTrans (error)") == 1
    assert (
        "    0000:22:04.0  0000:20:01.0/00.0/04.0  DirectTrans- in ACSCtl 0x001d, wanted "
        "DirectTrans+\n"
        "    0000:22:08.0  0000:20:01.0/00.0/08.0  DirectTrans- in ACSCtl 0x001d, wanted "
        "DirectTrans+\n"
    ) in said
    assert said.count("register: pcietune apply") == 1


def test_a_long_remedy_that_findings_share_is_told_once(tmp_path: Path) -> None:
    said = findings(audited(two_switches(tmp_path), mode=ModeName.BAREMETAL))

    assert said.count("  kernel-args: pci=disable_acs_redir=") == 1
    assert said.count("  kernel-args: as above") == 5  # two bits at three places


def test_of_many_remedies_alike_only_the_first_are_told(tmp_path: Path) -> None:
    ports = {"24": "22:04", "25": "22:08", "44": "42:04", "45": "42:08"}
    without_ats = [
        nic(f"0000:{bus}:00.0", below=f"0000:{port}.0", ats=None) for bus, port in ports.items()
    ]
    said = findings(audited(two_switches(tmp_path, instead=without_ats))).splitlines()

    start = said.index("FAIL  nic.ats (error)")
    block = said[start : said.index("", start)]
    told = [line for line in block if line.startswith("  firmware: ")]
    (rest,) = (line for line in block if line.endswith("--json has every one"))
    assert len(told) + int(rest.split()[1]) == 4  # one for each of the NICs


def test_the_last_line_counts_findings_by_state(tmp_path: Path) -> None:
    said = findings(audited(one_switch(tmp_path)))

    assert said.splitlines()[-1] == COUNTED


def test_without_a_switch_group_there_is_no_path_to_shorten(tmp_path: Path) -> None:
    tree = TreeHost(tmp_path)
    tree.add(
        root_port("0000:20:01.0"),
        gpu("0000:21:00.0", below="0000:20:01.0"),
        root_port("0000:40:01.0"),
        nic("0000:41:00.0", below="0000:40:01.0"),
    )

    said = findings(audited(tree))

    assert "0 switch groups" in said
    assert (
        "their paths meet in the root complex, where the IOMMU's mode and the host bridges" in said
    )


def unredirected(root: Path, nic_port: int = 0x0000) -> TreeHost:
    """Return a host whose ports redirect nothing, but for what the NIC's port is set to."""
    tree = one_switch(root)
    for address in (ROOT_PORT, "0000:22:00.0"):
        set_word(tree, address, 0x0000)
    set_word(tree, NIC_PORT, nic_port)
    return tree


@pytest.mark.parametrize(
    ("control", "exonerated"),
    [
        pytest.param(0x0000, True, id="nothing"),
        pytest.param(0x0001, True, id="SrcValid"),
        pytest.param(0x0010, True, id="UpstreamFwd"),
        pytest.param(0x0040, True, id="DirectTrans"),
        pytest.param(0x0002, False, id="TransBlk"),
        pytest.param(0x0004, False, id="ReqRedir"),
        pytest.param(0x0008, False, id="CmpltRedir"),
        pytest.param(0x0020, False, id="EgressCtrl"),
        pytest.param(0x0200, False, id="memory target access redirected"),
    ],
)
def test_acs_is_exonerated_where_no_port_redirects_or_blocks(
    tmp_path: Path, control: int, *, exonerated: bool
) -> None:
    outcome = audited(unredirected(tmp_path, control), mode=ModeName.BAREMETAL)

    assert (LOOK_ELSEWHERE in findings(outcome)) is exonerated


def test_acs_is_not_exonerated_where_a_port_was_not_read(tmp_path: Path) -> None:
    silent = unredirected(tmp_path / "silent")
    all_ones(silent, ROOT_PORT)
    asked_of_some = with_ports(nic_side=rule(require="ReqRedir-"))

    assert LOOK_ELSEWHERE not in findings(audited(silent, mode=ModeName.BAREMETAL))
    assert LOOK_ELSEWHERE not in findings(audited(unredirected(tmp_path / "all"), asked_of_some))


def test_ports_without_acs_exonerate_acs(tmp_path: Path) -> None:
    bare = [
        root_port(ROOT_PORT, acs=None),
        downstream_port("0000:22:00.0", below="0000:21:00.0", acs=None),
        downstream_port(NIC_PORT, below="0000:21:00.0", acs=None),
    ]
    tree = one_switch(tmp_path, instead=bare)

    assert LOOK_ELSEWHERE in findings(audited(tree, mode=ModeName.BAREMETAL))


def test_status_tells_the_ways_and_counts(tmp_path: Path) -> None:
    lines = list(text.status(audited(one_switch(tmp_path))))

    assert lines[:2] == [
        "enforce  audit",
        "channel  registers: open (root, and the kernel is not locked down)",
    ]
    assert lines[-1] == f"judged   {COUNTED}"


def test_a_plan_tells_each_write_exactly(tmp_path: Path) -> None:
    assert list(writes_text.plan(planned(one_switch(tmp_path)))) == [
        "",
        "switch group 0000:20:01.0/00.0",
        "  0000:22:04.0  ACSCtl at 0x106: 0x001d -> 0x005d (mask 0x0040, DirectTrans+)",
    ]


def test_a_plan_tells_what_it_holds_back(tmp_path: Path) -> None:
    user = replace(nic(NIC, below=NIC_PORT, driver="vfio-pci"), attributes={"enable": "1"})
    in_use = one_switch(tmp_path / "in_use", instead=[user])
    silent = one_switch(tmp_path / "silent")
    all_ones(silent, GPU)
    all_ones(silent, NIC)
    bound = one_switch(tmp_path / "bound", driver="vfio-pci")

    assert joined(writes_text.plan(planned(in_use))).splitlines()[1:] == [
        "nothing to write",
        "deferred  0000:22:04.0 DirectTrans+: in use by VFIO: 0000:24:00.0",
        "  try: stop the VM, or --while-in-use",
    ]
    assert "not begun  switch group 0000:20:01.0/00.0: 0000:24:00.0 does not answer" in joined(
        writes_text.plan(planned(silent))
    )
    assert "refused  0000:22:04.0 ReqRedir-: VFIO relies on" in joined(
        writes_text.plan(planned(bound, with_ports(nic_side=rule(set="ReqRedir-"))))
    )


def test_apply_tells_what_each_register_reads_now(tmp_path: Path) -> None:
    outcome, _ = applied(one_switch(tmp_path))

    assert joined(writes_text.applied(outcome)).splitlines()[1:] == [
        "switch group 0000:20:01.0/00.0",
        (
            "  0000:22:04.0  ACSCtl at 0x106: 0x001d -> 0x005d (mask 0x0040, DirectTrans+), "
            "reads 0x005d"
        ),
    ]


def test_apply_tells_which_group_failed_and_what_to_try(tmp_path: Path) -> None:
    outcome, _ = applied(one_switch(tmp_path), stuck(NIC_PORT, 1 << 6))

    said = joined(writes_text.applied(outcome))

    assert "FAILED  switch group 0000:20:01.0/00.0: 0000:22:04.0: wrote 0x0040" in said
    assert "  try: the bits may be read-only on this function" in said


def test_apply_tells_a_failure_without_a_hint_by_its_message_alone(tmp_path: Path) -> None:
    outcome, _ = applied(one_switch(tmp_path), stuck(NIC_PORT, 1 << 6))
    assert outcome.applied
    outcome.applied.failures = [GroupFailure("0000:20:01.0/00.0", LockedError("busy"))]

    assert list(writes_text.applied(outcome))[1:] == [
        "FAILED  switch group 0000:20:01.0/00.0: busy"
    ]


def test_apply_tells_that_it_was_interrupted_and_undid_all(tmp_path: Path) -> None:
    outcome, _ = applied(one_switch(tmp_path), interrupted=True)

    assert list(writes_text.applied(outcome))[1:] == [
        "interrupted: everything written in this run was undone",
        "nothing was written",
    ]


def test_restore_tells_what_it_put_back(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    _, record = applied(tree)

    assert list(writes_text.restored(restored(tree, record))) == [
        "0000:22:04.0  ACSCtl at 0x106: 0x005d -> 0x001d (mask 0x0040)"
    ]


def test_restore_tells_what_it_left_and_why(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    _, record = applied(tree)
    all_ones(tree, NIC_PORT)
    found = UndoRecord(record.boot_id, record.changes, register_changes(record))

    assert list(writes_text.restored(restored(tree, found))) == [
        "left  0000:22:04.0: 0000:22:04.0 does not answer: it reads as all ones",
        "left  0000:22:04.0: set before this boot's first apply",
        "nothing to put back",
    ]


def test_there_is_nothing_to_tell_of_what_was_not_reached() -> None:
    nothing = Outcome()

    assert list(text.heading(nothing)) == list(text.status(nothing)) == []
    assert list(writes_text.plan(nothing)) == list(writes_text.applied(nothing)) == []
    assert list(writes_text.restored(nothing)) == []
    assert findings(nothing) == ""
