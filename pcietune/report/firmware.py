"""What NICs' firmware is set to, as lines for people and as a JSON document."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from pcietune.errors import ExitCode
from pcietune.model.nic_firmware import Due, NicFirmware, Parameter, Setting
from pcietune.report.json_text import encode

_STEPS = {
    Due.NOTHING: "nothing: ATS is on in its firmware",
    Due.REBOOT: "reboot this host; if it stays off then, take the power away for a moment",
    Due.SET: "pcietune firmware --set, then reboot this host",
    Due.REBOOT_THEN_SET: "reboot this host, then pcietune firmware --set, and reboot again",
    Due.SHOW: "ATS_ENABLED is hidden by ADVANCED_PCI_SETTINGS: pcietune firmware --set, reboot, "
    "then the same again",
    Due.NOT_AVAILABLE: "none: this firmware has no ATS_ENABLED; a later one may have it",
    Due.NOT_KNOWN: "not known",
}
_REBOOTS = (Due.REBOOT, Due.REBOOT_THEN_SET)


@dataclass(frozen=True, slots=True)
class FirmwareRun:
    """One run.

    Attributes:
        tool: The program that spoke with the NICs; None if it did not come to that.
        cards: What each of them said, by address.
        disabled: Why pcietune is switched off here; None if it is not.
        errors: Sentences on what ended the run early.
        exit_code: What the run ends with.
    """

    tool: str | None
    cards: Sequence[NicFirmware]
    disabled: str | None
    errors: Sequence[str]
    exit_code: ExitCode


class SettingDocument(msgspec.Struct, kw_only=True, frozen=True):
    """One parameter of a NIC; null where the tool said something else than False or True."""

    name: str
    default: bool | None
    current: bool | None
    next_boot: bool | None


class NicDocument(msgspec.Struct, kw_only=True, frozen=True):
    """One NIC; its first function stands for all."""

    path: str
    address: str
    id: str
    functions: list[str]
    settings: list[SettingDocument]
    due: str
    set: list[str]
    error: str | None


class FirmwareDocument(msgspec.Struct, kw_only=True, frozen=True):
    """What the NICs' firmware is set to."""

    schema: int
    tool: str | None
    disabled: str | None
    nics: list[NicDocument]
    reboot_required: bool
    errors: list[str]
    exit: int


def firmware_document(run: FirmwareRun) -> str:
    """Return the run as JSON."""
    return encode(
        FirmwareDocument(
            schema=1,
            tool=run.tool,
            disabled=run.disabled,
            nics=[_nic_document(card) for card in run.cards],
            reboot_required=any(card.due in _REBOOTS for card in run.cards),
            errors=list(run.errors),
            exit=int(run.exit_code),
        )
    )


def firmware_lines(run: FirmwareRun) -> Iterable[str]:
    """Yield what each NIC is set to, and the step that is due."""
    if run.tool is not None:
        yield f"asked by {run.tool}"
    for card in run.cards:
        yield ""
        yield _heading(card)
        settings = {} if card.answer is None else card.answer.settings
        for parameter, setting in settings.items():
            yield f"      {parameter}: {_words(setting)}"
        for parameter in card.done:
            yield f"      set, and read back: {parameter}"
        if card.error is None:
            yield f"      due: {_STEPS[card.due]}"
        else:
            yield f"      {card.error}"
    if run.cards:
        yield ""
        yield _summary(run.cards)
    elif not run.errors:
        yield "there is no NIC here that a profile would have asked"


def _heading(card: NicFirmware) -> str:
    word = "done" if card.error is None and card.due is Due.NOTHING else "open"
    others = [str(function.address) for function in card.card[1:]]
    return f"{word}  {card.function.address} ({card.function.id})" + (
        f", and with it {', '.join(others)}" if others else ""
    )


def _words(setting: Setting) -> str:
    return (
        f"default {_word(setting.default)}, now {_word(setting.current)}, "
        f"after the next reboot {_word(setting.next_boot)}"
    )


def _word(value: bool | None) -> str:  # noqa: FBT001 -- the fact itself
    return "not known" if value is None else "on" if value else "off"


def _summary(cards: Sequence[NicFirmware]) -> str:
    on = sum(card.error is None and card.due is Due.NOTHING for card in cards)
    reboots = sum(card.due in _REBOOTS for card in cards)
    text = f"{on} of {len(cards)} NICs have ATS on in their firmware"
    return f"{text}; a reboot of this host is due for {reboots}" if reboots else text


def _nic_document(card: NicFirmware) -> NicDocument:
    settings = {} if card.answer is None else card.answer.settings
    return NicDocument(
        path=card.function.location,
        address=str(card.function.address),
        id=card.function.id,
        functions=[str(function.address) for function in card.card],
        settings=[_setting_document(name, setting) for name, setting in settings.items()],
        due=card.due,
        set=list(card.done),
        error=None if card.error is None else str(card.error),
    )


def _setting_document(name: Parameter, setting: Setting) -> SettingDocument:
    return SettingDocument(
        name=name,
        default=setting.default,
        current=setting.current,
        next_boot=setting.next_boot,
    )
