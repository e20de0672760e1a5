from pathlib import Path

import pytest

from pcietune.errors import BadInputError, ExitCode
from pcietune.host.host_files import HostFiles
from pcietune.host.profiles.source import Origin
from pcietune.host.profiles.store import Profiles, shipped_profiles

BROKEN = b"version: 2\n"
SHIPPED = tuple(sorted(file.stem for file in shipped_profiles().glob("*.yaml")))


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "etc/pcietune/profiles.d"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def profiles(tmp_path: Path) -> Profiles:
    return Profiles(HostFiles(tmp_path, recorded=False), shipped_profiles())


def _copy(name: str, to: Path) -> None:
    to.write_bytes((shipped_profiles() / f"{name}.yaml").read_bytes())


def test_a_host_without_site_profiles_has_the_shipped_ones(profiles: Profiles) -> None:
    assert profiles.names() == SHIPPED
    assert {loaded.source.origin for loaded in profiles.all()} == {Origin.SHIPPED}


def test_a_profile_is_called_as_its_file(profiles: Profiles, site: Path) -> None:
    _copy("gpu-rdma", site / "rack-7.yaml")

    loaded = profiles.load("rack-7")

    assert loaded.profile.name == "rack-7"
    assert loaded.source.origin is Origin.SITE
    assert loaded.source.path == site / "rack-7.yaml"
    assert not loaded.source.replaces_shipped


def test_a_site_profile_replaces_the_shipped_one_of_its_name(
    profiles: Profiles, site: Path
) -> None:
    _copy("gpu-rdma", site / "a800-sxm4-8gpu.yaml")

    loaded = profiles.load("a800-sxm4-8gpu")

    assert loaded.profile.generic
    assert loaded.source.replaces_shipped
    assert profiles.names() == SHIPPED


def test_a_broken_site_profile_does_not_hide_another_that_is_named(
    profiles: Profiles, site: Path
) -> None:
    (site / "broken.yaml").write_bytes(BROKEN)

    assert profiles.load("gpu-rdma").profile.name == "gpu-rdma"
    assert "broken" in profiles.names()


def test_a_broken_site_profile_stops_a_match_over_all(profiles: Profiles, site: Path) -> None:
    (site / "broken.yaml").write_bytes(BROKEN)

    with pytest.raises(BadInputError, match=r"profiles\.d/broken\.yaml:1:10: 2 is not valid here"):
        profiles.all()


def test_what_editors_leave_behind_is_no_profile(profiles: Profiles, site: Path) -> None:
    for name in (".gpu.yaml", "gpu.yaml~", "gpu.yaml.rpmsave", "README"):
        (site / name).write_bytes(BROKEN)

    assert profiles.names() == SHIPPED


@pytest.mark.parametrize("name", ["here.yaml", "./here"])
def test_a_slash_or_the_suffix_makes_it_a_file(
    name: str, profiles: Profiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _copy("gpu-rdma", tmp_path / name)
    monkeypatch.chdir(tmp_path)

    loaded = profiles.load(name)

    assert loaded.profile.name == "here"
    assert loaded.source.origin is Origin.FILE
    assert loaded.source.path == Path(name)


def test_a_file_is_called_as_it_was_typed(
    profiles: Profiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.yaml").write_bytes(BROKEN)
    monkeypatch.chdir(tmp_path)

    with pytest.raises(BadInputError, match=r"^\./ours: no such file$"):
        profiles.load("./ours")
    with pytest.raises(BadInputError, match=r"^\./broken\.yaml:1:1: missing key"):
        profiles.load("./broken.yaml")


def test_an_unknown_name_is_answered_with_the_nearest(profiles: Profiles) -> None:
    with pytest.raises(BadInputError) as refusal:
        profiles.load("a800-sxm-8gpu")

    assert str(refusal.value) == (
        "no profile is called 'a800-sxm-8gpu'; did you mean 'a800-sxm4-8gpu'?"
    )
    assert refusal.value.hint.startswith("pcietune profile list")
    assert refusal.value.exit_code is ExitCode.BAD_INPUT


def test_a_name_far_from_any_is_answered_with_all(profiles: Profiles) -> None:
    with pytest.raises(BadInputError) as refusal:
        profiles.load("rack-7")

    assert str(refusal.value) == f"no profile is called 'rack-7'; valid: {', '.join(SHIPPED)}"


def test_site_profiles_of_a_recording_may_not_lead_out_of_it(tmp_path: Path) -> None:
    outside, recording = tmp_path / "outside", tmp_path / "recording"
    outside.mkdir()
    (recording / "etc/pcietune").mkdir(parents=True)
    (recording / "etc/pcietune/profiles.d").symlink_to(outside)
    profiles = Profiles(HostFiles(recording, recorded=True), shipped_profiles())

    with pytest.raises(BadInputError, match="leads out of the recorded host"):
        profiles.names()
