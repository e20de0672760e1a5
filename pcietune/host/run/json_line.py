"""Write JSON without the json module, whose import takes a quarter of a udev hook's time."""


def json_line(keys: dict[str, object]) -> bytes:
    """Return an object of numbers, plain texts, truth values, None and such objects as one line."""
    return _encoded(keys).encode() + b"\n"


def _encoded(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str() if value.isascii() and value.isprintable():
            quoted = value.replace("\\", "\\\\").replace('"', '\\"')
            return f'"{quoted}"'
        case dict():
            members = (f"{_encoded(name)}: {_encoded(each)}" for name, each in value.items())
            return f"{{{', '.join(members)}}}"
        case _:
            raise ValueError(f"{value!r} is nothing that is written so")
