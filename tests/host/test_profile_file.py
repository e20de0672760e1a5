"""What the profile format refuses, with the place of each complaint counted by hand."""

import re
import string
from fnmatch import fnmatchcase
from glob import escape
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pcietune.errors import BadInputError, ExitCode
from pcietune.host.host_files import HostFiles
from pcietune.host.profiles.file import lint_file, lint_profile, load_profile, parse_profile
from pcietune.host.profiles.schema import ProfileSchema
from pcietune.host.profiles.source import ProfileSource
from pcietune.host.profiles.store import Profiles, shipped_profiles

P = ProfileSource.of_file("p.yaml")
BROKEN = Path(__file__).parent / "broken_profiles"
DOUBTFUL = Path(__file__).parent / "doubtful_profiles"
SHIPPED = [pytest.param(path, id=path.stem) for path in sorted(shipped_profiles().iterdir())]
PARENTS = Profiles(HostFiles(Path(__file__).parent, recorded=False), shipped_profiles())
BROKEN_PROFILES = [pytest.param(path, id=path.stem) for path in sorted(BROKEN.glob("*.yaml"))]


@pytest.mark.parametrize("path", BROKEN_PROFILES)
def test_a_broken_profile_is_refused_with_every_complaint_at_its_place(path: Path) -> None:
    with pytest.raises(BadInputError) as refusal:
        load_profile(ProfileSource.of_file(str(path)))

    said, wanted = str(refusal.value).splitlines(), _wanted(path, file=str(path))
    assert len(said) == len(wanted)
    assert all(map(fnmatchcase, said, wanted)), said
    assert refusal.value.exit_code is ExitCode.BAD_INPUT
    assert "pcietune profile lint" in refusal.value.hint


def _wanted(path: Path, *, file: str) -> list[str]:
    """Read what is to be said of a broken profile; ... stands for a YAML parser's own words."""
    lines = path.with_suffix(".txt").read_text().splitlines()
    return [f"{file}:{escape(line).replace('...', '*')}" for line in lines]


def test_a_profile_of_more_than_256_kib_is_refused() -> None:
    with pytest.raises(BadInputError, match=r"^p\.yaml:1:1: larger than 256 KiB$"):
        parse_profile(b"#" * (256 * 1024 + 1), P)


def test_a_file_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"absent\.yaml: no such file$") as refusal:
        load_profile(ProfileSource.of_file(f"{tmp_path}/absent.yaml"))

    assert refusal.value.hint == (
        "what has a slash in it or .yaml at its end is a file; "
        "pcietune profile list shows the names"
    )


def test_lint_of_a_name_says_that_it_takes_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(BadInputError, match=r"^gpu-rdma: no such file$") as refusal:
        lint_file("gpu-rdma")

    assert refusal.value.hint == (
        "lint takes files; pcietune profile show NAME prints a profile that has a name"
    )


def test_a_directory_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r": Is a directory$"):
        load_profile(ProfileSource.of_file(str(tmp_path)))


def test_lint_says_what_loading_says() -> None:
    path = BROKEN / "several-at-once.yaml"

    said = [str(complaint) for complaint in lint_file(str(path))]

    with pytest.raises(BadInputError) as refusal:
        load_profile(ProfileSource.of_file(str(path)))
    assert "\n".join(said) == str(refusal.value)
    assert len(said) == 4


def test_lint_warns_of_what_is_well_formed_but_doubtful() -> None:
    path = DOUBTFUL / "all-that-lint-warns-of.yaml"

    said = [str(complaint) for complaint in lint_profile(path.read_bytes(), P)]

    assert said == [f"p.yaml:{line}" for line in path.with_suffix(".txt").read_text().splitlines()]


@pytest.mark.parametrize("path", SHIPPED)
def test_a_shipped_profile_gives_lint_nothing_to_say(path: Path) -> None:
    assert lint_file(str(path), PARENTS) == []


def test_the_formats_json_schema_has_lspcis_names_with_their_signs() -> None:
    names = ["SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl"]
    wants = [name + sign for name in [*names, "DirectTrans"] for sign in "+-"]

    schema = msgspec.json.schema(ProfileSchema)

    rule = schema["$defs"]["PortRuleSchema"]["properties"]
    assert rule["set"]["items"]["enum"] == wants
    assert rule["require"]["items"]["enum"] == wants


YAML_TEXT = st.text(alphabet=string.printable + "\u00e9\u2028\ufeff\x00", max_size=80)
FRAGMENTS = [
    "0302",
    "~",
    "off",
    "1e3",
    "[]",
    "[a]",
    "{}",
    "{a: b}",
    "0x_",
    "<<",
    "''",
    "- a",
    "9",
    "|",
]
SHIPPED_TEXTS = [path.read_text() for path in sorted(shipped_profiles().iterdir())]


@given(text=YAML_TEXT)
@example("a: 0x_")
@example("a: " + "9" * 5000)
@example("? [a]\n: b")
@example("<<: {version: 1}")
@example("version: 2024-01-01")
@example("[" * 3000)
@example("- " * 3000)
def test_any_text_loads_or_is_bad_input(text: str) -> None:
    _load_or_refuse(text.encode())


@given(data=st.binary(max_size=40))
def test_any_bytes_load_or_are_bad_input(data: bytes) -> None:
    _load_or_refuse(data)


@settings(max_examples=500)
@given(
    text=st.sampled_from(SHIPPED_TEXTS),
    at=st.floats(0, 1),
    length=st.integers(0, 12),
    put=st.one_of(YAML_TEXT, st.sampled_from(FRAGMENTS)),
)
def test_a_profile_with_some_text_replaced_loads_or_is_bad_input(
    text: str, at: float, length: int, put: str
) -> None:
    start = int(at * len(text))

    _load_or_refuse((text[:start] + put + text[start + length :]).encode())


@given(
    text=st.sampled_from(SHIPPED_TEXTS), word=st.integers(0, 100), put=st.sampled_from(FRAGMENTS)
)
def test_a_profile_with_one_value_replaced_loads_or_is_bad_input(
    text: str, word: int, put: str
) -> None:
    values = list(re.finditer(r'"[^"]+"|\w+[+-]|(?<=: )\w\S*', text))
    start, end = values[word % len(values)].span()

    _load_or_refuse((text[:start] + put + text[end:]).encode())


def _load_or_refuse(data: bytes) -> None:
    try:
        parse_profile(data, P, PARENTS)
    except BadInputError as refusal:
        assert all(line.startswith("p.yaml:") for line in str(refusal).split("\n"))  # noqa: PT017 -- either way is right
    else:
        lint_profile(data, P)
