"""Hosts as ``lspci -D -xxxx`` prints them."""

from collections.abc import Sequence

from trees.function import Function, downstream_port, gpu, nic, root_port, upstream_port

_ROW = 16  # bytes
_BRIDGE = 0x0604


def one_switch_functions() -> list[Function]:
    """Return the functions of ``trees.machines.one_switch``."""
    return [
        root_port("0000:20:01.0"),
        upstream_port("0000:21:00.0", below="0000:20:01.0"),
        downstream_port("0000:22:00.0", below="0000:21:00.0"),
        downstream_port("0000:22:04.0", below="0000:21:00.0"),
        gpu("0000:23:00.0", below="0000:22:00.0"),
        nic("0000:24:00.0", below="0000:22:04.0"),
    ]


def dump(functions: Sequence[Function], size: int = 4096) -> str:
    """Return the functions as lspci prints them, each bridge with its bus numbers.

    Args:
        functions: A bridge before what is below it.
        size: Bytes of each function: 64 of -x, 256 of -xxx, 4096 of -xxxx.
    """
    return "\n".join(_printed(function, size) for function in numbered(functions))


def numbered(functions: Sequence[Function]) -> Sequence[Function]:
    """Write to each bridge the numbers of the buses below it; a bridge comes before those."""
    buses = {f.address: _bus(f.address) for f in functions}
    lowest: dict[str, int] = {}
    for function in reversed(functions):
        if function.config.class_code >> 8 == _BRIDGE and function.address in lowest:
            secondary, subordinate = lowest[function.address], buses[function.address]
            function.config.buses(_bus(function.address), secondary, subordinate)
        if function.below is not None:
            bus = _bus(function.address)
            lowest[function.below] = min(bus, lowest.get(function.below, bus))
            buses[function.below] = max(buses[function.below], buses[function.address])
    return functions


def _bus(address: str) -> int:
    return int(address.split(":")[-2], 16)


def _printed(function: Function, size: int) -> str:
    data = function.config.build()[:size]
    rows = [f"{at:02x}: {data[at : at + _ROW].hex(' ')}\n" for at in range(0, len(data), _ROW)]
    return "".join([f"{function.address} {function.config.class_code:06x}\n", *rows])
