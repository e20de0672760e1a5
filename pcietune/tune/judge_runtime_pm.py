"""Judge whether ports may sleep and lose their ACS words."""

from dataclasses import dataclass

from pcietune.model.access import HostAccess
from pcietune.model.finding import Finding
from pcietune.model.function import PciFunction
from pcietune.model.profile import RuntimePmPolicy
from pcietune.model.switch_group import SwitchGroup


@dataclass(frozen=True, slots=True)
class JudgedPower:
    """A port's runtime power management, judged.

    Attributes:
        group: Name of its switch group.
        port: The port.
        finding: How it was judged.
        control: What its sysfs power/control holds; None if not known.
        writable: Whether apply may write ``on`` there.
    """

    group: str
    port: PciFunction
    finding: Finding
    control: str | None
    writable: bool


def judge_runtime_pm(
    host: HostAccess, group: SwitchGroup, policy: RuntimePmPolicy
) -> list[JudgedPower]:
    """Judge whether ports may sleep and lose their ACS words."""
    del host, group, policy
    return []
