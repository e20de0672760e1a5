"""Topology files of plans, as NCCL would have them."""

from guest.nccl.reader import Read, read

from pcietune.guest.nccl.dialect import VERSIONS
from pcietune.guest.nccl.text import topology_text
from pcietune.guest.nccl.topology import topology
from pcietune.guest.nccl.wanted import Wanted
from pcietune.guest.plan import Plan


def text_of(plan: Plan, wanted: Wanted | None = None) -> str:
    return topology_text(topology(plan, wanted or Wanted()).root)


def read_of(plan: Plan, wanted: Wanted | None = None) -> Read:
    wanted = wanted or Wanted()
    return read(text_of(plan, wanted), str(VERSIONS[wanted.library]))


def element(root: Read, bus_id: str) -> Read:
    (found,) = (each for each in root.all() if each.attributes.get("busid") == bus_id)
    return found
