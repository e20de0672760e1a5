"""A small program that prints what nvidia-smi prints, and texts such as it prints."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_PROGRAM = """\
#!/bin/sh
# nvidia-smi -q -x; nvidia-smi conf-compute -f
echo "$*" >> {directory}/calls
case "$*" in
"-q -x") cat {directory}/query; exit {code} ;;
"conf-compute -f") cat {directory}/confidential 2>&1 ;;
*) exit 2 ;;
esac
"""
_QUERY = """\
<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
\t<timestamp>Mon Jul 15 13:41:56 2024</timestamp>
\t<driver_version>550.90.07</driver_version>
\t<cuda_version>12.4</cuda_version>
\t<attached_gpus>{count}</attached_gpus>
{gpus}</nvidia_smi_log>
"""
_GPU = """\
\t<gpu id="{bus_id}">
\t\t<product_name>NVIDIA A100-SXM4-80GB</product_name>
\t\t<mig_mode>
\t\t\t<current_mig>{mig}</current_mig>
\t\t\t<pending_mig>{pending}</pending_mig>
\t\t</mig_mode>
\t\t<mig_devices>
\t\t\tNone
\t\t</mig_devices>
\t\t<serial>1654523003308</serial>
\t\t<uuid>GPU-c5533cd4-5a60-059e-348d-b6d7466932e4</uuid>
\t\t<gpu_module_id>{module}</gpu_module_id>
\t\t<pci>
\t\t\t<pci_bus_id>{bus_id}</pci_bus_id>
\t\t</pci>
\t</gpu>
"""


@dataclass(frozen=True)
class Gpu:
    """One GPU as nvidia-smi tells of it; a bus id has eight digits of domain, in upper case."""

    bus_id: str = "00000000:23:00.0"
    module: str = "4"
    mig: str = "Disabled"
    pending: str = "Disabled"


def query(*gpus: Gpu) -> str:
    """Return what ``nvidia-smi -q -x`` prints, as far as it matters."""
    texts = [
        _GPU.format(bus_id=gpu.bus_id, module=gpu.module, mig=gpu.mig, pending=gpu.pending)
        for gpu in gpus
    ]
    return _QUERY.format(count=len(gpus), gpus="".join(texts))


class FakeNvidiaSmi:
    """The program.

    Attributes:
        path: Of the program.
        directory: Where it is, for PATH.
    """

    def __init__(
        self, directory: Path, text: str, *, confidential: str | None = None, code: int = 0
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.path = directory / "nvidia-smi"
        self.path.write_text(_PROGRAM.format(directory=directory, code=code))
        self.path.chmod(0o755)
        (directory / "query").write_text(text)
        if confidential is not None:
            (directory / "confidential").write_text(confidential)

    def calls(self) -> Iterable[str]:
        """Return the arguments of each run."""
        calls = self.directory / "calls"
        return calls.read_text().splitlines() if calls.exists() else []
