"""NVSwitches around a VM's life, and partitions, as JSON documents; docs/json.md has each key."""

from collections.abc import Iterable

import msgspec

from pcietune.guest.nvswitch.handling import Handling
from pcietune.guest.nvswitch.listing import Listing
from pcietune.guest.nvswitch.notes import Note
from pcietune.guest.nvswitch.partition import Partition
from pcietune.guest.nvswitch.service_vm import ServiceVm
from pcietune.guest.nvswitch.step import Step

_SCHEMA = 1


class PartitionDocument(msgspec.Struct, kw_only=True, frozen=True):
    """A partition."""

    id: int
    modules: list[int]
    links: int


class ListedDocument(PartitionDocument, kw_only=True, frozen=True):
    """A partition, and what it can be used for now."""

    state: str
    taken_by: list[int]


class NoteDocument(msgspec.Struct, kw_only=True, frozen=True):
    """What else to know."""

    text: str
    inference: bool


class StepDocument(msgspec.Struct, kw_only=True, frozen=True):
    """One step."""

    where: str
    text: str
    commands: list[str]
    inference: bool


class ServiceDocument(msgspec.Struct, kw_only=True, frozen=True):
    """What a service VM is given by VFIO."""

    always: list[str]
    at_start: list[str]
    notes: list[NoteDocument]


class GpuDocument(msgspec.Struct, kw_only=True, frozen=True):
    """A GPU of the VM; ``module`` is null if not known."""

    name: str
    address: str
    module: int | None


class HandlingDocument(msgspec.Struct, kw_only=True, frozen=True):
    """NVSwitches around a VM's life; ``deactivate_first`` is null if not known."""

    schema: int
    vm: str
    board: str
    model: str
    gpus: list[GpuDocument]
    partition: PartitionDocument | None
    deactivate_first: list[PartitionDocument] | None
    service_vm: ServiceDocument | None
    config: list[str]
    before: list[StepDocument]
    after: list[StepDocument]
    restart: list[StepDocument]
    notes: list[NoteDocument]


class ModuleDocument(msgspec.Struct, kw_only=True, frozen=True):
    """Where the GPU of a module is; ``address`` is null if not known."""

    module: int
    address: str | None


class ListingDocument(msgspec.Struct, kw_only=True, frozen=True):
    """A board's partitions."""

    schema: int
    board: str
    title: str
    partitions: list[ListedDocument]
    modules: list[ModuleDocument]
    service_vm: ServiceDocument | None
    notes: list[NoteDocument]


def handling_document(handling: Handling) -> HandlingDocument:
    """Return what is to be done around a VM's life as a document."""
    partition = handling.partition
    return HandlingDocument(
        schema=_SCHEMA,
        vm=handling.vm,
        board=handling.board.name,
        model=handling.model,
        gpus=[
            GpuDocument(name=gpu.name, address=gpu.address, module=gpu.module)
            for gpu in handling.gpus
        ],
        partition=None if partition is None else _partition(partition),
        deactivate_first=None
        if handling.in_the_way is None
        else [_partition(each) for each in handling.in_the_way],
        service_vm=_service(handling.service),
        config=list(handling.config),
        before=_steps(handling.before),
        after=_steps(handling.after),
        restart=_steps(handling.restart),
        notes=_notes(handling.notes),
    )


def listing_document(listing: Listing) -> ListingDocument:
    """Return a board's partitions as a document."""
    return ListingDocument(
        schema=_SCHEMA,
        board=listing.board.name,
        title=listing.board.title,
        partitions=[
            ListedDocument(
                id=row.partition.number,
                modules=sorted(row.partition.modules),
                links=row.partition.links,
                state=row.state,
                taken_by=list(row.by),
            )
            for row in listing.rows
        ],
        modules=[
            ModuleDocument(module=module, address=listing.addresses.get(module))
            for module in sorted(listing.board.modules)
        ],
        service_vm=_service(listing.service),
        notes=_notes(listing.notes),
    )


def _partition(partition: Partition) -> PartitionDocument:
    return PartitionDocument(
        id=partition.number, modules=sorted(partition.modules), links=partition.links
    )


def _service(service: ServiceVm | None) -> ServiceDocument | None:
    if service is None:
        return None
    return ServiceDocument(
        always=list(service.always), at_start=list(service.at_start), notes=_notes(service.notes)
    )


def _steps(steps: Iterable[Step]) -> list[StepDocument]:
    return [
        StepDocument(
            where=step.where,
            text=step.text,
            commands=list(step.commands),
            inference=step.inference,
        )
        for step in steps
    ]


def _notes(notes: Iterable[Note]) -> list[NoteDocument]:
    return [NoteDocument(text=note.text, inference=note.inference) for note in notes]
