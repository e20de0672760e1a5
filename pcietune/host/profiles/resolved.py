"""A profile and what it extends as the text of one profile."""

import yaml

from pcietune.host.profiles.chain import EXTENDS, Parents, read_chain
from pcietune.host.profiles.source import ProfileSource
from pcietune.host.yaml.nodes import is_text, read_document

_WIDTH = 100


def resolved_text(source: ProfileSource, parents: Parents) -> str:
    """Return a profile as YAML, with all that it extends laid under it and without comments.

    Raises:
        DocumentError: One of the files is not YAML, or extends what cannot be extended.
        BadInputError: One cannot be read.
        NotPermittedError: The kernel keeps one from this user.
    """
    chain = read_chain(read_document(source.file, hint=""), source, parents)
    root = chain.root
    if isinstance(root, yaml.MappingNode):
        root.value = [entry for entry in root.value if not _is_extends(entry[0])]
    head = "".join(f"# {each.file}\n" for each in chain.sources)
    text = yaml.serialize(root, Dumper=yaml.SafeDumper, width=_WIDTH, allow_unicode=True)
    return f"# Merged, the first over the next:\n{head}{text}"


def _is_extends(key: yaml.Node) -> bool:
    return is_text(key) and key.value == EXTENDS
