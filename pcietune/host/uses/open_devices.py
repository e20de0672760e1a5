"""Processes that have a device node of a function open."""

from collections.abc import Iterator

from pcietune.errors import NotPermittedError
from pcietune.host.host_files import HostFiles
from pcietune.model.hold import Hold, HoldKind

_DEPTH = 4  # directories below a function's: sound/card0/controlC0, nvme/nvme0/nvme0n1/nvme0n1p1
_NVIDIA = "nvidia"
_NVIDIA_GPUS = "proc/driver/nvidia/gpus"  # what sysfs does not tell of its device nodes
_MINOR = "Device Minor"


def open_devices(files: HostFiles, directory: str) -> Iterator[Hold]:
    """Yield the processes that have a device node of the function whose directory this is.

    They are found by where the links in /proc/PID/fd lead: by the nodes' names, as the kernel
    names them below /dev.
    """
    nodes = set(_nodes(files, directory, _DEPTH))
    if files.link_name(f"{directory}/driver") == _NVIDIA:
        minor = _nvidia_minor(files, directory.rpartition("/")[2])
        if minor is None:
            yield Hold(HoldKind.NOT_KNOWN, "has a device node of nvidia's that cannot be found out")
        else:
            nodes.add(f"/dev/nvidia{minor}")
    if nodes:
        yield from _holders(files, nodes)


def _nodes(files: HostFiles, directory: str, depth: int) -> Iterator[str]:
    """Yield the device nodes that the kernel has made below a directory of sysfs."""
    for name in files.names(directory):
        path = f"{directory}/{name}"
        if files.link(path) is not None or not files.is_directory(path):
            continue
        text = files.text(f"{path}/uevent") or ""
        facts = dict(line.partition("=")[::2] for line in text.splitlines())
        if "DEVNAME" in facts:
            yield f"/dev/{facts['DEVNAME'].removeprefix('/dev/')}"
        if depth:
            yield from _nodes(files, path, depth - 1)


def _nvidia_minor(files: HostFiles, address: str) -> str | None:
    for line in (files.text(f"{_NVIDIA_GPUS}/{address}/information") or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == _MINOR and value.strip().isdecimal():
            return value.strip()
    return None


def _holders(files: HostFiles, nodes: set[str]) -> Iterator[Hold]:
    for process in files.names("proc"):
        if not process.isdecimal():
            continue
        try:
            descriptors = files.names(f"proc/{process}/fd")
        except NotPermittedError:
            yield Hold(
                HoldKind.NOT_KNOWN, f"may be open in process {process}: that is not readable"
            )
            continue
        targets = {files.link(f"proc/{process}/fd/{each}") for each in descriptors}
        for node in sorted(nodes & {target for target in targets if target is not None}):
            name = files.text(f"proc/{process}/comm") or "a process"
            yield Hold(HoldKind.OPEN, f"is {node}, which {name} (pid {process}) has open")
