"""What a host is judged by: a profile, and what its administrator decided."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from pcietune.model.profile import ModeName, Profile
from pcietune.model.protection import Protect
from pcietune.model.selection import EVERYTHING, Selection
from pcietune.model.settings import Tenancy, Waiver
from pcietune.model.vfio import NO_BINDING, VfioPolicy


@dataclass(frozen=True, slots=True)
class Yardstick:
    """What a host is judged by.

    Attributes:
        profile: The profile.
        mode: The host's duty.
        group_modes: The duties of switch groups that differ from it, by the location of their
            topmost upstream port.
        tenancy: Whether functions of one switch group may serve several tenants.
        waivers: Findings that the site knows of and does not ask for.
        today: The day on which waivers must hold.
        selection: Which findings are asked for.
        protect: What is to be left alone.
        vfio: What is handed to VFIO, instead of what the profile says; None to leave it to that.
    """

    profile: Profile
    mode: ModeName
    group_modes: Mapping[str, ModeName] = field(default_factory=dict)
    tenancy: Tenancy = Tenancy.SINGLE
    waivers: tuple[Waiver, ...] = ()
    today: date = date.min
    selection: Selection = EVERYTHING
    protect: tuple[Protect, ...] = ()
    vfio: VfioPolicy | None = None

    def mode_of(self, group: str) -> ModeName:
        """Return the duty of the switch group of this name."""
        return self.group_modes.get(group, self.mode)

    def vfio_of(self, name: ModeName) -> VfioPolicy:
        """Return what is handed to VFIO in a mode: only ``vm`` hands over anything."""
        mode = self.profile.modes.get(name)
        if name is not ModeName.VM or mode is None:
            return NO_BINDING
        return mode.vfio if self.vfio is None else self.vfio
