"""What the host uses itself: looked at where somebody typed apply, remembered where nobody did."""

from pcietune.host.run.hosts_own import Uses, keep_hosts_own, read_hosts_own
from pcietune.host.sysfs import SysfsHost
from pcietune.host.uses.holds import read_holds
from pcietune.host.uses.look import Look
from pcietune.model.hold import HoldKind
from pcietune.tune.audit.audit import Audit
from pcietune.tune.bind.candidates import wanted

_OF_THE_MOMENT = (HoldKind.OPEN, HoldKind.RDMA)
"""A process has it open, as nvidia-persistenced has every GPU: that is over after a boot."""


def hosts_own(host: SysfsHost, audited: Audit, *, unattended: bool) -> Uses:
    """Return which functions VFIO is not to get at boot, and why; a typed run keeps them for that.

    Raises:
        BadInputError: Somebody else than root could have made the file.
        NotPermittedError: They cannot be kept.
    """
    if unattended or host.recorded:
        return read_hosts_own(host.files)
    functions = wanted(host, audited)
    if not functions:
        return {}  # nothing is bound at boot
    look = Look(host.files)
    uses = {}
    for address, why in audited.protection.why.items():
        function = audited.fabric.functions.get(address)
        if function is not None:
            uses[function.location, function.id] = why
    for function in functions:
        holds = read_holds(look, function)
        texts = [hold.text for hold in holds if hold.kind not in _OF_THE_MOMENT]
        if texts:
            uses[function.location, function.id] = " and ".join(texts)
    keep_hosts_own(host.files, uses)
    return uses
