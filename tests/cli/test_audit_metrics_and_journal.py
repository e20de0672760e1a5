"""``audit --textfile`` and ``--journal``."""

import socket
from pathlib import Path

import pytest
from cli.in_process import Pcietune
from prometheus_client.parser import text_string_to_metric_families
from trees.machines import one_switch

from pcietune.cli.audit_results import tell_journal
from pcietune.errors import BadInputError
from pcietune.report.outcome import Outcome

VM = ("--profile", "gpu-rdma", "--mode", "vm")


def values(file: Path) -> dict[str, float]:
    """Return the values of the metrics that have no labels."""
    return {
        family.name: family.samples[0].value
        for family in text_string_to_metric_families(file.read_text())
        if not family.samples[0].labels
    }


def test_the_metrics_are_those_of_the_run(pcietune: Pcietune, tmp_path: Path) -> None:
    host, file = one_switch(tmp_path / "host"), tmp_path / "pcietune.prom"

    run = pcietune("audit", "--from", host.root, *VM, "--textfile", file)

    assert run.exit_code == values(file)["pcietune_exit_code"] == 3
    assert file.stat().st_mode & 0o777 == 0o644
    assert sorted(path.name for path in tmp_path.iterdir()) == ["host", "pcietune.prom"]


def test_a_later_run_that_ends_early_keeps_when_all_was_judged(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host, file = one_switch(tmp_path / "host"), tmp_path / "pcietune.prom"
    pcietune("audit", "--from", host.root, *VM, "--textfile", file)
    first = values(file)

    run = pcietune("audit", "--from", tmp_path / "missing", *VM, "--textfile", file)

    later = values(file)
    success = "pcietune_last_success_timestamp_seconds"
    assert run.exit_code == later["pcietune_exit_code"] == 4
    assert later[success] == first[success]
    assert later["pcietune_last_run_timestamp_seconds"] > first[success]


@pytest.mark.parametrize(
    ("option", "success"),
    [
        (("--only", "link.*"), False),
        (("--device", "0000:24:00.0"), False),
        (("--skip", "link.*"), True),  # what is left out for good is not waited for
    ],
)
def test_a_run_that_asked_for_a_part_has_not_judged_all_of_the_host(
    pcietune: Pcietune, tmp_path: Path, option: tuple[str, str], *, success: bool
) -> None:
    host, file = one_switch(tmp_path / "host"), tmp_path / "pcietune.prom"

    pcietune("audit", "--from", host.root, *VM, *option, "--textfile", file)

    assert ("pcietune_last_success_timestamp_seconds" in values(file)) is success


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("metrics.txt", "node_exporter reads only files whose names end in .prom"),
        ("missing/pcietune.prom", "cannot be a file: it is a directory, or is in none"),
    ],
)
def test_a_place_that_is_none_is_bad_input_before_anything_is_read(
    pcietune: Pcietune, tmp_path: Path, name: str, said: str
) -> None:
    run = pcietune("audit", "--from", tmp_path / "no host", *VM, "--textfile", tmp_path / name)

    assert run.exit_code == 4
    assert said in run.stderr
    assert "no host" not in run.stderr


def test_metrics_are_written_where_a_junit_file_cannot_be(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host, file = one_switch(tmp_path / "host"), tmp_path / "pcietune.prom"
    files = ("--junit", "/sys/audit.xml", "--textfile", file)

    run = pcietune("audit", "--from", host.root, *VM, *files)

    assert run.exit_code == values(file)["pcietune_exit_code"] == 5


def test_a_recorded_hosts_findings_stay_out_of_this_machines_journal(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    one_switch(tmp_path)

    run = pcietune("audit", "--from", tmp_path, *VM, "--journal")

    assert run.exit_code == 4
    assert "the journal is this machine's" in run.stderr


def test_the_journal_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
        journal.bind(str(tmp_path / "socket"))
        tell_journal(Outcome(errors=[BadInputError("no mode is set")]), tmp_path / "socket")
        first = journal.recv(1000)

    assert b"MESSAGE=no mode is set\n" in first
    assert capsys.readouterr().err == ""


def test_without_a_journal_stderr_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tell_journal(Outcome(errors=[BadInputError("no mode is set")]), tmp_path / "socket")

    assert capsys.readouterr().err == (
        "pcietune: no mode is set\npcietune: audit ended with exit code 4: not judged\n"
    )
