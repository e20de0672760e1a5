"""``pcietune firmware``: how it ends, and what it never does."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli.as_process import finish, start
from cli.in_process import Pcietune
from host.fake_mstconfig import FakeMstconfig
from trees.machines import one_switch

from pcietune.cli.asking import Wish, ask_nics
from pcietune.errors import ExitCode, LockedError, SwitchedOffError
from pcietune.host.host_files import HostFiles
from pcietune.host.nic_firmware.tool import ConfigTool
from pcietune.host.run.lock import locked
from pcietune.host.sysfs import SysfsHost
from pcietune.model.nic_firmware import Due, NicFirmware, Parameter
from pcietune.report.outcome import Outcome

NIC = "0000:24:00.0"


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


def test_a_set_without_a_terminal_wants_to_be_told_yes() -> None:
    code, _, stderr = finish(start("firmware", "--set"))  # as a timer would

    assert code == 4
    assert "nobody is there to answer" in stderr
    assert "--yes" in stderr


def test_without_a_program_that_speaks_with_nics_it_says_what_to_install(tmp_path: Path) -> None:
    code, _, stderr = finish(start("firmware", environment={"PATH": str(tmp_path)}))

    assert code == 4
    assert "neither mstconfig nor mlxconfig is on PATH" in stderr


class Server:
    """A live host with one NIC, and the program that speaks with it."""

    def __init__(self, root: Path) -> None:
        self.tree = one_switch(root / "host")
        (self.tree.root / "run").mkdir()
        self.fake = FakeMstconfig(root / "bin")
        self.fake.has("ATS_ENABLED", "False(0)", "False(0)", "False(0)")

    def ask(self, wish: Wish) -> tuple[list[NicFirmware], ExitCode]:
        """Return what the NIC says, and how the command would end."""
        host = SysfsHost(HostFiles(self.tree.root, recorded=False))
        found, codes = ask_nics(host, ConfigTool(str(self.fake.path)), wish, Outcome())
        return found, ExitCode.of_several(codes)


SET = Wish("gpu-rdma", set=True, yes=True)


@pytest.mark.parametrize("wish", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_lets_the_program_end_what_it_writes_to_a_nic(
    tmp_path: Path, wish: signal.Signals
) -> None:
    server = Server(tmp_path)
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    server.fake.path.write_text(f"#!/bin/sh\ntouch {begun}\nsleep 1\ntouch {ended}\n")
    program = f"""
from pcietune.cli.asking import Wish, ask_nics
from pcietune.cli.interrupts import all_alike_from_now_on
from pcietune.host.host_files import HostFiles
from pcietune.host.nic_firmware.tool import ConfigTool
from pcietune.host.sysfs import SysfsHost
from pcietune.report.outcome import Outcome
from pathlib import Path
all_alike_from_now_on()
host = SysfsHost(HostFiles(Path({str(server.tree.root)!r}), recorded=False))
try:
    ask_nics(host, ConfigTool({str(server.fake.path)!r}), Wish("gpu-rdma"), Outcome())
except KeyboardInterrupt:
    raise SystemExit(130)
"""

    with subprocess.Popen([sys.executable, "-c", program], cwd=Path(__file__).parents[2]) as run:
        while not begun.exists():
            assert run.poll() is None
            time.sleep(0.01)
        run.send_signal(wish)

    assert run.returncode == 130
    assert ended.exists()


@pytest.mark.parametrize(("answer", "due"), [("n", Due.SET), ("", Due.SET), ("y", Due.REBOOT)])
def test_only_yes_is_taken_for_consent(tmp_path: Path, answer: str, due: Due) -> None:
    server = Server(tmp_path)
    program = f"""
from pcietune.cli.asking import Wish, ask_nics
from pcietune.host.host_files import HostFiles
from pcietune.host.nic_firmware.tool import ConfigTool
from pcietune.host.sysfs import SysfsHost
from pcietune.report.outcome import Outcome
from pathlib import Path
host = SysfsHost(HostFiles(Path({str(server.tree.root)!r}), recorded=False))
found, _ = ask_nics(host, ConfigTool({str(server.fake.path)!r}), Wish(set=True), Outcome())
print(found[0].due)
"""

    run = subprocess.run(
        [sys.executable, "-c", program],
        input=f"{answer}\n",
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )

    assert run.stdout == f"{due}\n"
    assert "Set the firmware of 1 NIC, for the next reboot? [y/N]" in run.stderr


def test_a_step_that_is_due_is_a_difference(tmp_path: Path) -> None:
    [card], code = Server(tmp_path).ask(Wish("gpu-rdma"))

    assert (str(card.function.address), card.due) == (NIC, Due.SET)
    assert code is ExitCode.DIFFERS


def test_set_ends_well_with_a_reboot_due_and_a_later_question_says_that_it_is(
    tmp_path: Path,
) -> None:
    server = Server(tmp_path)

    [card], code = server.ask(SET)
    assert (card.due, code) == (Due.REBOOT, ExitCode.OK)

    [card], code = server.ask(Wish("gpu-rdma"))
    assert (card.due, code) == (Due.REBOOT, ExitCode.DIFFERS)


@pytest.mark.parametrize("enforce", ["audit", "apply"])
def test_a_typed_set_writes_whatever_enforce_says(tmp_path: Path, enforce: str) -> None:
    server = Server(tmp_path)
    file = server.tree.put("etc/pcietune/pcietune.yaml", f"mode: vm\nenforce: {enforce}")
    file.chmod(0o644)
    file.parent.chmod(0o755)

    [card], _ = server.ask(SET)

    assert card.done == (Parameter.ATS_ENABLED,)


@pytest.mark.parametrize("switch", ["cmdline", "file"])
def test_where_pcietune_is_switched_off_nothing_is_set_or_asked(
    tmp_path: Path, switch: str
) -> None:
    server = Server(tmp_path)
    if switch == "file":
        server.tree.put("etc/pcietune/disabled", "")
    else:
        server.tree.put("proc/cmdline", "quiet pcietune=off")

    with pytest.raises(SwitchedOffError) as caught:
        server.ask(SET)

    assert caught.value.exit_code is ExitCode.SWITCHED_OFF
    assert server.fake.calls() == []


def test_a_set_waits_for_another_pcietune_and_gives_up(tmp_path: Path) -> None:
    server = Server(tmp_path)
    files = HostFiles(server.tree.root, recorded=False)

    with (
        locked(files, "apply", wait_s=0, on_wait=print),
        pytest.raises(LockedError),
    ):
        server.ask(SET)

    assert server.fake.calls() == [f"-d {NIC} -e query"]


def test_a_nic_that_gave_no_answer_is_not_readable(tmp_path: Path) -> None:
    server = Server(tmp_path)
    server.fake.path.write_text("#!/bin/sh\nexit 1\n")

    [card], code = server.ask(SET)

    assert (card.due, code) == (Due.NOT_KNOWN, ExitCode.UNREADABLE)


def test_a_nic_that_does_not_take_the_setting_differs(tmp_path: Path) -> None:
    server = Server(tmp_path)
    server.fake.refuses("-E- Failed to set configuration: read only\n")

    [card], code = server.ask(SET)

    assert (card.due, code) == (Due.SET, ExitCode.DIFFERS)
