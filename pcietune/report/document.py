"""The one JSON document that status, audit, plan, apply and restore print.

It changes only together with ``SCHEMA``. There are no times in it, so that two runs over the same
host differ in nothing.
"""

import msgspec

SCHEMA = 1


class HostDocument(msgspec.Struct, kw_only=True, frozen=True):
    """The host; null where a value could not be read."""

    dmi: dict[str, str]
    kernel: str | None
    boot_id: str | None
    lockdown: str
    cmdline: str | None


class ProfileDocument(msgspec.Struct, kw_only=True, frozen=True):
    """The yardstick, and why it is the one."""

    name: str
    sha256: str
    why: list[str]


class ChannelDocument(msgspec.Struct, kw_only=True, frozen=True):
    """One way to change something: open, closed or unknown."""

    state: str
    reason: str


class ValueDocument(msgspec.Struct, kw_only=True, frozen=True):
    """Something found or wanted; value is null if not known, bits only for registers."""

    text: str
    value: str | None
    bits: list[str] | None


class SubjectDocument(msgspec.Struct, kw_only=True, frozen=True):
    """What something is about; address and id are null if it is no function."""

    path: str
    address: str | None
    id: str | None


class RemedyDocument(msgspec.Struct, kw_only=True, frozen=True):
    """What to do."""

    kind: str
    command: str


class FindingDocument(msgspec.Struct, kw_only=True, frozen=True):
    """One wanted fact, judged."""

    id: str
    subject: SubjectDocument
    severity: str
    state: str
    found: ValueDocument
    wanted: ValueDocument
    reason: str
    remedy: RemedyDocument | None
    waiver: str | None


class WriteDocument(msgspec.Struct, kw_only=True, frozen=True):
    """One masked write; readback is null in a plan. Words are hex with the register's width."""

    path: str
    address: str
    register: str
    offset: str
    old: str
    mask: str
    new: str
    readback: str | None


class ResidualDocument(msgspec.Struct, kw_only=True, frozen=True):
    """What is not as wanted, and pcietune does not mend in this run."""

    path: str
    address: str | None
    what: str
    reason: str


class ErrorDocument(msgspec.Struct, kw_only=True, frozen=True):
    """What ended the run, or a switch group, early."""

    message: str
    hint: str


class Document(msgspec.Struct, kw_only=True, frozen=True):
    """One run of a command."""

    schema: int
    pcietune: str
    host: HostDocument | None
    profile: ProfileDocument | None
    mode: str | None
    enforce: str | None
    channels: dict[str, ChannelDocument]
    findings: list[FindingDocument]
    writes: list[WriteDocument]
    deferred: list[ResidualDocument]
    residual: list[ResidualDocument]
    changed: bool
    disabled: str | None
    reboot_required: bool
    power_cycle_required: bool
    errors: list[ErrorDocument]
    exit: int
