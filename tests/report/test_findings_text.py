from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from report.outcomes import audited
from trees.fabrics import two_switches
from trees.function import downstream_port, gpu, nic, root_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import all_ones, set_word
from tune.judged import NIC_PORT, ROOT_PORT
from tune.profiles import rule, with_ports

from pcietune.model.finding import Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.profile import ModeName
from pcietune.model.settings import Waiver
from pcietune.model.severity import Severity
from pcietune.report import findings_text
from pcietune.report.outcome import Outcome

LOOK_ELSEWHERE = (
    "ACS redirects nothing on the GPU-NIC paths: whatever is slow or fails here, look elsewhere"
)
WAIVER = Waiver("nic.ats", None, "the NIC is being replaced", "OPS-17", date(2026, 12, 31))


def findings(outcome: Outcome, *, passes: bool = False, notes: bool = False) -> str:
    return "\n".join(findings_text.findings(outcome, passes=passes, notes=notes))


def having(root: Path, *made: Finding) -> Outcome:
    """Return a run whose audit found just this."""
    outcome = audited(one_switch(root))
    assert outcome.audit
    outcome.audit = replace(outcome.audit, findings=made)
    return outcome


def made(  # noqa: PLR0913 -- what differs between findings
    finding_id: str,
    state: State,
    severity: Severity = Severity.ERROR,
    *,
    path: str = "host",
    reason: str = "because",
    remedy: str = "",
    waiver: Waiver | None = None,
) -> Finding:
    return Finding(
        finding_id,
        Subject(path),
        severity,
        state,
        Value("this"),
        Value("that"),
        reason,
        Remedy(RemedyKind.SOFTWARE, remedy) if remedy else None,
        waiver=waiver,
    )


def headings(text: str) -> Sequence[str]:
    """Return the lines that begin what is told of a finding, and not the counts."""
    return [line for line in text.splitlines() if line and not line.startswith(" ")][:-1]


def test_what_is_worst_comes_first_and_what_informs_last(tmp_path: Path) -> None:
    outcome = having(
        tmp_path,
        made("a.passes", State.PASS),
        made("b.informs", State.FAIL, Severity.INFO),
        made("c.waits", State.PENDING),
        made("d.warns", State.FAIL, Severity.WARNING),
        made("e.fails", State.FAIL),
        made("f.unread", State.ERROR),
        made("g.waived", State.SKIP, waiver=WAIVER),
        made("h.not-asked", State.SKIP, reason="not asked for"),
        made("isolation.lost", State.FAIL),
        made("j.unknown", State.ERROR, Severity.INFO),
        made("k.elsewhere", State.NOT_APPLICABLE),
    )

    said = findings(outcome, passes=True, notes=True)

    assert headings(said) == [
        "NOT READ  f.unread (error)",
        "FAIL  isolation.lost (error)",
        "FAIL  e.fails (error)",
        "FAIL  d.warns (warning)",
        "PENDING  c.waits",
        "note  b.informs",
        "note  j.unknown",
        "waived  g.waived",
        "not applicable  k.elsewhere",
        "pass  a.passes",
    ]
    assert said.splitlines()[-1] == (
        "1 switch group, 11 findings: 1 pass, 1 NOT READ, 3 FAIL, 1 PENDING, 1 waived, "
        "1 not applicable, 2 note, 1 not asked for"
    )


def test_passes_are_listed_only_if_asked_for(tmp_path: Path) -> None:
    outcome = having(tmp_path, made("a.passes", State.PASS))

    assert headings(findings(outcome)) == []
    assert headings(findings(outcome, passes=True)) == ["pass  a.passes"]


def test_what_only_informs_has_one_line_for_each_id(tmp_path: Path) -> None:
    many = [
        made("link.width", State.FAIL, Severity.INFO, path=f"at {n}", reason=f"lane {n} is out")
        for n in range(100)
    ]
    alike = [
        made("aer.count", State.NOT_APPLICABLE, Severity.INFO, path=f"at {n}") for n in range(3)
    ]
    one = made("numa.node", State.ERROR, Severity.INFO, remedy="ask the maker")
    outcome = having(tmp_path, *many, one, *alike, made("nic.ats", State.FAIL))

    assert findings(outcome).splitlines()[5:-2] == [
        "note  link.width  100 times: lane 0 is out, and alike",
        "note  numa.node  because",
        "not applicable  aer.count  3 times: because",
        "  pcietune audit --notes tells all of them",
    ]


def test_all_of_what_informs_is_told_if_asked_for(tmp_path: Path) -> None:
    note = made("numa.node", State.FAIL, Severity.INFO, remedy="ask the maker")

    assert findings(having(tmp_path, note), notes=True).splitlines()[1:5] == [
        "note  numa.node",
        "  because",
        "    host  this, wanted that",
        "  software: ask the maker",
    ]


def test_a_waived_finding_is_told_with_its_waiver(tmp_path: Path) -> None:
    waived = made("isolation.lost", State.SKIP, reason="SrcValid is off", waiver=WAIVER)

    assert findings(having(tmp_path, waived)).splitlines()[1:5] == [
        "waived  isolation.lost",
        "  until 2026-12-31, OPS-17: the NIC is being replaced",
        "  SrcValid is off",
        "    host  this, wanted that",
    ]


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
    lost = [
        downstream_port(f"0000:22:{device}.0", below="0000:21:00.0", acs=(0x005F, 0x0000))
        for device in ("00", "04", "08")
    ]
    said = findings(audited(two_switches(tmp_path, instead=lost)))

    assert said.count("  kernel-args: boot with the IOMMU on") == 1
    assert said.count("  kernel-args: as above") == 7  # four bits at two places


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
