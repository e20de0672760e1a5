"""The value of an option of QEMU: words and properties with commas between."""


def property_list(first: str, **properties: str | int | None) -> str:
    """Return a value such as ``pcie-root-port,id=rp0,x-speed=16``.

    A comma within a value is doubled, as QEMU reads it (docs/system: "use ',,' in a value").

    Args:
        first: What stands before the properties; empty for nothing.
        properties: In order, what is None left out; a name may have ``_`` for ``-`` where it
            begins with ``x_``, as QEMU's own that nobody should rely on do.
    """
    words = [first] if first else []
    for name, value in properties.items():
        if value is not None:
            spelt = name.replace("_", "-") if name.startswith("x_") else name
            words.append(f"{spelt}={str(value).replace(',', ',,')}")
    return ",".join(words)
