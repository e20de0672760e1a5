"""What audit may be told to leave out, waivers and all, and the JUnit file."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from cli.in_process import Pcietune
from trees.fabrics import two_switches
from trees.machines import one_switch

NIC_PORT, NIC = "0000:22:04.0", "0000:24:00.0"
DIRECT = "port.nic-side.DirectTrans"
VM = ("--profile", "gpu-rdma", "--mode", "vm")
SETTINGS = "etc/pcietune/pcietune.yaml"


def _waiver(expires: str) -> str:
    return (
        f'waivers: [{{id: {DIRECT}, subject: "{NIC_PORT}", reason: old switch, ticket: OPS-17, '
        f"expires: {expires}}}]\n"
    )


def test_only_what_is_asked_for_decides_the_exit_code(pcietune: Pcietune, tmp_path: Path) -> None:
    one_switch(tmp_path)
    audit = ("audit", "--from", tmp_path, *VM)

    assert pcietune(*audit).exit_code == 3
    assert pcietune(*audit, "--only", "nic.*", "--only", "iommu.*").exit_code == 0
    assert pcietune(*audit, "--only", "port.*").exit_code == 3
    assert pcietune(*audit, "--skip", DIRECT).exit_code == 0
    assert pcietune(*audit, "--device", "23:00.0").exit_code == 0
    assert pcietune(*audit, "--device", NIC).exit_code == 3


def test_what_is_not_asked_for_is_counted_and_not_listed(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    one_switch(tmp_path)
    options = ("audit", "--from", tmp_path, *VM, "--only", "nic.ats")

    text = pcietune(*options, "--passes", "--notes").stdout
    document = pcietune(*options, "--json").document()

    assert [line for line in text.splitlines() if "port." in line] == []
    skipped = [f for f in document.findings if f.state == "skip"]
    assert text.splitlines()[-1].endswith(f"1 pass, {len(skipped)} not asked for")
    assert {f.id for f in document.findings} - {f.id for f in skipped} == {"nic.ats"}


@pytest.mark.parametrize("option", ["--only", "--skip"])
def test_an_id_that_is_none_ends_the_audit_with_the_nearest(
    pcietune: Pcietune, tmp_path: Path, option: str
) -> None:
    one_switch(tmp_path)

    run = pcietune("audit", "--from", tmp_path, *VM, option, "port.nic-side.DirectTran", "--json")

    assert run.exit_code == run.document().exit == 4
    (error,) = run.document().errors
    assert error.message == "there is no finding 'port.nic-side.DirectTran'"
    assert f"did you mean {DIRECT}" in error.hint


def test_a_device_that_is_not_there_ends_the_audit(pcietune: Pcietune, tmp_path: Path) -> None:
    one_switch(tmp_path)

    run = pcietune("audit", "--from", tmp_path, *VM, "--device", "7f:00.0")

    assert run.exit_code == 4
    assert "there is no function '7f:00.0' here" in run.stderr


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(("--skip", "*"), id="all ids"),
        pytest.param(("--only", "port.*", "--skip", "port.*"), id="the same ids twice"),
        pytest.param(("--only", "iommu.*", "--device", NIC), id="a device of which none is"),
    ],
)
def test_a_selection_that_leaves_nothing_is_told_so(
    pcietune: Pcietune, tmp_path: Path, options: tuple[str, ...]
) -> None:
    one_switch(tmp_path)

    run = pcietune("audit", "--from", tmp_path, *VM, *options)

    assert run.exit_code == 0
    assert run.stderr == (
        "pcietune: --only, --skip and --device leave nothing that could be asked of this host\n"
    )


def test_a_selection_that_leaves_something_is_not_remarked_upon(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    one_switch(tmp_path)

    assert pcietune("audit", "--from", tmp_path, *VM, "--only", "nic.ats").stderr == ""


@pytest.mark.parametrize("option", ["--only", "--skip", "--device", "--profile"])
def test_a_very_long_name_is_cut_short_in_what_is_said_of_it(
    pcietune: Pcietune, tmp_path: Path, option: str
) -> None:
    one_switch(tmp_path)

    run = pcietune("audit", "--from", tmp_path, "--mode", "vm", option, "x" * 3000)

    assert run.exit_code == 4
    assert "xxx...'" in run.stderr
    assert max(map(len, run.stderr.splitlines())) < 300


def test_a_waiver_is_told_in_text_and_json_and_counts_for_nothing(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    one_switch(tmp_path).put(SETTINGS, _waiver("2999-12-31"))
    audit = ("audit", "--from", tmp_path, *VM)

    text, document = pcietune(*audit), pcietune(*audit, "--json")

    assert (text.exit_code, document.exit_code) == (0, 0)
    assert f"waived  {DIRECT}\n  until 2999-12-31, OPS-17: old switch\n" in text.stdout
    waived = document.finding(DIRECT, NIC_PORT)
    assert waived.state == "skip"
    assert waived.waiver
    assert (waived.waiver.reason, waived.waiver.ticket, waived.waiver.expires) == (
        "old switch",
        "OPS-17",
        "2999-12-31",
    )


def test_apply_writes_nothing_that_is_waived(pcietune: Pcietune, tmp_path: Path) -> None:
    host = one_switch(tmp_path)
    host.put(SETTINGS, _waiver("2999-12-31"))
    before = host.config(NIC_PORT).read_bytes()

    run = pcietune("apply", "--from", tmp_path, "--in-place", *VM, "--json")

    assert host.config(NIC_PORT).read_bytes() == before
    assert [w for w in run.document().writes if w.register == "ACSCtl"] == []


def test_a_waiver_that_is_over_waives_nothing(pcietune: Pcietune, tmp_path: Path) -> None:
    one_switch(tmp_path).put(SETTINGS, _waiver("2026-01-01"))

    run = pcietune("audit", "--from", tmp_path, *VM, "--json")

    assert run.exit_code == 3
    assert run.finding(DIRECT, NIC_PORT).state == "fail"
    over = run.finding("waiver.expired", f"waiver {DIRECT} {NIC_PORT}")
    assert (over.state, over.severity) == ("fail", "info")


def test_a_switch_group_is_judged_by_its_own_mode(pcietune: Pcietune, tmp_path: Path) -> None:
    host = two_switches(tmp_path)
    host.put(SETTINGS, 'mode: {default: vm, "0000:40:01.0/00.0": baremetal}\n')

    run = pcietune("audit", "--from", tmp_path, "--profile", "gpu-rdma", "--json")

    assert run.document().mode == "vm"
    assert run.document().group_modes == {"0000:40:01.0/00.0": "baremetal"}
    assert run.finding("port.nic-side.ReqRedir", "0000:22:04.0").wanted.text == "ReqRedir+"
    assert run.finding("port.nic-side.ReqRedir", "0000:42:04.0").wanted.text == "ReqRedir-"


def test_a_mode_of_no_switch_group_names_those_that_there_are(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    one_switch(tmp_path).put(SETTINGS, 'mode: {default: vm, "0000:40:01.0/00.0": vm}\n')

    run = pcietune("audit", "--from", tmp_path, "--profile", "gpu-rdma")

    assert run.exit_code == 4
    assert "its switch groups are 0000:20:01.0/00.0" in run.stderr


def test_a_typed_mode_leaves_switch_groups_that_have_their_own(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = two_switches(tmp_path)
    host.put(SETTINGS, 'mode: {default: baremetal, "0000:40:01.0/00.0": baremetal}\n')

    run = pcietune("audit", "--from", tmp_path, *VM, "--json")

    assert run.finding("port.nic-side.ReqRedir", "0000:22:04.0").wanted.text == "ReqRedir+"
    assert run.finding("port.nic-side.ReqRedir", "0000:42:04.0").wanted.text == "ReqRedir-"


def test_the_junit_file_has_a_case_for_each_finding(pcietune: Pcietune, tmp_path: Path) -> None:
    host, file = one_switch(tmp_path / "host"), tmp_path / "audit.xml"
    file.write_text("of an earlier run")

    run = pcietune("audit", "--from", host.root, *VM, "--json", "--junit", file)

    cases = list(ET.parse(file).getroot().iter("testcase"))
    assert run.exit_code == 3
    assert [case.get("classname") for case in cases] == [f.id for f in run.document().findings]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["audit.xml", "host"]


def test_the_junit_file_of_a_run_that_ended_early_says_so(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    file = tmp_path / "audit.xml"

    run = pcietune("audit", "--from", tmp_path / "missing", *VM, "--junit", file)

    assert run.exit_code == 4
    assert len(list(ET.parse(file).getroot().iter("error"))) == 1


@pytest.mark.parametrize("name", [".", "missing/audit.xml"])
def test_a_junit_file_without_a_place_is_bad_input_before_anything_is_read(
    pcietune: Pcietune, tmp_path: Path, name: str
) -> None:
    run = pcietune("audit", "--from", tmp_path / "no host", *VM, "--junit", tmp_path / name)

    assert run.exit_code == 4
    assert "cannot be a file: it is a directory, or is in none" in run.stderr
    assert "no host" not in run.stderr


def test_a_wrong_place_for_the_junit_file_is_told_once(pcietune: Pcietune, tmp_path: Path) -> None:
    one_switch(tmp_path)

    run = pcietune("audit", "--from", tmp_path, *VM, "--junit", tmp_path)

    assert run.exit_code == 4
    assert run.stderr.count("pcietune: ") == 1


def test_a_junit_file_that_cannot_be_written_is_told_in_the_document(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    one_switch(tmp_path)

    run = pcietune("audit", "--from", tmp_path, *VM, "--json", "--junit", "/sys/audit.xml")

    assert run.exit_code == run.document().exit == 5
    assert run.document().errors[-1].message.startswith("cannot write /sys/audit.xml: ")
