"""Judge the NICs' ATS: the kernel owns it, so it is looked at, and left to the kernel to turn on.

Judged is what a VM is given: where VFs are handed over a VF's own Enable counts, and not its PF's,
which stays with the host and whose Enable no VF needs (pci_enable_ats, drivers/pci/ats.c).
"""

from dataclasses import dataclass, replace

from pcietune.errors import ExitCode, PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.ats_proof import AtsProof
from pcietune.model.fabric import Fabric
from pcietune.model.finding import Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.function import PciFunction
from pcietune.model.profile import AtsPolicy, Attach
from pcietune.model.severity import Severity
from pcietune.model.switch_group import SwitchGroup
from pcietune.registers.ats import Ats
from pcietune.tune.ats.action import AtsAction
from pcietune.tune.ats.broken import broken_ats, found_ats, judge_broken_ats
from pcietune.tune.ats.capability import switch_in_firmware, without_capability
from pcietune.tune.ats.causes import hindrance
from pcietune.tune.ats.kernel import judge_by_kernel
from pcietune.tune.ats.subject import AtsSubject
from pcietune.tune.ats.verdict import Verdict

ID = "nic.ats"

_NO_VF_YET = Verdict(
    State.PENDING, "there is no VF yet: each VF's own Enable is judged once it exists"
)
_ANOTHER_DEVICE = Remedy(RemedyKind.HARDWARE, "another device, or a later revision of it")


@dataclass(frozen=True, slots=True)
class AtsWanted:
    """What is wanted of the NICs' ATS.

    Attributes:
        policy: By the mode.
        attach: What of a NIC is handed to a VM.
        proofs: Functions whose ATS the kernel was seen to enable in this boot.
    """

    policy: AtsPolicy
    attach: Attach = Attach.PF
    proofs: frozenset[AtsProof] = frozenset()


@dataclass(frozen=True, slots=True)
class JudgedAts:
    """A function's ATS, judged.

    Attributes:
        group: Name of its switch group.
        function: The function.
        finding: How it was judged.
        action: What apply may do about it; None if nothing.
    """

    group: str
    function: PciFunction
    finding: Finding
    action: AtsAction | None = None


def judge_ats(
    host: HostAccess,
    fabric: Fabric,
    group: SwitchGroup,
    wanted: AtsWanted,
) -> list[JudgedAts]:
    """Judge the ATS of what each NIC of a switch group hands to a VM, and of GPUs without."""
    if wanted.policy is AtsPolicy.IGNORE:
        return []
    judged = []
    for nic in group.nics:
        for function in _handed_over(host, fabric, nic, wanted.attach):
            finding, action = _judge(host, fabric, function, wanted)
            judged.append(JudgedAts(group.name, function, finding, action))
    for gpu in group.gpus:
        judged += [JudgedAts(group.name, gpu, f) for f in judge_broken_ats(host, gpu)]
    return judged


def _handed_over(
    host: HostAccess, fabric: Fabric, nic: PciFunction, attach: Attach
) -> list[PciFunction]:
    """Return the functions that a VM gets: the NIC, or its VFs where there are any yet."""
    if attach is not Attach.VF:
        return [nic]
    try:
        virtual = host.state(nic).virtual_functions
    except PcietuneError:
        return [nic]
    return [fabric.functions[vf] for vf in virtual if vf in fabric.functions] or [nic]


def _judge(
    host: HostAccess, fabric: Fabric, function: PciFunction, wanted: AtsWanted
) -> tuple[Finding, AtsAction | None]:
    word = "Enable-" if wanted.policy is AtsPolicy.KERNEL_OFF else "Enable+"
    value = Value(word, None, (word,))
    try:
        ats = Ats.find(host.config(function))
        found = found_ats(ats)
        verdict = (
            _judge_off(host, function, ats)
            if wanted.policy is AtsPolicy.KERNEL_OFF
            else _judge_on(host, fabric, function, ats, wanted)
        )
    except PcietuneError as error:
        return Finding.unread(ID, Subject.of(function), value, error), None
    finding = Finding(
        ID,
        Subject.of(function),
        verdict.severity,
        verdict.state,
        found,
        value,
        verdict.reason,
        verdict.remedy,
        ExitCode.UNREADABLE if verdict.state is State.ERROR else ExitCode.OK,
    )
    return finding, verdict.action


def _judge_off(host: HostAccess, function: PciFunction, ats: Ats | None) -> Verdict:
    if ats is None or not ats.enabled:
        return Verdict(State.PASS)
    return Verdict(
        State.FAIL,
        "translation requests fail: there is no IOMMU to answer them"
        if host.platform().groups == {}
        else "on bare metal translation requests only cost time",
        switch_in_firmware(function, host.state(function), on=False),
        Severity.WARNING,
    )


def _judge_on(
    host: HostAccess,
    fabric: Fabric,
    function: PciFunction,
    ats: Ats | None,
    wanted: AtsWanted,
) -> Verdict:
    state = host.state(function)
    if ats is None:
        return without_capability(fabric, function, state)
    quirk = broken_ats(host, function)
    if quirk is not None:
        return Verdict(State.FAIL, f"not to be used: {quirk.says}", _ANOTHER_DEVICE)
    subject = AtsSubject(host, fabric, function, state, ats)
    cause = hindrance(subject)
    if cause is not None:
        reason = f"on, but of no use: {cause.reason}" if ats.enabled else cause.reason
        return replace(cause, reason=reason)
    if wanted.attach is Attach.VF and state.physical_function is None:
        return _NO_VF_YET
    proved = AtsProof(function.location, function.id) in wanted.proofs
    return judge_by_kernel(subject, wanted.policy, proved=proved)
