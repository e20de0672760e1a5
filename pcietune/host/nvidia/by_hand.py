"""Module ids that somebody wrote down: a YAML file, ``0000:23:00.0: 1`` on each line."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import yaml

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, quoted
from pcietune.host.text_file import read_text
from pcietune.host.yaml.nodes import Complaint, DocumentError, compose, found, position
from pcietune.model.function import PciFunction
from pcietune.model.nvidia_gpu import MODULES, is_nvidia_gpu

_HINT = "write a line for each GPU, its address and its Module ID of nvidia-smi -q: 0000:23:00.0: 1"
_NUMBER = re.compile(r"[1-9][0-9]?")


def read_module_file(path: Path, functions: Sequence[PciFunction]) -> Mapping[PciAddress, int]:
    """Return the module ids that a file gives to GPUs, by their addresses now.

    Args:
        path: Of the file; ``-`` is standard input.
        functions: The host's.

    Raises:
        DocumentError: It is no such file; it has every complaint.
        BadInputError: There is no such file, or it cannot be read.
        NotPermittedError: The kernel keeps it from this user.
    """
    text = read_text(path, hint=_HINT, largest_mib=1)
    try:
        return parse_modules(text, str(path), functions)
    except DocumentError as error:
        raise DocumentError(error.complaints, hint=_HINT) from error


def parse_modules(
    text: str, file: str, functions: Sequence[PciFunction]
) -> Mapping[PciAddress, int]:
    """Return the module ids by addresses now; keys are addresses or locations, quoted or not.

    Raises:
        DocumentError: It breaks the format; it has every complaint.
    """
    root = compose(text.encode(), file)
    gpus = {each.address: each for each in functions if is_nvidia_gpu(each)}
    if not isinstance(root, yaml.MappingNode):
        raise DocumentError([_complain(root, f"expected a mapping, but {found(root)}")])
    walk = _Walk(gpus)
    complaints = list(walk.complaints(root))
    if complaints:
        raise DocumentError(complaints)
    return walk.modules


class _Walk:
    """One walk along the lines.

    Attributes:
        modules: Of each GPU so far.
    """

    def __init__(self, gpus: Mapping[PciAddress, PciFunction]) -> None:
        self._gpus = gpus
        self._by_module: dict[int, PciAddress] = {}
        self.modules: dict[PciAddress, int] = {}

    def complaints(self, root: yaml.MappingNode) -> Iterator[Complaint]:
        for key, value in root.value:
            address = self._address(key)
            module = _module(value)
            if address is None:
                yield _complain(key, self._unknown(key))
            elif module is None:
                yield _complain(
                    value, f"expected a module id from 1 to {MODULES[-1]}, but {found(value)}"
                )
            elif address in self.modules:
                yield _complain(key, f"{address} has module {self.modules[address]} already")
            elif module in self._by_module:
                other = self._by_module[module]
                yield _complain(value, f"module {module} is that of {other} already")
            else:
                self.modules[address] = module
                self._by_module[module] = address

    def _address(self, key: yaml.Node) -> PciAddress | None:
        """Return the GPU that a key names; YAML may take the key for a number to base 60."""
        if not isinstance(key, yaml.ScalarNode):
            return None
        for address, gpu in self._gpus.items():
            if key.value == gpu.location:
                return address
        try:
            address = PciAddress.parse(key.value)
        except BadInputError:
            return None
        return address if address in self._gpus else None

    def _unknown(self, key: yaml.Node) -> str:
        named = quoted(key.value) if isinstance(key, yaml.ScalarNode) else "a list or mapping"
        there = ", ".join(str(address) for address in sorted(self._gpus)) or "none at all"
        return f"{named} is no GPU of NVIDIA's on this host, which has {there}"


def _module(value: yaml.Node) -> int | None:
    if not isinstance(value, yaml.ScalarNode) or not _NUMBER.fullmatch(value.value):
        return None
    number = int(value.value)
    return number if number in MODULES else None


def _complain(node: yaml.Node, text: str) -> Complaint:
    return Complaint(*position(node), text)
