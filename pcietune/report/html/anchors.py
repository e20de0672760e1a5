"""What parts of the page are called, so that others point at them."""

from pcietune.address import PciAddress
from pcietune.model.function import PciFunction


def of_function(address: PciAddress) -> str:
    """Return the id of a function's box."""
    return f"f-{address}"


def of_host_bridge(function: PciFunction) -> str:
    """Return the id of the box of the root complex's part that a function is below."""
    return f"rc-{host_bridge(function)}"


def host_bridge(function: PciFunction) -> str:
    """Return domain and number of the root bus that a function is below, as sysfs names it."""
    top = function.ports[0] if function.ports else function.address
    return f"{top.domain:04x}:{top.bus:02x}"


def of_routes(sender: str) -> str:
    """Return the id of all routes of what a peer of this label sends."""
    return f"routes-{sender}"


def of_route(sender: str, receiver: str) -> str:
    """Return the id of the route between two peers of these labels."""
    return f"route-{sender}-{receiver}"
