"""What was typed of a VM, as the planning takes it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pcietune.cli.planned import read_plan
from pcietune.errors import BadInputError, quoted
from pcietune.guest.forms import VM_NAME
from pcietune.guest.kinds import Backend, Firmware, NvSwitchModel
from pcietune.guest.memory_size import parse_memory
from pcietune.guest.plan import Plan
from pcietune.guest.wish import Expanders, Layout, Mig, Wish
from pcietune.host.nvidia.by_hand import read_module_file
from pcietune.host.nvidia.kept import read_nvidia
from pcietune.host.sysfs import SysfsHost
from pcietune.model.nvidia_gpu import NvidiaGpus, is_nvidia_gpu

_VERSION = re.compile(r"(\d{1,3})\.(\d{1,3})(?:\.\d{1,3})?")
_OLDEST = (7, 2)
_KIB = 1 << 10
_PAGES = {"none": None, "2M": 2 * _KIB, "1G": _KIB * _KIB}  # in KiB, of x86


@dataclass(frozen=True, slots=True)
class Typed:
    """The options of ``guest plan`` that say what the VM is to be, each as typed.

    Attributes:
        gpus: ``--gpus``; the others are named alike.
        mig: Whether MIG is on; None if nobody said, as of ``confidential``.
    """

    gpus: int | None
    functions: tuple[str, ...]
    nics: int | None
    name: str | None
    cpus: int | None
    memory: str | None
    hugepages: str
    layout: Layout
    expanders: Expanders
    firmware: Firmware
    qemu: str
    iommufd: bool
    clique: bool
    allow_failing: bool
    share_switches: bool
    nvswitch: NvSwitchModel | None
    modules: Path | None
    mig: bool | None
    confidential: bool | None
    taken: Sequence[Path]


def wish_of(typed: Typed, host: SysfsHost) -> Wish:
    """Return what is wanted; what NVIDIA's driver said earlier fills in what was not typed.

    Raises:
        BadInputError: Something makes no sense, or a file cannot be used.
        NotPermittedError: The kernel keeps a file from this user.
    """
    kept = read_nvidia(host.files) or NvidiaGpus()
    functions = host.functions()
    told = kept.by_address(functions)
    modules = {a: gpu.module for a, gpu in told.items() if gpu.module is not None}
    if typed.modules is not None:
        modules = dict(read_module_file(typed.modules, functions))
    mig = {a: _mig(gpu.mig) for a, gpu in told.items()}
    if typed.mig is not None:
        mig = {f.address: _mig(typed.mig) for f in functions if is_nvidia_gpu(f)}
    taken = _taken(typed.taken)
    return Wish(
        gpus=typed.gpus,
        functions=typed.functions,
        nics=typed.nics,
        name=_name(typed.name, [plan.machine.name for plan in taken]),
        cpus=typed.cpus,
        memory_mib=None if typed.memory is None else parse_memory(typed.memory),
        hugepage_kib=_hugepages(typed.hugepages),
        layout=typed.layout,
        expanders=typed.expanders,
        firmware=typed.firmware,
        qemu=_qemu(typed.qemu),
        backend=Backend.IOMMUFD if typed.iommufd else Backend.CONTAINER,
        clique=typed.clique,
        allow_failing=typed.allow_failing,
        share_switches=typed.share_switches,
        nvswitch=typed.nvswitch,
        modules=modules,
        mig=mig,
        confidential=kept.confidential if typed.confidential is None else typed.confidential,
        taken=taken,
    )


def _taken(files: Sequence[Path]) -> tuple[Plan, ...]:
    """Return the plans in files, each once: a shell's pattern may well name one twice."""
    plans: list[Plan] = []
    for file in files:
        plan = read_plan(file)
        if plan not in plans:
            plans.append(plan)
    return tuple(plans)


def _mig(on: bool | None) -> Mig:  # noqa: FBT001 -- what a field holds
    return Mig.NOT_KNOWN if on is None else (Mig.ON if on else Mig.OFF)


def _name(text: str | None, taken: Sequence[str]) -> str:
    """Return the VM's name: that was typed, or else the first of vm0, vm1 ... that is free."""
    numbered = (f"vm{number}" for number in range(len(taken) + 1))
    free = next(name for name in numbered if name not in taken)
    if text is None:
        return free
    if not re.fullmatch(VM_NAME, text):
        raise BadInputError(
            f"{quoted(text)} cannot be a VM's name",
            hint="use up to 63 letters, digits, and . _ - behind the first",
        )
    if text in taken:
        raise BadInputError(f"{text} is the name of another plan's VM", hint=f"--name {free}")
    return text


def _hugepages(text: str) -> int | None:
    if text not in _PAGES:
        raise BadInputError(
            f"{quoted(text)}: no size of hugepages", hint=f"one of {', '.join(_PAGES)}"
        )
    return _PAGES[text]


def _qemu(text: str) -> tuple[int, int]:
    found = _VERSION.fullmatch(text)
    version = None if found is None else (int(found[1]), int(found[2]))
    if version is None or version < _OLDEST:
        raise BadInputError(
            f"{quoted(text)}: no version of QEMU that plans are made for", hint="7.2 or later"
        )
    return version
