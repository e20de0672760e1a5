"""Configuration Space in files: real files, whose refusals are the kernel's own."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from trees.config import ENDPOINT, ConfigBuilder

from pcietune.address import PciAddress
from pcietune.errors import ConfigSpaceError, ExitCode, NotPermittedError
from pcietune.host.config_space import FileConfigSpace
from pcietune.registers.acs import Acs
from pcietune.registers.fields import MaskedWrite

ADDRESS = PciAddress.parse("0000:3b:00.0")
NOBODY = 65534
ACS_CONTROL = 0x106


@pytest.fixture
def config_file(tmp_path: Path) -> Path:
    builder = ConfigBuilder("15b3:101b", 0x020700).express(ENDPOINT).acs(0x005F, 0x8F1D)
    path = tmp_path / "config"
    path.write_bytes(builder.build())
    return path


def test_a_register_is_read_little_endian_at_its_offset(config_file: Path) -> None:
    config = FileConfigSpace(ADDRESS, str(config_file))

    assert config.read(0x00, 2) == 0x15B3
    assert config.read(0x00, 4) == 0x101B15B3
    assert config.read(0x0B, 1) == 0x02


def test_the_size_of_the_file_is_the_size_of_configuration_space(config_file: Path) -> None:
    whole = FileConfigSpace(ADDRESS, str(config_file)).size
    os.truncate(config_file, 256)

    assert (whole, FileConfigSpace(ADDRESS, str(config_file)).size) == (4096, 256)


def test_what_was_read_is_remembered(config_file: Path) -> None:
    config = FileConfigSpace(ADDRESS, str(config_file))
    first = config.read(0x00, 2)
    config_file.unlink()

    assert config.read(0x00, 2) == first


def test_a_write_changes_the_masked_bits_and_no_other_byte(config_file: Path) -> None:
    before = config_file.read_bytes()
    config = FileConfigSpace(ADDRESS, str(config_file))

    config.write(MaskedWrite(offset=ACS_CONTROL, width=2, value=0x0040, mask=0x0040))

    after = config_file.read_bytes()
    assert after[ACS_CONTROL : ACS_CONTROL + 2] == bytes([0x5D, 0x8F])
    assert after[:ACS_CONTROL] == before[:ACS_CONTROL]
    assert after[ACS_CONTROL + 2 :] == before[ACS_CONTROL + 2 :]


def test_a_register_is_read_again_after_it_was_written(config_file: Path) -> None:
    config = FileConfigSpace(ADDRESS, str(config_file))
    acs = Acs.find(config)
    assert acs is not None
    before = acs.control

    config.write(MaskedWrite(offset=ACS_CONTROL, width=2, value=0x0040, mask=0x0041))

    assert (before, acs.control) == (0x8F1D, 0x8F5C)


def test_a_write_merges_into_what_the_register_reads_now(config_file: Path) -> None:
    config = FileConfigSpace(ADDRESS, str(config_file))
    config.read(ACS_CONTROL, 2)
    _poke(config_file, ACS_CONTROL, b"\x1c\x00")

    config.write(MaskedWrite(offset=ACS_CONTROL, width=2, value=0x0040, mask=0x0040))

    assert config.read(ACS_CONTROL, 2) == 0x005C


def test_a_register_that_reads_as_all_ones_is_not_written(config_file: Path) -> None:
    config = FileConfigSpace(ADDRESS, str(config_file))
    _poke(config_file, ACS_CONTROL, b"\xff\xff")

    with pytest.raises(ConfigSpaceError, match=r"^0000:3b:00\.0 does not answer") as raised:
        config.write(MaskedWrite(offset=ACS_CONTROL, width=2, value=0, mask=0x0040))

    assert raised.value.exit_code == ExitCode.UNREADABLE
    assert config_file.read_bytes()[ACS_CONTROL : ACS_CONTROL + 2] == b"\xff\xff"


def test_64_bytes_mean_that_the_user_is_not_root(config_file: Path) -> None:
    os.truncate(config_file, 64)
    config = FileConfigSpace(ADDRESS, str(config_file))
    header = config.read(0x3C, 4)

    with pytest.raises(NotPermittedError) as raised:
        Acs.find(config)

    assert header == 0
    assert str(raised.value) == "0000:3b:00.0: only the first 64 bytes may be read"
    assert raised.value.hint == "run pcietune as root"
    assert raised.value.exit_code == ExitCode.NOT_PERMITTED


def test_a_function_that_vanished_is_said_to_have(config_file: Path) -> None:
    config = FileConfigSpace(ADDRESS, str(config_file))
    config_file.unlink()

    with pytest.raises(ConfigSpaceError, match=r"^0000:3b:00\.0 vanished while it was looked at$"):
        config.read(0x00, 2)
    with pytest.raises(ConfigSpaceError, match=r"^0000:3b:00\.0 vanished"):
        FileConfigSpace(ADDRESS, str(config_file))


def test_what_can_be_read_no_more_is_not_answered_from_memory(config_file: Path) -> None:
    config = FileConfigSpace(ADDRESS, str(config_file))
    config.read(0x106, 2)
    config_file.unlink()

    for read in (config.read_again, config.read):
        with pytest.raises(ConfigSpaceError, match="vanished"):
            read(0x106, 2)


def test_another_failure_is_told_in_the_kernels_words(tmp_path: Path) -> None:
    config = FileConfigSpace(ADDRESS, str(tmp_path))

    with pytest.raises(ConfigSpaceError, match=r"cannot be read: Is a directory$"):
        config.read(0x00, 2)


def test_a_locked_down_kernel_is_told_from_a_user_who_is_not_root(config_file: Path) -> None:
    with _sealed(config_file.read_bytes()) as path:
        config = FileConfigSpace(ADDRESS, path)

        with pytest.raises(NotPermittedError) as raised:
            config.write(MaskedWrite(offset=ACS_CONTROL, width=2, value=0, mask=0x0040))

    assert "the kernel refused to write Configuration Space: it is locked down" in str(raised.value)
    assert "pci=config_acs=" in raised.value.hint
    assert raised.value.exit_code == ExitCode.NOT_PERMITTED


def test_a_user_who_is_not_root_cannot_write(config_file: Path) -> None:
    write = MaskedWrite(offset=ACS_CONTROL, width=2, value=0, mask=0x0040)
    with tempfile.TemporaryDirectory() as directory:
        path = _readable_by_all(Path(directory), config_file.read_bytes())
        with _nobody(), pytest.raises(NotPermittedError) as raised:
            FileConfigSpace(ADDRESS, str(path)).write(write)

    assert str(raised.value) == "0000:3b:00.0: Configuration Space may not be written"
    assert raised.value.hint == "run pcietune as root"


def _poke(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


@contextmanager
def _sealed(data: bytes) -> Iterator[str]:
    """Yield a file that opens for writing and then answers EPERM, as ``config`` in lockdown."""
    descriptor = os.memfd_create("config", os.MFD_ALLOW_SEALING)
    os.write(descriptor, data)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
    yield f"/proc/self/fd/{descriptor}"
    os.close(descriptor)


def _readable_by_all(directory: Path, data: bytes) -> Path:
    directory.chmod(0o755)
    path = directory / "config"
    path.write_bytes(data)
    path.chmod(0o444)
    return path


@contextmanager
def _nobody() -> Iterator[None]:
    """Be nobody for a while, unless this is no root that could be."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    yield
    if root:
        os.seteuid(0)
