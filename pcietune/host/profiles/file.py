"""A profile's YAML file to the Profile that it means."""

from collections.abc import Sequence

from pcietune.host.profiles.chain import NO_PARENTS, Chain, Parents, read_chain
from pcietune.host.profiles.checks import complaints
from pcietune.host.profiles.mode_schema import ModeSchema, PortRuleSchema
from pcietune.host.profiles.own_place import own_place, place_elsewhere
from pcietune.host.profiles.schema import (
    LayoutSchema,
    MatchSchema,
    ProfileSchema,
    RoleSchema,
    one_or_more,
)
from pcietune.host.profiles.schema_words import ACS_WANTS
from pcietune.host.profiles.source import LoadedProfile, ProfileSource
from pcietune.host.yaml.nodes import Complaint, DocumentError, read_document
from pcietune.host.yaml.schema import Document, read_node
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
from pcietune.tune.match.lint import Remark, remarks

_HINT = "the complaints name line and column; pcietune profile lint FILE checks it again"
_LINT_HINT = "lint takes files; pcietune profile show NAME prints a profile that has a name"
_NO_FILE_HINT = (
    "what has a slash in it or .yaml at its end is a file; pcietune profile list shows the names"
)


def load_profile(source: ProfileSource, parents: Parents = NO_PARENTS) -> LoadedProfile:
    """Return the profile in a file; complaints give its path as it is.

    Args:
        source: The file.
        parents: What it may extend.

    Raises:
        DocumentError: The file, or one that it extends, breaks the format; it has every complaint.
        BadInputError: There is no such file, or one cannot be read.
        NotPermittedError: The kernel keeps one from this user.
    """
    return parse_profile(read_document(source.file, hint=_NO_FILE_HINT), source, parents)


def parse_profile(
    data: bytes, source: ProfileSource, parents: Parents = NO_PARENTS
) -> LoadedProfile:
    """Return the profile in ``data``, the YAML text in UTF-8 that ``source`` holds.

    Raises:
        DocumentError: ``data``, or what it extends, breaks the format; it has every complaint.
    """
    try:
        chain = read_chain(data, source, parents)
        document = _read(chain)
    except DocumentError as error:
        raise DocumentError(error.complaints, hint=_HINT) from error
    profile = _profile(document.value, chain.sha256, source.name)
    return LoadedProfile(profile, source, chain.sources[1:])


def lint_file(file: str, parents: Parents = NO_PARENTS) -> Sequence[Complaint]:
    """Return what is wrong or doubtful in the profile in a file, as ``lint_profile``.

    Raises:
        BadInputError: There is no such file, or it cannot be read.
        NotPermittedError: The kernel keeps it from this user.
    """
    data = read_document(file, hint=_LINT_HINT)
    return lint_profile(data, ProfileSource.of_file(file), parents)


def lint_profile(
    data: bytes, source: ProfileSource, parents: Parents = NO_PARENTS
) -> Sequence[Complaint]:
    """Return what is wrong or doubtful in a profile, as far as no host is needed to tell.

    Warnings are looked for only in a profile without errors.
    """
    try:
        document = _read(read_chain(data, source, parents))
    except DocumentError as error:
        return error.complaints
    warnings = [
        _warning(document, remark)
        for remark in remarks(_profile(document.value, sha256="", name=source.name))
    ]
    return sorted(warnings, key=lambda each: (each.file, each.line, each.column))


def _warning(document: Document[ProfileSchema], remark: Remark) -> Complaint:
    """Return a remark at what it follows from in the profile's own file, if that is there."""
    path = own_place(document, remark.path, *remark.causes)
    elsewhere = "" if path == remark.path else place_elsewhere(document, remark.path)
    said = f"{remark.text} ({elsewhere})" if elsewhere else remark.text
    return document.complain(path, said, warning=True)


def _read(chain: Chain) -> Document[ProfileSchema]:
    document = read_node(chain.root, ProfileSchema)
    if wrong := complaints(document):
        raise DocumentError(wrong)
    return document


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
        severities=schema.severity,
    )


def _pattern(schema: MatchSchema | RoleSchema) -> FunctionPattern:
    return FunctionPattern(schema.ids, tuple(int(code, 16) for code in schema.classes))


def _role(schema: RoleSchema) -> Role:
    return Role(_pattern(schema), schema.place, trusted=schema.trusted, attach=schema.attach)


def _layout(schema: LayoutSchema) -> Layout:
    groups = schema.switch_groups or None
    return Layout(
        cards=schema.given(),
        nic_ports=one_or_more(schema.nic_ports),
        numa_nodes=one_or_more(schema.numa_nodes),
        switch_groups=(
            SwitchGroupLayout(one_or_more(groups.count), groups.given()) if groups else None
        ),
    )


def _mode(schema: ModeSchema) -> Mode:
    return Mode(
        ports={place: _port_rule(rule) for place, rule in schema.ports.given().items()},
        ats=schema.ats,
        iommu=schema.iommu,
        groups=schema.groups,
        runtime_pm=schema.runtime_pm,
        vfio=schema.vfio.policy(),
    )


def _port_rule(schema: PortRuleSchema) -> PortRule:
    return PortRule(
        set=tuple(ACS_WANTS[word] for word in schema.set),
        require=tuple(ACS_WANTS[word] for word in schema.require),
    )
