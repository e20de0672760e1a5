"""Checks a VM that is laid out on disk."""

from pathlib import Path

from guest.check.vm import Vm

from pcietune.guest.check.check import check
from pcietune.guest.check.checked import Checked
from pcietune.guest.check.row import Aspect, Verdict
from pcietune.guest.plan import Plan
from pcietune.host.host_files import HostFiles
from pcietune.host.sysfs import SysfsHost


def checked(plan: Plan, vm: Vm, root: Path) -> Checked:
    """Return what comes of checking a VM."""
    vm.write(root)
    return checked_tree(plan, root)


def checked_tree(plan: Plan, root: Path) -> Checked:
    """Return what comes of checking a VM that is laid out already."""
    return check(plan, SysfsHost(HostFiles(root, recorded=True)))


def differing(result: Checked) -> list[tuple[str, Aspect]]:
    """Return what differs, in order."""
    return [(row.subject, row.aspect) for row in result.of(Verdict.DIFFERS)]


def why(result: Checked, subject: str, aspect: Aspect) -> str:
    """Return the cause of the only row of a subject and aspect."""
    (row,) = (r for r in result.rows if (r.subject, r.aspect) == (subject, aspect))
    return row.why
