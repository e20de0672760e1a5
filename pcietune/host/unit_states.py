"""What is enabled of pcietune's systemd units, from files alone: systemd is not asked."""

from collections.abc import Iterator

from pcietune.host.host_files import HostFiles
from pcietune.model.standing import UnitState

# systemd.unit(5), in the order in which one hides the next: /run has what systemctl --runtime does
_PLACES = (
    "etc/systemd/system",
    "run/systemd/system",
    "usr/local/lib/systemd/system",
    "usr/lib/systemd/system",
    "lib/systemd/system",
)
_UNITS = ("pcietune-apply.service", "pcietune-audit.timer", "pcietune-watch.service")
_TEMPLATE = "pcietune-vfio@"
_WANTS = (".wants", ".requires")


def read_unit_states(files: HostFiles) -> dict[str, UnitState]:
    """Return the state of each unit that an owner enables; of the template, enabled instances.

    Raises:
        NotPermittedError: This user may not look there.
    """
    wanted = set(_wanted(files))
    states = {unit: _state(files, unit, wanted) for unit in _UNITS}
    instances = sorted(name for name in wanted if name.startswith(_TEMPLATE))
    return states | {name: _state(files, name, wanted) for name in instances}


def _wanted(files: HostFiles) -> Iterator[str]:
    """Yield the names of all units that others pull in, as ``systemctl enable`` has them."""
    for place in _PLACES:
        for directory in files.names(place):
            if directory.endswith(_WANTS):
                yield from files.names(f"{place}/{directory}")


def _state(files: HostFiles, unit: str, wanted: set[str]) -> UnitState:
    head, at, tail = unit.partition("@")
    template = f"{head}@.{tail.rpartition('.')[2]}" if at else unit
    named = (f"{place}/{name}" for name in dict.fromkeys((unit, template)) for place in _PLACES)
    first = next((path for path in named if files.exists(path)), None)
    if first is None:
        return UnitState.NOT_INSTALLED
    if files.link(first) == "/dev/null":
        return UnitState.MASKED
    return UnitState.ENABLED if unit in wanted else UnitState.NOT_ENABLED
