"""Functions that libvirt takes from their drivers when a VM starts: ``managed='yes'``."""

from collections.abc import Iterator, Mapping
from xml.parsers import expat

from pcietune.address import PciAddress
from pcietune.errors import NotPermittedError
from pcietune.host.host_files import HostFiles
from pcietune.model.owners import Owner, OwnerKind

DOMAINS = ("etc/libvirt/qemu", "run/libvirt/qemu")
"""Where libvirt keeps VMs that it knows, and those that run."""

_PARTS = {"domain": 0xFFFFFFFF, "bus": 0xFF, "slot": 0x1F, "function": 0x7}
_GIVES_A_FUNCTION = ("hostdev", "interface")
_PATH = ("source", "address")  # below that; a device's own address is the one in the VM


def read_libvirt(files: HostFiles) -> tuple[list[Owner], list[str]]:
    """Return which functions libvirt manages, and what of that cannot be found out.

    No VM is named.
    """
    found: dict[str, set[PciAddress]] = {}
    not_known = []
    for directory in DOMAINS:
        try:
            names = [name for name in files.names(directory) if name.endswith(".xml")]
        except NotPermittedError as error:
            not_known.append(f"which functions libvirt manages: {error}")
            continue
        unread = 0
        for name in names:
            addresses = _managed(files, f"{directory}/{name}")
            unread += addresses is None
            found.setdefault(f"/{directory}", set()).update(addresses or ())
        if unread:
            not_known.append(
                f"which functions libvirt manages: {unread} of the files in /{directory} make no "
                "sense, or are not readable"
            )
    owners = [
        Owner(OwnerKind.LIBVIRT_MANAGED, where, addresses=tuple(sorted(addresses)))
        for where, addresses in found.items()
        if addresses
    ]
    return owners, not_known


def managed_functions(xml: bytes) -> set[PciAddress]:
    """Return the functions that a VM's definition has managed.

    Raises:
        ValueError: It makes no sense, or declares entities, as libvirt never does.
    """
    try:
        return set(_Definition(xml).addresses)
    except (expat.ExpatError, LookupError) as error:
        raise ValueError(str(error)) from error


def _managed(files: HostFiles, path: str) -> set[PciAddress] | None:
    """Return the functions that a file has managed; None if it tells nothing that makes sense."""
    try:
        return managed_functions(files.read(path))
    except (OSError, ValueError):
        return None


class _Definition:
    """One VM's XML, of which only addresses are kept.

    Attributes:
        addresses: Of the functions that libvirt manages for it.
    """

    def __init__(self, xml: bytes) -> None:
        """Read it.

        Raises:
            ExpatError: It is no XML.
            LookupError: It is said to be in an encoding that there is not.
            ValueError: It declares entities, as libvirt never does, or an address makes no sense.
        """
        self.addresses: list[PciAddress] = []
        self._open: list[tuple[str, bool]] = []  # elements, and whether each is a managed function
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.EntityDeclHandler = _refuse
        parser.Parse(xml, True)  # noqa: FBT003 -- takes no keyword

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        managed = (
            name in _GIVES_A_FUNCTION
            and attributes.get("type") in ("pci", "hostdev")
            and attributes.get("managed") == "yes"
        )
        self._open.append((name, managed))
        path = tuple(element for element, _ in self._open[-2:])
        if path == _PATH and len(self._open) > len(_PATH) and self._open[-3][1]:
            self.addresses.append(PciAddress(*_numbers(attributes)))

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
    raise ValueError("entities are declared")
