"""The part of the NVSwitches in a plan, by the tables of the Fabric Manager User Guide."""

import pytest

from pcietune.errors import BadInputError
from pcietune.guest.kinds import NvSwitchModel
from pcietune.guest.nvswitch.board import Board, board_named
from pcietune.guest.nvswitch.part import nvswitch_part
from pcietune.guest.plan import NvSwitchPlan

HOPPER, A100 = board_named("hopper"), board_named("a100")
SWITCHES = ["0000:07:00.0", "0000:08:00.0"]


def _part(board: Board | None, model: NvSwitchModel | None, *modules: int | None) -> NvSwitchPlan:
    return nvswitch_part(board, model, SWITCHES, {f"gpu{n}": m for n, m in enumerate(modules)})


@pytest.mark.parametrize("model", [NvSwitchModel.SHARED, NvSwitchModel.HOST])
def test_gpus_of_known_modules_are_a_partition(model: NvSwitchModel) -> None:
    part = _part(HOPPER, model, 7, 5)

    assert (part.model, part.board, part.partition) == (model, "hopper", 5)
    assert part.modules == {"gpu0": 7, "gpu1": 5}
    assert part.switches == SWITCHES


def test_one_gpu_is_a_partition_too() -> None:
    assert _part(HOPPER, NvSwitchModel.HOST, 4).partition == 10


def test_a_board_strapped_for_the_top_tray_is_told_by_its_modules() -> None:
    part = _part(A100, NvSwitchModel.HOST, 9, 10)

    assert (part.board, part.partition) == ("a100-top", 15)


def test_without_all_modules_no_partition_is_guessed() -> None:
    part = _part(HOPPER, NvSwitchModel.HOST, 1, None)

    assert (part.partition, part.modules) == (None, {"gpu0": 1})
    assert part.notes[0].startswith("not known: which modules")
    assert "pcietune record --nvidia" in part.notes[0]


def test_gpus_that_no_partition_holds_are_refused() -> None:
    with pytest.raises(BadInputError, match="modules 1, 2: no partition"):
        _part(HOPPER, NvSwitchModel.HOST, 1, 2)


def test_a_module_of_two_gpus_is_refused() -> None:
    with pytest.raises(BadInputError, match="module 3 is said of two GPUs"):
        _part(HOPPER, NvSwitchModel.HOST, 3, 3)


def test_a_module_that_the_board_has_not_is_refused() -> None:
    with pytest.raises(BadInputError, match="module 9: not on HGX H100"):
        _part(HOPPER, NvSwitchModel.HOST, 9)


@pytest.mark.parametrize(("model", "notes"), [(None, 1), (NvSwitchModel.NONE, 0)])
def test_a_vm_without_a_model_does_without_nvlink(model: NvSwitchModel | None, notes: int) -> None:
    part = _part(HOPPER, model, 1, 2)

    assert (part.model, part.board, part.partition) == (NvSwitchModel.NONE, "hopper", None)
    assert len(part.notes) == notes


def test_nvswitches_given_whole_are_no_partition() -> None:
    part = _part(A100, NvSwitchModel.FULL, None, None, None, None)

    assert (part.partition, part.modules) == (None, {})
    assert not any(note.startswith("not known") for note in part.notes)


@pytest.mark.parametrize(("board", "gpus"), [(HOPPER, 4), (HOPPER, 2), (A100, 3)])
def test_gpus_that_go_with_no_nvswitches_of_their_own_are_refused(board: Board, gpus: int) -> None:
    with pytest.raises(BadInputError, match=f"^{gpus} GPUs: no VM") as raised:
        _part(board, NvSwitchModel.FULL, *[None] * gpus)

    assert "1, " in raised.value.hint


def test_a_host_without_nvswitches_has_no_part() -> None:
    part = nvswitch_part(None, None, [], {"gpu0": None})

    assert (part.model, part.board, part.notes) == (NvSwitchModel.NONE, None, [])
    with pytest.raises(BadInputError, match="model shared: this host has no NVSwitches"):
        nvswitch_part(None, NvSwitchModel.SHARED, [], {"gpu0": None})


def test_what_follows_from_training_by_fabric_manager_is_called_an_inference() -> None:
    ampere = [
        note
        for model in (NvSwitchModel.SHARED, NvSwitchModel.HOST)
        for note in _part(A100, model, 1).notes
    ]

    assert sum(note.startswith("inference: Fabric Manager trains") for note in ampere) == 2
    assert sum(note.startswith("inference: a reset") for note in ampere) == 2
    assert not any("inference" in note for note in _part(HOPPER, NvSwitchModel.SHARED, 1).notes)


def test_mig_is_told_of_by_generation() -> None:
    assert "cannot be activated" in _part(A100, NvSwitchModel.HOST, 1).notes[-1]
    assert "activated all the same" in _part(HOPPER, NvSwitchModel.HOST, 1).notes[-1]
