"""QEMU's command line for a machine."""

import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import kernel_trace
from bench.fabric import Fabric
from bench.machine import Machine

_ALWAYS_APPENDED = [
    "console=ttyS0",
    "quiet",
    "panic=-1",  # reboot at once, which ends QEMU
    "init_on_alloc=0",  # to clear what nobody reads takes seconds
]
# How an initrd that Debian's tools made finds the root, and the first program there.
_ROOT_WORDS = {
    "bench": [],
    "initramfs-tools": ["boot=bench", "init=/bench/start"],
    "dracut": ["root=bench", "init=/bench/start"],
}
# A modern device has a window to its registers in its configuration space, and no two reads of that
# are alike once the firmware has used it.
_PLACED = "disable-modern=on,bus=pcie.0,addr="
_DISK_SLOTS = (2, 3, 4, 6)
_SERIAL_SLOT = 5


@dataclass(frozen=True, slots=True)
class Images:
    """What the guest is booted from.

    Attributes:
        kernel: A bzImage.
        initrd: Of the kernel.
        disks: Read-only, in the order in which the guest sees them.
    """

    kernel: Path
    initrd: Path
    disks: Sequence[Path]


def machine_arguments(
    machine: Machine, fabric: Fabric, images: Images, nonce: str, console: Path
) -> list[str]:
    """Return the command that emulates the machine, stopped before its first instruction.

    Args:
        machine: What to emulate.
        fabric: The machine's.
        images: What to boot.
        nonce: A UUID, which the guest finds as the machine's.
        console: File for what the guest prints on its serial console.
    """
    # One thread emulates all processors: a thread for each made early boots panic and QEMU crash
    # now and then, and was no faster on two cores. But a VM inside of it hardly gets on that way.
    threads = "multi" if machine.runs_vms else "single"
    traced = kernel_trace.KERNEL_WORDS if machine.systemd else []
    root = _ROOT_WORDS[machine.initrd]
    append = [*_ALWAYS_APPENDED, *_iommu_words(machine), *traced, *root, *machine.append]
    return [
        *("qemu-system-x86_64", "-machine", "q35,kernel-irqchip=split"),
        *("-accel", f"tcg,thread={threads}", "-cpu", _processor(machine)),
        *("-smp", str(machine.numa_nodes)),
        *("-m", f"{machine.memory_mb}M", *_numa_arguments(machine)),
        *("-nodefaults", "-display", "none", "-no-reboot", "-S", "-uuid", nonce),
        *("-serial", f"file:{console}"),
        *("-kernel", str(images.kernel), "-initrd", str(images.initrd)),
        *("-append", " ".join(append)),
        *_dmi_arguments(machine),
        *_firmware_date(machine),
        *_iommu_arguments(machine),
        *_disk_arguments(images.disks),
        *fabric.host_bridges,
        *(argument for each in fabric.functions if each.plugged for argument in each.arguments),
    ]


def _processor(machine: Machine) -> str:
    """Return the processor.

    Without "enhanced" string instructions the kernel clears pages by eight bytes at a time, which
    costs the emulation an eighth. Where systemd boots, units ask the processor whether the machine
    is virtual, and are told no.
    """
    return "max,-erms,-hypervisor" if machine.systemd else "max,-erms"


def _numa_arguments(machine: Machine) -> Iterator[str]:
    if machine.numa_nodes > 1:
        size = machine.memory_mb // machine.numa_nodes
        for node in range(machine.numa_nodes):
            yield from ("-object", f"memory-backend-ram,id=memory-{node},size={size}M")
            yield from ("-numa", f"node,nodeid={node},memdev=memory-{node},cpus={node}")


def _dmi_arguments(machine: Machine) -> list[str]:
    if machine.dmi is None:
        return []
    vendor, product = (
        text.replace(",", ",,") for text in (machine.dmi.vendor, machine.dmi.product)
    )
    return ["-smbios", f"type=1,manufacturer={vendor},product={product}"]


def _firmware_date(machine: Machine) -> list[str]:
    return ["-smbios", "type=0,date=01/01/2024"] if machine.port_pm else []


def _iommu_words(machine: Machine) -> list[str]:
    return ["intel_iommu=on"] if machine.iommu == "intel" else []


def _iommu_arguments(machine: Machine) -> list[str]:
    match machine.iommu:
        case "intel":
            device_tlb = "on" if machine.device_tlb else "off"
            return ["-device", f"intel-iommu,intremap=on,device-iotlb={device_tlb}"]
        case "amd":
            return ["-device", "amd-iommu,intremap=on"]
        case "none":
            return []


def _disk_arguments(disks: Sequence[Path]) -> Iterator[str]:
    for number, (slot, disk) in enumerate(zip(_DISK_SLOTS, disks, strict=False)):
        yield from ("-drive", f"file={disk},format=raw,readonly=on,if=none,id=disk-{number}")
        yield from ("-device", f"virtio-blk-pci,drive=disk-{number},{_PLACED}{slot}")


def monitor_arguments(end: socket.socket) -> list[str]:
    """Return what puts QEMU's monitor (QMP) at the other end of a socket."""
    return ["-chardev", f"socket,id=monitor,fd={end.fileno()}", "-mon", "monitor,mode=control"]


def port_arguments(ends: dict[str, socket.socket]) -> Iterator[str]:
    """Yield what gives the guest a virtio-serial port for each socket, by the port's name."""
    yield from ("-device", f"virtio-serial-pci,{_PLACED}{_SERIAL_SLOT}")
    for name, end in ends.items():
        yield from ("-chardev", f"socket,id={name},fd={end.fileno()}")
        yield from ("-device", f"virtserialport,chardev={name},name={name}")
