"""A host's settings, from /etc/pcietune/pcietune.yaml."""

from collections.abc import Iterator
from datetime import date
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from pcietune.host.host_files import HostFiles
from pcietune.host.protect_schema import Protected, protect_complaints, protects
from pcietune.host.run.kept_settings import SETTINGS
from pcietune.host.yaml.nodes import Complaint, DocumentError, read_document
from pcietune.host.yaml.schema import Document, read
from pcietune.host.yaml.vfio_schema import VfioSchema, vfio_complaints
from pcietune.model.profile import ModeName
from pcietune.model.settings import Enforce, Settings, Tenancy, VmStart, Waiver

ProfileName = Annotated[
    str, Meta(pattern=r"\S", title="a profile's name", description="leave the key out")
]
FindingId = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9.-]+\Z",
        title="the id of a finding",
        description="a waiver is for one, and pcietune explain lists them",
    ),
]
Sentence = Annotated[
    str, Meta(pattern=r"\S", title="a reason", description="say why this is not asked for")
]
Named = Annotated[str, Meta(pattern=r"\S", title="a name", description="leave the key out")]

_HOST = "default"


class _Schema(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    """What all parts of the format have in common."""


class WaiverSchema(_Schema):
    """A finding that the site knows of and does not ask for."""

    id: FindingId
    reason: Sentence
    expires: date
    subject: Named | UnsetType = UNSET
    ticket: Named | UnsetType = UNSET


class SettingsSchema(_Schema):
    """The settings of one host."""

    profile: ProfileName | UnsetType = UNSET
    mode: ModeName | dict[str, ModeName] | UnsetType = UNSET
    enforce: Enforce = Enforce.AUDIT
    tenancy: Tenancy = Tenancy.SINGLE
    protect: tuple[Protected, ...] = ()
    waivers: tuple[WaiverSchema, ...] = ()
    vfio: VfioSchema | UnsetType = UNSET
    vm_start: VmStart = VmStart.TELL


_HINT = "pcietune profile schema --settings prints the format, and docs/settings.md explains it"
_NO_FILE_HINT = "it is a file, or absent: a host without it has the defaults"


def load_settings(files: HostFiles) -> Settings:
    """Return the host's settings; the defaults if it has no file or an empty one.

    Raises:
        DocumentError: The file breaks the format; it has every complaint.
        BadInputError: It cannot be read.
        NotPermittedError: The kernel keeps it from this user.
    """
    if not files.exists(SETTINGS):
        return Settings()
    file = files.path(SETTINGS)
    return parse_settings(read_document(file, hint=_NO_FILE_HINT), file=file)


def parse_settings(data: bytes, *, file: str) -> Settings:
    """Return the settings in ``data``, the YAML text in UTF-8.

    Raises:
        DocumentError: ``data`` breaks the format; it has every complaint.
    """
    try:
        document = _read(data, file)
    except DocumentError as error:
        raise DocumentError(error.complaints, hint=_HINT) from error
    return _settings(document.value)


def _read(data: bytes, file: str) -> Document[SettingsSchema]:
    document = read(data, SettingsSchema, file=file)
    complaints = [
        *_mode_complaints(document),
        *protect_complaints(document, document.value.protect),
        *_waiver_complaints(document),
        *vfio_complaints(document, ("vfio",), document.value.vfio or VfioSchema()),
    ]
    if complaints:
        raise DocumentError(complaints)
    return document


def _mode_complaints(document: Document[SettingsSchema]) -> Iterator[Complaint]:
    mode = document.value.mode
    if isinstance(mode, dict) and _HOST not in mode:
        said = f"missing key '{_HOST}' in 'mode': the duty of all that is not named"
        yield document.complain(("mode",), said)


def _waiver_complaints(document: Document[SettingsSchema]) -> Iterator[Complaint]:
    known: set[tuple[str, str | UnsetType]] = set()
    for index, waiver in enumerate(document.value.waivers):
        key = (waiver.id, waiver.subject)
        if key in known:
            said = f"repeats an earlier waiver of {waiver.id} for the same subject"
            yield document.complain(("waivers", index), said)
        known.add(key)


def _settings(schema: SettingsSchema) -> Settings:
    modes = schema.mode if isinstance(schema.mode, dict) else {_HOST: schema.mode or None}
    return Settings(
        profile=schema.profile or None,
        mode=modes[_HOST],
        group_modes={name: mode for name, mode in modes.items() if name != _HOST and mode},
        enforce=schema.enforce,
        tenancy=schema.tenancy,
        protect=protects(schema.protect),
        waivers=tuple(
            Waiver(w.id, w.subject or None, w.reason, w.ticket or None, w.expires)
            for w in schema.waivers
        ),
        vfio=schema.vfio.policy() if isinstance(schema.vfio, VfioSchema) else None,
        vm_start=schema.vm_start,
    )
