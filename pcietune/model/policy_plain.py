"""The hook's policy as JSON objects, whose keys are the attributes, and back."""

from pcietune.model.policy import FunctionDuty, HookPolicy, PortDuty

_Plain = dict[str, object]


def plain_policy(policy: HookPolicy) -> _Plain:
    """Return a policy as JSON has it."""
    return {
        "boot_id": policy.boot_id,
        "enforce": policy.enforce,
        "sha256": policy.sha256,
        "trusted": list(policy.trusted),
        "functions": [plain_duty(duty) for duty in policy.functions.values()],
        "virtual_functions": [plain_duty(duty) for duty in policy.virtual_functions.values()],
    }


def plain_duty(duty: FunctionDuty) -> _Plain:
    """Return a function's duty as JSON has it."""
    ports = [{name: getattr(port, name) for name in port.__slots__} for port in duty.ports]
    told: _Plain = {name: getattr(duty, name) for name in duty.__slots__}
    return told | {"ports": ports, "held_by": list(duty.held_by)}


def policy_from_plain(plain: object) -> HookPolicy:
    """Return what ``plain_policy`` made; raises ValueError if it made none of this."""
    keys = _object(plain)
    return HookPolicy(
        boot_id=_text(keys, "boot_id"),
        enforce=_flag(keys, "enforce"),
        sha256=_text(keys, "sha256"),
        trusted=_texts(keys, "trusted"),
        functions=_by_location(keys, "functions"),
        virtual_functions=_by_location(keys, "virtual_functions"),
    )


def _by_location(keys: _Plain, name: str) -> dict[str, FunctionDuty]:
    return {duty.location: duty for duty in map(_function, _list(keys, name))}


def _function(plain: object) -> FunctionDuty:
    keys = _object(plain)
    return FunctionDuty(
        location=_text(keys, "location"),
        id=_text(keys, "id"),
        group=_text(keys, "group"),
        ports=tuple(_port(port) for port in _list(keys, "ports")),
        override=None if keys.get("override") is None else _text(keys, "override"),
        probe=_flag(keys, "probe"),
        needs_ats=_flag(keys, "needs_ats"),
        held_by=_texts(keys, "held_by"),
    )


def _port(plain: object) -> PortDuty:
    keys = _object(plain)
    return PortDuty(
        location=_text(keys, "location"),
        id=_text(keys, "id"),
        set_mask=_number(keys, "set_mask"),
        set_value=_number(keys, "set_value"),
        require_mask=_number(keys, "require_mask"),
        require_value=_number(keys, "require_value"),
        dword_registers=_flag(keys, "dword_registers"),
    )


def _object(plain: object) -> _Plain:
    if not isinstance(plain, dict):
        raise _no("object")
    return plain


def _list(keys: _Plain, name: str) -> list[object]:
    value = keys.get(name)
    if not isinstance(value, list):
        raise _no("list", name)
    return value


def _texts(keys: _Plain, name: str) -> tuple[str, ...]:
    return tuple(_text({name: each}, name) for each in _list(keys, name))


def _text(keys: _Plain, name: str) -> str:
    value = keys.get(name)
    if not isinstance(value, str):
        raise _no("text", name)
    return value


def _flag(keys: _Plain, name: str) -> bool:
    value = keys.get(name)
    if not isinstance(value, bool):
        raise _no("truth value", name)
    return value


def _number(keys: _Plain, name: str) -> int:
    value = keys.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _no("number", name)
    return value


def _no(kind: str, name: str = "policy") -> ValueError:
    return ValueError(f"{name} is no {kind}")
