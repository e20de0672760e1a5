"""Ask the NICs' firmware whether they have ATS, and have it on from the next reboot."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace

from pcietune.errors import (
    BadInputError,
    ConfigSpaceError,
    ExitCode,
    IgnoredWriteError,
    InUseError,
    PcietuneError,
)
from pcietune.model.access import HostAccess
from pcietune.model.card import Card
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.model.nic_firmware import Answer, Due, FirmwareTool, NicFirmware, Parameter, Setting
from pcietune.tune.vfio_use import why_in_use

_NVIDIA_NICS = 0x15B3

_TO_SET = {Due.SET: Parameter.ATS_ENABLED, Due.SHOW: Parameter.ADVANCED_PCI_SETTINGS}

IN_FORCE = (Due.NOTHING,)
"""ATS is on."""

SET = (Due.NOTHING, Due.REBOOT)
"""ATS is on from the next reboot on, at the latest."""


def ask(
    host: HostAccess, fabric: Fabric, cards: Iterable[Card], tool: FirmwareTool
) -> Iterator[NicFirmware]:
    """Yield what each card's firmware is set to; what fails at one says nothing of the others."""
    for card in cards:
        yield _ask(host, fabric, card, tool)


def turn_on(
    host: HostAccess,
    fabric: Fabric,
    found: Iterable[NicFirmware],
    tool: FirmwareTool,
    stop: Callable[[], bool],
) -> Iterator[NicFirmware]:
    """Set what is due, card by card, and yield what the firmware says then.

    Args:
        host: Where the cards are.
        fabric: Its functions.
        found: The cards, asked before.
        tool: What speaks with them.
        stop: Whether somebody asked to stop: the cards that are left are yielded as they are.
    """
    for card in found:
        parameter = _TO_SET.get(card.due)
        yield card if parameter is None or stop() else _set(host, fabric, card, parameter, tool)


def to_be_set(found: Iterable[NicFirmware]) -> list[NicFirmware]:
    """Return the cards for which something would be set."""
    return [card for card in found if card.due in _TO_SET]


def exit_codes(found: Iterable[NicFirmware], *, wanted: Collection[Due]) -> Iterator[ExitCode]:
    """Yield the exit code that each card asks for; ``wanted`` are the steps that are as asked."""
    for card in found:
        if card.error is not None and card.answer is None:
            yield card.error.exit_code
        else:
            as_wanted = card.error is None and card.due in wanted
            yield ExitCode.OK if as_wanted else ExitCode.DIFFERS


def due(answer: Answer) -> Due:
    """Return the step that is due by what the firmware is set to."""
    ats = answer.settings.get(Parameter.ATS_ENABLED)
    if ats is None:
        return _due_where_hidden(answer.settings.get(Parameter.ADVANCED_PCI_SETTINGS))
    if ats.current is None or ats.next_boot is None:
        return Due.NOT_KNOWN
    if not ats.next_boot:
        return Due.SET
    return Due.NOTHING if ats.current else Due.REBOOT


def _due_where_hidden(advanced: Setting | None) -> Due:
    if advanced is None or advanced.current is None or advanced.next_boot is None:
        return Due.NOT_KNOWN
    if advanced.current:
        return Due.NOT_AVAILABLE
    return Due.REBOOT_THEN_SET if advanced.next_boot else Due.SHOW


def _ask(host: HostAccess, fabric: Fabric, card: Card, tool: FirmwareTool) -> NicFirmware:
    try:
        _check(host, fabric, card)
        answer = tool.query(card[0].address)
    except PcietuneError as error:
        return NicFirmware(card, None, Due.NOT_KNOWN, error)
    return NicFirmware(card, answer, due(answer))


def _set(
    host: HostAccess, fabric: Fabric, asked: NicFirmware, parameter: Parameter, tool: FirmwareTool
) -> NicFirmware:
    """Return the card after a parameter was set; only a second query says that it is."""
    try:
        _check(host, fabric, asked.card)
        tool.turn_on(asked.function.address, parameter)
        answer = tool.query(asked.function.address)
    except PcietuneError as error:
        return replace(asked, error=error)
    setting = answer.settings.get(parameter)
    now = replace(asked, answer=answer, due=due(answer))
    if setting is None or setting.next_boot is not True:
        said = f"{asked.function.address}: {parameter} was set, but the next boot does not have it"
        return replace(now, error=IgnoredWriteError(said, hint="see what the tool says by hand"))
    return replace(now, done=(parameter,))


def _check(host: HostAccess, fabric: Fabric, card: Card) -> None:
    """Do nothing if a card may be spoken with at this moment: the tool writes to it to do so.

    Raises:
        InUseError: VFIO uses one of its functions or of their VFs.
        ConfigSpaceError: It vanished, or is in D3cold.
        BadInputError: It is no NIC of NVIDIA's.
    """
    first = card[0]
    if first.vendor != _NVIDIA_NICS:
        raise BadInputError(f"{first.address} ({first.id}) is no NIC that mstconfig speaks with")
    functions = [each for function in card for each in _with_virtual(host, fabric, function)]
    why = why_in_use(host, functions)
    if why is not None:
        raise InUseError(f"{first.address} is passed over: {why}", hint="stop the VM first")
    if host.attribute_again(first, "power_state") == "D3cold":
        raise ConfigSpaceError(f"{first.address} is in D3cold and is not woken to be asked")


def _with_virtual(host: HostAccess, fabric: Fabric, function: PciFunction) -> Iterator[PciFunction]:
    """Yield a function and its VFs, whose state is read anew."""
    yield function
    for address in host.state_again(function).virtual_functions:
        virtual = fabric.functions.get(address)
        if virtual is None:
            raise ConfigSpaceError(f"{address} appeared meanwhile, so its use is not known")
        host.state_again(virtual)
        yield virtual
