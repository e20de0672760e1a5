"""What was learned from a host, as the text of a profile."""

import json
from collections.abc import Iterator, Sequence

from pcietune import __version__
from pcietune.model.profile import Counts, FunctionPattern
from pcietune.model.role_name import RoleName
from pcietune.report.printable import printable
from pcietune.tune.match.learn import Learned


def learned_profile(learned: Learned, *, name: str, extends: str, rivals: Sequence[str]) -> str:
    """Return a profile as YAML.

    Args:
        learned: What the host has.
        name: What it is called.
        extends: The profile that says what each mode wants.
        rivals: Profiles that would describe the host as well.
    """
    lines = [
        *_comment(learned, name),
        *_about_rivals(name, rivals),
        *_head(learned, extends),
        *_roles(learned),
        *_layout(learned),
    ]
    return "".join(f"{line}\n" for line in lines)


def _comment(learned: Learned, name: str) -> Iterator[str]:
    yield f"# {printable(name)}.yaml, learned from a host by pcietune {__version__}."
    yield "# What is counted below is what was found, which need not be what should be there: if a"
    yield "# GPU or NIC was missing or misplaced, mend the numbers before they become a yardstick."
    yield "#"
    for group in learned.groups:
        gpus = ", ".join(f"{gpu.address} {gpu.id}" for gpu in group.gpus)
        nics = ", ".join(f"{nic.address} {nic.id}" for nic in group.nics)
        yield f"# {group.name}: GPUs {gpus}; NICs {nics}"
    if not learned.groups:
        yield "# No switch carries a GPU and a NIC, so ports are not judged."
    shape = learned.layout.switch_groups
    if shape is not None and any(len(counts) > 1 for counts in shape.cards.values()):
        yield "# The switch groups differ: is one short of a card, or has one too many?"
    for gpu in learned.others:
        yield f"# {gpu.address} {gpu.id}: a GPU of another kind, without a role here"


def _about_rivals(name: str, rivals: Sequence[str]) -> Iterator[str]:
    """Say what becomes of profiles that describe the host as well: none of two is chosen."""
    for rival in rivals:
        if rival == name:
            yield f"# In /etc/pcietune/profiles.d it takes the place of the profile {rival}."
        else:
            yield f"# The profile {rival} fits as well, and of two such none is chosen: name one in"
            yield f"# /etc/pcietune/pcietune.yaml, or learn this one with --name {rival}, which"
            yield "# then takes that one's place."


def _head(learned: Learned, extends: str) -> Iterator[str]:
    yield "version: 1"
    yield f"extends: {_text(extends)} # says what each mode wants"
    yield f"summary: {_text(_summary(learned))}"
    yield "generic: false"
    yield ""
    yield "match:"
    yield "  place: ~ # not by the place, which changes with a lost NIC"
    yield f"  ids: {_texts(learned.roles[RoleName.GPU].pattern.ids)}"
    if learned.product:
        yield f"  dmi: {{product_name: {_text(_literally(learned.product))}}}"


def _roles(learned: Learned) -> Iterator[str]:
    yield ""
    yield "roles:"
    for name, role in learned.roles.items():
        yield f"  {name}: {_pattern(role.pattern)}"
    yield ""


def _layout(learned: Learned) -> Iterator[str]:
    layout = learned.layout
    yield "layout: # as found"
    for name, counts in layout.cards.items():
        yield f"  {name}: {_counts(counts)}"
    if layout.switch_groups is not None:
        held = ", ".join(f"{name}: {_counts(c)}" for name, c in layout.switch_groups.cards.items())
        count = _counts(layout.switch_groups.count)
        yield f"  switch-groups: {{count: {count}, {held}}}"
    if layout.nic_ports:
        yield f"  nic-ports: {_counts(layout.nic_ports)}"
    if layout.numa_nodes:
        yield f"  numa-nodes: {_counts(layout.numa_nodes)} # set NPS or SNC otherwise, and add that"
    else:
        source = "firmware" if learned.nodes_told else "the dump"
        yield f"  # numa-nodes: {source} does not say where all of them are"


def _summary(learned: Learned) -> str:
    (gpus,) = learned.layout.cards[RoleName.GPU]
    ids = ", ".join(learned.roles[RoleName.GPU].pattern.ids)
    return f"{learned.product or 'A host'} with {gpus} x {ids}, as learned"


def _pattern(pattern: FunctionPattern) -> str:
    classes = [f"{code:04x}" for code in pattern.classes]
    ids = f"ids: {_texts(pattern.ids)}, " if pattern.ids else ""
    return f"{{{ids}classes: {_texts(classes)}}}"


def _counts(counts: Counts) -> str:
    return str(counts[0]) if len(counts) == 1 else f"[{', '.join(map(str, counts))}]"


def _literally(text: str) -> str:
    """Return the shell pattern that only ``text`` fits."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in text)


def _texts(values: tuple[str, ...] | list[str]) -> str:
    return f"[{', '.join(map(_text, values))}]"


def _text(value: str) -> str:
    """Return a YAML scalar that is text whatever it holds: JSON's strings are YAML's."""
    return json.dumps(value)
