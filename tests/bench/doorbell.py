"""What programs in the guest may ask of the bench with the command bench-doorbell."""

from bench.config_patches import Patch
from bench.errors import GuestError
from bench.functions import Functions


def answer(request: str, functions: Functions) -> str:
    """Do what one line asks, and return the line that says so: ``done``, or what is wrong."""
    try:
        match request.split():
            case ["poke", name, offset, data]:
                functions.poke(name, Patch(int(offset, 0), bytes.fromhex(data)))
            case ["poke", name, offset, data, writable]:
                patch = Patch(int(offset, 0), bytes.fromhex(data), bytes.fromhex(writable))
                functions.poke(name, patch)
            case ["vanish", name]:
                functions.vanish(name)
            case ["reappear", name]:
                functions.reappear(name)
            case _:
                return f"not understood: {request}"
    except (GuestError, ValueError) as error:
        return str(error)
    return "done"
