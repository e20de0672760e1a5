"""A function is added: what the hook makes of the ports above it."""

import fcntl
import json
from pathlib import Path

import pytest
from hook.events import add, event, hook, leave, stamp
from hypothesis import given
from hypothesis import strategies as st
from trees.config import ENDPOINT, ConfigBuilder
from trees.config import ROOT_PORT as PORT_ON_ROOT_BUS
from trees.function import (
    ACS_BY_LINUX,
    Function,
    downstream_port,
    nic,
    root_port,
    upstream_port,
)
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import ACS_CONTROL, set_word, word
from tune.judged import GPU, GPU_PORT, NIC, NIC_PORT, ROOT_PORT
from tune.profiles import UNREDIRECTED, handing_over, rule, with_ports

from pcietune.address import PciAddress
from pcietune.errors import ExitCode
from pcietune.hook import main
from pcietune.host.host_files import HostFiles
from pcietune.host.run.undo_log import read_undo_record
from pcietune.model.profile import Attach
from pcietune.model.undo import Outcome, RecordedChange, RegisterChange
from pcietune.registers.acs import AcsControl

TUNED = ACS_BY_LINUX | AcsControl.DIRECT_TRANSLATED_P2P.value
BOOT_ID = "3d1f3a2e-0c43-4a5b-9a52-2f5d7f4c8e01"


def recorded(tree: TreeHost) -> tuple[RecordedChange, ...]:
    record = read_undo_record(HostFiles(tree.root, recorded=True))
    return () if record is None else record.changes


def everything(root: Path) -> dict[str, bytes]:
    """Return all files of the host's sysfs and what they hold."""
    return {str(p): p.read_bytes() for p in (root / "sys").rglob("*") if p.is_file()}


@pytest.mark.parametrize(
    ("then", "now"), [("enforce: apply", "enforce: audit"), ("enforce: apply", None), (None, "{}")]
)
def test_settings_that_were_changed_since_apply_let_nothing_be_written(
    tmp_path: Path, then: str | None, now: str | None
) -> None:
    tree = one_switch(tmp_path)
    file = tree.put("etc/pcietune/pcietune.yaml", then or "")
    if then is None:
        file.unlink()
    leave(tree)
    file.unlink(missing_ok=True)
    if now is not None:
        tree.put("etc/pcietune/pcietune.yaml", now)
    before = everything(tmp_path)

    told = add(tree, NIC)

    assert told.exit_code == ExitCode.DIFFERS
    assert "/etc/pcietune/pcietune.yaml is not as apply found it: nothing is written" in told.stderr
    assert everything(tmp_path) == before


def test_the_nics_port_gets_direct_trans_and_nothing_else_is_written(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    leave(tree)
    before = everything(tmp_path)

    told = add(tree, NIC)

    assert told.exit_code == ExitCode.OK
    assert told.stderr == f"pcietune: {NIC}, add: {NIC_PORT} ACSCtl 0x001d -> 0x005d\n"
    assert word(tree, NIC_PORT) == TUNED
    set_word(tree, NIC_PORT, ACS_BY_LINUX)
    assert everything(tmp_path) == before


def test_a_function_whose_ports_are_as_wanted_is_stamped_and_nothing_is_written(
    tmp_path: Path,
) -> None:
    tree = one_switch(tmp_path)
    leave(tree)
    before = everything(tmp_path)

    told = add(tree, GPU)

    assert (told.exit_code, told.stderr) == (ExitCode.OK, "")
    assert everything(tmp_path) == before
    assert recorded(tree) == ()
    found = stamp(tree, GPU)
    assert found is not None
    assert isinstance(found.pop("verified_us"), int)
    assert found == {
        "address": GPU,
        "location": "0000:20:01.0/00.0/00.0/00.0",
        "id": "10de:20f3",
        "boot_id": BOOT_ID,
        "bound_before": False,
    }


def test_the_undo_record_has_the_write_as_apply_would_have_recorded_it(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    leave(tree)

    add(tree, NIC)

    assert recorded(tree) == (
        RecordedChange(
            RegisterChange(
                group="0000:20:01.0/00.0",
                location="0000:20:01.0/00.0/04.0",
                address=PciAddress.parse(NIC_PORT),
                id="1000:c010",
                offset=ACS_CONTROL,
                mask=0x40,
                old=0,
                new=0x40,
            ),
            Outcome.KEPT,
        ),
    )


def test_under_enforce_audit_it_judges_writes_nothing_and_says_what_is_wrong(
    tmp_path: Path,
) -> None:
    tree = one_switch(tmp_path)
    leave(tree, enforce=False)
    before = everything(tmp_path)

    told = add(tree, NIC)

    assert told.exit_code == ExitCode.DIFFERS
    assert told.stderr == (
        f"pcietune: {NIC}, add: {NIC_PORT} reads ACSCtl 0x001d, wanted 0x005d under mask 0x007f\n"
    )
    assert everything(tmp_path) == before
    assert stamp(tree, NIC) is None


def test_what_may_not_be_set_is_told_and_then_nothing_is_set(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    leave(tree)
    set_word(tree, NIC_PORT, ACS_BY_LINUX & ~AcsControl.P2P_REQUEST_REDIRECT.value)
    before = everything(tmp_path)

    told = add(tree, NIC)

    assert f"{NIC_PORT} reads ACSCtl 0x0019" in told.stderr
    assert everything(tmp_path) == before
    assert stamp(tree, NIC) is None


def test_nothing_is_written_above_a_function_that_vfio_has_in_use(tmp_path: Path) -> None:
    in_use = nic("0000:24:00.0", below=NIC_PORT, driver="vfio-pci")
    in_use.attributes["enable"] = "1"
    tree = one_switch(tmp_path, instead=[in_use])
    leave(tree)

    told = add(tree, NIC)

    assert told.stderr == (f"pcietune: {NIC}, add: {NIC} below {NIC_PORT} is in use by VFIO\n")
    assert word(tree, NIC_PORT) == ACS_BY_LINUX
    assert stamp(tree, NIC) is None


@pytest.mark.parametrize(
    ("config", "opens"),
    [
        pytest.param(ConfigBuilder("144d:a80a", 0x010802).express(ENDPOINT), True, id="no ATS"),
        pytest.param(
            ConfigBuilder("144d:a80a", 0x010802).express(ENDPOINT).ats(0x20, 0), False, id="ATS"
        ),
    ],
)
def test_a_port_is_not_opened_above_an_untrusted_function_with_ats(
    tmp_path: Path, *, config: ConfigBuilder, opens: bool
) -> None:
    tree = one_switch(tmp_path)
    leave(tree)
    tree.add(Function("0000:24:00.4", config, below=NIC_PORT))  # came after apply

    add(tree, NIC)

    assert (word(tree, NIC_PORT) == TUNED) is opens


def test_isolation_is_not_cleared_above_what_vfio_has_even_idle(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    leave(tree, profile=with_ports(nic_side=rule(set=UNREDIRECTED.replace(" EgressCtrl-", ""))))
    assert add(tree, NIC).exit_code == ExitCode.OK
    assert word(tree, NIC_PORT) == 0x0011
    set_word(tree, NIC_PORT, ACS_BY_LINUX)
    (tree.directory(NIC) / "vfio-dev").mkdir()

    told = add(tree, NIC)

    assert f"VFIO relies on the isolation of {NIC}" in told.stderr
    assert word(tree, NIC_PORT) == ACS_BY_LINUX


def test_another_port_than_the_policy_means_is_not_written(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    leave(tree)
    (tree.directory(NIC_PORT) / "device").write_text("0xc030\n")

    told = add(tree, NIC)

    assert f"{NIC_PORT} is 1000:c030, and the policy means 1000:c010" in told.stderr
    assert word(tree, NIC_PORT) == ACS_BY_LINUX


def test_what_is_no_switch_port_by_its_own_word_is_not_written(tmp_path: Path) -> None:
    endpoint = ConfigBuilder("1000:c010", 0x060400).express(ENDPOINT).acs(0x5F, ACS_BY_LINUX)
    tree = one_switch(tmp_path)
    leave(tree)
    tree.config(NIC_PORT).write_bytes(endpoint.build())

    told = add(tree, NIC)

    assert f"{NIC_PORT} is no switch port" in told.stderr
    assert word(tree, NIC_PORT) == ACS_BY_LINUX


def test_a_port_that_does_not_answer_is_never_as_wanted(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    leave(tree)
    tree.config(ROOT_PORT).write_bytes(b"\xff" * 4096)

    told = add(tree, GPU)

    assert told.exit_code == ExitCode.UNREADABLE
    assert stamp(tree, GPU) is None


def test_a_port_in_d3cold_is_not_woken(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    leave(tree)
    (tree.directory(GPU_PORT) / "power_state").write_text("D3cold\n")

    assert f"{GPU_PORT} is in D3cold and is not woken" in add(tree, GPU).stderr


def test_the_same_function_elsewhere_is_another_one(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    leave(tree)
    tree.add(
        downstream_port("0000:22:08.0", below="0000:21:00.0"),
        nic("0000:25:00.0", below="0000:22:08.0"),
    )

    told = add(tree, "0000:25:00.0")

    assert (told.exit_code, told.stderr) == (ExitCode.OK, "")
    assert word(tree, "0000:22:08.0") == ACS_BY_LINUX
    assert stamp(tree, "0000:25:00.0") is None


def test_another_function_at_the_same_place_is_another_one(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    leave(tree)
    (tree.directory(NIC) / "device").write_text("0x101d\n")

    assert add(tree, NIC).exit_code == ExitCode.OK
    assert word(tree, NIC_PORT) == ACS_BY_LINUX


def test_other_bus_numbers_make_no_difference(tmp_path: Path) -> None:
    (tmp_path / "before").mkdir()
    (tmp_path / "after").mkdir()
    leave(one_switch(tmp_path / "before"))
    after = TreeHost(tmp_path / "after")
    for function in one_switch_elsewhere():
        after.add(function)
    (tmp_path / "before/run").rename(tmp_path / "after/run")

    add(after, "0000:64:00.0")

    assert word(after, "0000:62:04.0") == TUNED
    assert stamp(after, "0000:64:00.0") is not None


def one_switch_elsewhere() -> list[Function]:
    """Return one_switch with other bus numbers below the root port."""
    return [
        root_port("0000:20:01.0"),
        upstream_port("0000:61:00.0", below="0000:20:01.0"),
        downstream_port("0000:62:04.0", below="0000:61:00.0"),
        nic("0000:64:00.0", below="0000:62:04.0"),
    ]


def test_a_virtual_function_is_known_by_its_physical_one_wherever_its_bus_is(
    tmp_path: Path,
) -> None:
    physical = nic(NIC, below=NIC_PORT)
    physical.config.sriov(total=4, enabled=1, vf_device=0x101C)
    tree = one_switch(tmp_path, instead=[physical])
    leave(tree, profile=handing_over(Attach.VF))
    config = ConfigBuilder("15b3:101c", 0x020700).express(ENDPOINT)
    tree.add(  # on another bus number, where its location is its physical function's
        Function("0000:25:00.0", config, below=NIC_PORT, physical_function=NIC),
        Function("0000:25:00.1", config, below=NIC_PORT),
    )

    add(tree, "0000:25:00.0")
    add(tree, "0000:25:00.1")

    assert word(tree, NIC_PORT) == TUNED
    found = stamp(tree, "0000:25:00.0")
    assert found is not None
    assert (found["location"], found["id"]) == ("0000:20:01.0/00.0/04.0/00.0", "15b3:101c")
    assert stamp(tree, "0000:25:00.1") is None


def test_32_bit_registers_are_judged_where_they_are(tmp_path: Path) -> None:
    config = ConfigBuilder("8086:a110", 0x060400).express(PORT_ON_ROOT_BUS)
    config.extended(0x000D, bytes.fromhex("1d0000001d00000000000000"))
    tree = one_switch(tmp_path, instead=[Function(ROOT_PORT, config, driver="pcieport")])
    leave(tree)

    assert add(tree, GPU).exit_code == ExitCode.OK
    set_word(tree, ROOT_PORT, 0, ACS_CONTROL + 2)
    assert f"{ROOT_PORT} reads ACSCtl 0x0000" in add(tree, GPU).stderr


def test_while_apply_is_at_work_a_hook_drops_its_event_at_once(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    leave(tree)
    with (tmp_path / "run/pcietune/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        told = add(tree, NIC)

    assert (told.exit_code, told.stderr) == (ExitCode.OK, "")
    assert word(tree, NIC_PORT) == ACS_BY_LINUX
    assert stamp(tree, NIC) is None


@pytest.mark.parametrize("way", ["kernel argument", "file"])
def test_where_pcietune_is_switched_off_nothing_is_done(tmp_path: Path, way: str) -> None:
    tree = one_switch(tmp_path)
    leave(tree)
    if way == "file":
        tree.put("etc/pcietune/disabled", "")
    else:
        tree.put("proc/cmdline", "root=/dev/sda1 pcietune=off quiet")

    assert add(tree, NIC).exit_code == ExitCode.SWITCHED_OFF
    assert word(tree, NIC_PORT) == ACS_BY_LINUX


@pytest.mark.parametrize("wrong", ["boot", "mode", "text"])
def test_a_policy_that_means_nothing_is_told_and_nothing_is_done(
    tmp_path: Path, wrong: str
) -> None:
    tree = one_switch(tmp_path)
    leave(tree)
    policy = tmp_path / "run/pcietune/ids/15B3:101B"
    if wrong == "boot":
        tree.put("proc/sys/kernel/random/boot_id", "00000000-0c43-4a5b-9a52-2f5d7f4c8e01")
    elif wrong == "mode":
        policy.chmod(0o666)
    else:
        policy.write_text(policy.read_text()[:-4])  # without its end

    told = add(tree, NIC)

    assert told.exit_code == ExitCode.BAD_INPUT
    assert told.stderr == (
        f"pcietune: {NIC}: not judged: {policy} is broken, of another boot, or not root's alone; "
        "run pcietune apply\n"
    )
    assert word(tree, NIC_PORT) == ACS_BY_LINUX


def test_where_no_undo_record_can_be_kept_nothing_is_written(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    leave(tree)
    tree.put("run/pcietune/undo.jsonl", "this is no record")

    told = add(tree, NIC)

    assert told.exit_code == ExitCode.NOT_PERMITTED
    assert "no undo record can be kept" in told.stderr
    assert word(tree, NIC_PORT) == ACS_BY_LINUX


def test_the_record_of_another_boot_is_thrown_away_and_a_torn_line_cut_off(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    leave(tree)
    header = {"type": "header", "boot_id": "another", "pcietune": "1"}
    header |= {"format": "pcietune undo record", "version": "1"}
    text = json.dumps(header).replace('"1"}', "1}")
    tree.put("run/pcietune/undo.jsonl", text)
    add(tree, NIC)
    assert len(recorded(tree)) == 1
    with (tmp_path / "run/pcietune/undo.jsonl").open("a") as record:
        record.write('{"type": "beg')  # a kill
    set_word(tree, NIC_PORT, ACS_BY_LINUX)

    add(tree, NIC)

    assert [change.outcome for change in recorded(tree)] == [Outcome.KEPT, Outcome.KEPT]


ODD = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)
VARIABLES = ("ACTION", "PCI_SLOT_NAME", "PCI_ID", "DEVPATH", "DRIVER", "ERROR_EVENT", "MODALIAS")
NEARLY = (
    *("add", "bind", "change", "remove", "SUCCESSFUL_RECOVERY", "../../../etc/passwd"),
    *("0000:24:00.0/../0000:23:00.0", "0000:99:00.0", "0000:24:00.0\n", "24:00.0", "0000:24:00.8"),
)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> TreeHost:
    """Return a host with a policy, for tests that put back what they change."""
    tree = one_switch(tmp_path_factory.mktemp("host"))
    leave(tree)
    return tree


@given(environ=st.dictionaries(st.sampled_from(VARIABLES), ODD | st.sampled_from(NEARLY)))
def test_odd_events_do_nothing(compiled: TreeHost, environ: dict[str, str]) -> None:
    before = everything(compiled.root)

    assert main(environ, str(compiled.root)) == ExitCode.OK
    assert everything(compiled.root) == before


@given(found=st.integers(0, 0x1FFF))
def test_whatever_the_port_reads_no_bit_outside_the_mask_is_changed(
    compiled: TreeHost, found: int
) -> None:
    set_word(compiled, NIC_PORT, found)

    main(event(compiled, "add", NIC), str(compiled.root))

    as_wanted = found & 0x3F == ACS_BY_LINUX
    assert word(compiled, NIC_PORT) == (found | 0x40 if as_wanted else found)
    assert (stamp(compiled, NIC) is not None) is as_wanted


def test_an_event_without_an_environment_does_nothing(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    leave(tree)

    assert hook(tmp_path, {}).exit_code == ExitCode.OK
    assert hook(tmp_path, {"ACTION": "add"}).exit_code == ExitCode.OK


def test_a_function_that_is_gone_already_is_none(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    leave(tree)
    late = event(tree, "add", NIC)
    (tmp_path / f"sys/bus/pci/devices/{NIC}").unlink()

    assert hook(tmp_path, late).exit_code == ExitCode.OK
