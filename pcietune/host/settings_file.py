"""A host's settings, from /etc/pcietune/pcietune.yaml."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from pcietune.host.host_files import HostFiles
from pcietune.host.yaml_nodes import DocumentError, read_document
from pcietune.host.yaml_schema import read
from pcietune.model.profile import ModeName
from pcietune.model.settings import Enforce, Settings

SETTINGS = "etc/pcietune/pcietune.yaml"

ProfileName = Annotated[
    str, Meta(pattern=r"\S", title="a profile's name", description="leave the key out")
]


class SettingsSchema(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    """The settings of one host."""

    profile: ProfileName | UnsetType = UNSET
    mode: ModeName | UnsetType = UNSET
    enforce: Enforce = Enforce.AUDIT


_HINT = (
    f"the keys are {', '.join(SettingsSchema.__struct_encode_fields__)}, each with a value on a "
    "line of its own; a whole file may be: mode: vm"
)


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
    return parse_settings(read_document(file, hint=_HINT), file=file)


def parse_settings(data: bytes, *, file: str) -> Settings:
    """Return the settings in ``data``, the YAML text in UTF-8.

    Raises:
        DocumentError: ``data`` breaks the format; it has every complaint.
    """
    try:
        schema = read(data, SettingsSchema, file=file).value
    except DocumentError as error:
        raise DocumentError(error.complaints, hint=_HINT) from error
    return Settings(schema.profile or None, schema.mode or None, enforce=schema.enforce)
