"""Judge the kernel command line: words that do not do what they seem to say about isolation."""

import re
from collections.abc import Iterator, Sequence

from pcietune.model.finding import (
    HOST,
    UNKNOWN,
    Finding,
    Remedy,
    RemedyKind,
    State,
    Value,
)
from pcietune.model.kernel_release import KernelRelease
from pcietune.model.platform import Platform
from pcietune.model.severity import Severity
from pcietune.registers.acs import LSPCI_NAMES, AcsControl
from pcietune.tune.audit.config_acs import Entry, Semantics, parse_config_acs, semantics_of
from pcietune.tune.audit.lint import Lint

ID = "kernel.cmdline"

_CONFIG_ACS = "config_acs="
_DISABLE_ACS_REDIR = "disable_acs_redir="
_LISTS = (_CONFIG_ACS, _DISABLE_ACS_REDIR)
_RARELY_SET = AcsControl.TRANSLATION_BLOCKING | AcsControl.P2P_EGRESS_CONTROL
_DEVICE = re.compile(
    r"(?:[01x]+@)?(?:(?:[\da-f]{1,8}:)?[\da-f]{2}:[01]?[\da-f]\.[0-7](?:/[01]?[\da-f]\.[0-7])*"
    r"|pci:[\da-f:]+)",
    re.IGNORECASE,
)
_WANTED = Value("words that do what they say")
_LINK = "https://docs.kernel.org/admin-guide/kernel-parameters.html"


def judge_command_line(
    platform: Platform, release: KernelRelease | None, more: Sequence[Lint] = ()
) -> list[Finding]:
    """Return a finding for each word that misleads, or the one that says there is none.

    Args:
        platform: Where the command line is.
        release: Of the kernel; None if not known.
        more: What else is wrong with it on this host.
    """
    if platform.cmdline is None:
        reason = "the kernel command line is not known"
        return [Finding(ID, HOST, Severity.INFO, State.ERROR, UNKNOWN, _WANTED, reason)]
    options = [option.strip('"') for option in platform.pci_options]
    lints = [*lint_words(platform.cmdline.split(), options, release), *more]
    if not lints:
        found = Value("no word that misleads")
        return [Finding(ID, HOST, Severity.WARNING, State.PASS, found, _WANTED, "")]
    return [
        Finding(
            ID,
            HOST,
            lint.severity,
            State.FAIL,
            Value(lint.token, lint.token),
            _WANTED,
            lint.reason,
            Remedy(RemedyKind.KERNEL_ARGS, lint.instead),
        )
        for lint in lints
    ]


def lint_words(
    words: Sequence[str], options: list[str], release: KernelRelease | None
) -> Iterator[Lint]:
    """Yield what is wrong with a command line, whatever the host.

    Args:
        words: The command line.
        options: What stands in its ``pci=`` words, in order.
        release: Of the kernel that gets it; None if not known.
    """
    yield from _about_pci(options)
    yield from _about_config_acs(options, release)
    yield from _about_iommus(words)
    yield from _about_vfio(words)


def _about_pci(options: list[str]) -> Iterator[Lint]:
    if "noacs" in options:
        yield Lint(
            "pci=noacs",
            Severity.WARNING,
            "the kernel has no such option: it changes nothing",
            "remove it; `pcietune kernel-args --mode baremetal` prints what turns redirection off",
        )
    if "noats" in options:
        yield Lint(
            "pci=noats",
            Severity.INFO,
            "the kernel turns no ATS on, and TransBlk at every port instead",
            "remove it where NICs go to VMs",
        )
    for name in _LISTS:
        words = [option for option in options if option.startswith(name)]
        for word in words[:-1]:
            yield Lint(
                f"pci={word}",
                Severity.WARNING,
                f"another {name} follows, and only the last one counts",
                f"write one {name} with every device in it, separated by ;: pcietune kernel-args "
                "merges them",
            )
    cut_off = [option for option in options if _DEVICE.fullmatch(option)]
    if cut_off:
        yield Lint(
            ",".join(cut_off),
            Severity.WARNING,
            "a comma ends the list of devices: what follows it is ignored",
            "separate the devices by ; and quote the word in GRUB's configuration",
        )


def _about_config_acs(options: list[str], release: KernelRelease | None) -> Iterator[Lint]:
    """Tell of the option that counts, by what this kernel makes of it."""
    semantics = semantics_of(release)
    broken = semantics is Semantics.BROKEN
    mended = ", unless its maker mended it" if release is not None and release.changed else ""
    for option in options:
        if option.startswith(_DISABLE_ACS_REDIR) and broken:
            yield Lint(
                f"pci={option}",
                Severity.WARNING,
                f"kernels 6.11 to 6.14 set all other bits of ACS Control by it{mended}: TransBlk "
                "and DirectTrans too",
                "use a kernel with commit 9cf8a952d57b: 6.12.23, 6.13.11, 6.14.2 or 6.15",
            )
    words = [option for option in options if option.startswith(_CONFIG_ACS)]
    if not words:
        return
    entries = parse_config_acs(words[-1].removeprefix(_CONFIG_ACS))
    for entry in entries:
        yield from _about_entry(entry, semantics)
    token = f"pci={words[-1]}"
    if semantics is Semantics.NO_CONFIG_ACS:
        yield Lint(
            token,
            Severity.WARNING,
            "the kernel knows this option since 6.11, unless its maker brought it to this one",
            "use kernel 6.11 or later; see dmesg for `Configured ACS`",
        )
    elif semantics is not Semantics.FIXED and not _is_the_same_for_all(entries):
        may = "may be one that takes" if semantics is None else f"takes{mended}"
        yield Lint(
            token,
            Severity.INFO if semantics is None else Severity.WARNING,
            f"this kernel {may} only the first entry, 0 for what firmware set, and x for what the "
            "kernel sets",
            "write one entry with all seven flags, or use 6.12.23, 6.13.11, 6.14.2 or 6.15",
        )


def _about_entry(entry: Entry, semantics: Semantics | None) -> Iterator[Lint]:
    if entry.device is None:
        yield Lint(
            entry.text,
            Severity.WARNING,
            "it names no device, so the kernel drops it",
            f"write {entry.text.rstrip('@')}@pci:0:0 for every device, or one device behind the @",
        )
    elif entry.mask is None:
        yield Lint(
            entry.text,
            Severity.WARNING,
            "its flags are no row of at most seven of 0, 1 and x, so the kernel drops it",
            f"the rightmost flag is SrcValid, the seventh DirectTrans: {_LINK}",
        )
    elif semantics is Semantics.FIXED and entry.left_to_firmware:
        left = ", ".join(LSPCI_NAMES[control] for control in entry.left_to_firmware)
        yield Lint(
            entry.text,
            Severity.INFO,
            f"x leaves {left} as firmware set it, and not as the kernel would",
            "spell those flags out",
        )


def _is_the_same_for_all(entries: list[Entry]) -> bool:
    """Return whether broken and fixed kernels do the same, but for what firmware never sets."""
    if len(entries) != 1:
        return False
    entry = entries[0]
    if entry.mask is None:
        return False
    cleared = AcsControl.decode(entry.mask & ~entry.flags)
    return not entry.left_to_firmware and not cleared & ~_RARELY_SET


def _about_iommus(words: Sequence[str]) -> Iterator[Lint]:
    named = [word for word in words if word.startswith(("intel_iommu=", "amd_iommu="))]
    off = [word for word in words if word == "iommu=off"]
    if {word.partition("=")[0] for word in named} == {"intel_iommu", "amd_iommu"}:
        yield Lint(
            " ".join(named),
            Severity.INFO,
            "a host has IOMMUs of one maker, so one of these changes nothing",
            "remove the other maker's",
        )
    elif off and named:
        yield Lint(
            " ".join([*off, *named]),
            Severity.WARNING,
            f"{off[0]} turns every IOMMU off, whatever the others say",
            f"remove {off[0]} where NICs go to VMs, or the others",
        )
    elif "amd_iommu=on" in named:
        yield Lint(
            "amd_iommu=on",
            Severity.INFO,
            "the kernel knows no such value and ignores it: AMD's IOMMU is on unless it is off",
            "remove it",
        )


def _about_vfio(words: Sequence[str]) -> Iterator[Lint]:
    for word in words:
        if word.replace("_", "-").startswith("vfio-pci.ids="):
            yield Lint(
                word,
                Severity.INFO,
                "vfio-pci takes every function with one of these ids as it loads, wanted or not: "
                "other cards have the same, and the same audio function",
                "bind by address, with driver_override",
            )
