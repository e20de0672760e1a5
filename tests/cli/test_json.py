"""The one JSON document: its fields and their order."""

import json
from pathlib import Path

import pytest
from cli.in_process import Pcietune
from report.valid_json import SHIPPED
from trees.machines import one_switch

NIC_PORT = "0000:22:04.0"
VM = ("--profile", "gpu-rdma", "--mode", "vm")

FIELDS = {
    "schema", "pcietune", "host", "profile", "mode", "group_modes", "enforce", "unattended",
    "channels", "protected", "findings", "writes", "deferred", "residual", "hook",
    "bindings", "changed", "disabled", "guard",
    "reboot_required", "power_cycle_required", "errors", "exit",
}  # fmt: skip
FINDING_FIELDS = {
    "id", "subject", "severity", "state", "found", "wanted", "reason", "remedy", "waiver",
}  # fmt: skip
WRITE_FIELDS = {"path", "address", "register", "offset", "old", "mask", "new", "readback"}


@pytest.mark.parametrize("command", ["status", "audit", "plan", "apply", "restore"])
def test_every_command_prints_the_same_fields(
    pcietune: Pcietune, tmp_path: Path, command: str
) -> None:
    one_switch(tmp_path)
    writes = command in {"apply", "restore"}
    options = (*(VM if command != "restore" else ()), *(("--in-place",) if writes else ()))

    run = pcietune(command, "--from", tmp_path, *options, "--json")

    assert json.loads(run.stdout).keys() == FIELDS
    assert run.document().exit == run.exit_code


def test_a_finding_has_the_promised_fields(pcietune: Pcietune, tmp_path: Path) -> None:
    one_switch(tmp_path)

    run = pcietune("audit", "--from", tmp_path, *VM, "--json")

    failing = [f for f in json.loads(run.stdout)["findings"] if f["state"] == "fail"]
    (finding,) = (f for f in failing if f["severity"] == "error")
    assert finding.keys() == FINDING_FIELDS
    assert finding["subject"] == {
        "path": "0000:20:01.0/00.0/04.0",
        "address": NIC_PORT,
        "id": "1000:c010",
    }
    assert finding["found"] == {
        "text": "DirectTrans- in ACSCtl 0x001d",
        "value": "0x001d",
        "bits": [
            "SrcValid+", "TransBlk-", "ReqRedir+", "CmpltRedir+", "UpstreamFwd+", "EgressCtrl-",
            "DirectTrans-",
        ],
    }  # fmt: skip
    assert finding["wanted"] == {
        "text": "DirectTrans+",
        "value": "0x005d",
        "bits": ["DirectTrans+"],
    }
    assert finding["remedy"]["kind"] == "register"


def test_a_write_has_the_promised_fields(pcietune: Pcietune, tmp_path: Path) -> None:
    one_switch(tmp_path)

    plan = pcietune("plan", "--from", tmp_path, *VM, "--json")
    apply = pcietune("apply", "--from", tmp_path, "--in-place", *VM, "--json")

    (planned,), (made,) = json.loads(plan.stdout)["writes"], json.loads(apply.stdout)["writes"]
    assert planned.keys() == WRITE_FIELDS
    assert planned["readback"] is None
    assert made == planned | {"readback": "0x005d"}


def test_findings_are_sorted_by_location_and_then_id(pcietune: Pcietune, tmp_path: Path) -> None:
    one_switch(tmp_path)

    run = pcietune("audit", "--from", tmp_path, *VM, "--json")

    ports = [f for f in run.document().findings if f.subject.address]
    by_port = [finding.subject.path for finding in ports]
    assert list(dict.fromkeys(by_port)) == [
        "0000:20:01.0", "0000:20:01.0/00.0", "0000:20:01.0/00.0/00.0",
        "0000:20:01.0/00.0/00.0/00.0", "0000:20:01.0/00.0/04.0", "0000:20:01.0/00.0/04.0/00.0",
    ]  # fmt: skip
    for path in set(by_port):
        ids = [finding.id for finding in ports if finding.subject.path == path]
        assert ids == sorted(ids)


def test_the_schema_is_printed_as_it_ships(pcietune: Pcietune) -> None:
    run = pcietune("schema")

    assert (run.exit_code, run.stdout) == (0, SHIPPED.read_text())


def test_two_runs_differ_in_nothing(pcietune: Pcietune, tmp_path: Path) -> None:
    one_switch(tmp_path)
    audit = ("audit", "--from", tmp_path, *VM, "--json")

    assert pcietune(*audit).stdout == pcietune(*audit).stdout
