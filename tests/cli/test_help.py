"""What the command line says of itself."""

import pytest
from cli.as_process import finish, python, start
from cli.in_process import Pcietune
from typer.main import get_group

from pcietune import __version__
from pcietune.cli import guest, profile, vfio
from pcietune.cli.app import app
from pcietune.errors import ExitCode

COMMANDS = sorted(
    [
        *(name for name in get_group(app).commands if name not in ("guest", "profile", "vfio")),
        *(f"guest {name}" for name in get_group(guest.app).commands),
        *(f"profile {name}" for name in get_group(profile.app).commands),
        *(f"vfio {name}" for name in get_group(vfio.app).commands),
    ]
)


def _words(text: str) -> str:
    """Return the text of a help page without its frames and line breaks."""
    return " ".join(word for word in text.split() if word != "│")


def test_there_are_the_commands_that_are_promised() -> None:
    assert COMMANDS == [
        "apply", "audit", "diff", "explain", "firmware", "groups",
        "guest check", "guest libvirt", "guest nccl", "guest nvswitch", "guest plan", "guest qemu",
        "kernel-args", "mode", "paths", "plan",
        "profile learn", "profile lint", "profile list", "profile match", "profile schema",
        "profile show", "record", "report", "restore", "schema", "status", "topo", "udev-rules",
        "vfio before-start", "vfio bind", "vfio show", "vfio unbind", "vfio wait-ats", "watch",
    ]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_every_commands_help_has_an_example(pcietune: Pcietune, command: str) -> None:
    run = pcietune(*command.split(), "--help")

    said = _words(run.stdout)
    assert run.exit_code == 0
    assert f"pcietune {command}" in said.removeprefix(f"Usage: pcietune {command}")
    assert run.stderr == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_no_picture_for_a_word_between_colons(pcietune: Pcietune, command: str) -> None:
    said = pcietune(*command.split(), "--help").stdout

    of_frames = {chr(code) for code in range(0x2500, 0x2580)} | {"…"}
    assert {each for each in said if not each.isascii()} <= of_frames


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("audit", "exit 3 if anything is not"),
        ("plan", "exit 3 if there are any"),
        ("apply", "Exits 0 if the host is then as wanted, 3 if something is left"),
        ("restore", "Exits 0 if nothing of it is left to put back, else 3"),
        ("status", "Exits 0 whatever is found"),
        ("profile lint", "exit 4 if anything is wrong"),
        ("vfio bind", "Exits 0 if VFIO has them, 3 if something keeps one from it"),
    ],
)
def test_help_names_the_exit_codes_that_scripts_ask_for(
    pcietune: Pcietune, command: str, said: str
) -> None:
    assert said in _words(pcietune(*command.split(), "--help").stdout)


def test_help_names_every_exit_code(pcietune: Pcietune) -> None:
    said = _words(pcietune("--help").stdout).partition("Exit codes:")[2]

    named = {int(part.split()[0]) for part in said.rstrip(".").split(",")}
    assert named == set(ExitCode)


def test_without_arguments_it_helps(pcietune: Pcietune) -> None:
    run = pcietune()

    assert run.exit_code == 2
    assert "Usage: pcietune" in run.stdout


def test_it_tells_its_version(pcietune: Pcietune) -> None:
    run = pcietune("--version")

    assert (run.exit_code, run.stdout) == (0, f"pcietune {__version__}\n")


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_what_a_shell_asks_for_often_imports_little(option: str) -> None:
    program = f"""
import sys
from pcietune.cli.app import run
print(run(["{option}"]), *({{"yaml", "msgspec", "pyudev"}} & sys.modules.keys()))
"""

    assert python(program).splitlines()[-1] == "0"


def test_the_shell_completes_commands() -> None:
    words = {"_PCIETUNE_COMPLETE": "complete_bash", "COMP_WORDS": "pcietune au", "COMP_CWORD": "1"}

    assert finish(start(environment=words)) == (0, "audit\n", "")


def test_the_completion_script_is_printed() -> None:
    exit_code, stdout, _ = finish(start("--show-completion", "bash"))

    assert exit_code == 0
    assert "_PCIETUNE_COMPLETE=complete_bash" in stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["audit", "--nope"], "No such option: --nope", id="unknown option"),
        pytest.param(["audti"], "No such command 'audti'", id="unknown command"),
        pytest.param(["audit", "--mode", "vn"], "'vn' is not one of 'vm', 'baremetal'", id="mode"),
        pytest.param(["apply", "--wait", "-1"], "'--wait'", id="negative time"),
        pytest.param(["record"], "Missing argument 'FILE'", id="missing argument"),
    ],
)
def test_bad_usage_exits_2_and_prints_no_result(
    pcietune: Pcietune, arguments: list[str], said: str
) -> None:
    run = pcietune(*arguments)

    assert (run.exit_code, run.stdout) == (2, "")
    assert said in _words(run.stderr)
