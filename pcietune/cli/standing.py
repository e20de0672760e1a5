"""How pcietune stands on a host."""

from pcietune.host.run.keep_policy import read_stamps
from pcietune.host.run.kept_settings import same_settings
from pcietune.host.run.policy_file import read_policy
from pcietune.host.run.run_files import RUN
from pcietune.host.sysfs import SysfsHost
from pcietune.host.unit_states import read_unit_states
from pcietune.model.standing import Standing


def standing_of(host: SysfsHost) -> Standing | None:
    """Return how pcietune is set up on a host; None of a recorded one, which does not tell.

    Raises:
        NotPermittedError: This user may not look there.
    """
    if host.recorded:
        return None
    files, boot_id = host.files, host.platform().boot_id
    return Standing(
        read_unit_states(files),
        read_policy(files.path(RUN), boot_id),
        same_settings(str(host.root).rstrip("/")) is False,
        len(read_stamps(files, boot_id)),
    )
