"""Which of the host's functions a VM is given, by libvirt's XML of it."""

from collections.abc import Iterator, Mapping
from xml.parsers import expat

from pcietune.address import PciAddress

_PARTS = {"domain": 0xFFFFFFFF, "bus": 0xFF, "slot": 0x1F, "function": 0x7}
_ROOTS = ("domain", "domstatus")  # the latter of one that runs, in /run/libvirt/qemu
_GIVES_A_FUNCTION = ("hostdev", "interface", "actual")  # the last: of a pool that libvirt took from
_PATH = ("source", "address")  # below that; a device's own address is the one in the VM


def given_functions(xml: bytes) -> tuple[PciAddress, ...]:
    """Return the functions that a VM is given, in the order of the text.

    Raises:
        ValueError: It makes no sense, is of something else, or declares a document type or
            entities, as libvirt never does.
    """
    return tuple(dict.fromkeys(address for address, _ in _given(xml)))


def managed_functions(xml: bytes) -> set[PciAddress]:
    """Return the functions that libvirt takes from their drivers for a VM.

    Raises:
        ValueError: As ``given_functions``.
    """
    return {address for address, managed in _given(xml) if managed}


def _given(xml: bytes) -> list[tuple[PciAddress, bool]]:
    try:
        return _Definition(xml).found
    except (expat.ExpatError, LookupError) as error:
        raise ValueError(str(error)) from error


class _Definition:
    """One VM's XML, of which only addresses are kept.

    Attributes:
        found: Of the functions that it is given, and whether libvirt manages each.
    """

    def __init__(self, xml: bytes) -> None:
        """Read it.

        Raises:
            ExpatError: It is no XML.
            LookupError: It is said to be in an encoding that there is not.
            ValueError: It is of something else than a VM, has a document type or entities, behind
                which there could be anything, or an address makes no sense.
        """
        self.found: list[tuple[PciAddress, bool]] = []
        # Elements, and of each that gives a function whether it is managed.
        self._open: list[tuple[str, bool | None]] = []
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.StartDoctypeDeclHandler = _refuse
        parser.Parse(xml, True)  # noqa: FBT003 -- takes no keyword

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if not self._open and name not in _ROOTS:
            raise ValueError(f"it is of a {name}")
        gives = name in _GIVES_A_FUNCTION and attributes.get("type") in ("pci", "hostdev")
        self._open.append((name, attributes.get("managed") == "yes" if gives else None))
        path = tuple(element for element, _ in self._open[-2:])
        if path != _PATH or len(self._open) <= len(_PATH):
            return
        managed = self._open[-3][1]
        if managed is not None:
            self.found.append((PciAddress(*_numbers(attributes)), managed))

    def _end(self, name: str) -> None:  # noqa: ARG002 -- a handler's signature
        self._open.pop()


def _numbers(attributes: Mapping[str, str]) -> Iterator[int]:
    """Yield domain, bus, device and function.

    Raises:
        ValueError: One is not a number, or too large.
    """
    for name, largest in _PARTS.items():
        text = attributes.get(name, "0")
        number = int(text, 16 if text.startswith("0x") else 10)
        if not 0 <= number <= largest:
            raise ValueError(text)
        yield number


def _refuse(*_: object) -> None:
    raise ValueError("a document type is declared")
