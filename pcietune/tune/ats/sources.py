"""Where the rows of the table know from when the kernel turns ATS on."""

INTEL = "domain_context_mapping and domain_context_clear, drivers/iommu/intel/iommu.c"
LEGACY_IDENTITY = (
    'commit da37dddcf4ca, "iommu/vt-d: Disable PCI ATS in legacy passthrough mode" (6.7)'
)
KEPT_ON = 'commit 5518f239aff1, "iommu/vt-d: Move scalable mode ATS enablement to probe path"'
AMD = "amd_iommu_attach_device and detach_device, drivers/iommu/amd/iommu.c"
SMMU = (
    "arm_smmu_ats_supported and the bypass STE, drivers/iommu/arm/arm-smmu-v3/arm-smmu-v3.c; from "
    "7.2 on some devices keep it under identity, too (pci_ats_required)"
)
SMMU_BYPASS = (
    "a bypass STE answers a translation request with F_BAD_ATS_TREQ, "
    "drivers/iommu/arm/arm-smmu-v3/arm-smmu-v3.c"
)
OWNER = "iommu_group_claim_dma_owner, drivers/iommu/iommu.c: a blocking domain, then VFIO's own"
DOMAIN_TYPES = "Documentation/ABI/testing/sysfs-kernel-iommu_groups"
OTHER_TYPES = "iommu_group_show_type, drivers/iommu/iommu.c: unmanaged, or no default domain at all"
TRIED = "tried on kernel 6.12 with an Intel IOMMU in legacy mode"
