"""Two YAML documents as one: what a profile says over what it extends."""

import yaml

from pcietune.host.yaml.nodes import NOTHING, is_text


def merged(child: yaml.Node, parent: yaml.Node) -> yaml.Node:
    """Return ``child`` laid over ``parent``, by the rules of a JSON merge patch (RFC 7396).

    Mappings merge key by key; all else replaces; nothing as a value drops what the parent says.
    Every node keeps the place where it stands, so that a complaint names the file to mend. The
    order of keys is the parent's, then the child's.
    """
    if not isinstance(child, yaml.MappingNode) or not isinstance(parent, yaml.MappingNode):
        return child
    own: dict[str, list[tuple[yaml.Node, yaml.Node]]] = {}
    for key, value in child.value:
        own.setdefault(_name(key), []).append((key, value))
    entries = []
    for key, value in parent.value:
        if not (replacing := own.pop(_name(key), [])):
            entries.append((key, value))
        entries += [(k, merged(v, value)) for k, v in replacing if v.tag != NOTHING]
    entries += [entry for added in own.values() for entry in added]
    return yaml.MappingNode(
        child.tag, entries, child.start_mark, child.end_mark, flow_style=child.flow_style
    )


def _name(key: yaml.Node) -> str:
    """Return what tells a key from others; one that is no text is refused later, and is alone."""
    return key.value if is_text(key) else repr(key.start_mark)
