"""Processes that have a device node of a function open."""

from collections.abc import Callable, Iterator, Mapping

from pcietune.errors import NotPermittedError
from pcietune.host.host_files import HostFiles
from pcietune.model.hold import Hold, HoldKind

_DEPTH = 4  # directories below a function's: sound/card0/controlC0, nvme/nvme0/nvme0n1/nvme0n1p1
_NVIDIA = "nvidia"
_NVIDIA_GPUS = "proc/driver/nvidia/gpus"  # what sysfs does not tell of its device nodes
_MINOR = "Device Minor"
_DEVICES = "/dev/"
_ANY = ""


def open_nodes(files: HostFiles) -> dict[str, tuple[Hold, ...]]:
    """Return who has which device node open, by the node's path; costs a look at every process.

    They are found by where the links in /proc/PID/fd lead. A process whose links may not be read
    counts for every node: it stands under the empty path.
    """
    found: dict[str, tuple[Hold, ...]] = {}
    for process in filter(str.isdecimal, files.names("proc")):
        try:
            descriptors = files.names(f"proc/{process}/fd")
        except NotPermittedError:
            text = f"may be open in process {process}: that is not readable"
            found[_ANY] = (*found.get(_ANY, ()), Hold(HoldKind.NOT_KNOWN, text))
            continue
        targets = {files.link(f"proc/{process}/fd/{each}") or "" for each in descriptors}
        for node in sorted(target for target in targets if target.startswith(_DEVICES)):
            name = files.text(f"proc/{process}/comm") or "a process"
            hold = Hold(HoldKind.OPEN, f"is {node}, which {name} (pid {process}) has open")
            found[node] = (*found.get(node, ()), hold)
    return found


def open_devices(
    files: HostFiles, directory: str, nodes: Callable[[], Mapping[str, tuple[Hold, ...]]]
) -> Iterator[Hold]:
    """Yield who has a device node of the function open whose directory this is.

    Its nodes are those that the kernel names below it. ``nodes`` is asked only if it has any.
    """
    own = set(_nodes(files, directory, _DEPTH))
    if files.link_name(f"{directory}/driver") == _NVIDIA:
        minor = _nvidia_minor(files, directory.rpartition("/")[2])
        if minor is None:
            yield Hold(HoldKind.NOT_KNOWN, "has a device node of nvidia's that cannot be found out")
        else:
            own.add(f"{_DEVICES}nvidia{minor}")
    if own:
        known = nodes()
        for node in (_ANY, *sorted(own)):
            yield from known.get(node, ())


def _nodes(files: HostFiles, directory: str, depth: int) -> Iterator[str]:
    """Yield the device nodes that the kernel has made below a directory of sysfs."""
    for name in files.names(directory):
        path = f"{directory}/{name}"
        if files.link(path) is not None or not files.is_directory(path):
            continue
        text = files.text(f"{path}/uevent") or ""
        facts = dict(line.partition("=")[::2] for line in text.splitlines())
        if "DEVNAME" in facts:
            yield f"{_DEVICES}{facts['DEVNAME'].removeprefix(_DEVICES)}"
        if depth:
            yield from _nodes(files, path, depth - 1)


def _nvidia_minor(files: HostFiles, address: str) -> str | None:
    for line in (files.text(f"{_NVIDIA_GPUS}/{address}/information") or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == _MINOR and value.strip().isdecimal():
            return value.strip()
    return None
