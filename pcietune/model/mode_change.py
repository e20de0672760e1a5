"""The way from one duty of a host to another, as steps."""

from dataclasses import dataclass
from enum import StrEnum

from pcietune.model.finding import Finding
from pcietune.model.profile import ModeName


class StepKind(StrEnum):
    """What a step is about, in the order in which they are taken."""

    READ = "read"
    HARDWARE = "hardware"
    SETTINGS = "settings"
    RELEASE = "release"
    FIRMWARE = "firmware"
    BIOS = "bios"
    KERNEL_ARGS = "kernel-args"
    VIRTUAL_FUNCTIONS = "virtual-functions"
    BIND_AT_BOOT = "bind-at-boot"
    REBOOT = "reboot"
    REGISTERS = "registers"
    BIND = "bind"
    SOFTWARE = "software"
    USE = "use"


BEFORE_A_BOOT = (
    StepKind.FIRMWARE,
    StepKind.BIOS,
    StepKind.KERNEL_ARGS,
    StepKind.BIND_AT_BOOT,
)
"""Steps whose work shows only after the reboot."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step.

    Attributes:
        kind: What it is about.
        title: What it does, in a few words.
        done: Whether nothing of it is left to do, as far as can be seen now.
        commands: What to run or to do, in order.
        check: The command that shows whether it is done; empty if the next ones do.
        settles: Findings that it ends.
    """

    kind: StepKind
    title: str
    done: bool
    commands: tuple[str, ...] = ()
    check: str = ""
    settles: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class ModeChange:
    """The way to a duty.

    Attributes:
        mode: The duty.
        groups: Names of the switch groups that are meant; all if empty.
        steps: In order, those that are done included.
    """

    mode: ModeName
    groups: tuple[str, ...]
    steps: tuple[Step, ...]

    @property
    def done(self) -> bool:
        """Whether every step is."""
        return all(step.done for step in self.steps)

    def open_after(self, number: int) -> tuple[Finding, ...]:
        """Return the findings that are open when the first ``number`` steps are done.

        What firmware and the kernel command line mend stays open until the reboot.
        """
        reboot = next((i for i, s in enumerate(self.steps) if s.kind is StepKind.REBOOT), 0)
        return tuple(
            finding
            for index, step in enumerate(self.steps)
            if (max(index, reboot) if step.kind in BEFORE_A_BOOT else index) >= number
            for finding in step.settles
        )
