"""The manual pages are well-formed, and tell every command, option and key."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from pcietune.cli.app import app
from pcietune.errors import ExitCode
from pcietune.host.profiles.format_schema import profile_json_schema, settings_json_schema

MAN = Path(__file__).parents[2] / "man"
COMMANDS_PAGE = (MAN / "pcietune.8").read_text()
PROFILE_PAGE = (MAN / "pcietune-profile.5").read_text()


def _commands(group: TyperGroup, before: str = "") -> Iterator[tuple[str, TyperCommand]]:
    for name, command in group.commands.items():
        match command:
            case TyperGroup():
                yield from _commands(command, f"{before}{name} ")
            case TyperCommand(hidden=False):
                yield f"{before}{name}", command
            case _:  # a hidden one, which is for the program itself
                pass


def _options(command: TyperCommand | TyperGroup) -> set[str]:
    """Return a command's options as mdoc has them, with the first of two dashes left out."""
    names = [name for parameter in command.params for name in parameter.opts]
    return {name[1:] for name in names if name.startswith("--")}


COMMANDS = dict(_commands(get_group(app)))
# From a command's heading, up to its arguments, to the next heading.
SECTIONS = {
    re.split(r" (?:Ar|Cm|Op) ", heading)[0]: text
    for heading, text in re.findall(
        r"^\.Ss pcietune (.+)\n((?:(?!\.S[hs]).*\n)*)", COMMANDS_PAGE, re.MULTILINE
    )
}
_FLAG = re.compile(r"\bFl (-[a-z-]+)")


@pytest.mark.parametrize("page", sorted(MAN.iterdir()), ids=lambda page: page.name)
def test_a_page_is_well_formed(page: Path) -> None:
    checked = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", page], check=False, capture_output=True, text=True
    )

    assert (checked.stdout, checked.returncode) == ("", 0)


def test_every_command_has_a_section_and_every_section_a_command() -> None:
    assert sorted(SECTIONS) == sorted(COMMANDS)


def test_the_options_without_a_command_are_told() -> None:
    root = get_command(app)
    section = COMMANDS_PAGE.partition(".Ss Options without a command\n")[2].partition("\n.Ss ")[0]

    assert isinstance(root, TyperGroup)
    told = set(re.findall(r"^\.It Fl (-[a-z-]+)", section, re.MULTILINE))
    assert told == {"-help"} | _options(root)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_commands_section_tells_each_of_its_options_and_no_other(command: str) -> None:
    options = _options(COMMANDS[command])
    section = SECTIONS[command]
    owned = set(_FLAG.findall("\n".join(re.findall(r"^\.It (.+)", section, re.MULTILINE))))

    assert options <= set(_FLAG.findall(section))
    assert owned <= options


def test_every_exit_code_is_told() -> None:
    status = COMMANDS_PAGE.partition(".Sh EXIT STATUS\n")[2].partition(".Sh ")[0]
    told = " ".join(re.findall(r"^\.It (.+)", status, re.MULTILINE))

    assert {int(number) for number in re.findall(r"\d+", told)} == {1, 2, *ExitCode}


@pytest.mark.parametrize(
    ("page", "schema"),
    [(PROFILE_PAGE, profile_json_schema()), (COMMANDS_PAGE, settings_json_schema())],
    ids=["profile", "settings"],
)
def test_every_key_is_told(page: str, schema: str) -> None:
    told = set(re.findall(r"[\w-]+", " ".join(re.findall(r"\bLi (.+)", page))))

    keys = {
        key for each in json.loads(schema)["$defs"].values() for key in each.get("properties", ())
    }

    assert len(keys) > 15
    assert keys - told == set()
