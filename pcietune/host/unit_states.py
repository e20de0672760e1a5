"""What is enabled of pcietune's systemd units, from files alone: systemd is not asked."""

from collections.abc import Iterator

from pcietune.host.host_files import HostFiles
from pcietune.model.standing import UnitState

_OWNERS = "etc/systemd/system"
# systemd.unit(5), what an administrator or a package puts there
_PLACES = (
    _OWNERS,
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
    """Yield the names of all units that ``systemctl enable`` has others pull in."""
    for directory in files.names(_OWNERS):
        if directory.endswith(_WANTS):
            yield from files.names(f"{_OWNERS}/{directory}")


def _state(files: HostFiles, unit: str, wanted: set[str]) -> UnitState:
    if files.link(f"{_OWNERS}/{unit}") == "/dev/null":
        return UnitState.MASKED
    head, at, tail = unit.partition("@")
    file = f"{head}@.{tail.rpartition('.')[2]}" if at else unit
    if not any(files.exists(f"{place}/{file}") for place in _PLACES):
        return UnitState.NOT_INSTALLED
    return UnitState.ENABLED if unit in wanted else UnitState.NOT_ENABLED
