"""What the udev hook is told: apply compiles it, so that the hook need not judge a host.

On the hook's path: plain slotted classes, and nothing imported but what the hook may.
"""

_NAMED = 0x7F  # the controls of ACS Control that pcietune judges
_NEVER_WRITTEN = 1 << 5  # P2P Egress Control, which stands for a vector that pcietune does not know


class PortDuty:
    """What a port above a function owes, as one masked comparison and one masked write.

    Attributes:
        location: Of the port.
        id: Its Vendor and Device ID.
        set_mask: Controls of ACS Control that may be written; 0 if none.
        set_value: Those of them that are to be on.
        require_mask: Controls that are judged, those of ``set_mask`` included.
        require_value: Those of them that are to be on.
        dword_registers: Whether its ACS registers are 32 bits wide, as of ``Acs``.
    """

    __slots__ = (
        *("dword_registers", "id", "location"),
        *("require_mask", "require_value", "set_mask", "set_value"),
    )

    def __init__(  # noqa: PLR0913 -- a row of a table
        self,
        *,
        location: str,
        id: str,  # noqa: A002 -- as everywhere in the model
        set_mask: int,
        set_value: int,
        require_mask: int,
        require_value: int,
        dword_registers: bool = False,
    ) -> None:
        """Refuse masks that nothing may be written or judged by.

        Raises:
            ValueError: A value has bits outside its mask, or a mask others than it may have.
        """
        if set_value & ~set_mask or require_value & ~require_mask or require_mask & ~_NAMED:
            raise ValueError(f"{location}: bits outside their mask")
        if set_mask & ~require_mask or set_mask & _NEVER_WRITTEN:
            raise ValueError(f"{location}: {set_mask:#06x} may not be written")
        self.location = location
        self.id = id
        self.set_mask = set_mask
        self.set_value = set_value
        self.require_mask = require_mask
        self.require_value = require_value
        self.dword_registers = dword_registers

    def holds_in(self, word: int) -> bool:
        """Return whether a word of ACS Control is as wanted."""
        return word & self.require_mask == self.require_value


class FunctionDuty:
    """What is to be done when a function is added.

    Attributes:
        location: Where it is; a function elsewhere is another one. Of virtual functions, where
            their physical function is.
        id: Its Vendor and Device ID.
        group: Location of its switch group's topmost upstream port; empty if it is in none, and
            then no port owes anything.
        ports: What the ports above it owe, nearest the root first.
        override: What its ``driver_override`` is to be once the ports are as wanted; None if
            nothing is to be bound.
        probe: Whether it is to be probed then; if not, a unit does that later.
        needs_ats: Whether it is only to be bound if it has an ATS capability.
        held_by: Ids of findings for which it is not to be bound, and which no hook can judge.
    """

    __slots__ = (
        *("group", "held_by", "id", "location"),
        *("needs_ats", "override", "ports", "probe"),
    )

    def __init__(  # noqa: PLR0913 -- a row of a table
        self,
        *,
        location: str,
        id: str,  # noqa: A002 -- as everywhere in the model
        group: str,
        ports: tuple[PortDuty, ...],
        override: str | None,
        probe: bool,
        needs_ats: bool = False,
        held_by: tuple[str, ...] = (),
    ) -> None:
        self.location = location
        self.id = id
        self.group = group
        self.ports = ports
        self.override = override
        self.probe = probe
        self.needs_ats = needs_ats
        self.held_by = held_by

    @property
    def is_bound_at_once(self) -> bool:
        """Whether the hook is to bind it, as far as the policy knows."""
        return self.override is not None and self.probe and not self.held_by


class HookPolicy:
    """What the hook may do in this boot.

    Attributes:
        boot_id: Of the boot that it was compiled in; in another it means nothing.
        enforce: Whether anything may be written; if not, the hook only judges.
        sha256: Of what was compiled, in hex: what metrics and logs name.
        trusted: Ids of the roles that may be believed when they send translated addresses.
        functions: By location.
        virtual_functions: What each VF owes, by the location of its physical function.
    """

    __slots__ = ("boot_id", "enforce", "functions", "sha256", "trusted", "virtual_functions")

    def __init__(  # noqa: PLR0913 -- a row of a table
        self,
        *,
        boot_id: str,
        enforce: bool,
        sha256: str,
        trusted: tuple[str, ...],
        functions: dict[str, FunctionDuty],
        virtual_functions: dict[str, FunctionDuty],
    ) -> None:
        self.boot_id = boot_id
        self.enforce = enforce
        self.sha256 = sha256
        self.trusted = trusted
        self.functions = functions
        self.virtual_functions = virtual_functions

    def duty_of(self, location: str, id: str, physical: str | None) -> FunctionDuty | None:  # noqa: A002 -- as everywhere in the model
        """Return the duty of a function; None if the policy does not name it.

        Args:
            location: Where it is.
            id: Its Vendor and Device ID.
            physical: The location of its physical function; None if it is no VF. A VF on another
                bus number may have the location of its physical function, or of another one.
        """
        if physical is None:
            duty = self.functions.get(location)
        else:
            duty = self.virtual_functions.get(physical)
        return duty if duty is not None and duty.id == id else None

    @property
    def duties(self) -> tuple[FunctionDuty, ...]:
        """All duties, those of virtual functions last."""
        return (*self.functions.values(), *self.virtual_functions.values())
