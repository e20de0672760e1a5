"""Where what a VM's function sends untranslated goes astray, though what it translates does not."""

from collections.abc import Iterable, Iterator

from pcietune.model.fabric import Fabric
from pcietune.model.packet import AddressSpace, PacketKind
from pcietune.model.route import ControlsOf, trace
from pcietune.model.trace import Outcome, Trace
from pcietune.tune.paths.flow import Flow


def stray(fabric: Fabric, flow: Flow, controls_of: ControlsOf) -> Trace | None:
    """Return the way of what a VM's function sends untranslated, if it is misrouted.

    With ATS on a function still sends untranslated what it has no translation for. None if that
    goes up to the IOMMU, or if the way of the flow itself shows where it goes.
    """
    sender = flow.sender
    if sender.address is not AddressSpace.GUEST or sender.translated is False:
        return None
    if flow.write.outcome is Outcome.MISROUTED:
        return None
    packet = sender.request(PacketKind.WRITE, translated=False)
    way = trace(fabric, sender.function, flow.completer, packet, controls_of)
    return way if way.outcome is Outcome.MISROUTED else None


def stray_notes(ways: Iterable[Trace]) -> Iterator[str]:
    """Yield what is to be said of stray ways, those of one reason together."""
    senders: dict[str, list[str]] = {}
    ports: dict[str, list[str]] = {}
    for way in ways:
        senders.setdefault(way.reason, []).append(str(way.source.address))
        ports.setdefault(way.reason, []).append(str((way.at or way.source).address))
    for reason, sources in senders.items():
        yield (
            f"what {_listed(sources)} sends untranslated, as all that its ATS has no answer for, "
            f"is MISROUTED at {_listed(ports[reason])}: {reason}; pcietune paths --isolation tells "
            "whom it reaches"
        )


def _listed(addresses: Iterable[str]) -> str:
    return ", ".join(sorted(set(addresses)))
