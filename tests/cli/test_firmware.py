"""``pcietune firmware``, as far as it goes where there is no NIC to ask."""

import json
from pathlib import Path

from cli.as_process import finish, start
from cli.in_process import Pcietune
from trees.machines import one_switch


def test_a_recorded_host_is_not_asked(pcietune: Pcietune, tmp_path: Path) -> None:
    host = one_switch(tmp_path)

    run = pcietune("firmware", "--from", host.root)

    assert run.exit_code == 4
    assert "a recorded host has no NIC to ask" in run.stderr
    assert run.stdout == ""


def test_the_document_is_printed_at_an_error_too(pcietune: Pcietune, tmp_path: Path) -> None:
    host = one_switch(tmp_path)

    run = pcietune("firmware", "--set", "--yes", "--from", host.root, "--json")

    assert json.loads(run.stdout) == {
        "schema": 1,
        "tool": None,
        "disabled": None,
        "nics": [],
        "reboot_required": False,
        "errors": ["a recorded host has no NIC to ask"],
        "exit": 4,
    }


def test_without_a_program_that_speaks_with_nics_it_says_what_to_install(tmp_path: Path) -> None:
    code, _, stderr = finish(start("firmware", environment={"PATH": str(tmp_path)}))

    assert code == 4
    assert "neither mstconfig nor mlxconfig is on PATH" in stderr
