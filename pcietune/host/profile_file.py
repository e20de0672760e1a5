"""A profile's YAML file to the Profile that it means."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from pcietune.host.profile_schema import (
    ACS_WANTS,
    LayoutSchema,
    MatchSchema,
    ModeSchema,
    PortRuleSchema,
    ProfileSchema,
    RoleSchema,
)
from pcietune.host.yaml_nodes import Complaint, DocumentError, read_document
from pcietune.host.yaml_schema import Document, read
from pcietune.model.profile import (
    FunctionPattern,
    Layout,
    Match,
    Mode,
    PortRule,
    Profile,
    Role,
    SwitchGroupLayout,
)
from pcietune.registers.acs import AcsControl
from pcietune.tune.lint import remarks

_HINT = "the complaints name line and column; pcietune profile lint FILE checks it again"
_LINT_HINT = "lint takes files; pcietune profile show NAME prints a profile that has a name"
_NO_FILE_HINT = (
    "what has a slash in it or .yaml at its end is a file; pcietune profile list shows the names"
)


def load_profile(file: str) -> Profile:
    """Return the profile in a file; its name is the file's, without the suffix.

    Args:
        file: Its path, which complaints give as it is.

    Raises:
        DocumentError: The file breaks the format; it has every complaint.
        BadInputError: There is no such file, or it cannot be read.
        NotPermittedError: The kernel keeps it from this user.
    """
    data = read_document(file, hint=_NO_FILE_HINT)
    return parse_profile(data, file=file, name=Path(file).stem)


def parse_profile(data: bytes, *, file: str, name: str) -> Profile:
    """Return the profile in ``data``.

    Args:
        data: The YAML text, in UTF-8.
        file: What complaints call it.
        name: What the profile is called.

    Raises:
        DocumentError: ``data`` breaks the format; it has every complaint.
    """
    try:
        document = _read(data, file)
    except DocumentError as error:
        raise DocumentError(error.complaints, hint=_HINT) from error
    return _profile(document.value, hashlib.sha256(data).hexdigest(), name)


def lint_file(file: str) -> tuple[Complaint, ...]:
    """Return what is wrong or doubtful in the profile in a file, as ``lint_profile``.

    Raises:
        BadInputError: There is no such file, or it cannot be read.
        NotPermittedError: The kernel keeps it from this user.
    """
    return lint_profile(read_document(file, hint=_LINT_HINT), file=file)


def lint_profile(data: bytes, *, file: str) -> tuple[Complaint, ...]:
    """Return what is wrong or doubtful in a profile, as far as no host is needed to tell.

    Warnings are looked for only in a profile without errors.
    """
    try:
        document = _read(data, file)
    except DocumentError as error:
        return error.complaints
    warnings = [
        document.complain(remark.path, remark.text, warning=True)
        for remark in remarks(_profile(document.value, sha256="", name=file))
    ]
    return tuple(sorted(warnings, key=lambda each: (each.line, each.column)))


def _read(data: bytes, file: str) -> Document[ProfileSchema]:
    document = read(data, ProfileSchema, file=file)
    complaints = [
        *_nothing_chosen(document),
        *_layout_complaints(document),
        *_port_complaints(document),
    ]
    if complaints:
        raise DocumentError(complaints)
    return document


def _nothing_chosen(document: Document[ProfileSchema]) -> Iterator[Complaint]:
    match, roles, modes = document.value.match, document.value.roles, document.value.modes
    if not (match.ids or match.classes or match.place or match.dmi):
        yield document.complain(("match",), "'match' needs one of: ids, classes, place, dmi")
    for name, role in roles.given().items():
        if not (role.ids or role.classes):
            yield document.complain(("roles", name), f"role '{name}' needs ids or classes")
    if not modes.given():
        yield document.complain(("modes",), "'modes' needs one of: vm, baremetal")


def _layout_complaints(document: Document[ProfileSchema]) -> Iterator[Complaint]:
    """Find counts that no host can meet."""
    layout, roles = document.value.layout, document.value.roles.given()
    groups = layout.switch_groups or None
    totals = layout.given()
    for name in totals.keys() - roles.keys():
        yield document.complain(("layout", name), f"'{name}' is counted, but is no role here")
    for name, each in groups.given().items() if groups else ():
        path = ("layout", "switch-groups", name)
        if name not in roles:
            yield document.complain(path, f"'{name}' is counted, but is no role here")
        elif groups and groups.count * each > totals.get(name, groups.count * each):
            said = f"{groups.count} groups of {each} '{name}' are more than {totals[name]} in all"
            yield document.complain(path, said)


def _port_complaints(document: Document[ProfileSchema]) -> Iterator[Complaint]:
    """Find controls that a place names twice, or that pcietune never writes."""
    for mode_name, mode in document.value.modes.given().items():
        for place, rule in mode.ports.given().items():
            path = ("modes", mode_name, "ports", place)
            first: dict[AcsControl, str] = {}
            for key, index, word in _words(rule):
                want = ACS_WANTS[word]
                here = (*path, key, index)
                if key == "set" and want.control is AcsControl.P2P_EGRESS_CONTROL:
                    said = "EgressCtrl is never written; 'require' judges it"
                    yield document.complain(here, said)
                elif want.control in first:
                    verb = "repeats" if first[want.control] == word else "contradicts"
                    said = f"{word} {verb} {first[want.control]} of the same place"
                    yield document.complain(here, said)
                first.setdefault(want.control, word)


def _words(rule: PortRuleSchema) -> Iterator[tuple[str, int, str]]:
    for key, words in (("set", rule.set), ("require", rule.require)):
        for index, word in enumerate(words):
            yield key, index, word


def _profile(schema: ProfileSchema, sha256: str, name: str) -> Profile:
    return Profile(
        name=name,
        summary=schema.summary,
        sha256=sha256,
        generic=schema.generic,
        match=Match(
            pattern=_pattern(schema.match),
            switch_group=bool(schema.match.place),
            dmi=schema.match.dmi,
        ),
        roles={name: _role(role) for name, role in schema.roles.given().items()},
        layout=_layout(schema.layout),
        modes={name: _mode(mode) for name, mode in schema.modes.given().items()},
    )


def _pattern(schema: MatchSchema | RoleSchema) -> FunctionPattern:
    return FunctionPattern(schema.ids, tuple(int(code, 16) for code in schema.classes))


def _role(schema: RoleSchema) -> Role:
    return Role(_pattern(schema), schema.place, trusted=schema.trusted, attach=schema.attach)


def _layout(schema: LayoutSchema) -> Layout:
    groups = schema.switch_groups or None
    return Layout(
        functions=schema.given(),
        switch_groups=SwitchGroupLayout(groups.count, groups.given()) if groups else None,
    )


def _mode(schema: ModeSchema) -> Mode:
    return Mode(
        ports={place: _port_rule(rule) for place, rule in schema.ports.given().items()},
        ats=schema.ats,
        iommu=schema.iommu,
        groups=schema.groups,
    )


def _port_rule(schema: PortRuleSchema) -> PortRule:
    return PortRule(
        set=tuple(ACS_WANTS[word] for word in schema.set),
        require=tuple(ACS_WANTS[word] for word in schema.require),
    )
