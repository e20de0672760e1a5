"""What is wrong in a profile though each of its values is valid by itself."""

from collections.abc import Iterator, Mapping

from pcietune.errors import quoted
from pcietune.host.profiles.mode_schema import PortRuleSchema
from pcietune.host.profiles.own_place import own_place, place_elsewhere
from pcietune.host.profiles.schema import ProfileSchema, one_or_more
from pcietune.host.profiles.schema_words import ACS_WANTS
from pcietune.host.yaml.nearest_name import hint
from pcietune.host.yaml.nodes import Complaint
from pcietune.host.yaml.schema import Document, Path
from pcietune.host.yaml.vfio_schema import vfio_complaints
from pcietune.registers.acs import AcsControl


def complaints(document: Document[ProfileSchema]) -> list[Complaint]:
    """Return what keeps the profile from being used."""
    return [
        *_nothing_chosen(document),
        *_impossible_counts(document),
        *_impossible_controls(document),
        *_unknown_findings(document),
        *_impossible_bindings(document),
    ]


def _nothing_chosen(document: Document[ProfileSchema]) -> Iterator[Complaint]:
    match, roles, modes = document.value.match, document.value.roles, document.value.modes
    if not (match.ids or match.classes or match.place or match.dmi):
        yield document.complain(("match",), "'match' needs one of: ids, classes, place, dmi")
    for name, role in roles.given().items():
        if not (role.ids or role.classes):
            yield document.complain(("roles", name), f"role '{name}' needs ids or classes")
    if not modes.given():
        yield document.complain(("modes",), "'modes' needs one of: vm, baremetal")


def _impossible_bindings(document: Document[ProfileSchema]) -> Iterator[Complaint]:
    """Find what no gate can hand over."""
    roles = document.value.roles.given()
    for name, mode in document.value.modes.given().items():
        path = ("modes", name, "vfio")
        yield from vfio_complaints(document, path, mode.vfio)
        for index, role in enumerate(mode.vfio.bind):
            if role not in roles:
                yield document.complain((*path, "bind", index), f"there is no role '{role}'")


def _unknown_findings(document: Document[ProfileSchema]) -> Iterator[Complaint]:
    """Find severities of findings that pcietune does not make."""
    if not document.value.severity:
        return
    from pcietune.host.explanation_files import shipped_explanations  # noqa: PLC0415 -- reads TOML, which most profiles spare every command

    known = list(shipped_explanations())
    for name in document.value.severity:
        if name not in known:
            said = f"no finding is called {quoted(name)}; {_near(name, known)}"
            yield document.complain(("severity", name), said)


def _near(name: str, known: list[str]) -> str:
    """Return which findings may be meant; all of them are too many to list."""
    near = hint(name, known)
    return near if near.startswith("did") else "pcietune explain lists them"


def _impossible_counts(document: Document[ProfileSchema]) -> Iterator[Complaint]:
    """Find counts that no host can meet."""
    layout, roles = document.value.layout, document.value.roles.given()
    groups = layout.switch_groups or None
    totals = layout.given()
    for name in totals.keys() - roles.keys():
        path = own_place(document, ("layout", name), ("roles",))
        yield document.complain(path, f"'{name}' is counted, but is no role here")
    for name, each in groups.given().items() if groups else ():
        path = ("layout", "switch-groups", name)
        if name not in roles:
            path = own_place(document, path, ("roles",))
            yield document.complain(path, f"'{name}' is counted, but is no role here")
        elif groups and name in totals:
            count, least, most = min(one_or_more(groups.count)), min(each), max(totals[name])
            if count * least > most:
                said = f"{count} groups of {least} '{name}' are more than {most} in all"
                other = ("layout", "switch-groups", "count")
                yield document.complain(own_place(document, path, ("layout", name), other), said)


def _impossible_controls(document: Document[ProfileSchema]) -> Iterator[Complaint]:
    """Find controls that a place names twice, or that pcietune never writes."""
    for mode_name, mode in document.value.modes.given().items():
        for place, rule in mode.ports.given().items():
            words = dict(_words(("modes", mode_name, "ports", place), rule))
            first: dict[AcsControl, Path] = {}
            for here, word in words.items():
                control = ACS_WANTS[word].control
                if "set" in here and control is AcsControl.P2P_EGRESS_CONTROL:
                    said = "EgressCtrl is never written; 'require' judges it"
                    yield document.complain(here, said)
                elif control in first:
                    yield _clash(document, words, first[control], here)
                first.setdefault(control, here)


def _words(path: Path, rule: PortRuleSchema) -> Iterator[tuple[Path, str]]:
    """Yield every control of a rule below ``path``, and where it stands."""
    for key, words in (("set", rule.set), ("require", rule.require)):
        for index, word in enumerate(words):
            yield (*path, key, index), word


def _clash(
    document: Document[ProfileSchema], words: Mapping[Path, str], first: Path, second: Path
) -> Complaint:
    """Complain of two words about one control; the one in the file itself is to be mended."""
    here = own_place(document, second, first)
    other = first if here == second else second
    verb = "repeats" if words[here] == words[other] else "contradicts"
    elsewhere = place_elsewhere(document, other)
    said = f"{words[here]} {verb} {words[other]} of {elsewhere or 'the same place'}"
    return document.complain(here, said)
