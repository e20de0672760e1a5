"""Why a port is not opened for translated requests: they might lie, or go astray."""

from collections.abc import Sequence

from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.function import PciFunction
from pcietune.registers.ats import Ats
from pcietune.tune.audit.audit import Audit
from pcietune.tune.audit.host_addresses import why_astray


def why_not_opened(host: HostAccess, audited: Audit, below: Sequence[PciFunction]) -> str | None:
    """Return why DirectTrans stays off above these functions; None if it may be turned on."""
    astray = why_astray(host, below)
    if astray is not None:
        return astray
    for function in below:
        role = audited.roles.get(function.address)
        trusted = role is not None and audited.profile.roles[role].trusted
        if trusted or function.is_pci_bridge:
            continue
        try:
            if _parent_is_trusted(host, audited, function):
                continue
            if Ats.find(host.config(function)) is not None:
                return f"{function.address} below has ATS and is not trusted"
        except PcietuneError as error:
            return f"whether {function.address} below has ATS cannot be read: {error}"
    return None


def _parent_is_trusted(host: HostAccess, audited: Audit, function: PciFunction) -> bool:
    parent = host.state(function).physical_function
    role = None if parent is None else audited.roles.get(parent)
    return role is not None and audited.profile.roles[role].trusted
