"""Judge one switch group: its ports, and the GPUs and NICs below them."""

from dataclasses import dataclass

from pcietune.model.access import HostAccess
from pcietune.model.ats_proof import AtsProof
from pcietune.model.fabric import Fabric
from pcietune.model.finding import Finding
from pcietune.model.profile import Attach, Mode, ModeName
from pcietune.model.settings import Tenancy
from pcietune.model.switch_group import SwitchGroup
from pcietune.tune.ats.judge_ats import AtsWanted, JudgedAts, judge_ats
from pcietune.tune.audit.judge_aer import judge_aer
from pcietune.tune.audit.judge_bars import judge_bars
from pcietune.tune.audit.judge_config_acs import judge_config_acs
from pcietune.tune.audit.judge_device_control import judge_device_control
from pcietune.tune.audit.judge_groups import judge_groups
from pcietune.tune.audit.judge_isolation import judge_isolation
from pcietune.tune.audit.judge_link import judge_links
from pcietune.tune.audit.judge_payload import judge_payload
from pcietune.tune.audit.judge_port_types import judge_port_types
from pcietune.tune.audit.judge_ports import JudgedBit, judge_ports
from pcietune.tune.audit.judge_quirks import judge_quirks
from pcietune.tune.audit.judge_runtime_pm import JudgedPower, judge_runtime_pm
from pcietune.tune.audit.judge_tenancy import judge_tenancy
from pcietune.tune.audit.port_requirements import port_requirements


@dataclass(frozen=True, slots=True)
class Duty:
    """What a switch group is judged by.

    Attributes:
        name: Its mode.
        mode: What the profile wants in it.
        attach: What of a NIC is handed to a VM.
        tenancy: Whether its functions may serve several tenants.
        proofs: Functions whose ATS the kernel was seen to enable in this boot.
    """

    name: ModeName
    mode: Mode
    attach: Attach
    tenancy: Tenancy
    proofs: frozenset[AtsProof]


@dataclass(frozen=True, slots=True)
class JudgedGroup:
    """A switch group, judged.

    Attributes:
        bits: What its ports owe.
        ats: The ATS of what its NICs hand to VMs.
        power: Its ports' runtime power management.
        findings: All else.
    """

    bits: list[JudgedBit]
    ats: list[JudgedAts]
    power: list[JudgedPower]
    findings: list[Finding]


def judge_switch_group(
    host: HostAccess, fabric: Fabric, group: SwitchGroup, duty: Duty
) -> JudgedGroup:
    """Judge a switch group by its duty.

    Raises:
        BadInputError: The profile contradicts itself at a port.
    """
    mode = duty.mode
    bits = judge_ports(host, fabric, port_requirements(group, duty.name, mode))
    return JudgedGroup(
        bits=bits,
        ats=judge_ats(host, fabric, group, AtsWanted(mode.ats, duty.attach, duty.proofs)),
        power=judge_runtime_pm(host, fabric, group, mode.runtime_pm),
        findings=[
            *judge_port_types(host, fabric, group),
            *judge_groups(host, fabric, group, mode.groups, duty.attach),
            *judge_isolation(host, fabric, group, mode.groups),
            *judge_tenancy(group, duty.name, duty.tenancy, bits),
            *judge_quirks(host, group),
            *judge_config_acs(host, group),
            *judge_links(host, fabric, group),
            *judge_device_control(host, fabric, group, duty.name),
            *judge_payload(host, fabric, group),
            *judge_bars(host, group),
            *judge_aer(host, group),
        ],
    )
