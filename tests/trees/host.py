"""A host as a directory tree of the kernel's files, laid out as sysfs and procfs have them."""

import os
from pathlib import Path

from trees.function import Function

_LINK_WIDTH = "16"
_LINK_SPEED = "16.0 GT/s PCIe"
_DMI = {
    "sys_vendor": "Example Systems",
    "product_name": "GPU Server 8",
    "product_version": "1.0",
    "product_serial": "SERIAL-OF-THE-PRODUCT",
    "product_uuid": "4c4c4544-0000-2010-8020-80c04f202020",
    "board_vendor": "Example Systems",
    "board_name": "GPU-8-BOARD",
    "bios_vendor": "Example Firmware",
    "bios_version": "2.1",
    "bios_date": "03/04/2024",
}


class TreeHost:
    """A host below ``root``: an idle one with a current kernel, to which functions are added.

    Everything is written at once, so that what is below ``root`` is always whole.

    Attributes:
        root: The directory that stands for the host's ``/``.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        for empty in ("sys/bus/pci/devices", "sys/bus/pci/slots", "sys/kernel/iommu_groups"):
            (root / empty).mkdir(parents=True, exist_ok=True)
        self.put("proc/cmdline", "BOOT_IMAGE=/vmlinuz-6.12.0-amd64 root=LABEL=secret ro quiet")
        self.put("proc/sys/kernel/osrelease", "6.12.0-amd64")
        self.put("proc/sys/kernel/random/boot_id", "3d1f3a2e-0c43-4a5b-9a52-2f5d7f4c8e01")
        self.put("sys/kernel/security/lockdown", "[none] integrity confidentiality")
        for name, text in _DMI.items():
            self.put(f"sys/devices/virtual/dmi/id/{name}", text)
        self.link("sys/class/dmi/id", "sys/devices/virtual/dmi/id")

    def put(self, path: str, text: str) -> Path:
        """Write the file at ``path`` below the root, with a final newline; return its path."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
        return file

    def link(self, path: str, target: str) -> None:
        """Make ``path`` a relative link to ``target``; both are below the root."""
        link = self.root / path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(self.root / target, link.parent))

    def add(self, *functions: Function) -> None:
        """Add functions; a bridge comes before what is below it, a PF before its VFs."""
        for function in functions:
            self._add(function)

    def directory(self, address: str) -> Path:
        """Return the function's own directory, below ``sys/devices``."""
        return (self.root / "sys/bus/pci/devices" / address).resolve(strict=True)

    def config(self, address: str) -> Path:
        """Return the function's ``config`` file."""
        return self.directory(address) / "config"

    def intel_iommu(self, name: str, *, device_tlb: bool = True) -> None:
        """Add an Intel IOMMU (dmar0, dmar1 ...); bit 2 of ecap is device TLB support."""
        unit = f"sys/devices/virtual/iommu/{name}"
        self.put(f"{unit}/intel-iommu/cap", "d2008c40660462")
        self.put(f"{unit}/intel-iommu/ecap", "f050de" if device_tlb else "f050da")
        self.put(f"{unit}/intel-iommu/version", "1:0")
        self.link(f"sys/class/iommu/{name}", unit)

    def amd_iommu(self, name: str, *, below: str, cap: int) -> None:
        """Add an AMD IOMMU (ivhd0 ...), which stands below its PCI function."""
        unit = f"{self._path(below)}/iommu/{name}"
        self.put(f"{unit}/amd-iommu/cap", f"{cap:x}")
        self.put(f"{unit}/amd-iommu/features", "25bf732fa2295afe:1d")
        self.link(f"sys/class/iommu/{name}", unit)

    def arm_iommu(self, name: str) -> None:
        """Add an ARM SMMUv3, which shows no registers."""
        unit = f"sys/devices/platform/arm-smmu-v3.0.auto/iommu/{name}"
        (self.root / unit).mkdir(parents=True)
        self.link(f"sys/class/iommu/{name}", unit)

    def group_type(self, number: int, text: str) -> None:
        """Set the type of a group's default domain; a group starts as DMA-FQ."""
        self.put(f"sys/kernel/iommu_groups/{number}/type", text)

    def _path(self, address: str) -> str:
        return str(self.directory(address).relative_to(self.root.resolve()))

    def _add(self, function: Function) -> None:
        address = function.address
        if function.below is None:
            domain, bus, _ = address.split(":")
            path = f"sys/devices/pci{domain}:{bus}/{address}"
        else:
            path = f"{self._path(function.below)}/{address}"
        (self.root / path).mkdir(parents=True)
        (self.root / path / "config").write_bytes(function.config.build())
        for name, text in (_attributes(function) | function.attributes).items():
            self.put(f"{path}/{name}", text)
        self.link(f"sys/bus/pci/devices/{address}", path)
        self._add_links(path, function)

    def _add_links(self, path: str, function: Function) -> None:
        address = function.address
        if function.driver is not None:
            driver = f"sys/bus/pci/drivers/{function.driver}"
            self.link(f"{driver}/{address}", path)
            self.link(f"{path}/driver", driver)
        if function.group is not None:
            group = f"sys/kernel/iommu_groups/{function.group}"
            if not (self.root / group).exists():
                self.group_type(function.group, "DMA-FQ")
            self.link(f"{group}/devices/{address}", path)
            self.link(f"{path}/iommu_group", group)
        if function.iommu is not None:
            unit = (self.root / "sys/class/iommu" / function.iommu).resolve(strict=True)
            self.link(f"{path}/iommu", str(unit.relative_to(self.root.resolve())))
        if function.vfio:
            (self.root / path / "vfio-dev/vfio0").mkdir(parents=True)
        if function.physical_function is not None:
            self._add_virtual_function(path, self._path(function.physical_function))

    def _add_virtual_function(self, path: str, physical: str) -> None:
        index = sum(1 for _ in (self.root / physical).glob("virtfn*"))
        self.link(f"{path}/physfn", physical)
        self.link(f"{physical}/virtfn{index}", path)
        self.put(f"{physical}/sriov_numvfs", str(index + 1))


def _attributes(function: Function) -> dict[str, str]:
    """Return the files that the kernel makes for every function (pci-sysfs.c)."""
    config = function.config
    uevent = [
        f"PCI_CLASS={config.class_code:04X}",
        f"PCI_ID={config.vendor:04X}:{config.device:04X}",
        f"PCI_SUBSYS_ID={config.subsystem_vendor:04X}:{config.subsystem_device:04X}",
        f"PCI_SLOT_NAME={function.address}",
    ]
    if function.driver is not None:
        uevent.insert(0, f"DRIVER={function.driver}")
    files = {
        "uevent": "\n".join(uevent),
        "vendor": f"0x{config.vendor:04x}",
        "device": f"0x{config.device:04x}",
        "subsystem_vendor": f"0x{config.subsystem_vendor:04x}",
        "subsystem_device": f"0x{config.subsystem_device:04x}",
        "class": f"0x{config.class_code:06x}",
        "revision": "0x00",
        "irq": "0",
        "resource": "\n".join(["0x0000000000000000 " * 2 + "0x0000000000000000"] * 13),
        "numa_node": "0",
        "enable": "1" if function.driver == "pcieport" else "0",
        "power_state": "D0",
        "power/control": "on",
        "power/runtime_status": "active",
    }
    if function.physical_function is None:
        files |= {
            "current_link_speed": _LINK_SPEED,
            "current_link_width": _LINK_WIDTH,
            "max_link_speed": _LINK_SPEED,
            "max_link_width": _LINK_WIDTH,
        }
    return files
