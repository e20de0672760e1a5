"""``lspci -vvv`` that was cut off: of the last function nothing is taken for absent."""

from pathlib import Path

import pytest
from host.dumped import opened, printed
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from trees.dump import dump, one_switch_functions

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, ConfigSpaceError
from pcietune.host.sysfs import SysfsHost
from pcietune.model.not_known import NOT_KNOWN
from pcietune.registers.ats import Ats

_NIC = PciAddress.parse("0000:24:00.0")  # the last that lspci prints, with ATS at the end
_DRIVER = "\tKernel driver in use: vfio-pci\n\tKernel modules: mlx5_core\n"


@pytest.fixture(scope="module")
def verbose(tmp_path_factory: pytest.TempPathFactory) -> str:
    return printed(tmp_path_factory.mktemp("whole"), dump(one_switch_functions()), "-nn", "-vvv")


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lacking=st.integers(1, 3000))
@example(lacking=1)
@example(lacking=2)
@example(lacking=417)
def test_wherever_a_text_ends_its_last_functions_ats_is_told_or_unread(
    tmp_path: Path, verbose: str, lacking: int
) -> None:
    begins = verbose.index(" [15b3:101b]")
    cut = verbose[: max(begins, len(verbose) - lacking)]

    why = "was not recorded: the text may end in the middle|none is in the text|has no bytes here"
    with (
        pytest.raises((ConfigSpaceError, BadInputError), match=why),
        opened(tmp_path, cut) as host,
    ):
        _ats(host)


def test_a_function_that_an_empty_line_follows_is_whole(tmp_path: Path, verbose: str) -> None:
    with opened(tmp_path, verbose) as host:
        assert _ats(host).enabled


@pytest.mark.parametrize("lacking", ["", "\n", "_core\n", " mlx5_core\n"])
def test_a_driver_comes_behind_all_capabilities(tmp_path: Path, verbose: str, lacking: str) -> None:
    text = (verbose.rstrip() + "\n" + _DRIVER).removesuffix(lacking)

    with opened(tmp_path, text) as host:
        assert _ats(host).enabled
        assert host.functions()[-1].driver == "vfio-pci"


def test_a_drivers_name_that_may_be_cut_off_is_not_told(tmp_path: Path, verbose: str) -> None:
    text = f"{verbose.rstrip()}\n\tKernel driver in use: vfio"

    with opened(tmp_path, text) as host:
        assert host.functions()[-1].driver is NOT_KNOWN


def _ats(host: SysfsHost) -> Ats:
    nic = next(function for function in host.functions() if function.address == _NIC)
    ats = Ats.find(host.config(nic))
    assert ats is not None
    return ats
