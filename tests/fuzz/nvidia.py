"""Any bytes as what nvidia-smi prints, as what was kept of it, or as module ids by hand."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from fuzz.target import Target
from host.nvidia.fake_nvidia_smi import Gpu, query

from pcietune.address import PciAddress
from pcietune.errors import ConfigSpaceError
from pcietune.host.nvidia.answer import parse_gpus
from pcietune.host.nvidia.by_hand import parse_modules
from pcietune.host.yaml.nodes import Complaint, DocumentError
from pcietune.model.function import PciFunction

_FILE = "modules.yaml"
_GPUS = [
    PciFunction(
        address=PciAddress(0, bus, 0, 0),
        ports=(),
        vendor=0x10DE,
        device=0x20B2,
        subsystem_vendor=0,
        subsystem_device=0,
        class_code=0x030200,
        driver=None,
    )
    for bus in (0x23, 0x26)
]


def look_at_answer(data: bytes) -> None:
    """Read an answer: a GPU is told of once, and a module is one that a board has."""
    text = data.decode(errors="replace")
    with suppress(ConfigSpaceError):
        told = parse_gpus(text)
        assert len({each.address for each in told}) == len(told) > 0
        for each in told:
            assert each.module is None or 1 <= each.module <= 16
            assert each.mig is not True or "Enabled" in text


def look_at_modules(data: bytes) -> None:
    """Read a file: what is wrong has a place, and no two GPUs have one module."""
    complaints: Sequence[Complaint] = ()
    modules: Mapping[PciAddress, int] = {}
    try:
        modules = parse_modules(data.decode(errors="replace"), _FILE, _GPUS)
    except DocumentError as error:
        complaints = error.complaints
    assert all(each.file == _FILE and each.line > 0 for each in complaints)
    assert modules.keys() <= {gpu.address for gpu in _GPUS}
    assert len(set(modules.values())) == len(modules)


def answers() -> Iterable[bytes]:
    """Yield an answer."""
    yield query(Gpu(), Gpu("00000000:26:00.0", module="2", mig="Enabled")).encode()


def files() -> Iterable[bytes]:
    """Yield a file."""
    yield b"0000:23:00.0: 3\n'0000:26:00.0': 1 # by nvidia-smi -q\n"


ANSWERS = Target(look_at_answer, answers, longest=4096)
MODULE_FILES = Target(look_at_modules, files, longest=512)
