"""One of the two hosts: all that is compared of it, read once, so that it can be closed."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.errors import ConfigSpaceError, PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.function import FunctionState, PciFunction
from pcietune.model.platform import Platform
from pcietune.tune.diff.fact import Fact
from pcietune.tune.diff.function_facts import FunctionReader
from pcietune.tune.paths.view import PathsView


@dataclass(frozen=True, slots=True)
class Known:
    """One function, and what there is to compare of it.

    Attributes:
        function: The function.
        state: What sysfs says of it; None if it vanished.
        facts: Those of its own.
    """

    function: PciFunction
    state: FunctionState | None
    facts: tuple[Fact, ...]

    @property
    def physical_function(self) -> PciAddress | None:
        """Of a VF its PF."""
        return None if self.state is None else self.state.physical_function


@dataclass(frozen=True, slots=True)
class Side:
    """One host.

    Attributes:
        functions: By address, in their order.
        platform: What the host is apart from them.
        complete: Whether what is absent is absent on the host; of a dump it is not known.
        paths: The routes of its pairs; None where they are not asked for.
        problems: What kept something from being read.
    """

    functions: Mapping[PciAddress, Known]
    platform: Platform
    complete: bool
    paths: PathsView | None
    problems: tuple[PcietuneError, ...]


def read_side(host: HostAccess, fabric: Fabric, paths: PathsView | None, *, complete: bool) -> Side:
    """Return all that is compared of a host.

    Args:
        host: Live or recorded.
        fabric: Its functions, with port types for all bridges.
        paths: Its pairs, if they are to be compared.
        complete: As of ``Side``.
    """
    reader = FunctionReader(host, fabric)
    known = {}
    for address, function in fabric.functions.items():
        state: FunctionState | None = None
        with suppress(ConfigSpaceError):  # it vanished: its registers say so
            state = host.state(function)
        known[address] = Known(function, state, reader.facts(function, state))
    problems = dict(reader.problems)
    if paths is not None:
        problems |= {str(problem): problem for problem in paths.problems}
    return Side(known, host.platform(), complete, paths, tuple(problems.values()))
