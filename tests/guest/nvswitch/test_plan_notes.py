"""What a plan says of the NVSwitches beside a partition, after the Fabric Manager User Guide."""

import pytest

from pcietune.guest.kinds import NvSwitchModel
from pcietune.guest.nvswitch.board import board_named
from pcietune.guest.nvswitch.notes import plan_notes

FULL, SHARED, HOST = NvSwitchModel.FULL, NvSwitchModel.SHARED, NvSwitchModel.HOST


def _notes(board: str, model: NvSwitchModel, *, known: bool = True) -> list[str]:
    return [str(note) for note in plan_notes(board_named(board), model, known=known)]


def test_a_partition_that_is_not_known_is_to_be_learned() -> None:
    (learn, _) = _notes("hopper", HOST, known=False)

    assert learn.startswith("not known: which modules")
    assert "pcietune record --nvidia" in learn
    assert len(_notes("hopper", FULL, known=False)) == 1  # there is none


@pytest.mark.parametrize("model", [SHARED, HOST])
def test_what_follows_from_training_by_fabric_manager_is_called_an_inference(
    model: NvSwitchModel,
) -> None:
    training, reset, _ = _notes("a800", model)

    assert training.startswith("inference: Fabric Manager trains the links")
    assert ("service VM" in training) is (model is SHARED)
    assert reset.startswith("inference: a reset takes down links")
    for other in (_notes("hopper", model), _notes("a800", FULL)):
        assert not any("inference" in note for note in other)


def test_mig_is_told_of_by_generation() -> None:
    assert "cannot be activated" in _notes("a100", HOST)[-1]
    assert "activated all the same" in _notes("hopper", HOST)[-1]


def test_without_nvlink_there_is_nothing_to_note() -> None:
    assert _notes("hopper", NvSwitchModel.NONE) == []
    assert list(plan_notes(None, HOST, known=False)) == []
