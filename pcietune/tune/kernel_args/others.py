"""Words beside ``pci=`` that a finding asks for."""

from collections.abc import Sequence
from dataclasses import dataclass

from pcietune.model.finding import State
from pcietune.model.profile import ModeName
from pcietune.tune.audit.audit import Audit
from pcietune.tune.audit.judge_iommu import ENABLED, PASSTHROUGH

_INTEL = 0x8086
_WORDS = {"intel_iommu=on": (ENABLED, ModeName.VM), "iommu=pt": (PASSTHROUGH, ModeName.BAREMETAL)}
"""By word: the finding that asks for it, and the duty in which it does."""
_OFF = ("iommu=off", "intel_iommu=off", "amd_iommu=off")


@dataclass(frozen=True, slots=True)
class Others:
    """Words that are needed, whatever a command line has.

    Attributes:
        missing: Those that a finding asks for now.
        lasting: Those that no finding would ask for once they are there, while the duty lasts.
        notes: What stands against them.
    """

    missing: tuple[str, ...]
    lasting: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def among(self, words: Sequence[str], before: Sequence[str]) -> tuple[str, ...]:
        """Return the words for a command line that has ``words``.

        Args:
            words: The command line, without what pcietune wrote.
            before: What pcietune wrote to it, or to whatever it is made of.
        """
        kept = [word for word in self.lasting if word in before and word not in words]
        return tuple(dict.fromkeys([*self.missing, *kept]))


def needed(audited: Audit, running: Sequence[str]) -> Others:
    """Return the words that findings of the host ask for.

    AMD's IOMMU and ARM's are on unless somebody turned them off, so no word turns them on.
    """
    failing = {f.id for f in audited.findings if f.state is State.FAIL}
    modes = {audited.mode, *audited.yardstick.group_modes.values()}
    roots = [f for f in audited.fabric.functions.values() if not f.ports and f.is_pci_bridge]
    intel = any(f.vendor == _INTEL for f in roots)
    lasting = tuple(
        word
        for word, (_, mode) in _WORDS.items()
        if mode in modes and (intel or not word.startswith("intel"))
    )
    missing = tuple(word for word in lasting if _WORDS[word][0] in failing and word not in running)
    off = [word for word in running if word in _OFF and ENABLED in failing and ModeName.VM in modes]
    notes = [f"{word} turns the IOMMU off, which VMs need: remove it" for word in off]
    names = {word.partition("=")[0] for word in missing}
    against = [w for w in running if w.partition("=")[0] in names and w not in missing]
    notes += [
        f"{word} stands against {', '.join(missing)}: remove it"
        for word in against
        if word not in off
    ]
    return Others(missing, lasting, tuple(dict.fromkeys(notes)))
