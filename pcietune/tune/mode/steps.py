"""The ordered steps that bring a host, or some of its switch groups, to a duty.

What runs first must not break what runs now: functions leave their users before anything changes
under them; firmware and the kernel command line come before the reboot that makes them work;
registers after it, since it resets them; functions get their new users last.
"""

from collections.abc import Mapping, Sequence

from pcietune.model.access import HostAccess
from pcietune.model.finding import Finding, RemedyKind, State
from pcietune.model.mode_change import BEFORE_A_BOOT, ModeChange, Step, StepKind
from pcietune.model.profile import ModeName
from pcietune.model.settings import Settings
from pcietune.model.severity import Severity
from pcietune.model.switch_group import SwitchGroup
from pcietune.tune.audit.audit import Audit
from pcietune.tune.mode.hand_over import (
    Binding,
    HandOver,
    bind_to_vfio,
    lacking_virtual_functions,
    release_from_vfio,
)
from pcietune.tune.mode.settings import towards

Found = Mapping[StepKind, tuple[Finding, ...]]

_BY_REMEDY = {
    RemedyKind.HARDWARE: StepKind.HARDWARE,
    RemedyKind.FIRMWARE: StepKind.FIRMWARE,
    RemedyKind.BIOS: StepKind.BIOS,
    RemedyKind.KERNEL_ARGS: StepKind.KERNEL_ARGS,
    RemedyKind.REGISTER: StepKind.REGISTERS,
    RemedyKind.SOFTWARE: StepKind.SOFTWARE,
}
_TITLES = {
    StepKind.READ: "look at what could not be read",
    StepKind.HARDWARE: "look at the hardware",
    StepKind.FIRMWARE: "set the devices' firmware",
    StepKind.BIOS: "set the host's firmware",
    StepKind.KERNEL_ARGS: "set the kernel command line",
    StepKind.REGISTERS: "write the registers",
    StepKind.SOFTWARE: "mend what else software can",
    StepKind.USE: "start the VMs: the rest is the kernel's doing then",
}


def mode_steps(
    host: HostAccess, audited: Audit, settings: Settings, mode: ModeName, names: Sequence[str]
) -> ModeChange:
    """Return the steps to a duty.

    Args:
        host: Where it was audited.
        audited: How the host is judged if the duty is the yardstick.
        settings: What its administrator decided so far.
        mode: The duty.
        names: Of the switch groups that are meant; empty for the whole host.
    """
    groups = [group for group in audited.groups if not names or group.name in names]
    found = _by_kind(_about(audited, groups) if names else audited.findings)
    release, virtual, binding = HandOver(), HandOver(), Binding()
    if mode is ModeName.BAREMETAL:
        release = release_from_vfio(host, audited, groups)
    else:
        virtual = lacking_virtual_functions(host, audited.profile, groups)
        binding = bind_to_vfio(host, audited, groups)
    steps = [
        _remedies(StepKind.READ, found),
        _remedies(StepKind.HARDWARE, found),
        _settings(settings, mode, names),
        _handed(StepKind.RELEASE, "take from VFIO", release),
        _remedies(StepKind.FIRMWARE, found),
        _remedies(StepKind.BIOS, found),
        _remedies(StepKind.KERNEL_ARGS, found, check=f"pcietune kernel-args --check --mode {mode}"),
        _handed(StepKind.BIND_AT_BOOT, "leave to VFIO at the next boot", binding.at_boot),
    ]
    steps += [
        _reboot(steps),
        _remedies(
            StepKind.REGISTERS, found, instead=f"pcietune apply --mode {mode}", check=_audit(mode)
        ),
        _handed(StepKind.VIRTUAL_FUNCTIONS, "make virtual functions", virtual),
        _handed(StepKind.BIND, "bind to VFIO", binding.now),
        _remedies(StepKind.SOFTWARE, found),
        _remedies(StepKind.USE, found, check=f"{_audit(mode)} --strict"),
    ]
    told = _TOLD_IF_ALL_IS_READ if StepKind.READ not in found else (StepKind.SETTINGS,)
    kept = tuple(step for step in steps if step.commands or step.kind in told)
    return ModeChange(mode, tuple(names), kept)


_TOLD_IF_ALL_IS_READ = (StepKind.SETTINGS, StepKind.KERNEL_ARGS, StepKind.REBOOT)
"""Steps that are told though nothing of them is left to do, which else nobody knows."""
_AGAIN = "pcietune mode again: what can be seen only then may add steps"


def _about(audited: Audit, groups: Sequence[SwitchGroup]) -> list[Finding]:
    """Return the findings about switch groups, and those about no function: the host's."""
    members = {placed.port.address for group in groups for placed in group.ports}
    for group in groups:
        members |= {f.address for f in (group.top, *audited.fabric.below(group.top))}
    return [f for f in audited.findings if f.subject.address in {None, *members}]


def _by_kind(findings: Sequence[Finding]) -> Found:
    """Sort the findings that are open by the step that ends them."""
    found: dict[StepKind, tuple[Finding, ...]] = {}
    for finding in findings:
        kind = _kind(finding)
        if kind is not None:
            found[kind] = (*found.get(kind, ()), finding)
    return found


def _kind(finding: Finding) -> StepKind | None:
    if finding.severity is Severity.INFO:
        return None
    match finding.state:
        case State.ERROR:
            return StepKind.READ
        case State.PENDING:
            return StepKind.USE
        case State.FAIL:
            remedy = finding.remedy
            return StepKind.HARDWARE if remedy is None else _BY_REMEDY[remedy.kind]
        case _:
            return None


def _audit(mode: ModeName) -> str:
    return f"pcietune audit --mode {mode}"


def _remedies(kind: StepKind, found: Found, *, instead: str = "", check: str = "") -> Step:
    """Return the step that does what findings' remedies say, or ``instead``, each thing once."""
    settles = found.get(kind, ())
    told = [f.remedy.command if f.remedy else f.reason for f in settles]
    commands = [instead] if settles and instead else list(dict.fromkeys(told))
    if kind is StepKind.READ and settles:
        commands.append(_AGAIN)
    if kind is StepKind.USE and settles:
        commands = ["start a VM with each function that is pending"]
    return Step(kind, _TITLES[kind], not settles, tuple(commands), check, settles)


def _settings(settings: Settings, mode: ModeName, names: Sequence[str]) -> Step:
    """Return the step that decides; the file's keys are told in full, as they are to be."""
    then = towards(settings, mode, names)
    done = then == settings
    pairs = ", ".join(f'"{name}": {duty}' for name, duty in sorted(then.group_modes.items()))
    text = f"mode: {{default: {then.mode}, {pairs}}}" if pairs else f"mode: {then.mode}"
    title = f"decide {text} in /etc/pcietune/pcietune.yaml"
    command = f"write there: {text}"
    return Step(StepKind.SETTINGS, title, done, () if done else (command,), "pcietune status")


def _handed(kind: StepKind, title: str, change: HandOver) -> Step:
    count = len(change.functions)
    what = f"{title}: {count} function{'' if count == 1 else 's'}"
    check = "pcietune groups" if change.functions else ""
    return Step(kind, what, not change.functions, change.commands, check)


def _reboot(before: Sequence[Step]) -> Step:
    """Return the step that lets what must stand before a boot work."""
    due = [step for step in before if step.kind in BEFORE_A_BOOT and not step.done]
    power = any(f.remedy is not None and f.remedy.power_cycle for s in due for f in s.settles)
    commands: tuple[str, ...] = ()
    if due:
        how = "take the host's power away and give it back" if power else "systemctl reboot"
        commands = (how, _AGAIN)
    return Step(StepKind.REBOOT, "power cycle" if power else "reboot", not due, commands)
