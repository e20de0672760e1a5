"""Any bytes as a profile, as settings, or as an undo record."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from fuzz.target import Target

from pcietune.address import PciAddress
from pcietune.errors import BadInputError
from pcietune.host.profiles.file import lint_profile, parse_profile
from pcietune.host.profiles.source import ProfileSource
from pcietune.host.profiles.store import shipped_profiles
from pcietune.host.run.undo_lines import (
    Begun,
    BegunAttribute,
    BegunGroupType,
    Found,
    Header,
    Line,
    Run,
    Settled,
    decode_record,
    encode_lines,
)
from pcietune.host.settings_file import parse_settings
from pcietune.host.yaml.nodes import Complaint, DocumentError
from pcietune.model.undo import AttributeChange, GroupTypeChange, Outcome, RegisterChange

_FILE = "fuzzed.yaml"
_SETTINGS = """\
profile: a800-sxm4-8gpu
mode: {default: vm, 0000:20:01.0/00.0: baremetal}
enforce: apply
tenancy: shared
waivers:
  - id: nic.ats
    subject: 0000:24:00.0
    reason: firmware comes next week
    ticket: OPS-1
    expires: 2027-03-31
"""


def look_at_profile(data: bytes) -> None:
    """Read a profile: what is wrong has a place, and lint complains where it is refused."""
    source = ProfileSource.of_file(_FILE)
    complaints = lint_profile(data, source)
    refused: Sequence[Complaint] = ()
    try:
        parse_profile(data, source)
    except DocumentError as error:
        refused = error.complaints
    assert list(refused) == [each for each in complaints if not each.warning]
    assert all(each.file == _FILE and each.line > 0 for each in complaints)


def look_at_settings(data: bytes) -> None:
    """Read settings: what is wrong has a place, and a waiver has all that it needs."""
    complaints: Sequence[Complaint] = ()
    try:
        settings = parse_settings(data, file=_FILE)
        assert all(waiver.reason.strip() and waiver.id for waiver in settings.waivers)
    except DocumentError as error:
        complaints = error.complaints
    assert all(each.file == _FILE and each.line > 0 for each in complaints)


def look_at_undo_record(data: bytes) -> None:
    """Read a record: no line of it is passed over."""
    with suppress(BadInputError):
        record = decode_record(data, Path("/run/pcietune/undo.jsonl"))
        kinds = data.count(b'"begun') + data.count(b'"found"')
        assert len(record.changes) + len(record.found) <= kinds


def profiles() -> Iterable[bytes]:
    """Yield the shipped profiles."""
    for file in sorted(shipped_profiles().glob("*.yaml")):
        yield file.read_bytes()


def settings() -> Iterable[bytes]:
    """Yield what settings may say."""
    yield _SETTINGS.encode()
    yield b"mode: vm\n"
    yield b""


def undo_records() -> Iterable[bytes]:
    """Yield a record with lines of every kind."""
    group = "0000:20:01.0/00.0"
    port, nic = PciAddress.parse("0000:22:04.0"), PciAddress.parse("0000:24:00.0")
    there, below = f"{group}/04.0", f"{group}/04.0/00.0"
    register = RegisterChange(group, there, port, "1000:c010", 0x106, 0x40, 0, 0x40)
    power = AttributeChange(group, there, port, "1000:c010", "power/control", "auto", "on")
    switched = GroupTypeChange(below, below, nic, "15b3:101b", 42, "identity", "DMA")
    lines: list[Line] = [
        Header(boot_id="3d1f3a2e-0c43-4a5b-9a52-2f5d7f4c8e01", pcietune="1"),
        Found(register),
        Run(pcietune="1"),
        Begun(register),
        BegunAttribute(power),
        Settled(group, Outcome.KEPT),
        BegunGroupType(switched),
        Settled(below, Outcome.UNDONE),
    ]
    yield encode_lines(lines)


PROFILES = Target(look_at_profile, profiles, longest=8192)
SETTINGS = Target(look_at_settings, settings, longest=2048)
UNDO_RECORDS = Target(look_at_undo_record, undo_records, longest=8192)
