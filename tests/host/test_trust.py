"""Who may tell pcietune what to write: the owner and nobody else."""

import os
from pathlib import Path

import pytest

from pcietune.errors import BadInputError, ExitCode
from pcietune.host.host_files import HostFiles
from pcietune.host.profiles.store import Profiles, shipped_profiles
from pcietune.host.trust import check_profile_trusted, check_tree_trusted, check_trusted

ME = os.geteuid()
SOMEBODY_ELSE = ME + 1


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    path = tmp_path / "profiles.d" / "ours.yaml"
    path.parent.mkdir(mode=0o755)
    path.write_text("version: 1\n")
    path.chmod(0o644)
    return path


def test_a_file_that_only_its_owner_may_write_is_trusted(profile: Path) -> None:
    check_trusted(profile, owner=ME)
    check_tree_trusted(profile.parent, owner=ME)


def test_a_file_that_is_absent_is_trusted(tmp_path: Path) -> None:
    check_trusted(tmp_path / "nothing", owner=ME)
    check_tree_trusted(tmp_path / "nothing", owner=ME)


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_a_file_that_others_may_write_is_refused(profile: Path, mode: int) -> None:
    profile.chmod(mode)

    with pytest.raises(BadInputError) as raised:
        check_trusted(profile, owner=ME)

    assert str(raised.value) == (
        f"{profile} may be written by others, who could have pcietune write what they like"
    )
    assert raised.value.hint == f"chmod go-w {profile}"
    assert raised.value.exit_code == ExitCode.BAD_INPUT


def test_a_file_of_somebody_else_is_refused(profile: Path) -> None:
    with pytest.raises(BadInputError) as raised:
        check_trusted(profile, owner=SOMEBODY_ELSE)

    assert str(raised.value) == (
        f"{profile} belongs to user {ME}, who could have pcietune write what they like"
    )
    assert raised.value.hint == f"chown {SOMEBODY_ELSE} {profile}"


def test_a_file_in_a_directory_that_others_may_write_is_refused(profile: Path) -> None:
    profile.parent.chmod(0o775)

    with pytest.raises(BadInputError, match=r"profiles\.d may be written by others"):
        check_trusted(profile, owner=ME)


def test_a_file_in_tmp_is_judged_by_itself(profile: Path) -> None:
    profile.parent.chmod(0o1777)

    check_trusted(profile, owner=ME)


def test_a_link_is_judged_by_what_is_behind_it(tmp_path: Path, profile: Path) -> None:
    profile.chmod(0o666)
    link = tmp_path / "link.yaml"
    link.symlink_to(profile)

    with pytest.raises(BadInputError, match=r"ours\.yaml may be written by others"):
        check_trusted(link, owner=ME)


def test_one_file_that_others_may_write_spoils_the_tree(tmp_path: Path, profile: Path) -> None:
    profile.chmod(0o666)

    with pytest.raises(BadInputError, match=r"ours\.yaml may be written by others"):
        check_tree_trusted(tmp_path, owner=ME)


def test_a_profile_is_believed_only_if_all_that_it_extends_may_be(
    profile: Path, tmp_path: Path
) -> None:
    parent = profile.with_name("parent.yaml")
    parent.write_bytes((shipped_profiles() / "gpu-rdma.yaml").read_bytes())
    profile.write_text("extends: parent\n")
    profiles = Profiles(HostFiles(tmp_path, recorded=False), shipped_profiles())
    loaded = profiles.load(str(profile))
    parent.chmod(0o644)
    check_profile_trusted(loaded, owner=ME)
    parent.chmod(0o666)

    with pytest.raises(BadInputError, match=r"parent\.yaml may be written by others"):
        check_profile_trusted(loaded, owner=ME)


def test_what_ships_with_pcietune_is_trusted_as_it_is(profile: Path, tmp_path: Path) -> None:
    shipped = tmp_path / "shipped" / "gpu-rdma.yaml"
    shipped.parent.mkdir()
    shipped.write_bytes((shipped_profiles() / shipped.name).read_bytes())
    shipped.chmod(0o666)
    profile.write_text("extends: gpu-rdma\n")

    profiles = Profiles(HostFiles(tmp_path, recorded=False), shipped.parent)

    check_profile_trusted(profiles.load("gpu-rdma"), owner=ME)
    check_profile_trusted(profiles.load(str(profile)), owner=ME)
