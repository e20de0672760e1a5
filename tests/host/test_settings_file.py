from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcietune.errors import BadInputError, ExitCode
from pcietune.host.host_files import HostFiles
from pcietune.host.settings_file import load_settings, parse_settings
from pcietune.model.profile import ModeName
from pcietune.model.settings import Enforce, Settings

DEFAULTS = Settings(profile=None, mode=None, enforce=Enforce.AUDIT)


def test_a_host_without_a_file_has_the_defaults(tmp_path: Path) -> None:
    assert load_settings(HostFiles(tmp_path, recorded=False)) == DEFAULTS


@pytest.mark.parametrize("data", [b"", b"# mode: vm\n", b"---\n"])
def test_a_file_that_says_nothing_gives_the_defaults(data: bytes) -> None:
    assert parse_settings(data, file="pcietune.yaml") == DEFAULTS


def test_every_key_is_taken_from_the_hosts_own_file(tmp_path: Path) -> None:
    folder = tmp_path / "etc/pcietune"
    folder.mkdir(parents=True)
    (folder / "pcietune.yaml").write_text("profile: a800-sxm4-8gpu\nmode: vm\nenforce: apply\n")

    settings = load_settings(HostFiles(tmp_path, recorded=False))

    assert settings == Settings("a800-sxm4-8gpu", ModeName.VM, enforce=Enforce.APPLY)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("- mode", "1:1: expected a mapping, but found a list", id="a list"),
        pytest.param("mod: vm", "1:1: unknown key 'mod'; did you mean 'mode'?", id="unknown key"),
        pytest.param(
            "mode: vm\nmode: vm", "2:1: repeated key 'mode', first on line 1", id="repeated key"
        ),
        pytest.param(
            "mode: bare-metal",
            "1:7: 'bare-metal' is not valid here; did you mean 'baremetal'?",
            id="misspelt mode",
        ),
        pytest.param(
            "enforce: yes",
            '1:10: expected text, but YAML reads yes as true; quote it: "yes"; valid: audit, apply',
            id="a boolean",
        ),
        pytest.param(
            "profile: 800",
            '1:10: expected text, but YAML reads 800 as the number 800; quote it: "800"',
            id="a number",
        ),
        pytest.param(
            "mode:", "1:6: expected text, but nothing is there; valid: vm, baremetal", id="nothing"
        ),
        pytest.param(
            "profile: ''", "1:10: '' is not a profile's name; leave the key out", id="empty"
        ),
    ],
)
def test_a_broken_file_is_refused_at_the_place(text: str, complaint: str) -> None:
    with pytest.raises(BadInputError) as refusal:
        parse_settings(text.encode(), file="pcietune.yaml")

    assert str(refusal.value) == f"pcietune.yaml:{complaint}"
    assert refusal.value.exit_code is ExitCode.BAD_INPUT
    assert refusal.value.hint.startswith("the keys are profile, mode, enforce, ")
    assert refusal.value.hint.endswith("a whole file may be: mode: vm")


@given(
    text=st.lists(
        st.sampled_from(["mode", "profile", "enforce", ": ", "\n", "vm", "apply", "0302", "[", "'"])
    ).map("".join)
)
def test_any_text_loads_or_is_bad_input(text: str) -> None:
    try:
        parse_settings(text.encode(), file="pcietune.yaml")
    except BadInputError as refusal:
        assert str(refusal).startswith("pcietune.yaml:")  # noqa: PT017 -- either way is right
