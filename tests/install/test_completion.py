"""Each shell completes pcietune's command line by what pcietune says may stand there."""

import os
import subprocess
import sys
from pathlib import Path

COMPLETIONS = Path(__file__).parents[2] / "completions"


def test_bash_completes_commands_options_and_their_values() -> None:
    script = f'source {COMPLETIONS}/pcietune; COMP_CWORD=$(($# - 1)); COMP_WORDS=("$@")'
    script += '; _pcietune pcietune; printf "%s\\n" "${COMPREPLY[@]}"'

    def complete(*words: str) -> list[str]:
        return sorted(_run("bash", "-c", script, "bash", *words).split())

    assert complete("pcietune", "au") == ["audit"]
    assert complete("pcietune", "audit", "--mod") == ["--mode"]
    assert complete("pcietune", "audit", "--mode", "") == ["baremetal", "vm"]


def test_bash_knows_whose_the_completion_is() -> None:
    script = f"source {COMPLETIONS}/pcietune; complete -p pcietune"

    assert _run("bash", "-c", script) == "complete -o default -F _pcietune pcietune\n"


def test_zsh_is_told_what_may_stand_here() -> None:
    """Outside of its line editor zsh has no ``_arguments``, which shows what it is told."""
    script = f'_arguments() {{ print -r -- "$@" }}; words=("$@"); CURRENT=$#; source {COMPLETIONS}'
    script += "/_pcietune"

    said = _run("zsh", "-f", "-c", script, "zsh", "pcietune", "au")

    assert said.startswith('*: :(("audit":"')
    assert '"--mode"' in _run("zsh", "-f", "-c", script, "zsh", "pcietune", "audit", "--mod")


def test_zsh_finds_whose_the_completion_is() -> None:
    """The first line of an autoloaded completion names its command (zshcompsys(1))."""
    assert (COMPLETIONS / "_pcietune").read_text().startswith("#compdef pcietune\n")


def test_fish_completes_commands_options_and_their_values(tmp_path: Path) -> None:
    def complete(line: str) -> list[str]:
        script = f"source {COMPLETIONS}/pcietune.fish; complete --do-complete '{line}'"
        said = _run("fish", "--no-config", "-c", script, HOME=str(tmp_path))
        return sorted(offered.partition("\t")[0] for offered in said.splitlines())

    assert complete("pcietune au") == ["audit"]
    assert complete("pcietune audit --mod") == ["--mode"]
    assert complete("pcietune audit --mode ") == ["baremetal", "vm"]


def _run(*command: str, **surroundings: str) -> str:
    """Run a shell that finds this environment's pcietune, and give what it prints."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        command,
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"PATH": path} | surroundings,
    ).stdout
