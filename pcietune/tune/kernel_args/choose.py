"""Choose the entries by which the kernel sets all ports, by what it takes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pcietune.model.function import PciFunction
from pcietune.registers.acs import AcsControl
from pcietune.tune.audit.config_acs import REDIRECTION, Semantics
from pcietune.tune.kernel_args.merge import Ours
from pcietune.tune.kernel_args.owed import OwedPort

HasAcs = Callable[[PciFunction], bool]
"""Whether a function has ACS, so that an entry that means it does something."""

_LATER = "kernel 6.15, 6.14.2, 6.13.11, 6.12.23 or later"
_AT_BOOT = "`pcietune apply` sets the registers after each boot"
_AND_OTHERS = ", beside those of other ports"
_MAYBE_ONE = (
    "if this kernel lacks commit 9cf8a952d57b it takes only the first entry: `pcietune kernel-args "
    "--check` tells after the reboot"
)


@dataclass(frozen=True, slots=True)
class Choice:
    """What is to be written.

    Attributes:
        ours: The entries.
        why_not: Why the profile cannot be had by the command line alone, and what then; empty if
            it can.
        doubt: What may keep the kernel from taking it; empty if nothing known does.
    """

    ours: Ours
    why_not: str = ""
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Situation:
    """What decides.

    Attributes:
        ports: What the ports owe.
        named: Those of them that need an entry.
        functions: All of the host: an entry by id means every one that has it.
        has_acs: Tells which of them an entry can change.
        semantics: What the kernel makes of the options; None if not known.
        foreign: Whether the site's own entries of ``config_acs`` stay beside these.
    """

    ports: Sequence[OwedPort]
    named: Sequence[OwedPort]
    functions: Sequence[PciFunction]
    has_acs: HasAcs
    semantics: Semantics | None
    foreign: bool

    @property
    def may_be_listed(self) -> bool:
        """Whether ``disable_acs_redir``, which every kernel knows, does just what is owed."""
        return self.semantics in (Semantics.FIXED, Semantics.NO_CONFIG_ACS) and all(
            not owed.enabled and owed.mask == REDIRECTION & owed.supported for owed in self.ports
        )


def choose_list(situation: Situation) -> Choice:
    """Return the list of ports whose redirection is turned off."""
    return Choice(Ours(disable_acs_redir=tuple(p.port.location for p in situation.ports)))


def choose_entries(situation: Situation, *, short: bool = False) -> Choice:
    """Return the entries of ``config_acs``, every flag of them spelled.

    Args:
        situation: What decides.
        short: Whether to name ports by id wherever that is exact, not by path, to save room.
    """
    by_id = _by_id(situation)
    by_path = tuple(f"{_flags(owed)}@{owed.port.location}" for owed in situation.named)
    one = len(by_id) == 1 and not situation.foreign
    entries = Ours(config_acs=by_id if one or short else by_path)
    if not situation.named:
        return Choice(Ours())
    if situation.semantics is Semantics.NO_CONFIG_ACS:
        why_not = "pci=config_acs= is not known there: use kernel 6.11 or later"
        return Choice(Ours(), why_not=f"{why_not}; until then {_AT_BOOT}")
    if situation.semantics is Semantics.BROKEN and not one:
        count = f"{len(by_id)} here{_AND_OTHERS if situation.foreign else ''}"
        why_not = (
            f"it takes more than one entry ({count}), and kernels 6.11 to 6.14 take only the "
            f"first: use {_LATER}"
        )
        return Choice(Ours(), why_not=f"{why_not}; until then {_AT_BOOT}")
    if situation.semantics is Semantics.BROKEN and _clears(situation.named):
        return Choice(entries, doubt="this kernel leaves at a 0 what firmware set")
    if situation.semantics is None and not one:
        return Choice(entries, doubt=_MAYBE_ONE)
    return Choice(entries)


def _clears(ports: Sequence[OwedPort]) -> bool:
    return any(owed.mask & ~owed.enabled & AcsControl.decode(owed.control) for owed in ports)


def _by_id(situation: Situation) -> tuple[str, ...]:
    """Return the fewest entries: one for all ports of an id, where it means no other port.

    Others with the id would be set as well, if they owe nothing or something else.
    """
    owed_at = {owed.port.address: owed for owed in situation.ports}
    entries: dict[str, None] = {}
    by_id: dict[str, bool] = {}
    for owed in situation.named:
        name = owed.port.id
        if name not in by_id:
            meant = [f for f in situation.functions if f.id == name]
            acting = [f for f in meant if f.address in owed_at or situation.has_acs(f)]
            by_id[name] = len(acting) > 1 and all(
                (other := owed_at.get(f.address)) is not None and other.spelled == owed.spelled
                for f in acting
            )
        device = f"pci:{name}" if by_id[name] else owed.port.location
        entries[f"{_flags(owed)}@{device}"] = None
    return tuple(entries)


def _flags(owed: OwedPort) -> str:
    """Return the seven flags, DirectTrans first: none is left to firmware."""
    return f"{owed.spelled.value:07b}"
