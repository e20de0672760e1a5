"""Lints about the devices that ``config_acs=`` and ``disable_acs_redir=`` name on this host."""

from collections.abc import Iterator, Mapping, Sequence

from pcietune.model.access import HostAccess
from pcietune.model.function import PciFunction
from pcietune.model.profile import ModeName
from pcietune.model.severity import Severity
from pcietune.tune.audit.acs_words import CONFIG_ACS, DISABLE_ACS_REDIR
from pcietune.tune.audit.config_acs import parse_devices
from pcietune.tune.audit.lint import Lint
from pcietune.tune.audit.named_device import is_device, means

Peers = Mapping[ModeName, Sequence[PciFunction]]
"""The GPUs and NICs of each duty that some of the host has."""


def lint_devices(host: HostAccess, options: Sequence[str], peers: Peers) -> Iterator[Lint]:
    """Yield what is wrong with the devices of the words that count.

    Args:
        host: Where they are looked for.
        options: What stands in the ``pci=`` words, in order.
        peers: Where they would matter; nothing is said if that is not known.
    """
    if not any(peers.values()):
        return
    above = {
        mode: {port for peer in functions for port in peer.ports}
        for mode, functions in peers.items()
    }
    for name in (CONFIG_ACS, DISABLE_ACS_REDIR):
        for device in _devices(options, name):
            meant = [f for f in host.functions() if means(device, f)]
            if not meant:
                yield _absent(device)
            elif not any(f.address in ports for f in meant for ports in above.values()):
                yield _elsewhere(device)
            elif name == DISABLE_ACS_REDIR:
                opened = [f for f in meant if f.address in above.get(ModeName.VM, ())]
                if opened:
                    yield _opens(device, opened)


def _devices(options: Sequence[str], name: str) -> list[str]:
    """Return the devices of the option that counts, each once; of those that a comma cut off, too.

    What follows a comma is told as cut off already, but may be nowhere as well.
    """
    values = [option.removeprefix(name) for option in options if option.startswith(name)]
    texts = parse_devices(values[-1]) if values else []
    if name == DISABLE_ACS_REDIR and values:
        texts += [option for option in options if is_device(option)]
    devices = (text.rpartition("@")[2] for text in texts)
    return list(dict.fromkeys(device for device in devices if is_device(device)))


def _absent(device: str) -> Lint:
    return Lint(
        device,
        Severity.WARNING,
        "no function of this host is meant by it: bus numbers change, paths from the root port "
        "do not",
        "write the location that `pcietune topo` shows, or run `pcietune kernel-args`",
    )


def _elsewhere(device: str) -> Lint:
    return Lint(
        device,
        Severity.INFO,
        "no GPU and no NIC of this profile is below it, so it does nothing for them",
        "remove it, unless something else needs it",
    )


def _opens(device: str, ports: Sequence[PciFunction]) -> Lint:
    named = ", ".join(str(port.address) for port in ports)
    return Lint(
        f"{DISABLE_ACS_REDIR}{device}",
        Severity.WARNING,
        f"it turns off what keeps VMs apart at {named}: dmesg gives this advice for peer-to-peer "
        "(drivers/pci/p2pdma.c), and it is for bare metal",
        "take it out; `pcietune kernel-args --mode vm` prints what is direct and isolated",
    )
