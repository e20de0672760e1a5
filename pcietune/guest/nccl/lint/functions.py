"""Mistakes in the bus ids and classes of a topology file's pci elements."""

from collections.abc import Iterator

from pcietune.errors import quoted
from pcietune.guest.nccl.bus_id import FORM, is_bus_id
from pcietune.guest.nccl.dialect import (
    ACCELERATOR_CLASSES,
    BRIDGE_CLASS,
    GPU_CLASSES,
    NIC_CLASSES,
    NVSWITCH_CLASS,
)
from pcietune.guest.nccl.lint.complaint import Found, Severity
from pcietune.guest.nccl.lint.node import Node

_KNOWN_CLASSES = (
    BRIDGE_CLASS,
    "0x080100",
    NVSWITCH_CLASS,
    "0x068001",
    GPU_CLASSES,
    ACCELERATOR_CLASSES,
    NIC_CLASSES,
)
_BROADCOM = ("0xc010", "0xc030")


def in_functions(system: Node) -> Iterator[Found]:
    """Yield what is wrong with bus ids and classes."""
    seen: dict[str, Node] = {}
    for pci in system.below("pci"):
        text = pci.get("busid")
        if text is None:
            yield Found(
                pci.offset,
                Severity.ERROR,
                "busid",
                "a pci without busid: NCCL stops when it has read the file",
                'write busid="0000:05:00.0", as the VM has it',
            )
        else:
            yield from _in_bus_id(pci, text)
            if is_bus_id(text):
                yield from _in_place(pci, text.lower())
            if text in seen:
                yield Found(
                    pci.at("busid"),
                    Severity.ERROR,
                    "busid-twice",
                    f"{quoted(text)} a second time: NCCL finds the first alone",
                    "write each function once; invented switches have ids of their own",
                )
            seen.setdefault(text, pci)
        yield from _in_class(pci)
        yield from _in_ids(pci)


def is_bridge(pci: Node) -> bool:
    """Return whether NCCL takes it for a switch."""
    name = pci.get("class")
    if name is None:
        return any(each.name == "pci" for each in pci.children)
    return kind_of(name) == "bridge"


def kind_of(name: str) -> str:
    """Return what NCCL takes a class for: ``gpu``, ``nic``, ``nvswitch``, ``cpu`` or ``bridge``."""
    kinds = {
        GPU_CLASSES: "gpu",
        ACCELERATOR_CLASSES: "gpu",
        NIC_CLASSES: "nic",
        NVSWITCH_CLASS: "nvswitch",
        "0x068001": "cpu",
    }
    return next((kind for begins, kind in kinds.items() if name.startswith(begins)), "bridge")


def _in_bus_id(pci: Node, text: str) -> Iterator[Found]:
    """Yield ids that NCCL compares in vain, since it compares texts."""
    if FORM.fullmatch(text):
        return
    if is_bus_id(text):
        yield Found(
            pci.at("busid"),
            Severity.ERROR if not is_bridge(pci) else Severity.WARNING,
            "busid-case",
            f"{quoted(text)} in upper case: NCCL compares with sysfs, which has lower case, and"
            " makes a second function of it",
            f'write busid="{text.lower()}"',
        )
        return
    yield Found(
        pci.at("busid"),
        Severity.ERROR,
        "busid",
        f"{quoted(text)} is no bus id: NCCL compares with sysfs, and never finds it",
        'write all of it, as lspci -D does: busid="0000:05:00.0"',
    )


def _in_place(pci: Node, bus_id: str) -> Iterator[Found]:
    """Yield functions on a root bus, and NICs whose id is not the one NCCL rounds it to."""
    kind = kind_of(pci.get("class") or "")
    on_root_bus = bus_id.startswith("0000:00:")
    if pci.get("class") is None and not pci.children and on_root_bus:
        yield Found(
            pci.at("busid"),
            Severity.WARNING,
            "root-bus",
            f"{bus_id} is on the root bus: of a GPU no link and no neighbours are to be seen there,"
            " and a NIC's id NCCL rounds to that of the host bridge",
            "give it a root port of its own, and write the id it has there",
        )
    if kind == "gpu" and on_root_bus:
        yield Found(
            pci.at("busid"),
            Severity.WARNING,
            "root-bus",
            f"the GPU {bus_id} is on the root bus: its link and its neighbours are not to be seen",
            "give it a root port of its own, and write the id it has there",
        )
    if kind != "nic" or bus_id.endswith(":00.0"):
        return
    if on_root_bus:
        yield Found(
            pci.at("busid"),
            Severity.ERROR,
            "root-bus",
            f"the NIC {bus_id} is on the root bus: for InfiniBand and RoCE NCCL rounds its id to"
            " 0000:00:00.0, which is the host bridge",
            "give it a root port of its own, or set NCCL_IB_MERGE_VFS=0",
        )
        return
    by_function = not bus_id.endswith(".0")  # which NCCL_IB_MERGE_VFS=0 does not keep
    rounded = f'busid="{bus_id[:8]}00.0"'
    yield Found(
        pci.at("busid"),
        Severity.ERROR if by_function else Severity.WARNING,
        "nic-rounding",
        f"the NIC {bus_id}: for InfiniBand and RoCE NCCL rounds its id to {bus_id[:8]}00.0, and"
        " does not find this one",
        f'write {rounded}, or with NCCL_IB_MERGE_VFS=0 busid="{bus_id[:-1]}0"'
        if bus_id[8:10] != "00"
        else f"write {rounded}",
    )


def _in_class(pci: Node) -> Iterator[Found]:
    name = pci.get("class")
    holds = [each for each in pci.children if each.name == "pci"]
    if name is None:
        if holds:
            yield Found(
                pci.offset,
                Severity.ERROR,
                "class",
                "a switch without class: NCCL stops if no such function is in the VM",
                f'write class="{BRIDGE_CLASS}"',
            )
        return
    kind = kind_of(name)
    if holds and kind != "bridge":
        yield Found(
            pci.at("class"),
            Severity.ERROR,
            "class",
            f"class {quoted(name)} of what holds others: NCCL takes it for a {kind}, and loses"
            " what is in it",
            f'write class="{BRIDGE_CLASS}"',
        )
    elif not name.startswith(_KNOWN_CLASSES):
        yield Found(
            pci.at("class"),
            Severity.WARNING if name.startswith("0x") else Severity.ERROR,
            "class",
            f"class {quoted(name)}: NCCL knows no such text, and takes it for a switch",
            f"write {BRIDGE_CLASS} for a switch, 0x030200 for a GPU, 0x020700 for InfiniBand,"
            " 0x020000 for Ethernet",
        )
    elif kind == "bridge" and not pci.children:
        yield Found(
            pci.at("class"),
            Severity.WARNING,
            "empty-switch",
            "a switch that holds nothing: NCCL removes it",
            "put the functions below it into it, or give a GPU or NIC its own class",
        )


def _in_ids(pci: Node) -> Iterator[Found]:
    if pci.get("vendor") == "0x1000" and pci.get("device") in _BROADCOM:
        yield Found(
            pci.at("device"),
            Severity.WARNING,
            "broadcom",
            "the ids of a Broadcom switch, whose two levels NCCL makes one",
            "remove vendor and device from a switch that is not the real one",
        )
