"""What is printed, whoever wrote it, and wherever it goes."""

import json
import os
from pathlib import Path

import pytest
from cli.as_process import finish, start
from cli.in_process import Pcietune
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import word

VM = ("--profile", "gpu-rdma", "--mode", "vm")
NIC_PORT = "0000:22:04.0"


def named(host: TreeHost, product: str) -> TreeHost:
    host.put("sys/devices/virtual/dmi/id/product_name", product)
    return host


@pytest.mark.parametrize("command", [("audit", *VM), ("status", *VM), ("topo", "--all")])
def test_nothing_that_a_terminal_would_obey_comes_through_from_a_recording(
    pcietune: Pcietune, tmp_path: Path, command: tuple[str, ...]
) -> None:
    host = named(one_switch(tmp_path), "Server\x1b]0;owned\x07\nFAIL")
    uevent = host.directory("0000:24:00.0") / "uevent"
    uevent.write_text(f"{uevent.read_text()}DRIVER=\x1b[2Jdriver\n")

    run = pcietune(*command, "--from", tmp_path)

    assert "\x1b" not in run.stdout
    assert "\nFAIL, kernel" not in run.stdout
    assert "\\x1b" in run.stdout


def test_what_the_locale_cannot_print_is_escaped(tmp_path: Path) -> None:
    named(one_switch(tmp_path), "S\u00fcper \u2603")

    exit_code, stdout, stderr = finish(
        start("audit", *VM, "--from", tmp_path, environment={"PYTHONIOENCODING": "ascii"})
    )

    assert (exit_code, stderr) == (3, "")
    assert "S\\xfcper \\u2603, kernel" in stdout


def test_json_is_utf8_whatever_the_locale(tmp_path: Path) -> None:
    named(one_switch(tmp_path), "S\u00fcper \u2603")

    _, stdout, _ = finish(
        start(
            *("audit", *VM, "--json", "--from", tmp_path),
            environment={"PYTHONIOENCODING": "ascii"},
        )
    )

    assert json.loads(stdout)["host"]["dmi"]["product_name"] == "S\u00fcper \u2603"


def test_a_name_that_is_not_utf8_is_told_with_escapes_in_text_and_json(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    missing = os.fsdecode(os.fsencode(tmp_path) + b"/host\xff.tar")

    text = pcietune("audit", *VM, "--from", missing)
    document = pcietune("audit", *VM, "--from", missing, "--json").document()

    assert text.exit_code == document.exit == 4
    assert "host\\udcff.tar: there is no such file" in text.stderr
    assert "host\\udcff.tar: there is no such file" in document.errors[0].message


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_a_full_disk_behind_stdout_is_told_without_a_traceback(
    tmp_path: Path, form: tuple[str, ...], unbuffered: str
) -> None:
    host = one_switch(tmp_path)
    full = os.open("/dev/full", os.O_WRONLY)

    process = start(
        *("apply", *VM, "--from", str(tmp_path), "--in-place", *form),
        stdout=full,
        environment={"PYTHONUNBUFFERED": unbuffered},
    )
    os.close(full)
    exit_code, _, stderr = finish(process)

    assert exit_code == 1
    assert stderr == "pcietune: the result could not be printed: No space left on device\n"
    assert word(host, NIC_PORT) == 0x005D


def test_a_site_that_broke_every_shipped_profile_is_told_so(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = one_switch(tmp_path)
    for name in ("a800-sxm4-8gpu", "gpu-rdma"):
        host.put(f"etc/pcietune/profiles.d/{name}.yaml", "version: 2")

    run = pcietune("profile", "list", "--from", tmp_path)

    assert run.exit_code == 4
    assert "gpu-rdma.yaml" in run.stderr
