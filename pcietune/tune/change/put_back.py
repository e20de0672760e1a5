"""Put back one recorded change, if it is one that apply makes and still reads as that left it."""

from dataclasses import dataclass

from pcietune.errors import BadInputError, ConfigSpaceError, ExitCode, InconsistentHostError
from pcietune.model.access import HostAccess
from pcietune.model.function import PciFunction
from pcietune.model.undo import AttributeChange, Change, GroupTypeChange, RegisterChange
from pcietune.registers.acs import AcsControl
from pcietune.registers.ats import ENABLE_MASK, Ats
from pcietune.registers.fields import MaskedWrite
from pcietune.tune.change.plan import REGISTER as ACS_CONTROL
from pcietune.tune.change.plan_ats import REGISTER as ATS_CONTROL
from pcietune.tune.change.plan_power import AWAKE, MAY_SLEEP
from pcietune.tune.change.plan_power import CONTROL as POWER_CONTROL
from pcietune.tune.change.switch_type import put_type_back
from pcietune.tune.port_acs import find_acs

GROUP_TYPE = "iommu_group/type"
_EVER_WRITTEN = ~AcsControl.P2P_EGRESS_CONTROL
_TYPES = ("identity", "DMA", "DMA-FQ")


@dataclass(frozen=True, slots=True)
class Restored:
    """A change that was put back.

    Attributes:
        entry: The change.
        function: Its function now.
        register: What was written: ``ACSCtl``, ``power/control``.
        old: What it read just before: a whole word in hex, or an attribute's text.
        readback: What it reads just after.
    """

    entry: Change
    function: PciFunction
    register: str
    old: str
    readback: str


@dataclass(frozen=True, slots=True)
class Left:
    """A change that was not put back, and why."""

    entry: Change
    reason: str
    code: ExitCode


def put_back(entry: Change, function: PciFunction, host: HostAccess) -> Restored | Left | None:
    """Put one change back; return None if it reads as before already.

    What reads neither as before nor as it was left was changed by somebody else since.

    Raises:
        BadInputError: It is none that apply ever makes, which a damaged or forged record may name.
        InconsistentHostError: It was put back, but reads otherwise.
        PcietuneError: It could not be read or written.
    """
    match entry:
        case RegisterChange():
            return _put_bits_back(entry, function, host)
        case AttributeChange():
            return _put_attribute_back(entry, function, host)
        case GroupTypeChange():
            return _put_type_back(entry, function, host)


def _put_bits_back(
    entry: RegisterChange, function: PciFunction, host: HostAccess
) -> Restored | Left | None:
    register = _register(entry, function, host)
    config = host.config(function)
    back = MaskedWrite(offset=entry.offset, width=2, value=entry.old, mask=entry.mask)
    found = config.read_word_again(entry.offset)
    if back.holds_in(found):
        return None
    if found & entry.mask != entry.new:
        return _changed_since(entry, function, f"{found:#06x}")
    host.write(function, back)
    readback = config.read_word_again(entry.offset)
    _compare(function, f"{back.merge(found):#06x}", f"{readback:#06x}")
    return Restored(entry, function, register, f"{found:#06x}", f"{readback:#06x}")


def _put_attribute_back(
    entry: AttributeChange, function: PciFunction, host: HostAccess
) -> Restored | Left | None:
    words = {entry.old, entry.new} <= {AWAKE, MAY_SLEEP}
    if entry.attribute != POWER_CONTROL or not words or not function.is_pci_bridge:
        raise _never_written(function, f"{entry.old!r} and {entry.new!r} of {entry.attribute}")
    found = host.attribute_again(function, entry.attribute)
    if found is None:
        raise ConfigSpaceError(f"{function.address}: {entry.attribute} cannot be read")
    if found == entry.old:
        return None
    if found != entry.new:
        return _changed_since(entry, function, found)
    host.write_attribute(function, entry.attribute, entry.old)
    readback = host.attribute_again(function, entry.attribute)
    _compare(function, entry.old, readback or "nothing")
    return Restored(entry, function, entry.attribute, found, entry.old)


def _put_type_back(
    entry: GroupTypeChange, function: PciFunction, host: HostAccess
) -> Restored | Left | None:
    words = {entry.old, entry.new} <= set(_TYPES)
    if not words or host.state(function).group != entry.iommu_group:
        raise _never_written(
            function, f"type {entry.old!r} and {entry.new!r} of IOMMU group {entry.iommu_group}"
        )
    found = host.group_type_again(entry.iommu_group)
    if found == entry.old:
        return None
    if found != entry.new:
        return _changed_since(entry, function, f"{found} as type of its IOMMU group")
    return Restored(entry, function, GROUP_TYPE, found, put_type_back(entry, host))


def _register(entry: RegisterChange, function: PciFunction, host: HostAccess) -> str:
    """Return the name of the register, which is one whose controls apply may have written.

    Raises:
        BadInputError: It is another, or about other bits.
        ConfigSpaceError: The function's capabilities cannot be read.
        NotPermittedError: The kernel keeps them from this user.
    """
    if not (entry.old | entry.new) & ~entry.mask:
        acs = find_acs(host, function)
        if acs is not None and not acs.dword_registers and entry.offset == acs.control_offset:
            if not entry.mask & ~_EVER_WRITTEN.value:
                return ACS_CONTROL
        else:
            ats = Ats.find(host.config(function))
            forced = (entry.mask, entry.old, entry.new) == (ENABLE_MASK, 0, ENABLE_MASK)
            if forced and ats is not None and entry.offset == ats.control_offset:
                return ATS_CONTROL
    raise _never_written(function, f"mask {entry.mask:#06x} at {entry.offset:#05x}")


def _never_written(function: PciFunction, what: str) -> BadInputError:
    return BadInputError(
        f"{function.address}: the undo record names {what}, which apply never writes"
    )


def _changed_since(entry: Change, function: PciFunction, found: str) -> Left:
    reason = f"{function.address} reads {found}: somebody else changed it since"
    return Left(entry, reason, ExitCode.DIFFERS)


def _compare(function: PciFunction, put: str, reads: str) -> None:
    if reads != put:
        raise InconsistentHostError(
            f"{function.address}: put back {put}, but it reads {reads}",
            hint="a reboot resets the register",
        )
