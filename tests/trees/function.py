"""Functions as a sysfs tree shows them, with the defaults of a GPU server's parts."""

from dataclasses import dataclass, field

from trees.config import (
    DOWNSTREAM_PORT,
    ENDPOINT,
    ROOT_PORT,
    UPSTREAM_PORT,
    ConfigBuilder,
)
from trees.express import Express

ACS_CAPABLE = 0x005F  # SrcValid TransBlk ReqRedir CmpltRedir UpstreamFwd DirectTrans
ACS_BY_LINUX = 0x001D  # SrcValid ReqRedir CmpltRedir UpstreamFwd, as pci_enable_acs() leaves it

_AS_WANTED = Express()
_MEMORY = 0x0004_0200  # flags of sysfs ``resource``: memory (include/linux/ioport.h)
_PREFETCHABLE_64 = 0x0014_220C  # the same, prefetchable and 64 bits wide


def bars(*, registers: int = 0x0100_0000, memory: int = 0x20_0000_0000) -> str:
    """Return the sysfs ``resource`` of a GPU: BAR0 with its registers, BAR1 with its memory."""
    rows = [
        (0xD000_0000, 0xD000_0000 + registers - 1, _MEMORY),
        (0x40_0000_0000, 0x40_0000_0000 + memory - 1, _PREFETCHABLE_64),
    ]
    rows += [(0, 0, 0)] * (13 - len(rows))
    return "\n".join(f"{start:#018x} {end:#018x} {flags:#018x}" for start, end, flags in rows)


@dataclass(frozen=True)
class Function:
    """One function: its registers, and what sysfs says beside them.

    Attributes:
        address: ``DDDD:BB:DD.F``.
        config: Its Configuration Space; also where ID and class come from.
        below: Address of the bridge above it; None on a root bus.
        driver: Name of its driver; None if it has none.
        group: Number of its IOMMU group; None for no ``iommu_group`` link.
        iommu: Name of its IOMMU unit; None for no ``iommu`` link.
        physical_function: For a VF, its PF's address.
        vfio: Whether its driver made a VFIO device of it.
        attributes: Further sysfs files, and other contents for the usual ones; the final newline
            is added.
    """

    address: str
    config: ConfigBuilder
    below: str | None = None
    driver: str | None = None
    group: int | None = None
    iommu: str | None = None
    physical_function: str | None = None
    vfio: bool = False
    attributes: dict[str, str] = field(default_factory=dict)


def root_port(
    address: str,
    *,
    acs: tuple[int, int] | None = (ACS_CAPABLE, ACS_BY_LINUX),
    express: Express = _AS_WANTED,
) -> Function:
    """Return an Intel root port; ``acs`` holds capability and control, None means no ACS."""
    config = ConfigBuilder("8086:347a", 0x060400).power_management().express(ROOT_PORT, express)
    return Function(address, _with_acs(config, acs), driver="pcieport")


def upstream_port(address: str, *, below: str, express: Express = _AS_WANTED) -> Function:
    """Return the upstream port of a Broadcom switch."""
    config = ConfigBuilder("1000:c010", 0x060400).power_management()
    config.express(UPSTREAM_PORT, express)
    config.serial_number(0x0001_02FF_FE03_0405)
    return Function(address, config, below=below, driver="pcieport")


def downstream_port(
    address: str,
    *,
    below: str,
    acs: tuple[int, int] | None = (ACS_CAPABLE, ACS_BY_LINUX),
    express: Express = _AS_WANTED,
) -> Function:
    """Return a downstream port of a Broadcom switch; ``acs`` as of ``root_port``."""
    config = ConfigBuilder("1000:c010", 0x060400).power_management()
    config.express(DOWNSTREAM_PORT, express)
    return Function(address, _with_acs(config, acs), below=below, driver="pcieport")


def gpu(
    address: str,
    *,
    below: str | None = None,
    driver: str | None = None,
    express: Express = _AS_WANTED,
) -> Function:
    """Return an NVIDIA A800-SXM4-80GB, without ATS."""
    config = ConfigBuilder("10de:20f3", 0x030200, subsystem="10de:179b")
    config.power_management().express(ENDPOINT, express).serial_number(0x0001_02FF_FE0A_0B0C)
    return Function(
        address,
        config,
        below=below,
        driver=driver,
        vfio=driver == "vfio-pci",
        attributes={"resource": bars()},
    )


def nic(
    address: str,
    *,
    below: str | None = None,
    driver: str | None = None,
    ats: tuple[int, int] | None = (0x0020, 0x8000),
    express: Express = _AS_WANTED,
) -> Function:
    """Return a ConnectX-6; ``ats`` holds capability and control (Enable is bit 15), or None."""
    config = ConfigBuilder("15b3:101b", 0x020700, subsystem="15b3:0007")
    config.power_management().vital_product_data(address=0x8000, data=0x4D2D_1234)
    config.express(ENDPOINT, express).serial_number(0x0008_0003_00B3_15B3)
    if ats is not None:
        config.ats(*ats)
    return Function(address, config, below=below, driver=driver, vfio=driver == "vfio-pci")


def nvswitch(address: str, *, below: str | None = None) -> Function:
    """Return an NVSwitch of the A100 generation."""
    config = ConfigBuilder("10de:1af1", 0x068000, subsystem="10de:1af1").express(ENDPOINT)
    return Function(address, config, below=below)


def _with_acs(config: ConfigBuilder, acs: tuple[int, int] | None) -> ConfigBuilder:
    return config if acs is None else config.acs(*acs)
