"""A machine's PCIe fabric as QEMU builds it: each function's device, location and patches.

QEMU lends its own ports and an NVMe controller for every endpoint; their configuration spaces are
rewritten before the guest looks at them, so it sees the functions that the machine describes.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from bench import config_patches
from bench.config_patches import Patch
from bench.machine import Acs, Ats, Endpoint, Link, Machine, Port, Root, Switch, Vfs

_FIRST_SLOT = 8  # of root ports and host bridges on bus 0; the bench's own devices lie below
_BUSES_PER_ROOT = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """One function of the fabric.

    Attributes:
        device_id: Of QEMU's device: the name given in the machine's file, or one of its own.
        location: As the kernel's pci= options take it: 0000:20:00.0/00.0/02.0.
        arguments: That make QEMU build the device.
        identity: Vendor and Device ID; None: as QEMU made it.
        subsystem: None: as QEMU made it.
        class_code: None: as QEMU made it.
        link: Of the function.
        relaxed_ordering: Whether it may set the attribute; None: as QEMU made it.
        acs: Capability to be added or replaced; None: as QEMU made it.
        ats: Capability to be added; None: no.
        vfs: Its virtual functions, which it has once the guest switches them on.
        plugged: Whether it is there from the start.
    """

    device_id: str
    location: str
    arguments: list[str]
    identity: str | None = None
    subsystem: str | None = None
    class_code: int | None = None
    link: Link
    relaxed_ordering: bool | None = None
    acs: Acs | None = None
    ats: Ats | None = None
    vfs: Vfs | None = None
    plugged: bool = True

    def patches(self, config: bytes) -> list[Patch]:
        """Return what makes QEMU's ``config`` that of the function."""
        patches = config_patches.link(self.link, config)
        if self.identity is not None:
            patches += config_patches.identity(self.identity)
        if self.subsystem is not None:
            patches += config_patches.subsystem(self.subsystem)
        if self.class_code is not None:
            patches += config_patches.class_code(self.class_code)
        if self.relaxed_ordering is not None:
            patches += config_patches.device_control(config, relaxed=self.relaxed_ordering)
        if self.ats is not None:
            patches += config_patches.ats(self.ats, config)
        if self.acs is not None:
            patches += config_patches.acs(self.acs, config_patches.patched(config, patches))
        if self.vfs is not None:
            patches += config_patches.vfs(self.vfs, config)
        return patches

    def vf_patches(self, config: bytes) -> list[Patch]:
        """Return what makes QEMU's ``config`` that of one of its virtual functions.

        Its ids read as all ones (PCI Express Base Specification, SR-IOV), its STU as 0: both are
        the physical function's. Its Link Capabilities are those of the physical function.
        """
        patches = config_patches.link(self.link, config)
        if self.class_code is not None:
            patches += config_patches.class_code(self.class_code)
        if self.vfs is not None and self.vfs.ats:
            patches += config_patches.ats(Ats(writable=0x8000), config)
        return patches


@dataclass(frozen=True, slots=True)
class Fabric:
    """All that QEMU must build.

    Attributes:
        host_bridges: QEMU's arguments for root buses other than bus 0.
        functions: In an order in which QEMU can build them.
    """

    host_bridges: list[str]
    functions: list[Function]


def lay_out(machine: Machine) -> Fabric:
    """Return the fabric of the machine."""
    return _Layout(slots=",hotplug=off" if machine.port_pm else "").lay_out(machine.roots)


@dataclass(slots=True)
class _Layout:
    """The fabric so far, and the numbers that are taken.

    Attributes:
        slots: What is said to QEMU of every port's slot.
    """

    slots: str
    host_bridges: list[str] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def lay_out(self, roots: list[Root]) -> Fabric:
        slots = itertools.count(_FIRST_SLOT)
        buses = itertools.count(_BUSES_PER_ROOT, _BUSES_PER_ROOT)
        for root in roots:
            if root.numa_node is None:
                for port in root.ports:
                    slot = next(slots)
                    self._root_port(port, "pcie.0", slot, f"0000:00:{slot:02x}.0")
                continue
            bridge, bus, slot = self._device_id("host-bridge"), next(buses), next(slots)
            self.host_bridges += _device(
                f"pxb-pcie,id={bridge},bus=pcie.0,addr={slot:#x},bus_nr={bus}"
                f",numa_node={root.numa_node}"
            )
            for device, port in enumerate(root.ports):
                self._root_port(port, bridge, device, f"0000:{bus:02x}:{device:02x}.0")
        return Fabric(self.host_bridges, self.functions)

    def _device_id(self, kind: str, name: str | None = None) -> str:
        return name or f"unnamed-{kind}-{next(self.numbers)}"

    def _root_port(self, port: Port, bus: str, device: int, location: str) -> None:
        chassis = next(self.numbers)
        disabled = "" if port.acs else ",disable-acs=on"
        self._port(
            port,
            Function(
                device_id=(device_id := self._device_id("root-port", port.name)),
                location=location,
                arguments=_device(
                    f"pcie-root-port,id={device_id},bus={bus},addr={device:#x}"
                    f",chassis={chassis},slot={chassis}{self.slots}{disabled}"
                ),
                identity=port.id,
                link=port.link,
                acs=port.acs if isinstance(port.acs, Acs) else None,
            ),
        )

    def _switch(self, switch: Switch, bus: str, location: str) -> None:
        upstream = self._device_id("upstream-port", switch.name)
        self.functions.append(
            Function(
                device_id=upstream,
                location=location,
                arguments=_device(f"x3130-upstream,id={upstream},bus={bus}"),
                identity=switch.id,
                link=switch.link,
            )
        )
        for device, port in enumerate(switch.ports):
            chassis = next(self.numbers)
            self._port(
                port,
                Function(
                    device_id=(device_id := self._device_id("downstream-port", port.name)),
                    location=f"{location}/{device:02x}.0",
                    arguments=_device(
                        f"xio3130-downstream,id={device_id},bus={upstream},addr={device:#x}"
                        f",chassis={chassis},slot={chassis}{self.slots}"
                    ),
                    identity=port.id or switch.id,
                    link=port.link,
                    acs=Acs() if port.acs is True else port.acs or None,
                ),
            )

    def _port(self, port: Port, function: Function) -> None:
        self.functions.append(function)
        if port.switch is not None:
            self._switch(port.switch, function.device_id, f"{function.location}/00.0")
        if port.endpoint is not None:
            for number, endpoint in enumerate((port.endpoint, *port.endpoint.beside)):
                self._endpoint(endpoint, function, number)

    def _endpoint(self, endpoint: Endpoint, port: Function, number: int) -> None:
        device_id = self._device_id("endpoint", endpoint.name)
        several = ",multifunction=on" if endpoint.beside else ""
        place = f"id={device_id},bus={port.device_id},addr=0.{number}{several}"
        self.functions.append(
            Function(
                device_id=device_id,
                location=f"{port.location}/00.{number}",
                arguments=_endpoint_arguments(endpoint, device_id, place),
                identity=endpoint.id,
                subsystem=endpoint.subsystem,
                class_code=endpoint.class_code,
                link=endpoint.link,
                relaxed_ordering=endpoint.relaxed_ordering,
                acs=endpoint.acs,
                ats=Ats() if endpoint.ats is True else endpoint.ats or None,
                vfs=endpoint.vfs,
                plugged=endpoint.plugged,
            )
        )


def _endpoint_arguments(endpoint: Endpoint, device_id: str, place: str) -> list[str]:
    if endpoint.netdev:
        return _device(f"virtio-net-pci,{place},romfile=")
    bar = "" if endpoint.bar_mb is None else f",cmb_size_mb={endpoint.bar_mb}"
    device = f"nvme,{place},serial={device_id}{bar}"
    if endpoint.vfs is not None:
        return _with_vfs(device, device_id, endpoint.vfs.most)
    return _drive(device, device_id)


def _drive(device: str, device_id: str) -> list[str]:
    drive = f"{device_id}-drive"
    return [
        *("-drive", f"driver=null-co,read-zeroes=on,if=none,id={drive}"),
        *_device(f"{device},drive={drive}"),
    ]


def _with_vfs(device: str, device_id: str, most: int) -> list[str]:
    """QEMU's NVMe controller has VFs in a subsystem only, and shares its queues with them."""
    return [
        *_device(f"nvme-subsys,id={device_id}-subsystem"),
        *_device(
            f"{device},subsys={device_id}-subsystem,sriov_max_vfs={most}"
            f",sriov_vq_flexible={2 * most},sriov_vi_flexible={most}"
            f",max_ioqpairs={2 * most + 2},msix_qsize={most + 3}"
        ),
    ]


def _device(description: str) -> list[str]:
    return ["-device", description]
