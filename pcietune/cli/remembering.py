"""What a run of apply leaves to later ones beside the undo record."""

from pcietune.cli import show
from pcietune.errors import PcietuneError
from pcietune.host.run import ats_proofs
from pcietune.host.sysfs import SysfsHost
from pcietune.model.ats_proof import AtsTrials
from pcietune.tune.change.apply import Applied


def trials_of(host: SysfsHost) -> AtsTrials:
    """Return what earlier runs of this boot saw the kernel do about ATS."""
    return ats_proofs.read_trials(host.files, host.platform().boot_id)


def keep_trials(host: SysfsHost, boot_id: str, applied: Applied) -> None:
    """Keep what this run saw; where that cannot be kept it is told, and later runs try again."""
    if not applied.switched:
        return
    try:
        ats_proofs.keep_trials(host.files, boot_id, applied.trials)
    except PcietuneError as error:
        show.note(f"{error}: the next apply tries again")
