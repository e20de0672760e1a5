"""Profiles for tests, in the words that a profile file would use."""

from collections.abc import Mapping
from dataclasses import replace

from pcietune.model.profile import (
    AcsWant,
    AtsPolicy,
    Attach,
    FunctionPattern,
    GroupPolicy,
    IommuPolicy,
    Layout,
    Match,
    Mode,
    ModeName,
    Place,
    PortRule,
    Profile,
    Role,
    RolePlace,
)
from pcietune.model.role_name import RoleName
from pcietune.registers.acs import LSPCI_NAMES

_CONTROLS = {name: control for control, name in LSPCI_NAMES.items()}

ISOLATED = "SrcValid+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- TransBlk-"
UNREDIRECTED = "ReqRedir- CmpltRedir- EgressCtrl-"


def wants(text: str) -> tuple[AcsWant, ...]:
    """Return the controls in lspci's spelling as wants."""
    return tuple(AcsWant(_CONTROLS[word[:-1]], word[-1] == "+") for word in text.split())


def rule(*, set: str = "", require: str = "") -> PortRule:  # noqa: A002 -- the profile's word
    """Return what ports of one place owe."""
    return PortRule(wants(set), wants(require))


VM_PORTS: Mapping[Place, PortRule] = {
    Place.NIC_SIDE: rule(set="DirectTrans+", require=ISOLATED),
    Place.GPU_SIDE: rule(require=ISOLATED),
    Place.UPSTREAM: rule(require=ISOLATED),
}
VM = Mode(VM_PORTS, AtsPolicy.JUDGE, IommuPolicy.DEVICE_TLB, GroupPolicy.SEPARATE)
BAREMETAL = Mode(
    dict.fromkeys(Place, rule(require=UNREDIRECTED)),
    AtsPolicy.KERNEL_OFF,
    IommuPolicy.OFF_OR_PASSTHROUGH,
    GroupPolicy.TOGETHER,
)
GPU_ROLE = Role(FunctionPattern(("10de:20f3",)), trusted=True)
NIC_ROLE = Role(FunctionPattern(("15b3:101b",)), RolePlace.GPU_SWITCH, trusted=True)

PROFILE = Profile(
    name="tested",
    summary="one GPU and some NICs below each switch",
    sha256="00" * 32,
    generic=False,
    match=Match(FunctionPattern(("10de:20f3",))),
    roles={RoleName.GPU: GPU_ROLE, RoleName.NIC: NIC_ROLE},
    layout=Layout(),
    modes={ModeName.VM: VM, ModeName.BAREMETAL: BAREMETAL},
)


def with_mode(mode: Mode) -> Profile:
    """Return the profile with ``mode`` as what it wants of VMs."""
    return replace(PROFILE, modes={ModeName.VM: mode})


def with_ports(**ports: PortRule) -> Profile:
    """Return the profile that wants only this of ports, by place: ``nic_side=...``."""
    return with_mode(Mode({Place(name.replace("_", "-")): owed for name, owed in ports.items()}))


def with_roles(roles: Mapping[RoleName, Role]) -> Profile:
    """Return the profile with other roles beside or instead of its own."""
    return replace(PROFILE, roles={**PROFILE.roles, **roles})


def handing_over(attach: Attach) -> Profile:
    """Return the profile that hands over something else of its NICs."""
    return with_roles({RoleName.NIC: replace(NIC_ROLE, attach=attach)})
