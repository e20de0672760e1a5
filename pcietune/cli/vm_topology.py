"""Reads the topology file that NCCL has in a VM."""

from pathlib import Path

from pcietune.errors import BadInputError
from pcietune.guest.check.topology_file import TopologyFile
from pcietune.host.host_files import HostFiles
from pcietune.host.text_file import read_text
from pcietune.host.topology_file import named_topology_file

_HINT = "pcietune guest nccl PLAN >FILE writes one"


def read_topology(files: HostFiles, given: Path | None) -> TopologyFile | None:
    """Return the file that the command line names, else that which NCCL finds; None if none.

    Raises:
        BadInputError: The file of the command line cannot be read.
        NotPermittedError: The kernel keeps it from this user.
    """
    if given is not None:
        return TopologyFile(str(given), "--topology", read_text(given, hint=_HINT))
    named = named_topology_file(files)
    if named is None:
        return None
    path, named_by = named
    try:
        return TopologyFile(path, named_by, read_text(Path(path), hint=_HINT))
    except BadInputError as error:
        return TopologyFile(path, named_by, None, str(error).removeprefix(f"{path}: "))
