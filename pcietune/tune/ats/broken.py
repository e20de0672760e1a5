"""Devices whose ATS must stay off, whatever a profile wants of it."""

from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.finding import Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.function import PciFunction
from pcietune.model.quirks import Quirk, quirk_of
from pcietune.model.severity import Severity
from pcietune.registers.ats import Ats

ID = "gpu.ats-broken"
"""Of GPUs alone: a NIC's ATS has a finding in any case."""

_OFF = Value("Enable-", None, ("Enable-",))
_NEWER_KERNEL = Remedy(RemedyKind.SOFTWARE, "boot a kernel that knows this device and does without")


def broken_ats(host: HostAccess, function: PciFunction) -> Quirk | None:
    """Return why a function's ATS must stay off, None if it need not; an unknown revision must."""
    quirk = quirk_of(function)
    if quirk is None or not quirk.ats_broken_below:
        return None
    revision = _revision(host.attribute(function, "revision"))
    return quirk if revision is None or revision < quirk.ats_broken_below else None


def judge_broken_ats(host: HostAccess, function: PciFunction) -> list[Finding]:
    """Judge that the ATS of a function is off if it must be; nothing if it need not."""
    quirk = broken_ats(host, function)
    if quirk is None:
        return []
    subject = Subject.of(function)
    try:
        ats = Ats.find(host.config(function))
        enabled = ats is not None and ats.enabled
    except PcietuneError as error:
        return [Finding.unread(ID, subject, _OFF, error)]
    return [
        Finding(
            ID,
            subject,
            Severity.ERROR,
            State.FAIL if enabled else State.PASS,
            found_ats(ats),
            _OFF,
            f"on, though {quirk.says}" if enabled else "",
            _NEWER_KERNEL if enabled else None,
        )
    ]


def found_ats(ats: Ats | None) -> Value:
    """Return what is found of a function's ATS."""
    if ats is None:
        return Value("no ATS capability")
    bit = "Enable+" if ats.enabled else "Enable-"
    return Value(f"{bit} in ATSCtl {ats.control:#06x}", f"{ats.control:#06x}", (bit,))


def _revision(text: str | None) -> int | None:
    try:
        return None if text is None else int(text, 16)
    except ValueError:
        return None
