"""One look at what the host's software has: what many functions are judged by is read once."""

from collections.abc import Mapping
from functools import cache, partial

from pcietune.host.host_files import HostFiles
from pcietune.host.uses.disks import read_disks
from pcietune.host.uses.netlink import Dump, dump
from pcietune.host.uses.open_devices import open_nodes
from pcietune.host.uses.sysfs_path import behind


class Look:
    """What was seen so far; a host of 2,000 virtual functions has as many of all that is listed.

    Attributes:
        files: The host's files.
        ask: What the kernel tells by netlink.
        nodes: Who has which device node open, as ``open_nodes`` returns it.
        disks: What is on block devices, as ``read_disks`` returns it.
        links: Where each link in a directory leads, by its name; None for what is no link.
    """

    def __init__(self, files: HostFiles, ask: Dump = dump) -> None:
        self.files = files
        self.ask = cache(ask)
        self.nodes = cache(partial(open_nodes, files))
        self.disks = cache(partial(read_disks, files))
        self.links = cache(self._links)

    def below(self, links: str, directory: str) -> list[str]:
        """Return the names of the links in a directory that lead below another one."""
        found = self.links(links).items()
        return [
            name for name, path in found if path is not None and path.startswith(f"{directory}/")
        ]

    def _links(self, directory: str) -> Mapping[str, str | None]:
        names = self.files.names(directory)
        return {name: behind(self.files, f"{directory}/{name}") for name in names}
