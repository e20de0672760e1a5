"""What the policy says of the functions of one id, as a file of lines in /run.

The udev rule looks whether there is such a file, so that events of other functions start nothing.
The hook reads it, since to import JSON would take a quarter of the time that it has. Words are
parted by spaces, and ``-`` stands for none:

    policy BOOT_ID enforce|judge SHA256
    trusted ID...
    pf|vf LOCATION ID GROUP OVERRIDE probe|later ats|- FINDING,...
    port LOCATION ID SET_MASK SET_VALUE REQUIRE_MASK REQUIRE_VALUE word|dword
    end

Each port belongs to the function above it. Masks are hexadecimal.
"""

from pcietune.host.run.trusted_file import read_trusted
from pcietune.model.policy import FunctionDuty, HookPolicy, PortDuty

IDS = "ids"
_NONE = "-"
_ATS = "ats"
_END = "end"


def encode_lines(policy: HookPolicy, id: str) -> bytes:  # noqa: A002 -- as everywhere in the model
    """Return what the policy says of the functions of an id."""
    lines = [
        f"policy {policy.boot_id} {'enforce' if policy.enforce else 'judge'} {policy.sha256}",
        " ".join(("trusted", *policy.trusted)),
    ]
    for kind, duties in (("pf", policy.functions), ("vf", policy.virtual_functions)):
        for duty in duties.values():
            if duty.id == id:
                lines += _lines(kind, duty)
    lines.append(_END)
    return "".join(f"{line}\n" for line in lines).encode()


def read_lines(directory: str, id: str, boot_id: str | None) -> HookPolicy | None:  # noqa: A002 -- as above
    """Return what the policy of this boot says of the functions of an id, and nothing of others.

    None if it says nothing, or what it says is another boot's, broken, or could be somebody else's
    work: then nothing is done.

    Args:
        directory: Where the files are: ``/run/pcietune/ids``.
        id: The file's name: an id as uevents have it, ``10DE:20F3``.
        boot_id: Of this boot; None if the kernel does not say.
    """
    try:
        policy = decode_lines(read_trusted(directory, id).decode())
    except (OSError, ValueError):
        return None
    return policy if policy.boot_id == boot_id else None


def decode_lines(text: str) -> HookPolicy:
    """Return what the lines say.

    Raises:
        ValueError: They are not such lines, or not all of them: a port less would seem to be right.
    """
    first, second, *rest, last = text.split("\n")[:-1]
    if last != _END:
        raise ValueError("it is cut off")
    word, boot_id, enforce, digest = first.split(" ")
    trusting, *trusted = second.split(" ")
    if (word, trusting) != ("policy", "trusted"):
        raise ValueError("no policy")
    duties: dict[str, dict[str, FunctionDuty]] = {"pf": {}, "vf": {}}
    found: list[FunctionDuty] = []
    for line in rest:
        kind, *words = line.split(" ")
        if kind == "port" and found:
            found[-1].ports += (_port(words),)
        elif kind in duties:
            found.append(_function(words))
            duties[kind][found[-1].location] = found[-1]
        else:
            raise ValueError(f"{kind} is no kind of line here")
    return HookPolicy(
        boot_id=boot_id,
        enforce=enforce == "enforce",
        sha256=digest,
        trusted=tuple(trusted),
        functions=duties["pf"],
        virtual_functions=duties["vf"],
    )


def _lines(kind: str, duty: FunctionDuty) -> list[str]:
    group, override = duty.group or _NONE, duty.override or _NONE
    when, needed = "probe" if duty.probe else "later", _ATS if duty.needs_ats else _NONE
    held_by = ",".join(duty.held_by) or _NONE
    return [
        f"{kind} {duty.location} {duty.id} {group} {override} {when} {needed} {held_by}",
        *(
            f"port {port.location} {port.id} {port.set_mask:02x} {port.set_value:02x} "
            f"{port.require_mask:02x} {port.require_value:02x} "
            f"{'dword' if port.dword_registers else 'word'}"
            for port in duty.ports
        ),
    ]


def _function(words: list[str]) -> FunctionDuty:
    location, its_id, group, override, when, needed, held_by = words
    return FunctionDuty(
        location=location,
        id=its_id,
        group="" if group == _NONE else group,
        ports=(),
        override=None if override == _NONE else override,
        probe=when == "probe",
        needs_ats=needed == _ATS,
        held_by=() if held_by == _NONE else tuple(held_by.split(",")),
    )


def _port(words: list[str]) -> PortDuty:
    location, its_id, set_mask, set_value, require_mask, require_value, width = words
    return PortDuty(
        location=location,
        id=its_id,
        set_mask=int(set_mask, 16),
        set_value=int(set_value, 16),
        require_mask=int(require_mask, 16),
        require_value=int(require_value, 16),
        dword_registers=width == "dword",
    )
