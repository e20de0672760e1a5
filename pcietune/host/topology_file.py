"""Where NCCL is told to find a topology file, in the order in which it looks."""

import os

from pcietune.host.host_files import HostFiles

_VARIABLE = "NCCL_TOPO_FILE"
_CONFIGURATION = "etc/nccl.conf"
_DEFAULT = "var/run/nvidia-topologyd/virtualTopology.xml"


def named_topology_file(files: HostFiles) -> tuple[str, str] | None:
    """Return the path of NCCL's topology file and what names it; None if nothing does.

    The file of the default path is named only if it is there, others in any case. Of a recording
    nothing is known: it holds neither. NCCL also reads ``.nccl.conf`` of the user that runs a job,
    which is not looked at (src/misc/param.cc, src/graph/topo.cc).
    """
    if files.recorded:
        return None
    variable = os.environ.get(_VARIABLE)
    if variable:
        return variable, _VARIABLE
    configured = _configured(files.text(_CONFIGURATION) or "")
    if configured:
        return configured, f"/{_CONFIGURATION}"
    return (f"/{_DEFAULT}", "NCCL's default") if files.exists(_DEFAULT) else None


def _configured(text: str) -> str | None:
    """Return the first value of the variable: NCCL sets none that is set already."""
    for line in text.splitlines():
        name, _, value = line.partition("=")
        if name == _VARIABLE:
            return value
    return None
