"""What a profile may want in a mode, as msgspec Structs."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from pcietune.host.profiles.schema_words import Acs, Schema, given
from pcietune.host.yaml.vfio_schema import VfioSchema
from pcietune.model.profile import (
    AtsPolicy,
    GroupPolicy,
    IommuPolicy,
    ModeName,
    Place,
    RuntimePmPolicy,
)


class PortRuleSchema(Schema):
    """What ports of one place owe: a control stands in set or in require, once."""

    set: Annotated[
        tuple[Acs, ...],
        Meta(
            description="ACS controls that pcietune apply may write",
            extra_json_schema={"not": {"contains": {"enum": ["EgressCtrl+", "EgressCtrl-"]}}},
        ),
    ] = ()
    require: Annotated[
        tuple[Acs, ...], Meta(description="ACS controls that are judged and never written")
    ] = ()


class PortsSchema(Schema):
    """What ports owe, by their place between a switch group's NICs and GPUs."""

    nic_side: Annotated[
        PortRuleSchema | UnsetType,
        Meta(description="the downstream port where a NIC's requests turn towards a GPU"),
    ] = UNSET
    gpu_side: Annotated[
        PortRuleSchema | UnsetType,
        Meta(description="the downstream port where they go down towards that GPU"),
    ] = UNSET
    upstream: Annotated[
        PortRuleSchema | UnsetType,
        Meta(description="every other root or downstream port above a NIC or GPU"),
    ] = UNSET

    def given(self) -> dict[Place, PortRuleSchema]:
        """Return the rules that the mode has."""
        return given(
            {
                Place.NIC_SIDE: self.nic_side,
                Place.GPU_SIDE: self.gpu_side,
                Place.UPSTREAM: self.upstream,
            }
        )


class ModeSchema(Schema):
    """What is wanted of a host in one mode."""

    ports: Annotated[PortsSchema, Meta(description="what ports owe, by their place")]
    ats: Annotated[
        AtsPolicy,
        Meta(
            description="ensure: on while a VM uses the NIC, and apply has the kernel prove or heal"
            " it; judge: only judged; force: written raw, which needs --force-ats too; kernel-off:"
            " Enable-, only judged; ignore"
        ),
    ] = AtsPolicy.IGNORE
    iommu: Annotated[
        IommuPolicy,
        Meta(
            description="device-tlb: on, and answering translation requests; off-or-passthrough;"
            " ignore"
        ),
    ] = IommuPolicy.IGNORE
    groups: Annotated[
        GroupPolicy,
        Meta(
            description="separate: no NIC or GPU shares its IOMMU group with another device;"
            " together: each NIC with the GPUs of its switch group, or no groups; ignore"
        ),
    ] = GroupPolicy.IGNORE
    runtime_pm: Annotated[
        RuntimePmPolicy,
        Meta(
            description="of the ports above NICs and GPUs. keep-on: apply writes on to"
            " power/control; judge: only judged; ignore"
        ),
    ] = RuntimePmPolicy.JUDGE
    vfio: Annotated[
        VfioSchema,
        Meta(description="what the gate hands to VFIO; pcietune.yaml may say otherwise"),
    ] = VfioSchema()


class ModesSchema(Schema):
    """The modes that hosts of this kind can be in; at least one."""

    vm: Annotated[
        ModeSchema | UnsetType, Meta(description="GPUs and NICs belong to virtual machines")
    ] = UNSET
    baremetal: Annotated[
        ModeSchema | UnsetType, Meta(description="one operating system owns everything")
    ] = UNSET

    def given(self) -> dict[ModeName, ModeSchema]:
        """Return the modes that the profile has."""
        return given({ModeName.VM: self.vm, ModeName.BAREMETAL: self.baremetal})
