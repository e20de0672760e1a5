"""The JSON Schemas of profiles and settings, against another program's reading of them."""

import json
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from pcietune.host.profiles.format_schema import profile_json_schema, settings_json_schema
from pcietune.host.profiles.store import shipped_profiles

BROKEN = sorted((Path(__file__).parent / "broken_profiles").glob("*.yaml"))
SHIPPED = sorted(shipped_profiles().glob("*.yaml"))
TEXTS = [
    pytest.param(profile_json_schema(), id="profile"),
    pytest.param(settings_json_schema(), id="settings"),
]
PROFILE = Draft202012Validator(json.loads(profile_json_schema()))
SETTINGS = Draft202012Validator(json.loads(settings_json_schema()))

NO_DOCUMENT = {
    "control-character",
    "not-utf-8",
    "not-yaml",
    "tab-for-spaces",
    "tag",
    "two-documents",
}
"""What no YAML parser reads as one document of plain data."""

BEYOND_A_SCHEMA = {
    "alias": "anchors are resolved before a schema sees them",
    "control-contradicts": "between members of two lists",
    "control-repeats": "between members of two lists",
    "count-of-no-role": "between two keys",
    "decimal-for-a-whole-number": "JSON Schema takes 1.0 for 1",
    "groups-of-more-than-all": "arithmetic",
    "groups-of-more-than-the-most": "arithmetic",
    "nvswitch-that-nobody-binds": "between two keys",
    "octal-count": "YAML has made a number of it",
    "repeated-key": "PyYAML keeps the last",
}


def _invalid(validator: Draft202012Validator, text: bytes | str) -> bool:
    return any(True for _ in validator.iter_errors(yaml.safe_load(text)))


@pytest.mark.parametrize("text", TEXTS)
def test_it_is_a_schema_of_the_draft_that_it_names(text: str) -> None:
    schema = json.loads(text)

    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"].startswith("urn:pcietune:")


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_profile_is_valid(path: Path) -> None:
    assert [error.message for error in PROFILE.iter_errors(yaml.safe_load(path.read_text()))] == []


@pytest.mark.parametrize(
    "path",
    [path for path in BROKEN if path.stem not in NO_DOCUMENT | BEYOND_A_SCHEMA.keys()],
    ids=lambda path: path.stem,
)
def test_a_broken_profile_is_invalid(path: Path) -> None:
    assert _invalid(PROFILE, path.read_bytes())


def test_what_a_schema_cannot_say_is_known() -> None:
    passed = {
        path.stem
        for path in BROKEN
        if path.stem not in NO_DOCUMENT and not _invalid(PROFILE, path.read_bytes())
    }

    assert passed == set(BEYOND_A_SCHEMA)


@pytest.mark.parametrize(
    ("text", "invalid"),
    [
        ("extends: gpu-rdma", False),
        ("extends: gpu-rdma\nmatch: {place: ~}\nlayout: {gpu: [4, 8]}", False),
        ("extends: gpu-rdma\nroles: {nic: {attach: vf}}", False),
        ("extends: gpu-rdma\ncolour: red", True),
        ("extends: gpu-rdma\nmodes: {vm: {ats: on}}", True),
        ("extends: ../gpu-rdma", True),
        ("extends: ~", True),
        ("summary: without what it would extend", True),
    ],
)
def test_what_extends_another_needs_nothing_but_may_have_nothing_else(
    text: str, *, invalid: bool
) -> None:
    assert _invalid(PROFILE, text) is invalid


@pytest.mark.parametrize("text", TEXTS)
def test_every_key_has_a_title(text: str) -> None:
    for definition in json.loads(text)["$defs"].values():
        for name, key in definition.get("properties", {}).items():
            assert key["title"], name


def test_every_key_of_a_profile_is_described() -> None:
    for part, definition in json.loads(profile_json_schema())["$defs"].items():
        for name, key in definition.get("properties", {}).items():
            described = key if "description" in key else key["anyOf"][0]
            assert described["description"], (part, name)


@pytest.mark.parametrize(
    ("text", "invalid"),
    [
        ("{}", False),
        ("mode: vm\nenforce: apply", False),
        ("mode: vn", True),
        ("modes: vm", True),
    ],
)
def test_settings_are_valid_as_the_reader_has_it(text: str, *, invalid: bool) -> None:
    assert _invalid(SETTINGS, text) is invalid


@pytest.mark.parametrize("entry", ["{}", "{reason: mine}", "{slot: '5', netdev: eno1}"])
def test_what_is_protected_is_selected_in_one_way(entry: str) -> None:
    assert _invalid(SETTINGS, f"protect: [{entry}]")
    assert not _invalid(SETTINGS, "protect: [{slot: '5', reason: mine}, {class: '0108'}]")
