"""The policy as one JSON file in /run: apply writes it, for whoever wants to see all of it.

The udev hook needs it only where an event is about more than one function; else it reads the few
lines that pcietune.host.run.policy_lines has of one id, and so does not import this module.
"""

import json

from pcietune.host.run.trusted_file import read_trusted
from pcietune.model.policy import HookPolicy
from pcietune.model.policy_plain import plain_policy, policy_from_plain

POLICY = "policy.json"


def encode_policy(policy: HookPolicy) -> bytes:
    """Return the policy as it stands in the file."""
    return json.dumps(plain_policy(policy)).encode() + b"\n"


def read_policy(directory: str, boot_id: str | None) -> HookPolicy | None:
    """Return the policy of this boot.

    None if there is none, or one that is another boot's, broken, or could be somebody else's work:
    then nothing is done.

    Args:
        directory: Where it is: ``/run/pcietune``.
        boot_id: Of this boot; None if the kernel does not say.
    """
    try:
        policy = policy_from_plain(json.loads(read_trusted(directory, POLICY)))
    except (OSError, ValueError, RecursionError):
        return None
    return policy if policy.boot_id == boot_id else None
