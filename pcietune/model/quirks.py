"""Devices that depart from the specification: one row each, with its source."""

from dataclasses import dataclass

from pcietune.model.function import PciFunction
from pcietune.registers.acs import AcsControl

_NO_CONTROL = AcsControl(0)


@dataclass(frozen=True, slots=True)
class Quirk:
    """What is special about some devices.

    Attributes:
        vendor: Vendor ID.
        devices: Device IDs, first and last of each range.
        says: The departure, in one sentence.
        source: Where that is known from.
        dword_acs: Whether its ACS registers are 32 bits wide; such are read, never written.
        not_set: Controls that must not be turned on.
        mended_since: The kernel series from which on the kernel mends it where it turns such a
            control on itself; None if it never does.
        built_in: Controls that it acts by all the same where it has no ACS capability.
        unrelaxed: Whether it is a root port to which nothing should be sent with Relaxed Ordering.
        ats_broken_below: The first revision whose ATS works; 0 if it works in all, 0x100 if in
            none.
    """

    vendor: int
    devices: tuple[tuple[int, int], ...]
    says: str
    source: str
    dword_acs: bool = False
    not_set: AcsControl = _NO_CONTROL
    mended_since: tuple[int, int] | None = None
    built_in: AcsControl = _NO_CONTROL
    unrelaxed: bool = False
    ats_broken_below: int = 0

    def applies_to(self, function: PciFunction) -> bool:
        """Return whether ``function`` is one of these devices."""
        return function.vendor == self.vendor and any(
            first <= function.device <= last for first, last in self.devices
        )


QUIRKS = (
    Quirk(
        vendor=0x8086,
        devices=(
            (0xA110, 0xA11F),
            (0xA167, 0xA16A),
            (0x9D10, 0x9D1B),
            (0xA290, 0xA29F),
            (0xA2E7, 0xA2EE),
        ),
        says="its ACS registers are 32 bits wide, so ACS Control is at +8",
        source="kernel commit 1bf2bf229b64 (v4.7), pci_quirk_intel_spt_pch_acs_match",
        dword_acs=True,
    ),
    Quirk(
        vendor=0x12D8,
        devices=((0x2303, 0x2304), (0x2404, 0x2404)),
        says="ReqRedir may corrupt data unless the switch is in store-and-forward mode",
        source="drivers/pci/quirks.c, pci_fixup_pericom_acs_store_forward (v5.16)",
        not_set=AcsControl.P2P_REQUEST_REDIRECT,
        mended_since=(5, 16),
    ),
    Quirk(
        vendor=0x12D8,
        devices=((0xB404, 0xB404),),
        says="ReqRedir may corrupt data unless the switch is in store-and-forward mode",
        source="drivers/pci/quirks.c, commit 5907a90551e9 (v7.0)",
        not_set=AcsControl.P2P_REQUEST_REDIRECT,
        mended_since=(7, 0),
    ),
    Quirk(
        vendor=0x111D,
        devices=((0x80B5, 0x80B5), (0x8090, 0x8090)),
        says="its Source Validation is broken",
        source="drivers/pci/probe.c, pci_idt_bus_quirk; pci_disable_broken_acs_cap (v7.0)",
        not_set=AcsControl.SOURCE_VALIDATION,
    ),
    Quirk(
        vendor=0x1D17,
        devices=((0x0710, 0x071E), (0x0721, 0x0721), (0x0723, 0x0752)),
        says="a Zhaoxin port without ACS, which keeps apart what is below it all the same",
        source="kernel commits 299bd044a6f3 (v5.7) and e367e3c765f5 (v6.8), "
        "pci_quirk_zhaoxin_pcie_ports_acs",
        built_in=AcsControl.SOURCE_VALIDATION
        | AcsControl.P2P_REQUEST_REDIRECT
        | AcsControl.P2P_COMPLETION_REDIRECT
        | AcsControl.UPSTREAM_FORWARDING,
    ),
    Quirk(
        vendor=0x8086,
        devices=((0x2F01, 0x2F0E), (0x6F01, 0x6F0E)),
        says="a Haswell or Broadwell root port, which takes Relaxed Ordering slowly",
        source="drivers/pci/quirks.c, quirk_relaxedordering_disable (v4.13)",
        unrelaxed=True,
    ),
    Quirk(
        vendor=0x1022,
        devices=((0x1A00, 0x1A02),),
        says="an AMD A1100 root port, where Relaxed Ordering may corrupt data",
        source="drivers/pci/quirks.c, quirk_relaxedordering_disable (v4.13)",
        unrelaxed=True,
    ),
    Quirk(
        vendor=0x1002,
        devices=(
            (0x6900, 0x6900),
            (0x7310, 0x7310),
            (0x7312, 0x7312),
            (0x7318, 0x731B),
            (0x731E, 0x731F),
            (0x7340, 0x7341),
            (0x7347, 0x7347),
            (0x734F, 0x734F),
            (0x98E4, 0x98E4),
        ),
        says="its ATS stays broken until a driver has set up what was harvested of it",
        source="drivers/pci/quirks.c, quirk_amd_harvest_no_ats (v5.18: whatever the revision)",
        ats_broken_below=0x100,
    ),
    Quirk(
        vendor=0x8086,
        devices=((0x1451, 0x1455), (0x1457, 0x1457), (0x1459, 0x145A), (0x145C, 0x145C)),
        says="before revision 20h its ATS takes invalidations in the wrong byte order",
        source="drivers/pci/quirks.c, quirk_intel_e2000_no_ats (commit a18615b1cfc0, v6.7)",
        ats_broken_below=0x20,
    ),
)


def quirk_of(function: PciFunction) -> Quirk | None:
    """Return what is special about ``function``, or None."""
    return next((quirk for quirk in QUIRKS if quirk.applies_to(function)), None)
