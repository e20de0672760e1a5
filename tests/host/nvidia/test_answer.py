"""What nvidia-smi prints, by outputs in public reports: its element names, and what it leaves."""

import pytest
from host.nvidia.fake_nvidia_smi import Gpu, query

from pcietune.address import PciAddress
from pcietune.errors import ConfigSpaceError
from pcietune.host.nvidia.answer import Told, parse_confidential, parse_gpus
from pcietune.model.nvidia_gpu import NvidiaGpu, without_repeated

A100 = PciAddress.parse("0000:23:00.0")


def test_a_bus_id_of_eight_digits_is_an_address() -> None:
    [told] = parse_gpus(query(Gpu("00000000:C1:00.0")))

    assert str(told.address) == "0000:c1:00.0"


def test_module_and_mig_are_told() -> None:
    assert parse_gpus(query(Gpu(module="4", mig="Disabled"))) == (Told(A100, 4, mig=False),)


def test_later_drivers_tell_the_module_with_the_platform() -> None:
    later = "<platformInfo><peer_type>N/A</peer_type><module_id>7</module_id></platformInfo>"
    text = query(Gpu(module="4")).replace("<gpu_module_id>4</gpu_module_id>", later)

    assert parse_gpus(text) == (Told(A100, 7, mig=False),)


@pytest.mark.parametrize("module", ["N/A", "0", "17", "", "-1", "1234567890123", "[Unknown Error]"])
def test_what_is_no_module_of_a_board_is_none(module: str) -> None:
    [told] = parse_gpus(query(Gpu(module=module)))

    assert told.module is None


@pytest.mark.parametrize(
    ("mig", "pending", "on"),
    [
        ("Enabled", "Enabled", True),
        ("Disabled", "Enabled", True),  # a reset turns it on, and VFIO resets
        ("Enabled", "Disabled", True),
        ("Disabled", "Disabled", False),
        ("N/A", "N/A", False),  # the GPU has no MIG
        ("Disabled", "[Unknown Error]", None),
        ("", "", None),
    ],
)
def test_mig_counts_now_and_after_a_reset(mig: str, pending: str, on: bool | None) -> None:  # noqa: FBT001 -- a row of the table
    [told] = parse_gpus(query(Gpu(mig=mig, pending=pending)))

    assert told.mig is on


def test_a_gpu_without_these_elements_tells_nothing() -> None:
    text = '<nvidia_smi_log><gpu id="00000000:23:00.0"></gpu></nvidia_smi_log>'

    assert parse_gpus(text) == (Told(A100, None, None),)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no element found"),
        (query(Gpu())[:-40], "unclosed token|no element found"),
        ("<html><gpu id='00000000:23:00.0'/></html>", "there is no GPU in it"),
        (query(), "there is no GPU in it"),
        (query(Gpu("GPU-c5533cd4")), "is not a PCI address"),
        (query(Gpu(), Gpu()), "it tells twice of one GPU"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "it defines entities"),
    ],
)
def test_what_is_no_answer_is_not_understood(text: str, why: str) -> None:
    with pytest.raises(ConfigSpaceError, match=why) as raised:
        parse_gpus(text)

    assert raised.value.hint == "look yourself: nvidia-smi -q -x"


@pytest.mark.parametrize(
    ("text", "on"),
    [("CC status: ON\n", True), ("CC status: OFF\n", False), ("Not Supported\n", None)],
)
def test_confidential_computing_is_on_off_or_not_told(text: str, on: bool | None) -> None:  # noqa: FBT001 -- a row of the table
    assert parse_confidential(text) is on


def test_a_module_id_that_several_gpus_have_is_none() -> None:
    said = [
        NvidiaGpu(f"0000:2{n}:00.0", "10de:27b8", m, None, None) for n, m in enumerate((1, 1, 2))
    ]

    assert [gpu.module for gpu in without_repeated(said)] == [None, None, 2]
