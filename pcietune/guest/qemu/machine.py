"""A VM apart from its memory and its functions, as QEMU's arguments."""

from pcietune.guest.cpu_topology import CpuTopology, cpu_topology
from pcietune.guest.kinds import Backend, Firmware
from pcietune.guest.plan import Plan
from pcietune.guest.qemu.devices import IOMMUFD
from pcietune.guest.qemu.options import Accelerator, QemuOptions
from pcietune.guest.qemu.property_list import property_list

_FIRST_EXTENDED = 255  # the first APIC ID that 8 bits cannot name; ff names all


def machine_arguments(plan: Plan, options: QemuOptions) -> list[str]:
    """Return name, machine, CPUs, address windows, firmware and VFIO's back end."""
    topology = cpu_topology(plan.cells)
    smp = {
        "sockets": topology.sockets,
        "cores": topology.cores,
        "threads": topology.threads,
    }
    return [
        *("-name", property_list("", {"guest": plan.machine.name, "debug-threads": "on"})),
        *("-no-user-config", "-nodefaults"),
        *("-display", "none"),
        *("-machine", _machine(options.accelerator, topology)),
        *("-cpu", _cpu(options.accelerator)),
        *("-smp", property_list(str(topology.cpus), smp)),
        *("-global", f"q35-pcihost.pci-hole64-size={plan.budget.memory_64_mib}M"),
        *(_ovmf(plan, options) if plan.machine.firmware is Firmware.OVMF else ()),
        *(_iommufd() if plan.machine.backend is Backend.IOMMUFD else ()),
    ]


def _machine(accelerator: Accelerator, topology: CpuTopology) -> str:
    """Return the machine, which needs half its interrupt chips in QEMU for many CPUs.

    Without an IOMMU in the VM interrupts reach CPUs from APIC ID 255 on by KVM's own extension
    alone, which QEMU offers with a split chip (target/i386/kvm/kvm.c, KVM_FEATURE_MSI_EXT_DEST_ID).
    """
    many = accelerator is Accelerator.KVM and topology.last_apic_id >= _FIRST_EXTENDED
    chip = {"kernel-irqchip": "split" if many else None}
    return property_list("q35", {"accel": accelerator, **chip})


def _cpu(accelerator: Accelerator) -> str:
    """Return the host's CPU with all its address bits, which the windows of large BARs need."""
    return "max" if accelerator is Accelerator.TCG else "host,host-phys-bits=on"


def _ovmf(plan: Plan, options: QemuOptions) -> list[str]:
    """Return OVMF with its window above 4 GiB (OvmfPkg/Library/PlatformInitLib/MemDetect.c)."""
    code: dict[str, str | int | None] = {
        "unit": 0,
        "format": "raw",
        "readonly": "on",
        "file": options.ovmf_code,
    }
    own = options.ovmf_vars
    variables: dict[str, str | int | None] = {
        "unit": 1,
        "format": "raw",
        "snapshot": "on" if own is None else None,
        "file": options.ovmf_template if own is None else own,
    }
    window: dict[str, str | int | None] = {
        "name": "opt/ovmf/X-PciMmio64Mb",
        "string": plan.budget.memory_64_mib,
    }
    return [
        *("-drive", property_list("if=pflash", code)),
        *("-drive", property_list("if=pflash", variables)),
        *("-fw_cfg", property_list("", window)),
    ]


def _iommufd() -> list[str]:
    return ["-object", property_list("iommufd", {"id": IOMMUFD})]
