"""What an initramfs is to do, in which there is no pcietune: keep native drivers off functions."""

from pcietune.model.policy import HookPolicy
from pcietune.tune.audit.audit import Audit


def early_overrides(audited: Audit, policy: HookPolicy) -> list[str]:
    """Return a line for each function with an override: location, id, driver, address.

    The address is for people: buses may be numbered otherwise at the next boot. Virtual functions
    do not exist that early. Nothing is written to any device unless the policy says so.
    """
    if not policy.enforce:
        return []
    functions = audited.fabric.functions
    addresses = {functions[address].location: address for address in audited.roles}
    return [
        f"{duty.location} {duty.id} {duty.override} {addresses[duty.location]}"
        for duty in policy.functions.values()
        if duty.override is not None
    ]
