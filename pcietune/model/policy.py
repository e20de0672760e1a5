"""What the udev hook is told: apply compiles it, so that the hook need not judge a host.

On the hook's path: plain slotted classes, and nothing imported but what the hook may.
"""


class PortDuty:
    """What a port above a function owes, as one masked comparison and one masked write.

    Attributes:
        location: Of the port.
        id: Its Vendor and Device ID.
        set_mask: Controls of ACS Control that may be written; 0 if none.
        set_value: Those of them that are to be on.
        require_mask: Controls that are judged, those of ``set_mask`` included.
        require_value: Those of them that are to be on.
    """

    __slots__ = ("id", "location", "require_mask", "require_value", "set_mask", "set_value")

    def __init__(  # noqa: PLR0913 -- a row of a table
        self,
        *,
        location: str,
        id: str,  # noqa: A002 -- as everywhere in the model
        set_mask: int,
        set_value: int,
        require_mask: int,
        require_value: int,
    ) -> None:
        self.location = location
        self.id = id
        self.set_mask = set_mask
        self.set_value = set_value
        self.require_mask = require_mask
        self.require_value = require_value


class FunctionDuty:
    """What is to be done when a function is added.

    Attributes:
        location: Where it is; a function elsewhere is another one.
        id: Its Vendor and Device ID.
        group: Location of its switch group's topmost upstream port.
        ports: What the ports above it owe, nearest the root first.
        override: What its ``driver_override`` is to be once the ports are as wanted; None if
            nothing is to be bound.
        probe: Whether it is to be probed then; if not, a unit does that later.
    """

    __slots__ = ("group", "id", "location", "override", "ports", "probe")

    def __init__(  # noqa: PLR0913 -- a row of a table
        self,
        *,
        location: str,
        id: str,  # noqa: A002 -- as everywhere in the model
        group: str,
        ports: tuple[PortDuty, ...],
        override: str | None,
        probe: bool,
    ) -> None:
        self.location = location
        self.id = id
        self.group = group
        self.ports = ports
        self.override = override
        self.probe = probe


class HookPolicy:
    """What the hook may do in this boot.

    Attributes:
        boot_id: Of the boot that it was compiled in; in another it means nothing.
        enforce: Whether anything may be written; if not, the hook only judges.
        sha256: Of what was compiled, in hex: what metrics and logs name.
        trusted: Ids of the roles that may be believed when they send translated addresses.
        functions: By location.
    """

    __slots__ = ("boot_id", "enforce", "functions", "sha256", "trusted")

    def __init__(
        self,
        *,
        boot_id: str,
        enforce: bool,
        sha256: str,
        trusted: tuple[str, ...],
        functions: dict[str, FunctionDuty],
    ) -> None:
        self.boot_id = boot_id
        self.enforce = enforce
        self.sha256 = sha256
        self.trusted = trusted
        self.functions = functions
