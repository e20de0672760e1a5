"""Judge whether the firmware's tables about ATS can be made sense of."""

from pcietune.model.access import HostAccess
from pcietune.model.finding import HOST, Finding, Remedy, RemedyKind, State, Value
from pcietune.model.severity import Severity

FIRMWARE_TABLE = "iommu.firmware-table"


def judge_firmware_tables(host: HostAccess) -> list[Finding]:
    """Tell of tables that are damaged; what they say of ATS is taken for not known."""
    return [
        Finding(
            FIRMWARE_TABLE,
            HOST,
            Severity.INFO,
            State.ERROR,
            Value(f"{signature}: {why}"),
            Value("a table that is whole"),
            f"the firmware's table {signature} is damaged ({why}), so it is not known which root "
            "ports may have ATS",
            Remedy(RemedyKind.BIOS, "look for the kernel's complaint in dmesg; update the BIOS"),
        )
        for signature, why in sorted(host.platform().damaged_tables.items())
    ]
