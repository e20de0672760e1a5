"""Any bytes as the plan of a VM, and all that is made of one."""

import shlex
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable
from contextlib import suppress

from fuzz.target import Target
from guest import plans

from pcietune.errors import BadInputError
from pcietune.guest.libvirt.domain import domain_xml, fragment_xml
from pcietune.guest.nccl.text import topology_text
from pcietune.guest.nccl.topology import topology
from pcietune.guest.nccl.wanted import Wanted
from pcietune.guest.nvswitch.fabric_manager import Reach
from pcietune.guest.nvswitch.handling import handle
from pcietune.guest.nvswitch.text import handling_lines
from pcietune.guest.plan import Plan
from pcietune.guest.plan_text import parse_plan, plan_text
from pcietune.guest.qemu.arguments import qemu_arguments
from pcietune.guest.qemu.command_text import command_lines
from pcietune.guest.qemu.options import QemuOptions
from pcietune.guest.scaled import with_memory


def look(data: bytes) -> None:
    """Make all of a plan that can be made of it: what a shell or XML reads is what was meant."""
    with suppress(BadInputError):
        plan = parse_plan(data.decode(errors="replace"), "vm0.json")
        assert parse_plan(plan_text(plan), "again") == plan
        for make in (_qemu, _libvirt, _nccl, _nvswitch, _scaled):
            with suppress(BadInputError):
                make(plan)


def _qemu(plan: Plan) -> None:
    arguments = qemu_arguments(plan, QemuOptions())
    text = "\n".join(command_lines(plan, arguments))
    assert shlex.split(text.replace(" \\\n", " "), comments=True)[1:] == arguments
    assert arguments.count("-device") == len(plan.bridges) + len(plan.functions)


def _libvirt(plan: Plan) -> None:
    for lines in (domain_xml(plan), fragment_xml(plan, 1)):
        root = ET.fromstring("\n".join(lines))
        assert len(root.findall("devices/hostdev")) == len(plan.functions)


def _nccl(plan: Plan) -> None:
    for invent in (False, True):
        text = topology_text(topology(plan, Wanted(invent=invent)).root)
        assert ET.fromstring(text).tag == "system"


def _nvswitch(plan: Plan) -> None:
    assert all(line.isprintable() for line in handling_lines(handle(plan, (1, 3), Reach())))


def _scaled(plan: Plan) -> None:
    total = 1 << 16
    assert sum(cell.memory_mib for cell in with_memory(plan, total).cells) == total


def seeds() -> Iterable[bytes]:
    """Yield plans of each kind."""
    made: tuple[Callable[[], Plan], ...] = (
        plans.a800_two_gpus,
        plans.l20_one_gpu_and_a_vf,
        plans.two_gpus_on_ports,
    )
    for each in made:
        yield plan_text(each()).encode()


TARGET = Target(look, seeds, longest=16384)
