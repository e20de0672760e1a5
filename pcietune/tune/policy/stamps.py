"""Which functions may be stamped: those above which every port was read as wanted."""

from collections.abc import Iterator, Mapping

from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.function import FunctionState, PciFunction
from pcietune.model.policy import FunctionDuty, HookPolicy, PortDuty
from pcietune.model.stamp import Stamp
from pcietune.registers.acs import Acs
from pcietune.tune.audit.audit import Audit


def stamps(
    host: HostAccess,
    audited: Audit,
    policy: HookPolicy,
    known: Mapping[str, Stamp],
    now_us: int,
) -> list[Stamp]:
    """Return the stamps of all that is as wanted.

    Args:
        host: Where it was audited, after all writes.
        audited: What was found there then.
        policy: What was compiled from it.
        known: Stamps of this boot, by address.
        now_us: CLOCK_MONOTONIC, in microseconds.
    """
    words = {
        bit.requirement.placed.port.location: bit.acs for bit in audited.bits if bit.acs is not None
    }
    found = []
    for function, duty in _named(host, audited, policy):
        if not all(_as_wanted(port, words.get(port.location)) for port in duty.ports):
            continue
        before = known.get(str(function.address))
        if before is not None and (before.location, before.id) == (function.location, duty.id):
            bound_before = before.bound_before
        else:
            state = _state(host, function)
            bound_before = None if state is None else state.vfio
        found.append(
            Stamp(
                address=str(function.address),
                location=function.location,
                id=duty.id,
                boot_id=policy.boot_id,
                verified_us=now_us,
                bound_before=bound_before,
            )
        )
    return found


def _named(
    host: HostAccess, audited: Audit, policy: HookPolicy
) -> Iterator[tuple[PciFunction, FunctionDuty]]:
    """Yield the functions that the policy names, VFs of such functions included."""
    functions = audited.fabric.functions
    for address in audited.roles:
        function = functions[address]
        duty = policy.duty_of(function.location, function.id, None)
        if duty is None:
            continue
        yield function, duty
        state = _state(host, function)
        for each in () if state is None else state.virtual_functions:
            virtual = functions.get(each)
            if virtual is None or audited.protection.covers(each):
                continue
            of_virtual = policy.duty_of(virtual.location, virtual.id, function.location)
            if of_virtual is not None:
                yield virtual, of_virtual


def _as_wanted(duty: PortDuty, acs: Acs | None) -> bool:
    try:
        return acs is not None and duty.holds_in(acs.control)
    except PcietuneError:  # it stopped to answer since
        return False


def _state(host: HostAccess, function: PciFunction) -> FunctionState | None:
    """Return a function's state; None if it vanished."""
    try:
        return host.state(function)
    except PcietuneError:
        return None
