"""The udev fast path: what is done when a function that the policy names is added.

udev/04-pcietune.rules says when udev starts it, and docs/udev.md what comes of it. It runs inside
udevd's sandbox and keeps an event waiting, so it imports little, starts nothing, and waits for no
other pcietune but a hook.
"""

import os
import time

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, ExitCode, LockedError, PcietuneError
from pcietune.host.hook.kernel import INFO, WARNING, read_line, tell
from pcietune.host.hook.locks import release, take_turn
from pcietune.host.hook.place import Place, address_of, beside, place_of
from pcietune.host.hook.ports import Port, ports_above
from pcietune.host.run.kept_settings import SETTINGS, same_settings
from pcietune.host.run.policy_lines import IDS, read_lines
from pcietune.host.run.stamp_file import STAMPS, drop_stamp, has_stamp, read_stamp, write_stamp
from pcietune.model.policy import FunctionDuty, HookPolicy
from pcietune.model.stamp import Stamp

_RUN = "run/pcietune"
_OFF = "pcietune=off"
_BOOT_ID = "proc/sys/kernel/random/boot_id"
_DISABLED = "etc/pcietune/disabled"
_RECOVERIES = ("SUCCESSFUL_RECOVERY", "FAILED_RECOVERY")


def main(environ: dict[str, str] | None = None, root: str = "") -> int:
    """Do what an event asks for, and return the exit code, which udev logs where it is not 0.

    Args:
        environ: What udev says of the event; None for the process's environment. Only ACTION,
            ERROR_EVENT and PCI_SLOT_NAME are looked at; what is there is seen in sysfs.
        root: What stands for the host's ``/``, without a slash at its end.
    """
    environ = dict(os.environ) if environ is None else environ
    address = address_of(environ.get("PCI_SLOT_NAME"))
    if address is None:
        return ExitCode.OK
    removed = environ.get("ACTION") == "remove"  # what it was seen as is over, off or not
    if not removed and _is_off(root):
        return ExitCode.SWITCHED_OFF
    try:
        return _act(root, environ, address)
    except LockedError:  # who holds the lock judges all of the host
        return ExitCode.OK
    except PcietuneError as error:
        tell(root, WARNING, f"{address}: {error}")
        return error.exit_code


def _act(root: str, environ: dict[str, str], address: PciAddress) -> ExitCode:
    """Do what the event about a function asks for, by the policy of this boot."""
    action = environ.get("ACTION", "")
    if action == "remove":
        drop_stamp(f"{root}/{_RUN}/{STAMPS}", str(address))
        return ExitCode.OK
    recovered = action == "change" and environ.get("ERROR_EVENT") in _RECOVERIES
    if not recovered and action not in ("add", "bind"):
        return ExitCode.OK
    place = place_of(root, address)
    policy = None if place is None else _policy(root, place, whole=recovered)
    if policy is None or place is None:
        return ExitCode.OK
    if policy.enforce and not same_settings(root):
        policy.enforce = False
        changed = f"/{SETTINGS} is not as apply found it: nothing is written until it runs again"
        tell(root, WARNING, f"{address}, {action}: {changed}")
    return _Hook(root, policy).act(action, place)


def _policy(root: str, place: Place, *, whole: bool) -> HookPolicy | None:
    """Return what the policy says of functions of this id, or of all; None if nothing.

    Raises:
        BadInputError: There is a policy that means nothing.
    """
    boot_id = read_line(f"{root}/{_BOOT_ID}")
    if whole:
        from pcietune.host.run.policy_file import POLICY, read_policy

        path, policy = f"{root}/{_RUN}/{POLICY}", read_policy(f"{root}/{_RUN}", boot_id)
    else:
        directory, name = f"{root}/{_RUN}/{IDS}", (place.id or "").upper()
        path, policy = f"{directory}/{name}", read_lines(directory, name, boot_id)
    if policy is None and os.path.lexists(path):
        broken = "broken, of another boot, or not root's alone"
        raise BadInputError(f"not judged: {path} is {broken}; run pcietune apply")
    return policy


class _Hook:
    """A hook that acts on an event."""

    def __init__(self, root: str, policy: HookPolicy) -> None:
        self._root = root
        self._policy = policy
        self._run = f"{root}/{_RUN}"
        self._stamps = f"{self._run}/{STAMPS}"

    def act(self, action: str, place: Place) -> ExitCode:
        """Do what the event asks for; what fails is logged, and tells the exit code."""
        concerned = [place, *place.below()] if action == "change" else [place]
        named = [(each, duty) for each in concerned if (duty := self._duty(each)) is not None]
        if not named:
            return ExitCode.OK
        known: dict[str, bool | None] = {}
        if action != "bind":  # nothing is known of them now, even if this hook gets no turn
            known = {each.location: self._taken_back(each, duty) for each, duty in named}
        held = take_turn(self._run)
        try:
            return ExitCode.of_several(
                [
                    self._tried(action, p, duty, bound_before=known.get(p.location))
                    for p, duty in named
                ]
            )
        finally:
            release(held)

    def _tried(
        self, action: str, place: Place, duty: FunctionDuty, *, bound_before: bool | None
    ) -> ExitCode:
        """Judge a function; return the exit code, and log what it stands for."""
        try:
            wrong = self._judge(action, place, duty, bound_before=bound_before)
            code = ExitCode.DIFFERS if wrong else ExitCode.OK
        except PcietuneError as error:
            wrong, code = str(error), error.exit_code
        if code is not ExitCode.OK:
            drop_stamp(self._stamps, str(place.address))
            tell(self._root, WARNING, f"{place.address}, {action}: {wrong}")
            return code
        if action == "add" and duty.override is not None and self._policy.enforce:
            return self._hand_over(place, duty)
        return ExitCode.OK

    def _hand_over(self, place: Place, duty: FunctionDuty) -> ExitCode:
        """Give a function to VFIO; return the exit code, and log what was done or kept from it."""
        from pcietune.host.hook.binding import bind
        from pcietune.host.hook.gate import check_gate

        slot = [(place, duty), *((p, self._duty(p)) for p in beside(self._root, place))]
        try:
            if not place.given_to_vfio:
                check_gate(self._root, slot)
            done = bind(self._root, place, duty)
        except PcietuneError as error:
            tell(self._root, WARNING, f"{place.address}, add: {error}")
            return error.exit_code
        if done:
            tell(self._root, INFO, f"{place.address} {done}")
        return ExitCode.OK

    def _duty(self, place: Place) -> FunctionDuty | None:
        physical = address_of(place.physical_function)
        of_physical = None if physical is None else place_of(self._root, physical)
        return self._policy.duty_of(
            place.location, place.id or "", None if of_physical is None else of_physical.location
        )

    def _judge(
        self, action: str, place: Place, duty: FunctionDuty, *, bound_before: bool | None
    ) -> str:
        """Judge a function's ports, set what may be set, and stamp it if all is well.

        Returns:
            What is not as wanted; empty if nothing.

        Raises:
            PcietuneError: Something cannot be found out or done.
        """
        ports = ports_above(place, duty.ports)
        wrong = _wrong(ports)
        if wrong and action != "bind" and self._policy.enforce:
            from pcietune.host.hook.repair import repair

            for line in repair(self._run, self._policy, duty.group, wrong):
                tell(self._root, INFO, f"{place.address}, {action}: {line}")
            wrong = _wrong(ports)
        if wrong:
            return "; ".join(_what_is_wrong(port) for port in wrong)
        if action != "bind" or not has_stamp(self._stamps, str(place.address)):
            self._stamp(place, duty, bound_before=bound_before)
        return ""

    def _taken_back(self, place: Place, duty: FunctionDuty) -> bool | None:
        """Drop a function's stamp; return whether VFIO had it before what that was for was so.

        None if it has no stamp of this boot.
        """
        address = str(place.address)
        stamp = read_stamp(self._stamps, address)
        drop_stamp(self._stamps, address)
        if stamp is None or not stamp.is_of(place.location, duty.id, self._policy.boot_id):
            return None
        return stamp.bound_before

    def _stamp(self, place: Place, duty: FunctionDuty, *, bound_before: bool | None) -> None:
        """Remember that all ports above a function read as wanted."""
        stamp = Stamp(
            address=str(place.address),
            location=place.location,
            id=duty.id,
            boot_id=self._policy.boot_id,
            verified_us=time.monotonic_ns() // 1000,
            bound_before=place.given_to_vfio if bound_before is None else bound_before,
        )
        write_stamp(self._stamps, stamp)


def _wrong(ports: list[Port]) -> list[Port]:
    return [port for port in ports if not port.duty.holds_in(port.word())]


def _what_is_wrong(port: Port) -> str:
    duty = port.duty
    return (
        f"{port.place.address} reads ACSCtl {port.word():#06x}, wanted {duty.require_value:#06x} "
        f"under mask {duty.require_mask:#06x}"
    )


def _is_off(root: str) -> bool:
    words = (read_line(f"{root}/proc/cmdline") or "").split()
    return _OFF in words or os.path.lexists(f"{root}/{_DISABLED}")
