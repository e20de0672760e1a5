"""Hosts for tests of the kernel command line, and what is advised for them."""

from pathlib import Path

from trees.function import downstream_port, nic, root_port, upstream_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import judge, opened
from tune.profiles import PROFILE

from pcietune.host.sysfs import SysfsHost
from pcietune.model.profile import ModeName, Profile
from pcietune.tune.audit.config_acs import Semantics
from pcietune.tune.kernel_args.advise import Advice, advise
from pcietune.tune.kernel_args.takes import Takes

FIXED = Takes("6.16.1", Semantics.FIXED, "takes several entries")
BROKEN = Takes("6.12.10", Semantics.BROKEN, "takes the first entry")
OLD = Takes("6.8.0", Semantics.NO_CONFIG_ACS, "takes none")
UNKNOWN = Takes("6.14.0-33-generic", None, "not known")

ROOT_PORT = "0000:20:01.0"
GPU_PORT = "0000:20:01.0/00.0/00.0"
NIC_PORT = "0000:20:01.0/00.0/04.0"
FOREIGN_PORT = "0000:60:01.0/00.0/00.0"


def with_a_foreign_switch(root: Path) -> TreeHost:
    """Return a host with a second switch of the same kind that has a NIC, but no GPU."""
    tree = one_switch(root)
    tree.add(
        root_port("0000:60:01.0"),
        upstream_port("0000:61:00.0", below="0000:60:01.0"),
        downstream_port("0000:62:00.0", below="0000:61:00.0"),
        nic("0000:63:00.0", below="0000:62:00.0"),
    )
    return tree


def advised(
    tree: TreeHost | SysfsHost,
    takes: Takes = FIXED,
    mode: ModeName = ModeName.VM,
    profile: Profile = PROFILE,
) -> Advice:
    """Return what is to stand on a host's command line."""
    host = opened(tree) if isinstance(tree, TreeHost) else tree
    return advise(host, judge(host, profile, mode), takes)
