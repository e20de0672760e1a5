"""What to do about an IOMMU that is not as VMs want it."""

from pcietune.model.finding import Remedy, RemedyKind

TURN_ON_IOMMU = Remedy(
    RemedyKind.KERNEL_ARGS, "intel_iommu=on on Intel, and VT-d or AMD-Vi in the firmware's setup"
)
ANSWER_TRANSLATION_REQUESTS = Remedy(
    RemedyKind.BIOS, "switch on ATS support of the IOMMU, or another CPU"
)
FORM_ANEW = Remedy(
    RemedyKind.SOFTWARE,
    "reboot, or remove the functions and rescan: groups form when a function appears",
)
