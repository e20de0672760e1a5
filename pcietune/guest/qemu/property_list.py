"""The value of an option of QEMU: words and properties with commas between."""

from collections.abc import Mapping


def property_list(
    first: str, properties: Mapping[str, str | int | None], *repeated: tuple[str, str]
) -> str:
    """Return a value such as ``pcie-root-port,id=rp0,x-speed=16``.

    A comma within a value is doubled: so QEMU reads it as one (util/keyval.c, qemu-option.c).

    Args:
        first: What stands before the properties; empty for nothing.
        properties: In order; what is None is left out.
        repeated: Further properties, whose names may be alike.
    """
    given = [(name, value) for name, value in properties.items() if value is not None]
    words = [f"{name}={str(value).replace(',', ',,')}" for name, value in (*given, *repeated)]
    return ",".join([first, *words] if first else words)
