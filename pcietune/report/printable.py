"""Text that may be printed, whoever wrote it: names come from firmware, files and recordings."""


def printable(text: str) -> str:
    """Return one line's text with escapes for what a terminal would obey or could not show."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
