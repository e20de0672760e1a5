"""NVSwitches around a VM's life, and partitions, as lines for people."""

from collections.abc import Iterable, Iterator

from pcietune.guest.kinds import NvSwitchModel
from pcietune.guest.nvswitch.fabric_manager import CONFIG_FILE
from pcietune.guest.nvswitch.handling import Handling
from pcietune.guest.nvswitch.listing import Listing, Row, State
from pcietune.guest.nvswitch.notes import Note
from pcietune.guest.nvswitch.service_vm import ServiceVm
from pcietune.guest.nvswitch.step import Step

_MODELS = {
    NvSwitchModel.FULL: "the VM has NVSwitches itself, and Fabric Manager runs in it",
    NvSwitchModel.SHARED: "a service VM has the NVSwitches, and Fabric Manager runs in it",
    NvSwitchModel.HOST: "the host has the NVSwitches, and Fabric Manager runs on it",
}


def handling_lines(handling: Handling) -> Iterator[str]:
    """Yield what is to be done around a VM's life."""
    count = len(handling.gpus)
    yield f"{handling.vm}: {count} GPU{'' if count == 1 else 's'} of {handling.board.title}"
    yield f"  model {handling.model}: {_MODELS[handling.model]}"
    for gpu in handling.gpus:
        module = "not known" if gpu.module is None else str(gpu.module)
        yield f"  {gpu.name}  {gpu.address}  module {module}"
    if handling.partition is not None:
        yield f"  {handling.partition}, {handling.partition.links} NVLinks for each GPU"
    elif handling.model is not NvSwitchModel.FULL:
        yield "  its partition is not known"
    if handling.config:
        yield from ("", f"{CONFIG_FILE}, where Fabric Manager runs")
        yield from (f"  {line}" for line in handling.config)
    yield from _service_lines(handling.service)
    yield from _steps("At the VM's start", handling.before)
    yield from _steps("At its end", handling.after)
    yield from _steps("If Fabric Manager ended while VMs run", handling.restart)
    if handling.notes:
        yield ""
    yield from _notes(handling.notes)


def listing_lines(listing: Listing) -> Iterator[str]:
    """Yield a board's partitions, and what each can be used for now."""
    yield f"{listing.board.title} ({listing.board.name})"
    yield f"  {'id':>2}  {'links':>5}  {'state':<16}  modules"
    yield from (_row(row) for row in listing.rows)
    if listing.service is not None:
        yield from ("", "GPUs by module")
        yield from (
            f"  {module:2}  {address}" for module, address in sorted(listing.addresses.items())
        )
        if len(listing.addresses) < listing.board.gpus:
            left = listing.board.gpus - len(listing.addresses)
            yield (
                f"  not known of {left}: no address tells it, but NVIDIA's own driver while it has"
                " the GPUs (pcietune record --nvidia), or --modules FILE"
            )
        yield from _service_lines(listing.service)
    yield ""
    yield from _notes(listing.notes)


def _row(row: Row) -> str:
    partition = row.partition
    state = str(row.state)
    if row.state is State.TAKEN:
        state = f"{state} by {', '.join(map(str, row.by))}"
    modules = " ".join(map(str, sorted(partition.modules)))
    return f"  {partition.number:2}  {partition.links:5}  {state:<16}  {modules}"


def _service_lines(service: ServiceVm | None) -> Iterator[str]:
    if service is None:
        return
    yield from ("", "A service VM is given by VFIO")
    yield from (f"  {address}" for address in service.always)
    yield from (
        f"  {address}, until Fabric Manager has begun (inference)" for address in service.at_start
    )
    yield from (f"  {line}" for line in _notes(service.notes))


def _steps(title: str, steps: Iterable[Step]) -> Iterator[str]:
    for number, step in enumerate(steps, start=1):
        if number == 1:
            yield from ("", title)
        mark = "inference: " if step.inference else ""
        yield f"  {number}. {step.where}: {mark}{step.text}"
        yield from (f"       {command}" for command in step.commands)


def _notes(notes: Iterable[Note]) -> Iterator[str]:
    yield from (f"note  {note}" for note in notes)
