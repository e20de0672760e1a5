"""What a kernel makes of ``pci=config_acs=``: the running one is probed, another one is named."""

from dataclasses import dataclass

from pcietune.errors import BadInputError, quoted
from pcietune.model.access import HostAccess
from pcietune.model.kernel_release import KernelRelease
from pcietune.tune.audit.config_acs import Semantics, semantics_of


@dataclass(frozen=True, slots=True)
class Takes:
    """What a kernel takes.

    Attributes:
        kernel: Its release; ``this kernel`` where that is not readable.
        semantics: What it makes of the options; None if not known.
        reason: How that is known, or why not, in one sentence.
    """

    kernel: str
    semantics: Semantics | None
    reason: str


def running_kernel_takes(host: HostAccess) -> Takes:
    """Return what the host's kernel makes of the options.

    Its symbols tell whether it has ``config_acs`` at all, whoever brought it there; whether it has
    the fix too, only its release tells.
    """
    kernel = host.platform().kernel
    name = kernel or "this kernel"
    by_release = semantics_of(KernelRelease.parse(kernel))
    match host.knows_config_acs():
        case False:
            return Takes(name, Semantics.NO_CONFIG_ACS, f"{name} does not know pci=config_acs=")
        case True if by_release is Semantics.NO_CONFIG_ACS:
            reason = f"{name} knows pci=config_acs= from its maker, with or without its fix"
            return Takes(name, None, reason)
        case True:
            return Takes(name, by_release, f"{name} knows pci=config_acs=: {_said(by_release)}")
        case None:
            reason = f"the kernel's symbols are not readable; by its release: {_said(by_release)}"
            return Takes(name, by_release, reason)


def named_kernel_takes(release: str) -> Takes:
    """Return what a kernel of this release makes of the options, by its number alone.

    Raises:
        BadInputError: That is no kernel release.
    """
    parsed = KernelRelease.parse(release)
    if parsed is None:
        raise BadInputError(
            f"--for {quoted(release)} is no kernel release",
            hint="write it as uname -r does: 6.12.23",
        )
    semantics = semantics_of(parsed)
    reason = f"{release}, by its number: {_said(semantics)}; distributions backport, so ask there"
    return Takes(release, semantics, reason)


def _said(semantics: Semantics | None) -> str:
    match semantics:
        case None:
            return "whether it takes more than one entry is not known"
        case Semantics.NO_CONFIG_ACS:
            return "pci=config_acs= is not known there, which came with 6.11"
        case Semantics.BROKEN:
            return "it takes only the first entry, and 0 for what firmware set"
        case Semantics.FIXED:
            return "it takes several entries"
