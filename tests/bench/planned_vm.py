"""A VM as pcietune plans it and has it started, on a host that is as its profile wants it."""

import msgspec

from bench.guest import Guest, Result
from bench.inner_vm import InnerVm
from pcietune.guest.plan import Plan

_READ = """
import json, os
from pathlib import Path
devices = Path("/sys/bus/pci/devices")
nodes = Path("/sys/devices/system/node")
print(json.dumps({
    "functions": {
        each.name: {
            "path": os.path.realpath(each),
            "id": ":".join((each / name).read_text().strip()[2:] for name in ("vendor", "device")),
            "numa_node": int((each / "numa_node").read_text()),
        }
        for each in devices.iterdir()
    },
    "nodes": {
        each.name: (each / "cpulist").read_text().strip() for each in nodes.glob("node[0-9]*")
    },
}))
"""


class Seen(msgspec.Struct):
    """What a kernel says of one function.

    Attributes:
        path: Its folder below /sys/devices.
        id: Vendor and Device ID.
        numa_node: -1 for none.
    """

    path: str
    id: str
    numa_node: int

    @property
    def above(self) -> list[str]:
        """Addresses of the bridges above it, root port first."""
        return self.path.split("/")[4:-1]


class View(msgspec.Struct):
    """What a kernel says of its machine.

    Attributes:
        functions: By address.
        nodes: The CPUs of each NUMA node, as a list of ranges.
    """

    functions: dict[str, Seen]
    nodes: dict[str, str]


def view(machine: Guest | InnerVm) -> View:
    """Return what the kernel of a host, or of a VM, sees; pcietune has no part in it."""
    told = machine.run("/usr/bin/python3", "-I", "-c", _READ)
    assert told.returncode == 0, told
    return msgspec.json.decode(told.stdout, type=View)


def planned(guest: Guest, file: str, *options: str) -> Plan:
    """Have a VM planned on a host, into a file of the host."""
    made = guest.pcietune("guest", "plan", "--mode", "vm", "--mig", "off", "-o", file, *options)
    assert made.returncode == 0, made
    return msgspec.json.decode(guest.read_file(file), type=Plan)


def bound_by_the_gate(guest: Guest, plan: Plan) -> Result:
    """Have the gate give VFIO all that a VM gets."""
    addresses = [function.address for function in plan.functions]
    return guest.pcietune("vfio", "bind", "--mode", "vm", *addresses)


def qemu_of(guest: Guest, file: str, *options: str) -> list[str]:
    """Return the generated command of a plan."""
    told = guest.pcietune("guest", "qemu", file, "--json", *options)
    assert told.returncode == 0, told
    return ["qemu-system-x86_64", *msgspec.json.decode(told.stdout, type=list[str])]


def by_host_switch(guest: Guest, plan: Plan) -> set[frozenset[str]]:
    """Return which functions share a switch on the host, by the names that the plan gives them."""
    host = view(guest).functions
    return _together({f.name: host[f.address].above for f in plan.functions})


def by_vm_switch(seen: View, plan: Plan) -> set[frozenset[str]]:
    """Return the same of the VM."""
    return _together({f.name: seen.functions[f.guest_address].above for f in plan.functions})


def _together(above: dict[str, list[str]]) -> set[frozenset[str]]:
    switches = {ports[1] for ports in above.values() if len(ports) > 1}
    return {
        frozenset(name for name, ports in above.items() if ports[1:2] == [switch])
        for switch in switches
    }
