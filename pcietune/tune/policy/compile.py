"""Compile what the udev hook is told from a host that was judged."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256

from pcietune.address import PciAddress
from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.function import PciFunction
from pcietune.model.policy import FunctionDuty, HookPolicy, PortDuty
from pcietune.model.policy_plain import plain_policy
from pcietune.model.profile import Attach, ModeName
from pcietune.model.role_name import RoleName
from pcietune.model.switch_group import SwitchGroup
from pcietune.registers.sriov import SrIov
from pcietune.tune.audit.audit import Audit
from pcietune.tune.policy.held_by import held_by, needs_ats
from pcietune.tune.policy.port_duty import port_duties

_TUNED = (RoleName.GPU, RoleName.NIC, RoleName.NVSWITCH)


def compile_policy(  # noqa: PLR0913 -- what decides
    host: HostAccess,
    audited: Audit,
    *,
    boot_id: str,
    enforce: bool,
    driver_of: Callable[[PciFunction], str],
    hosts_own: Collection[tuple[str, str]] = (),
) -> HookPolicy:
    """Return what the hook may do about the GPUs, NICs and NVSwitches that the audit judged.

    What is protected is not in it, and no port above what is protected may be written.

    Args:
        host: Where it was audited.
        audited: What was found there.
        boot_id: Of the boot.
        enforce: Whether anything may be written unattended.
        driver_of: Which VFIO driver a function is to get.
        hosts_own: By location and id, functions that the host uses itself: not bound.
    """
    compiler = _Compiler(host, audited, driver_of, hosts_own)
    functions, virtual_functions = compiler.duties()
    policy = HookPolicy(
        boot_id="",
        enforce=enforce,
        sha256="",
        trusted=compiler.trusted(virtual_functions),
        functions={duty.location: duty for duty in functions},
        virtual_functions={duty.location: duty for duty in virtual_functions},
    )
    policy.sha256 = sha256(json.dumps(plain_policy(policy), sort_keys=True).encode()).hexdigest()
    policy.boot_id = boot_id  # not hashed: the same policy has the same name in every boot
    return policy


class _Compiler:
    """One compilation."""

    def __init__(
        self,
        host: HostAccess,
        audited: Audit,
        driver_of: Callable[[PciFunction], str],
        hosts_own: Collection[tuple[str, str]],
    ) -> None:
        self._host = host
        self._audited = audited
        self._driver_of = driver_of
        self._hosts_own = hosts_own
        self._ports: Mapping[PciAddress, PortDuty] = port_duties(host, audited)
        self._group_of: dict[PciAddress, SwitchGroup] = {
            function.address: group
            for group in audited.groups
            for function in audited.fabric.below(group.top)
        }

    def duties(self) -> tuple[list[FunctionDuty], list[FunctionDuty]]:
        """Return what functions owe, and what virtual functions do."""
        functions: list[FunctionDuty] = []
        virtual_functions: list[FunctionDuty] = []
        for address, role in sorted(self._audited.roles.items()):
            if role not in _TUNED or self._audited.protection.covers(address):
                continue
            function = self._audited.fabric.functions[address]
            attach = self._audited.profile.roles[role].attach
            duty = self._duty(function, function, role, binds=attach is Attach.PF)
            if not duty.group and duty.override is None:
                continue  # nothing is wanted of it
            functions.append(duty)
            virtual = self._as_virtual(function) if attach is Attach.VF else None
            if virtual is not None:
                virtual_functions.append(self._duty(function, virtual, role, binds=True))
        return functions, virtual_functions

    def trusted(self, virtual_functions: Iterable[FunctionDuty]) -> tuple[str, ...]:
        """Return the ids of what the profile trusts, VFs of such functions included."""
        profile, fabric = self._audited.profile, self._audited.fabric
        roles = self._audited.roles
        believed = {
            fabric.functions[address].id: role
            for address, role in roles.items()
            if profile.roles[role].trusted
        }
        nics = profile.roles.get(RoleName.NIC)
        of_vfs = (duty.id for duty in virtual_functions if nics is not None and nics.trusted)
        return tuple(sorted({*believed, *of_vfs}))

    def _duty(
        self,
        function: PciFunction,
        handed: PciFunction,
        role: RoleName,
        *,
        binds: bool,
    ) -> FunctionDuty:
        """Return what a function owes; or what its VFs do, if ``handed`` has their id."""
        group = self._group_of.get(function.address)
        mode = self._audited.mode
        if group is not None:
            mode = self._audited.yardstick.mode_of(group.name)
        vfio = self._audited.yardstick.vfio_of(mode)
        own = (function.location, function.id) in self._hosts_own
        bound = binds and mode is ModeName.VM and vfio.binds(role) and not own
        above = self._audited.fabric.ports_above(function)
        ats = self._audited.profile.modes[mode].ats
        return FunctionDuty(
            location=function.location,
            id=handed.id,
            group="" if group is None else group.name,
            ports=tuple(self._ports[p.address] for p in above if p.address in self._ports),
            override=self._driver_of(handed) if bound else None,
            probe=bound and vfio.after is None,
            needs_ats=bound and role is RoleName.NIC and needs_ats(self._audited, function, ats),
            held_by=held_by(self._host, self._audited, function) if bound else (),
        )

    def _as_virtual(self, function: PciFunction) -> PciFunction | None:
        """Return a function with its VFs' id; None if it has none or that cannot be read."""
        with suppress(PcietuneError):
            sriov = SrIov.find(self._host.config(function))
            if sriov is not None:
                return replace(function, device=sriov.vf_device_id)
        return None
