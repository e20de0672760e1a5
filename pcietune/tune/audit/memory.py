"""What an audit is told beside the host itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pcietune.errors import NotPermittedError
from pcietune.model.ats_proof import NO_TRIALS, AtsTrials
from pcietune.model.kernel_log import LogLine
from pcietune.model.owners import Owners
from pcietune.model.stamp import Stamp
from pcietune.model.undo import UndoRecord


@dataclass(frozen=True, slots=True)
class Memory:
    """What earlier runs of this boot left, and what others keep on the host.

    Attributes:
        record: Their changes; None if there are none, and the error if this user may not look.
        trials: Whether the kernel was seen to enable the ATS of functions.
        stamps: What apply and the hook verified in this boot, by address.
        owners: Who else gives functions to VFIO or sets their registers; None if not known.
        log: The kernel's log of this boot; None if it is not readable, as of a recording.
    """

    record: UndoRecord | NotPermittedError | None = None
    trials: AtsTrials = NO_TRIALS
    stamps: Mapping[str, Stamp] = field(default_factory=dict)
    owners: Owners | None = None
    log: Sequence[LogLine] | None = None


NO_MEMORY = Memory()
