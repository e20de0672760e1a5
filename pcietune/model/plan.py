"""What is to be done, by pcietune or by the kernel, so that failing findings become passes."""

from dataclasses import dataclass

from pcietune.model.ats_proof import AtsProof
from pcietune.model.function import PciFunction
from pcietune.model.undo import AttributeChange, GroupTypeChange, RegisterChange
from pcietune.registers.fields import MaskedWrite


@dataclass(frozen=True, slots=True)
class PlannedWrite:
    """One masked write of one register.

    Attributes:
        group: Location of the switch group's topmost upstream port.
        function: Whose register it is.
        register: Name of the register, as lspci has it.
        old: The whole word, as read.
        write: The change.
        wants: The controls in lspci's spelling: ``DirectTrans+``.
        finding_ids: The findings that it turns into passes.
        watched: The functions none of which may be in use by VFIO when it is made.
        unbound: Whether the function itself must not be VFIO's, used or not.
        risk: What may come of it that must be said before and after; None if nothing.
    """

    group: str
    function: PciFunction
    register: str
    old: int
    write: MaskedWrite
    wants: tuple[str, ...]
    finding_ids: tuple[str, ...]
    watched: tuple[PciFunction, ...] = ()
    unbound: bool = False
    risk: str | None = None

    @property
    def new(self) -> int:
        """The whole word after the write."""
        return self.write.merge(self.old)

    def undo_entry(self, old: int) -> RegisterChange:
        """Return what must be recorded before the write; ``old`` is the word read just now."""
        return RegisterChange(
            group=self.group,
            location=self.function.location,
            address=self.function.address,
            id=self.function.id,
            offset=self.write.offset,
            mask=self.write.mask,
            old=old & self.write.mask,
            new=self.write.value,
        )


@dataclass(frozen=True, slots=True)
class PlannedAttribute:
    """One write of one sysfs attribute.

    Attributes:
        group: As of a PlannedWrite; so are function, wants and finding_ids.
        register: The attribute's name: ``power/control``.
        old: What it holds, as read.
        new: What it is to hold.
    """

    group: str
    function: PciFunction
    register: str
    old: str
    new: str
    wants: tuple[str, ...]
    finding_ids: tuple[str, ...]

    def undo_entry(self, old: str) -> AttributeChange:
        """Return what must be recorded before the write; ``old`` was read just now."""
        return AttributeChange(
            group=self.group,
            location=self.function.location,
            address=self.function.address,
            id=self.function.id,
            attribute=self.register,
            old=old,
            new=self.new,
        )


@dataclass(frozen=True, slots=True)
class PlannedSwitch:
    """An IOMMU group's type, to be switched and switched back, so that the kernel sets ATS.

    Attributes:
        group: As of a PlannedWrite; so are function, wants and finding_ids.
        iommu_group: The group's number.
        old: Its type, as read: ``identity``, ``DMA`` or ``DMA-FQ``.
        new: The type for the moment. Translating: Enable is looked at then; else afterwards.
        ats_control: Offset of the function's ATS Control, in bytes.
    """

    group: str
    function: PciFunction
    iommu_group: int
    old: str
    new: str
    ats_control: int
    wants: tuple[str, ...]
    finding_ids: tuple[str, ...]

    @property
    def register(self) -> str:
        """What is written, as sysfs names it from the function on."""
        return "iommu_group/type"

    @property
    def proves(self) -> bool:
        """Whether it only shows that ATS can come on, and leaves it as it is."""
        return self.old == "identity"

    @property
    def proof(self) -> AtsProof:
        """What it proves if Enable is seen."""
        return AtsProof(self.function.location, self.function.id)

    def undo_entry(self, old: str) -> GroupTypeChange:
        """Return what must be recorded before the switch; ``old`` was read just now."""
        return GroupTypeChange(
            group=self.function.location,
            location=self.function.location,
            address=self.function.address,
            id=self.function.id,
            iommu_group=self.iommu_group,
            old=old,
            new=self.new,
        )


PlannedChange = PlannedWrite | PlannedAttribute
"""What stays when a switch group is done, and is all made or not at all."""

PlannedStep = PlannedChange | PlannedSwitch


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A wanted step that is not taken in this run.

    Attributes:
        planned: The step.
        reason: Why not, in one sentence.
    """

    planned: PlannedStep
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What apply would do.

    Attributes:
        writes: In the order in which they are made, switch group by switch group.
        switches: What the kernel is made to do for NICs of a switch group once that is written.
        deferred: Steps that wait until a function is no longer in use.
        refused: Steps that pcietune will not take.
        beyond: Steps that only a live kernel can take, of a recorded host.
        unreadable: Switch groups that are not begun, since something in them could not be read.
        found: What is set already and pcietune did not set: restore must leave it.
    """

    writes: tuple[PlannedChange, ...] = ()
    switches: tuple[PlannedSwitch, ...] = ()
    deferred: tuple[HeldBack, ...] = ()
    refused: tuple[HeldBack, ...] = ()
    beyond: tuple[HeldBack, ...] = ()
    unreadable: tuple[tuple[str, str], ...] = ()
    found: tuple[RegisterChange, ...] = ()

    @property
    def steps(self) -> tuple[PlannedStep, ...]:
        """All that apply would do."""
        return (*self.writes, *self.switches)

    @property
    def held(self) -> tuple[HeldBack, ...]:
        """All that apply would not do though it is wanted."""
        return (*self.deferred, *self.refused, *self.beyond)
