"""A function's address: parse, print, order; domains wider than ffff."""

from pcietune.errors import BadInputError, quoted

_HEX = frozenset("0123456789abcdefABCDEF")
_WITHOUT_DOMAIN = len("00:1f.7")


class PciAddress:
    """Where a function is: domain, Bus, Device and Function Number.

    Sorts in the order of lspci. ``domain`` is Linux's name for the specification's Segment Group;
    it may need more than four digits (Intel VMD starts at 10000h, Azure uses all 32 bits).
    """

    __slots__ = ("_key", "bus", "device", "domain", "function")

    domain: int
    bus: int
    device: int
    function: int
    _key: tuple[int, int, int, int]

    def __init__(self, domain: int, bus: int, device: int, function: int) -> None:
        self.domain = domain
        self.bus = bus
        self.device = device
        self.function = function
        self._key = (domain, bus, device, function)  # once: an audit compares 100,000 times

    @classmethod
    def parse(cls, text: str) -> "PciAddress":
        """Parse ``DDDD:BB:DD.F``; a missing domain means 0.

        Raises:
            BadInputError: ``text`` has another form.
        """
        whole = text.strip()
        if len(whole) == _WITHOUT_DOMAIN:
            whole = f"0000:{whole}"
        # By places, since a regular expression costs the udev hook a tenth of its time.
        domain, bus, device, function = whole[:-8], whole[-7:-5], whole[-4:-2], whole[-1:]
        if (
            whole != f"{domain}:{bus}:{device}.{function}"
            or not 4 <= len(domain) <= 8
            or not _HEX.issuperset(domain + bus + device + function)
            or device[0] not in "01"
            or function not in "01234567"
        ):
            raise BadInputError(
                f"{quoted(text)} is not a PCI address",
                hint="write it as lspci -D does: 0000:3b:00.0",
            )
        return cls(int(domain, 16), int(bus, 16), int(device, 16), int(function))

    @property
    def devfn(self) -> str:
        """Device and Function Number as the kernel's ``pci=`` paths have them: ``1f.7``."""
        return f"{self.device:02x}.{self.function:x}"

    def __str__(self) -> str:
        return f"{self.domain:04x}:{self.bus:02x}:{self.devfn}"

    def __repr__(self) -> str:
        return f"PciAddress.parse({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PciAddress) and self._key == other._key

    def __lt__(self, other: "PciAddress") -> bool:
        return self._key < other._key

    def __hash__(self) -> int:
        return hash(self._key)
