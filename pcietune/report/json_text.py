"""Documents as JSON text."""

import msgspec


def encode(document: msgspec.Struct | list[str]) -> str:
    """Return the document as JSON text, indented, its keys in the order of the schema.

    A file's name need not be UTF-8, as JSON must; its other bytes are escaped.
    """
    try:
        data = msgspec.json.encode(document)
    except UnicodeEncodeError:
        data = msgspec.json.encode(_in_utf8(msgspec.to_builtins(document)))
    return msgspec.json.format(data, indent=2).decode()


def _in_utf8(value: object) -> object:
    match value:
        case str():
            return value.encode(errors="backslashreplace").decode()
        case list():
            return [_in_utf8(each) for each in value]
        case dict():
            return {_in_utf8(key): _in_utf8(each) for key, each in value.items()}
        case _:
            return value
