"""The order of steps around a VM's life, after the Fabric Manager User Guide and fmpm's source."""

import re

import msgspec
import pytest
from guest.nvswitch.fmpm import fmpm_list
from guest.plans import a800_two_gpus, passed

from pcietune.errors import BadInputError
from pcietune.guest.kinds import Kind, NvSwitchModel
from pcietune.guest.nvswitch.fabric_manager import Reach
from pcietune.guest.nvswitch.fmpm_list import parse_fmpm_list
from pcietune.guest.nvswitch.handling import Handling, handle
from pcietune.guest.nvswitch.step import Step, Where
from pcietune.guest.plan import Plan

FULL, SHARED, HOST = NvSwitchModel.FULL, NvSwitchModel.SHARED, NvSwitchModel.HOST
GPUS = ("0000:23:00.0", "0000:24:00.0")  # of the plan
RESETS = tuple(f"echo 1 > /sys/bus/pci/devices/{gpu}/reset" for gpu in GPUS)
LOCAL = Reach()
MODULES = {  # of the partitions of two GPUs that are the first in the guide's tables
    "a100": {"gpu0": 2, "gpu1": 1},
    "blackwell": {"gpu0": 1, "gpu1": 2},
    "hopper": {"gpu0": 3, "gpu1": 1},
}


def _plan(
    model: NvSwitchModel, board: str = "hopper", partition: int | None = 3, *, switches: int = 0
) -> Plan:
    """Return a plan of two GPUs, with so many NVSwitches of its own."""
    plan = a800_two_gpus()
    part = msgspec.structs.replace(
        plan.nvswitch,
        model=model,
        board=board,
        partition=partition,
        modules={} if partition is None else MODULES.get(board, {}),
        switches=["0000:07:00.0", "0000:08:00.0"],
    )
    given = [
        msgspec.structs.replace(
            passed("gpu0", f"0000:{7 + n:02x}:00.0", "", "dp0", ""),
            name=f"nvswitch{n}",
            kind=Kind.NVSWITCH,
        )
        for n in range(switches)
    ]
    return msgspec.structs.replace(plan, nvswitch=part, functions=[*plan.functions, *given])


def _one_gpu(model: NvSwitchModel, partition: int | None) -> Plan:
    plan = _plan(model, partition=partition)
    return msgspec.structs.replace(plan, functions=plan.functions[:1])


def _handled(plan: Plan, *active: int, reach: Reach = LOCAL) -> Handling:
    return handle(plan, active or None, reach)


def _commands(steps: tuple[Step, ...]) -> list[str]:
    return [command for step in steps for command in step.commands]


def _text(steps: tuple[Step, ...]) -> str:
    return " ".join(step.text for step in steps)


@pytest.mark.parametrize("model", [SHARED, HOST])
def test_a_partition_is_activated_before_the_vm_starts_and_seen_to_be(
    model: NvSwitchModel,
) -> None:
    found = _handled(_plan(model))
    order = [step.text.split(" (", maxsplit=1)[0] for step in found.before]

    assert found.partition is not None
    assert found.partition.number == 3
    assert order.index("activate partition 3") < order.index("start the VM")
    assert "fmpm -a 3" in _commands(found.before)
    assert _commands(found.before)[-1] == "nvidia-smi nvlink -s"
    assert "18 NVLinks of each GPU are up" in found.before[-1].text


@pytest.mark.parametrize("model", [SHARED, HOST])
def test_at_the_end_gpus_are_reset_before_their_partition_is_deactivated(
    model: NvSwitchModel,
) -> None:
    found = _handled(_plan(model))

    assert found.after[0].text.startswith("stop the VM first")
    assert _commands(found.after) == [*RESETS, "fmpm -d 3", "fmpm -l"]


def test_what_is_active_and_shares_gpus_is_deactivated_first() -> None:
    found = _handled(_plan(HOST), 1, 4)

    assert [each.number for each in found.in_the_way or ()] == [1]
    commands = _commands(found.before)
    assert commands.index("fmpm -d 1") < commands.index("fmpm -a 3")
    assert "fmpm -d 4" not in commands
    assert "FM_ST_IN_USE, -7" in _text(found.before)


def test_a_partition_that_is_active_already_is_deactivated_first() -> None:
    found = _handled(_plan(HOST), 3)

    assert "is active already" in _text(found.before)
    assert _commands(found.before).count("fmpm -d 3") == 1


def test_where_it_is_not_known_what_is_active_all_that_may_be_in_the_way_is_named() -> None:
    found = _handled(_plan(HOST))

    assert found.in_the_way is None
    assert "each of 0, 1, 3, 7, 9 has GPUs of it" in _text(found.before)  # modules 1 and 3
    assert "has GPUs of it" not in _text(_handled(_plan(HOST), 2).before)


def test_an_active_partition_that_the_board_has_not_is_refused() -> None:
    for plan in (_plan(HOST), _plan(HOST, partition=None)):
        with pytest.raises(BadInputError, match="no partition 15"):
            _handled(plan, 15)


def test_versions_are_to_be_equal_and_no_fabric_manager_runs_in_the_vm() -> None:
    said = _text(_handled(_plan(SHARED)).before)

    assert "of the version of the driver in the VM" in said
    assert "the driver is of Fabric Manager's version, and no Fabric Manager runs here" in said


def test_one_gpu_has_a_partition_and_no_nvlink() -> None:
    found = _handled(_one_gpu(HOST, 9))

    assert "fmpm -a 9" in _commands(found.before)
    assert "without NVLink" in _text(found.before)
    assert found.before[-1].text == "no NVLink is up"


def test_without_a_partition_no_line_of_fmpm_names_one() -> None:
    found = _handled(_plan(HOST, partition=None), 1)

    assert {c for c in _commands((*found.before, *found.after)) if "fmpm" in c} == {"fmpm -l"}
    assert found.in_the_way is None
    assert str(found.notes[0]).startswith("not known: which modules")
    assert [gpu.module for gpu in found.gpus] == [None, None]
    assert found.before[-1].text == "the NVLinks are up, if it has several GPUs"


@pytest.mark.parametrize("model", [SHARED, HOST])
def test_after_a_restart_all_active_partitions_are_told_within_a_minute(
    model: NvSwitchModel,
) -> None:
    said = _text(_handled(_plan(model), 2, 4).restart)

    assert "FABRIC_MODE_RESTART=1" in said
    assert "within 60 seconds" in said
    assert "also if there is none" in said
    assert "fmSetActivatedFabricPartitions: 3 of this VM, and 2, 4 of others" in said


def test_a_list_that_may_lack_other_vms_is_not_called_whole() -> None:
    said = _text(_handled(_plan(HOST)).restart)

    assert "3 of this VM, and those of all other VMs, of which --fmpm or --active tells" in said
    assert "3 of this VM alone" in _text(_handled(_plan(HOST), 1).restart)  # 1 has ended by then
    assert "this VM's, and 1 of others" in _text(_handled(_plan(HOST, partition=None), 1).restart)


def test_where_no_other_is_active_the_list_is_whole() -> None:
    assert "3 of this VM alone" in _text(handle(_plan(HOST), (), LOCAL).restart)


def test_fabric_managers_own_id_of_the_same_gpus_counts() -> None:
    table = parse_fmpm_list(fmpm_list({0: range(1, 9), 5: [1, 3], 6: [2, 4]}), "-").table
    found = handle(_plan(HOST), (0,), LOCAL, table)

    assert "fmpm -a 5" in _commands(found.before)
    assert "fmpm -d 0" in _commands(found.before)
    assert handle(_plan(HOST, partition=None), (), LOCAL, table).partition is None


def test_gpus_that_fabric_manager_lists_no_partition_of_are_refused() -> None:
    table = parse_fmpm_list(fmpm_list({1: [1, 2], 2: [3, 4], 3: [5, 6]}), "-").table

    with pytest.raises(BadInputError, match="no partition of just modules 1, 3") as raised:
        handle(_plan(HOST), (), LOCAL, table)

    assert "partition 1 (modules 1, 2) or partition 2 (modules 3, 4)" in raised.value.hint
    assert "--list-unsupported-partitions" in raised.value.hint


def test_no_command_sends_the_empty_list_of_fmpm() -> None:
    for active in ((), (2,)):
        steps = _handled(_plan(HOST), *active).restart
        assert not any("set-activated-list" in command for command in _commands(steps))
        assert "Not by fmpm 1.0.1" in _text(steps)


def test_fmpm_runs_beside_fabric_manager_or_reaches_it_by_its_address() -> None:
    address = Reach(hostname="192.0.2.7")

    def activates(model: NvSwitchModel, reach: Reach) -> tuple[Where, str]:
        steps = _handled(_plan(model), reach=reach).before
        (step,) = (step for step in steps if "activate partition" in step.text)
        return step.where, step.commands[0]

    assert activates(SHARED, LOCAL) == (Where.SERVICE_VM, "fmpm -a 3")
    assert activates(SHARED, address) == (Where.HOST, "fmpm --hostname 192.0.2.7 -a 3")
    assert activates(HOST, Reach(socket="/run/fm socket")) == (
        Where.HOST,
        "fmpm --unix-domain-socket '/run/fm socket' -a 3",
    )


def test_fabric_manager_is_configured_for_the_way_fmpm_reaches_it() -> None:
    shared = ("FABRIC_MODE=1", "FABRIC_MODE_RESTART=0")

    assert _handled(_plan(HOST)).config == shared
    assert _handled(_plan(SHARED), reach=Reach(hostname="192.0.2.7")).config == (
        *shared,
        "FM_CMD_BIND_INTERFACE=192.0.2.7",
    )
    assert _handled(_plan(HOST), reach=Reach(socket="/run/fm")).config == (
        *shared,
        "FM_CMD_UNIX_SOCKET_PATH=/run/fm",
    )


def test_an_address_and_a_socket_are_refused() -> None:
    with pytest.raises(BadInputError, match="not both"):
        Reach("192.0.2.7", "/run/fm")


def test_a_service_vm_has_the_nvswitches_and_no_tenants_gpu() -> None:
    found = _handled(_plan(SHARED))

    assert found.service is not None
    assert (found.service.always, found.service.at_start) == (("0000:07:00.0", "0000:08:00.0"), ())
    assert _handled(_plan(HOST)).service is None


@pytest.mark.parametrize("model", [SHARED, HOST])
def test_what_follows_from_training_is_an_inference_of_ampere_alone(model: NvSwitchModel) -> None:
    ampere = _handled(_plan(model, "a100", 11)).before
    inferred = [step.text for step in ampere if step.inference]

    assert "has all GPUs" in inferred[0]
    assert "a reset takes down links" in inferred[1]
    assert not any(step.inference for step in _handled(_plan(model)).before)
    assert not any("joined the fabric" in step.text for step in ampere)  # Hopper and later


def test_blackwells_fabric_manager_has_nvlsm_beside_it_and_other_functions() -> None:
    found = _handled(_plan(SHARED, "blackwell", 4))

    assert "nvlsm beside it" in _text(found.before)
    assert found.service is not None
    assert "SMDL=SW_MNG" in str(found.service.notes[0])


def test_of_nvswitches_given_whole_fabric_manager_runs_in_the_vm() -> None:
    found = _handled(_plan(FULL, "a100", None, switches=1))

    assert (found.partition, found.config, found.restart) == (None, ("FABRIC_MODE=0",), ())
    resets = [*RESETS, "echo 1 > /sys/bus/pci/devices/0000:07:00.0/reset"]
    assert _commands(found.before)[:3] == resets
    assert _commands(found.after) == resets
    assert "systemctl start nvidia-fabricmanager" in _commands(found.before)
    assert "2 NVLinks of each GPU are up" in _text(found.before)


def test_a_part_of_a_board_is_not_apart_by_qemu() -> None:
    notes = [str(note) for note in _handled(_plan(FULL, "a100", None, switches=1)).notes]

    assert any("filter of the NVSwitches' registers" in note for note in notes)
    assert any(note.startswith("inference: QEMU and VFIO have no such filter") for note in notes)


def test_one_gpu_given_alone_has_its_nvlink_switched_off() -> None:
    found = _handled(_one_gpu(FULL, None))

    assert "NVreg_NvLinkDisable=1" in _commands(found.before)[-1]
    assert found.config == ()


def test_a_whole_blackwell_board_comes_with_its_connectx() -> None:
    plan = _plan(FULL, "blackwell", None)
    gpus = [msgspec.structs.replace(plan.functions[0], name=f"gpu{n}") for n in range(8)]
    found = _handled(msgspec.structs.replace(plan, functions=gpus))

    assert "SMDL=SW_MNG" in str(found.notes[0])
    assert ", with nvlsm," in _text(found.before)
    assert "18 NVLinks" in found.before[-1].text


def test_links_that_the_guide_does_not_count_are_not_counted() -> None:
    assert "the NVLinks of each GPU are up" in _text(
        _handled(_plan(FULL, "a800", None, switches=1)).before
    )


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (_plan(FULL, "hopper", None, switches=4), "2 GPUs: no VM is given so many"),
        (_plan(FULL, "a100", None, switches=3), "with 2 GPUs a VM has 1 NVSwitches"),
        (_plan(NvSwitchModel.NONE), "does without NVLink"),
        (_plan(HOST, "gb200"), "no board with NVSwitches"),
        (_plan(HOST, "hopper", 40), "no partition 40"),
        (_plan(HOST, "hopper", 4), "not just those of partition 4 (modules 2, 4)"),
        (_plan(HOST, "hopper", 1), "not just those of partition 1 (modules 1, 2, 3, 4)"),
        (_one_gpu(HOST, 3), "not just those of partition 3 (modules 1, 3)"),
        (
            msgspec.structs.replace(
                _plan(HOST), nvswitch=msgspec.structs.replace(_plan(HOST).nvswitch, board=None)
            ),
            "knows of no NVSwitches",
        ),
    ],
)
def test_a_plan_that_cannot_be_followed_is_refused(plan: Plan, said: str) -> None:
    with pytest.raises(BadInputError, match=re.escape(said)) as raised:
        _handled(plan)

    assert raised.value.hint
