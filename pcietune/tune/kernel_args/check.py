"""Compare what files ask for, what the kernel was given, and what the registers hold.

A file that asks for something is not applied by that: its loader's tool must have run, the host
must have booted since, and the kernel must have taken it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pcietune.model.boot_loader import IntendedWord, LoaderName
from pcietune.model.kernel_release import KernelRelease
from pcietune.tune.audit.config_acs import Semantics, Words
from pcietune.tune.audit.judge_command_line import lint_words
from pcietune.tune.audit.lint import Lint
from pcietune.tune.kernel_args.advise import Advice
from pcietune.tune.kernel_args.command_line import is_cut_off, is_list, options_of, pci_options
from pcietune.tune.kernel_args.owed import OwedPort
from pcietune.tune.kernel_args.predict import predict
from pcietune.tune.vfio_use import ISOLATION

_BY_ITSELF = "the kernel by itself sets every port as wanted, and the registers are so"
_CHANGED = (
    "the kernel by itself sets every port as wanted where an IOMMU is on, but the registers are "
    "otherwise: none was on, or they were changed since boot: pcietune audit tells which"
)


class Stage(StrEnum):
    """Where the words must be, in order."""

    FILES = "files"
    COMMAND_LINE = "command line"
    REGISTERS = "registers"


@dataclass(frozen=True, slots=True)
class StageResult:
    """What one stage would leave, or has left, in the ports.

    Attributes:
        stage: Which.
        words: The words there that matter.
        places: Where they stand.
        lacking: Locations of the ports that it does not make as wanted.
    """

    stage: Stage
    words: tuple[str, ...]
    places: tuple[str, ...]
    lacking: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """All stages, and where it was lost.

    Attributes:
        stages: In order.
        verdict: What that means and what to do, in one sentence.
        loader: The boot loader whose files were taken; None if none asks for anything.
        lints: What misleads in its files, as the audit says it of the kernel command line.
    """

    stages: tuple[StageResult, ...]
    verdict: str
    loader: LoaderName | None
    lints: tuple[Lint, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every stage makes every port as wanted."""
        return not any(stage.lacking for stage in self.stages)


def check(
    advice: Advice, running: Sequence[str], intended: Mapping[LoaderName, Sequence[IntendedWord]]
) -> Check:
    """Compare the stages.

    Args:
        advice: What the ports owe, and what the kernel makes of words.
        running: The kernel command line of this boot.
        intended: What each boot loader's files ask for; the nearest one counts.
    """
    ports = [port.owed for port in advice.ports]
    semantics = advice.takes.semantics or Semantics.FIXED

    def asked_by(words: Sequence[str]) -> tuple[str, ...]:
        return tuple(p.port.location for p in ports if not _is_met(words, p, semantics))

    files = [
        (name, _of_files(words, asked_by([word.word for word in words])))
        for name, words in intended.items()
        if any(map(_matters, (word.word for word in words)))
    ]
    loader, of_files = min(
        files, key=lambda each: len(each[1].lacking), default=(None, _of_files((), asked_by(())))
    )
    stages = (
        of_files,
        StageResult(
            Stage.COMMAND_LINE,
            tuple(filter(_matters, running)),
            ("/proc/cmdline",),
            asked_by(running),
        ),
        StageResult(
            Stage.REGISTERS,
            (),
            (),
            tuple(p.port.location for p in ports if not p.is_met_by(p.control)),
        ),
    )
    lints = () if loader is None else _lints(intended[loader], advice.takes.kernel)
    return Check(stages, _verdict(stages), loader, lints)


def _lints(words: Sequence[IntendedWord], kernel: str) -> tuple[Lint, ...]:
    texts = [word.word for word in words]
    return tuple(lint_words(texts, pci_options(texts), KernelRelease.parse(kernel)))


def _of_files(words: Sequence[IntendedWord], lacking: tuple[str, ...]) -> StageResult:
    ours = [word for word in words if _matters(word.word)]
    places = tuple(dict.fromkeys(word.place for word in ours))
    return StageResult(Stage.FILES, tuple(word.word for word in ours), places, lacking)


def _is_met(words: Sequence[str], each: OwedPort, semantics: Semantics) -> bool:
    """Return whether these words alone make the port so, whatever stands in it before.

    What the kernel adds by itself counts; what firmware may set, which a flag spelled 0 clears and
    one spelled x does not, is tried both ways.
    """
    kernel = (ISOLATION & each.supported).value
    before = (Words(0, kernel), Words(each.control, each.control | kernel))
    return all(
        each.is_met_by(predict(words, each.port, each.supported, state, semantics))
        for state in before
    )


def _matters(word: str) -> bool:
    return any(is_list(option) or is_cut_off(option) for option in options_of(word))


def _verdict(stages: Sequence[StageResult]) -> str:
    files, line, registers = (bool(stage.lacking) for stage in stages)
    if not (files or line or stages[0].words or stages[1].words):
        return _CHANGED if registers else _BY_ITSELF
    if not (files or line or registers):
        return "the words are in the files, the kernel was given them, and the registers are so"
    if files and line:
        said = "no file asks for it and the kernel was not given it"
        if stages[0].words or stages[1].words:
            said = "what the files and the kernel command line say does not do it"
        return f"{said}: pcietune kernel-args --write"
    if line:
        return (
            "a file asks for it, but the kernel was not given it: run what the boot loader needs "
            "(update-grub, kernel-install ...), then reboot"
        )
    if files:
        return (
            "the kernel was given it, but no file asks for it: the next boot may not have it: "
            "pcietune kernel-args --write"
        )
    return (
        "the kernel was given it, but the registers are otherwise: it did not take it (dmesg says "
        "`Configured ACS to`), or they were changed since boot: pcietune audit tells which"
    )
