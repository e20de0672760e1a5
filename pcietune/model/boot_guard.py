"""Whether boots before this one failed in a row, so that nothing is written unattended now."""

from dataclasses import dataclass

_TOO_MANY = 2  # boots in a row


@dataclass(frozen=True, slots=True)
class BootGuard:
    """What the boot-loop guard knows in this boot.

    Attributes:
        failed_boots: How many boots in a row, just before this one, never reached
            multi-user.target; None if nobody noted that this boot began, so that it is not known.
    """

    failed_boots: int | None

    @property
    def why_held(self) -> str | None:
        """Why unattended runs only judge in this boot; None if they need not."""
        if self.failed_boots is None or self.failed_boots < _TOO_MANY:
            return None
        return (
            f"the last {self.failed_boots} boots never reached multi-user.target: nothing is "
            "written unattended in this one"
        )


def guard_of(attempts: str | None, boot_id: str | None) -> BootGuard:
    """Return what a list of boots that did not come up, or not yet, says about this boot.

    Args:
        attempts: One boot id a line, the last one this boot's; None if there is no list. A line
            that makes no sense is a boot whose note was torn, and so counts. A boot that is noted
            twice, as systemd's soft-reboot does, is one boot.
        boot_id: Of this boot; None if it is not known.
    """
    boots = {line.strip() for line in (attempts or "").splitlines() if line.strip()}
    if boot_id is None or boot_id not in boots:
        return BootGuard(None)
    return BootGuard(len(boots) - 1)
