"""Compare ports' live ACS Control with what the kernel command line asks of it."""

from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.finding import UNKNOWN, Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.function import PciFunction
from pcietune.model.kernel_release import KernelRelease
from pcietune.model.quirks import quirk_of
from pcietune.model.severity import Severity
from pcietune.model.switch_group import SwitchGroup
from pcietune.registers.acs import LSPCI_NAMES, Acs, AcsControl, lspci_controls
from pcietune.tune.audit.acs_words import AskedOfPort, asked_of
from pcietune.tune.audit.config_acs import Semantics, semantics_of
from pcietune.tune.port_acs import find_acs

ID = "port.config-acs"

_WRITE_ANEW = Remedy(
    RemedyKind.KERNEL_ARGS,
    "pcietune kernel-args --write LOADER: one word with each port that needs it and all seven "
    "flags spelled out, for kernel 6.15, 6.14.2, 6.13.11, 6.12.23 or later; then reboot",
)
_FIND_OUT = Remedy(
    RemedyKind.SOFTWARE,
    "find out what changed it (a script with setpci, pcietune apply, a reset), or mend the entry "
    "if what is there is wanted; a reboot sets it again",
)


def judge_config_acs(host: HostAccess, group: SwitchGroup) -> list[Finding]:
    """Judge the ports of a switch group that ``config_acs`` or ``disable_acs_redir`` names."""
    platform = host.platform()
    semantics = semantics_of(KernelRelease.parse(platform.kernel))
    options = [option.strip('"') for option in platform.pci_options]
    findings = []
    for placed in group.ports:
        asked = asked_of(placed.port, options, semantics)
        if asked is not None:
            findings.append(_judge(host, placed.port, asked, semantics))
    return findings


def _judge(
    host: HostAccess, port: PciFunction, asked: AskedOfPort, semantics: Semantics | None
) -> Finding:
    subject, as_written = Subject.of(port), Value(asked.text)
    try:
        acs = find_acs(host, port)
        if acs is None:
            reason, found = "it has no ACS, so no option sets it", Value("no ACS capability")
            return Finding(
                ID, subject, Severity.INFO, State.NOT_APPLICABLE, found, as_written, reason
            )
        control, differing = acs.control, _differing(acs, asked)
    except PcietuneError as error:
        return Finding(ID, subject, Severity.INFO, State.ERROR, UNKNOWN, as_written, str(error))
    # What is not spelled out is left as it is: how firmware had it is not known.
    mask = asked.mask.value
    word = control & ~mask | asked.flags.value & mask
    wanted, found = _value(acs, word, f" by {asked.text}"), _value(acs, control)
    if not differing:
        return Finding(ID, subject, Severity.WARNING, State.PASS, found, wanted, "")
    names = " ".join(
        f"{LSPCI_NAMES[each]}{'+' if each in acs.enabled else '-'}" for each in differing
    )
    why, remedy = _why(port, acs, asked, semantics)
    reason = f"{names} is not what {asked.text} asks for: {why}"
    return Finding(ID, subject, Severity.WARNING, State.FAIL, found, wanted, reason, remedy)


def _value(acs: Acs, word: int, behind: str = "") -> Value:
    """Return a word of ACS Control; without its number where a text tells only bits with names."""
    names = lspci_controls(word)
    if acs.is_told_in_part:
        return Value(f"ACSCtl {' '.join(names)}{behind}", None, names)
    return Value(f"ACSCtl {word:#06x}{behind}", f"{word:#06x}", names)


def _differing(acs: Acs, asked: AskedOfPort) -> AcsControl:
    """Return what the port offers and has otherwise; a 1 that it does not offer sets nothing."""
    return (acs.enabled ^ asked.flags) & asked.mask & acs.supported


def _why(
    port: PciFunction, acs: Acs, asked: AskedOfPort, semantics: Semantics | None
) -> tuple[str, Remedy]:
    """Return why the register is not as asked, and what to do."""
    quirk = quirk_of(port)
    if asked.why_not:
        return asked.why_not, _WRITE_ANEW
    if quirk is not None and quirk.dword_acs:
        return "the kernel heeds no option at this port", Remedy(RemedyKind.HARDWARE, quirk.says)
    if semantics is Semantics.NO_CONFIG_ACS and not asked.is_list:
        return "the kernel knows config_acs since 6.11, unless its maker brought it", _WRITE_ANEW
    lost = _differing(acs, asked) & asked.flags
    if semantics is Semantics.BROKEN and not lost:
        what = "leave redirection as firmware set it, and turn on all else"
        return (
            f"kernels 6.11 to 6.14 {what if asked.is_list else 'leave at a 0 what firmware set'}",
            _WRITE_ANEW,
        )
    if semantics is None:
        return (
            "it was changed since boot, or this kernel is one that leaves at a 0 what firmware set",
            _FIND_OUT,
        )
    return "it was changed since boot", _FIND_OUT
