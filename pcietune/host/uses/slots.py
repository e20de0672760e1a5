"""Physical slots, by the names that firmware or a hot-plug driver gave them."""

from pcietune.host.host_files import HostFiles

SLOTS = "sys/bus/pci/slots"


def read_slots(files: HostFiles) -> dict[str, str]:
    """Return domain, bus and device of what each slot is for (drivers/pci/slot.c).

    Raises:
        NotPermittedError: This user may not look there.
    """
    found = {name: files.text(f"{SLOTS}/{name}/address") for name in files.names(SLOTS)}
    return {name: address for name, address in found.items() if address}
