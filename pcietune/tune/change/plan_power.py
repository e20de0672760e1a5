"""Plan that ports stay awake: power/control, which runtime power management obeys."""

from pcietune.model.finding import State
from pcietune.model.plan import PlannedAttribute
from pcietune.tune.audit.audit import Audit
from pcietune.tune.change.draft import Draft

CONTROL = "power/control"
AWAKE, MAY_SLEEP = "on", "auto"


def power_drafts(audited: Audit) -> list[Draft]:
    """Return the attributes that apply may write so that no port loses its ACS words in sleep."""
    return [
        Draft(
            PlannedAttribute(
                group=judged.group,
                function=judged.port,
                register=CONTROL,
                old=judged.control,
                new=AWAKE,
                wants=(AWAKE,),
                finding_ids=(judged.finding.id,),
            )
        )
        for judged in audited.power
        if judged.writable and judged.finding.state is State.FAIL and judged.control == MAY_SLEEP
    ]
