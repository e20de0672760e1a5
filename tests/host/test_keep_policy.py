import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcietune.errors import NotPermittedError
from pcietune.host.host_files import HostFiles
from pcietune.host.run.keep_policy import keep_early_overrides, keep_policy, read_stamps
from pcietune.host.run.policy_file import read_policy
from pcietune.host.run.policy_lines import decode_lines, read_lines
from pcietune.host.run.stamp_file import decode_stamp, encode_stamp
from pcietune.model.policy import FunctionDuty, HookPolicy
from pcietune.model.policy_plain import plain_policy, policy_from_plain
from pcietune.model.stamp import Stamp

BOOT = "3d1f3a2e-0c43-4a5b-9a52-2f5d7f4c8e01"
RUN = "run/pcietune"


def duty(
    location: str, id_: str, override: str | None = None, *, probe: bool = True
) -> FunctionDuty:
    return FunctionDuty(
        location=location, id=id_, group="", ports=(), override=override, probe=probe
    )


def policy(*duties: FunctionDuty, boot_id: str = BOOT) -> HookPolicy:
    return HookPolicy(
        boot_id=boot_id,
        enforce=True,
        sha256="00",
        trusted=(),
        functions={each.location: each for each in duties},
        virtual_functions={},
    )


def stamp(address: str, *, boot_id: str = BOOT, bound_before: bool | None = None) -> Stamp:
    return Stamp(
        address=address,
        location=f"{address}/here",
        id="10de:20f3",
        boot_id=boot_id,
        verified_us=5,
        bound_before=bound_before,
    )


GPU, NIC = (
    duty("0000:20:01.0/00.0", "10de:20f3", "vfio-pci"),
    duty("0000:20:02.0/00.0", "15b3:a2d6"),
)


@pytest.fixture
def files(tmp_path: Path) -> HostFiles:
    """Return the files of a live host, so that owners are looked at; /run is there."""
    (tmp_path / "run").mkdir()
    (tmp_path / "etc").mkdir(parents=True)
    return HostFiles(tmp_path, recorded=False)


def names(files: HostFiles, directory: str) -> set[str]:
    return {path.name for path in (files.root / directory).iterdir()}


def test_the_rule_finds_each_id_as_uevents_spell_it(files: HostFiles) -> None:
    keep_policy(files, policy(GPU, NIC), [])

    assert names(files, f"{RUN}/ids") == {"10DE:20F3", "15B3:A2D6"}
    assert names(files, f"{RUN}/bind") == {"10DE:20F3"}


def test_where_nothing_may_be_written_no_driver_is_loaded(files: HostFiles) -> None:
    judging = policy(GPU)
    judging.enforce = False

    keep_policy(files, judging, [])

    assert names(files, f"{RUN}/ids") == {"10DE:20F3"}
    assert names(files, f"{RUN}/bind") == set()


def test_for_what_waits_for_a_unit_no_driver_is_loaded_that_would_take_it(
    files: HostFiles,
) -> None:
    waiting = duty("0000:20:01.0/00.0", "10de:20f3", "vfio-pci", probe=False)

    keep_policy(files, policy(waiting), [])

    assert names(files, f"{RUN}/ids") == {"10DE:20F3"}
    assert names(files, f"{RUN}/bind") == set()


def test_what_the_policy_no_longer_names_vanishes(files: HostFiles) -> None:
    keep_policy(files, policy(GPU, NIC), [stamp("0000:23:00.0"), stamp("0000:24:00.0")])

    keep_policy(files, policy(NIC), [stamp("0000:24:00.0")])

    assert names(files, f"{RUN}/ids") == {"15B3:A2D6"}
    assert names(files, f"{RUN}/bind") == set()
    assert names(files, f"{RUN}/stamps") == {"0000:24:00.0"}
    assert names(files, RUN) == {"ids", "bind", "stamps", "policy.json", "settings"}


def test_everybody_may_read_all_but_the_settings_and_only_root_write_it(files: HostFiles) -> None:
    keep_policy(files, policy(GPU), [stamp("0000:23:00.0")])

    kept = [path for path in (files.root / RUN).rglob("*") if path.is_file()]
    modes = {path.name: path.stat().st_mode & 0o777 for path in kept}
    assert modes.pop("settings") == 0o600  # /etc may keep them from others
    assert set(modes.values()) == {0o644}


def test_the_hook_reads_what_was_kept(files: HostFiles) -> None:
    keep_policy(files, policy(GPU, NIC), [])

    whole = read_policy(files.path(RUN), BOOT)
    part = read_lines(files.path(f"{RUN}/ids"), "10DE:20F3", BOOT)
    assert whole is not None
    assert plain_policy(whole) == plain_policy(policy(GPU, NIC))
    assert part is not None
    assert plain_policy(part) == plain_policy(policy(GPU))


def test_a_vf_on_another_bus_and_its_pf_have_a_stamp_each_though_they_are_at_one_location(
    files: HostFiles,
) -> None:
    physical, virtual = stamp("0000:24:00.0"), stamp("0000:25:00.0", bound_before=True)
    virtual.location = physical.location

    keep_policy(files, policy(NIC), [physical, virtual])

    found = read_stamps(files, BOOT)
    assert {address: each.bound_before for address, each in found.items()} == {
        "0000:24:00.0": None,
        "0000:25:00.0": True,
    }


@pytest.mark.parametrize("boot_id", ["another", None])
def test_what_is_of_another_boot_is_not_read(files: HostFiles, boot_id: str | None) -> None:
    keep_policy(files, policy(GPU), [stamp("0000:23:00.0")])

    assert read_policy(files.path(RUN), boot_id) is None
    assert read_lines(files.path(f"{RUN}/ids"), "10DE:20F3", boot_id) is None
    assert read_stamps(files, boot_id) == {}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"boot_id": 5}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'"a"\n',
        b"policy",
    ],
)
def test_what_is_broken_is_not_read(files: HostFiles, data: bytes) -> None:
    keep_policy(files, policy(GPU), [stamp("0000:23:00.0")])
    for name in ("policy.json", "ids/10DE:20F3", "stamps/0000:23:00.0"):
        (files.root / RUN / name).write_bytes(data)

    assert read_policy(files.path(RUN), BOOT) is None
    assert read_lines(files.path(f"{RUN}/ids"), "10DE:20F3", BOOT) is None
    assert read_stamps(files, BOOT) == {}


def test_lines_that_are_cut_off_anywhere_are_not_read(files: HostFiles) -> None:
    keep_policy(files, policy(GPU), [])
    file = files.root / RUN / "ids/10DE:20F3"
    whole = file.read_bytes()

    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        assert read_lines(files.path(f"{RUN}/ids"), "10DE:20F3", BOOT) is None


WORDS = st.sampled_from(
    ["policy", "trusted", "pf", "vf", "port", "end", "-", "probe", "word", BOOT, "10de:20f3", "40"]
)
LINES = st.lists(st.lists(WORDS | st.text(max_size=4), max_size=9).map(" ".join), max_size=6)


@given(text=st.text() | LINES.map(lambda lines: "".join(f"{line}\n" for line in lines)))
def test_any_text_is_a_policy_or_none(text: str) -> None:
    with suppress(ValueError):
        found = decode_lines(text)
        assert all(port.set_mask & ~0x5F == 0 for duty in found.duties for port in duty.ports)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(HookPolicy.__slots__), inner),
)


@given(plain=JSON)
def test_any_json_is_a_policy_or_none(plain: object) -> None:
    with suppress(ValueError):
        policy_from_plain(plain)


@pytest.mark.parametrize("mode", [0o666, 0o664])
def test_what_others_may_write_is_not_believed(files: HostFiles, mode: int) -> None:
    keep_policy(files, policy(GPU), [stamp("0000:23:00.0")])
    for name in ("policy.json", "ids/10DE:20F3", "stamps/0000:23:00.0"):
        (files.root / RUN / name).chmod(mode)

    assert read_policy(files.path(RUN), BOOT) is None
    assert read_lines(files.path(f"{RUN}/ids"), "10DE:20F3", BOOT) is None
    assert read_stamps(files, BOOT) == {}


def test_what_is_in_a_directory_that_others_may_write_is_not_believed(files: HostFiles) -> None:
    keep_policy(files, policy(GPU), [])
    (files.root / RUN).chmod(0o777)
    (files.root / RUN / "ids").chmod(0o777)

    assert read_policy(files.path(RUN), BOOT) is None
    assert read_lines(files.path(f"{RUN}/ids"), "10DE:20F3", BOOT) is None


def test_a_link_or_a_pipe_is_not_read(files: HostFiles) -> None:
    keep_policy(files, policy(GPU), [])
    file = files.root / RUN / "ids/10DE:20F3"
    file.rename(files.root / "elsewhere")
    file.symlink_to(files.root / "elsewhere")
    assert read_lines(files.path(f"{RUN}/ids"), "10DE:20F3", BOOT) is None

    file.unlink()
    os.mkfifo(file, 0o600)
    assert read_lines(files.path(f"{RUN}/ids"), "10DE:20F3", BOOT) is None


def test_without_run_it_is_told_that_nothing_can_be_kept(tmp_path: Path) -> None:
    with pytest.raises(NotPermittedError, match="cannot keep the policy of the udev hook"):
        keep_policy(HostFiles(tmp_path, recorded=False), policy(GPU), [])


@pytest.mark.parametrize("bound_before", [True, False, None])
def test_a_stamp_is_read_as_it_was_written(bound_before: bool | None) -> None:  # noqa: FBT001 -- a case
    written = stamp("0000:23:00.0", bound_before=bound_before)

    found = decode_stamp(encode_stamp(written))

    assert found is not None
    assert encode_stamp(found) == encode_stamp(written)


def test_early_overrides_are_a_file_that_all_may_read_and_none_where_there_are_none(
    files: HostFiles,
) -> None:
    file = files.root / "etc/pcietune/early-overrides"
    keep_early_overrides(files, ["a 10de:20f3 vfio-pci b", "c 10de:20f3 vfio-pci d"])

    assert file.read_text() == "a 10de:20f3 vfio-pci b\nc 10de:20f3 vfio-pci d\n"
    assert file.stat().st_mode & 0o777 == 0o644

    keep_early_overrides(files, [])
    assert not file.exists()
    keep_early_overrides(files, [])


def test_it_is_told_whether_an_image_that_was_made_before_has_other_early_overrides(
    files: HostFiles,
) -> None:
    assert not keep_early_overrides(files, [])
    assert keep_early_overrides(files, ["a 10de:20f3 vfio-pci b"])
    assert not keep_early_overrides(files, ["a 10de:20f3 vfio-pci b"])
    assert keep_early_overrides(files, ["a 10de:20f3 mlx5_vfio_pci b"])
    assert keep_early_overrides(files, [])
