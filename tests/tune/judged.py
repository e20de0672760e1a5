"""A host tree, opened and judged."""

from trees.host import TreeHost
from tune.profiles import PROFILE

from pcietune.address import PciAddress
from pcietune.host.host_files import HostFiles
from pcietune.host.sysfs import SysfsHost
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.finding import Finding, State
from pcietune.model.function import PciFunction
from pcietune.model.profile import ModeName, Profile
from pcietune.model.severity import Severity
from pcietune.model.undo import UndoRecord
from pcietune.model.yardstick import Yardstick
from pcietune.tune.audit.audit import Audit, audit
from pcietune.tune.audit.memory import Memory
from pcietune.tune.match.survey import concerned, survey

NIC_PORT = "0000:22:04.0"
GPU_PORT = "0000:22:00.0"
ROOT_PORT = "0000:20:01.0"
NIC = "0000:24:00.0"
GPU = "0000:23:00.0"


def opened(tree: TreeHost) -> SysfsHost:
    """Return the host that a tree describes, with nothing read yet."""
    return SysfsHost(HostFiles(tree.root, recorded=True))


def surveyed(host: HostAccess, profile: Profile = PROFILE) -> Fabric:
    """Return the host's fabric, as the command line looks at it."""
    return survey(host, lambda functions: concerned(functions, [profile]))


def judge(
    host: HostAccess,
    profile: Profile = PROFILE,
    mode: ModeName = ModeName.VM,
    record: UndoRecord | None = None,
) -> Audit:
    """Return the host judged."""
    return audit(host, surveyed(host, profile), Yardstick(profile, mode), Memory(record))


def judged(tree: TreeHost, profile: Profile = PROFILE, mode: ModeName = ModeName.VM) -> Audit:
    """Return what a tree describes, judged."""
    return judge(opened(tree), profile, mode)


def finding(audited: Audit, finding_id: str, subject: str) -> Finding:
    """Return the only finding of this id about this address or path."""
    (found,) = (
        f
        for f in audited.findings
        if f.id == finding_id and subject in (str(f.subject.address), f.subject.path)
    )
    return found


def failing(audited: Audit) -> set[tuple[str, str]]:
    """Return id and subject of every finding that fails and is more than information."""
    return {
        (f.id, str(f.subject.address or f.subject.path))
        for f in audited.findings
        if f.state is State.FAIL and f.severity is not Severity.INFO
    }


def at(host: HostAccess, address: str) -> PciFunction:
    """Return the host's function at an address."""
    wanted = PciAddress.parse(address)
    return next(function for function in host.functions() if function.address == wanted)
