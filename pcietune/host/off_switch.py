"""Whether pcietune is switched off on a host."""

from pcietune.host.host_files import HostFiles
from pcietune.host.platform import CMDLINE

_KERNEL_ARGUMENT = "pcietune=off"
_DISABLED = "etc/pcietune/disabled"


def why_switched_off(files: HostFiles) -> str | None:
    """Return what switches pcietune off on this host; None if nothing does."""
    if _KERNEL_ARGUMENT in (files.text(CMDLINE) or "").split():
        return f"{_KERNEL_ARGUMENT} is on the kernel command line"
    if files.exists(_DISABLED):
        return f"/{_DISABLED} exists"
    return None
