"""The kernel command line that makes a profile hold from enumeration on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pcietune.errors import BadInputError, PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.function import PciFunction
from pcietune.tune.audit.acs_words import CONFIG_ACS
from pcietune.tune.audit.audit import Audit
from pcietune.tune.audit.config_acs import Semantics, Words, parse_config_acs
from pcietune.tune.audit.named_device import means
from pcietune.tune.kernel_args.choose import Choice, Situation, choose_entries, choose_list
from pcietune.tune.kernel_args.command_line import LONGEST, pci_options, split
from pcietune.tune.kernel_args.merge import IsOurs, Merged, Ours, merge
from pcietune.tune.kernel_args.others import needed
from pcietune.tune.kernel_args.owed import OwedPort, owed
from pcietune.tune.kernel_args.predict import predict
from pcietune.tune.kernel_args.takes import Takes
from pcietune.tune.port_acs import find_acs
from pcietune.tune.vfio_use import ISOLATION

Merge = Callable[[Sequence[str], Sequence[str]], Merged]
"""Merges pcietune's words into a command line; takes it, and what of pcietune's was in it."""


@dataclass(frozen=True, slots=True)
class PredictedPort:
    """A port and what the command line makes of it.

    Attributes:
        owed: The port, and what it owes.
        control: ACS Control after a boot with the command line.
    """

    owed: OwedPort
    control: int

    @property
    def as_wanted(self) -> bool:
        """Whether the profile wants it so."""
        return self.owed.is_met_by(self.control)


@dataclass(frozen=True, slots=True)
class Advice:
    """What is to stand on the command line.

    Attributes:
        takes: What the kernel makes of it.
        merged: The command line of this boot with pcietune's words.
        merge: Does the same with another one.
        words: Those of pcietune's words that a command line without them needs.
        ports: What becomes of each port.
        why_not: Why the profile cannot be had so, and what then; empty if it can.
        notes: What else to know.
    """

    takes: Takes
    merged: Merged
    merge: Merge
    words: tuple[str, ...]
    ports: tuple[PredictedPort, ...]
    why_not: str
    notes: tuple[str, ...]

    @property
    def length(self) -> int:
        """Of the merged command line, in bytes."""
        return _length(self.merged)


def advise(host: HostAccess, audited: Audit, takes: Takes) -> Advice:
    """Return what is to stand on the kernel command line of an audited host.

    Raises:
        ConfigSpaceError: A port that owes something could not be read.
        BadInputError: The command line would be longer than the kernel keeps, or is not known.
    """
    debts = owed(audited.bits)
    running = _running(host)
    is_ours = _is_ours(host, debts.ports)
    others = needed(audited, running)
    semantics = takes.semantics or Semantics.FIXED

    def merged_with(choice: Choice) -> Merge:
        def merge_both(words: Sequence[str], before: Sequence[str]) -> Merged:
            ours = replace(choice.ours, others=others.among(words, before))
            return merge(words, ours, is_ours)

        return merge_both

    def predicted(merged: Merged) -> tuple[PredictedPort, ...]:
        return tuple(
            PredictedPort(each, _predicted(merged.words, each, semantics)) for each in debts.ports
        )

    situation = Situation(
        debts.ports,
        host.functions(),
        partial(_has_acs, host),
        takes.semantics,
        _has_foreign(running, is_ours),
    )
    choice, merged = _first_that_does(
        situation, running, lambda each: merged_with(each)(running, running), predicted
    )
    return Advice(
        takes=takes,
        merged=merged,
        merge=merged_with(choice),
        words=() if choice.why_not else merged_with(choice)((), running).words,
        ports=predicted(merged),
        why_not=choice.why_not,
        notes=(*debts.left_out, *others.notes, *filter(None, [choice.doubt])),
    )


def _first_that_does(
    situation: Situation,
    running: tuple[str, ...],
    merged: Callable[[Choice], Merged],
    predicted: Callable[[Merged], Sequence[PredictedPort]],
) -> tuple[Choice, Merged]:
    """Return the choice that does it and is short enough, and the command line with it.

    A list is tried first, as every kernel knows it; the site's own ``config_acs`` may outdo it.
    Then entries for the ports that the kernel by itself would not set as wanted: what an entry
    names gets nothing else from the kernel, now or in later releases.

    Raises:
        BadInputError: None is short enough.
    """
    if not situation.ports:
        nothing = Choice(Ours())
        return nothing, merged(nothing)
    if situation.may_be_listed:
        listed = choose_list(situation)
        line = merged(listed)
        if _length(line) <= LONGEST and all(port.as_wanted for port in predicted(line)):
            return listed, line
    fewest = [each for each in situation.ports if not each.is_left_to_the_kernel]
    choice = _entries(situation, fewest, merged)
    line = Merged(running) if choice.why_not else merged(choice)
    if not choice.why_not and not all(port.as_wanted for port in predicted(line)):
        # Some word of the site means ports that the kernel alone would set as wanted.
        choice = _entries(situation, situation.ports, merged)
        line = Merged(running) if choice.why_not else merged(choice)
    if not choice.why_not:
        _check_length(line, len(choice.ours.config_acs))
    return choice, line


def _entries(
    situation: Situation, named: Sequence[OwedPort], merged: Callable[[Choice], Merged]
) -> Choice:
    """Return entries for these ports, by id where paths would be too long."""
    choice = choose_entries(situation, named)
    if choice.why_not or _length(merged(choice)) <= LONGEST:
        return choice
    short = choose_entries(situation, named, short=True)
    return min(choice, short, key=lambda each: _length(merged(each)))


def _predicted(words: Sequence[str], each: OwedPort, semantics: Semantics) -> int:
    """Return the word after a boot; what firmware sets is taken for what is there now."""
    kernel = each.control | (ISOLATION & each.supported).value
    return predict(words, each.port, each.supported, Words(each.control, kernel), semantics)


def _running(host: HostAccess) -> tuple[str, ...]:
    cmdline = host.platform().cmdline
    if cmdline is None:
        raise BadInputError(
            "the kernel command line is not known, so nothing can be merged with it",
            hint="is /proc mounted? of a dump, add its text: --from cmdline.txt",
        )
    return split(cmdline)


def _is_ours(host: HostAccess, ports: Sequence[OwedPort]) -> IsOurs:
    """Return what tells whether a device means nothing but ports that owe something."""
    addresses = {each.port.address for each in ports}

    def is_ours(device: str) -> bool:
        meant = [f for f in host.functions() if means(device, f)]
        acting = [f for f in meant if f.address in addresses or _has_acs(host, f)]
        return bool(acting) and all(f.address in addresses for f in acting)

    return is_ours


def _has_foreign(words: Sequence[str], is_ours: IsOurs) -> bool:
    """Return whether the entries of ``config_acs`` that count mean other ports as well."""
    values = [o.removeprefix(CONFIG_ACS) for o in pci_options(words) if o.startswith(CONFIG_ACS)]
    entries = parse_config_acs(values[-1]) if values else []
    return any(entry.device is None or not is_ours(entry.device) for entry in entries)


def _has_acs(host: HostAccess, function: PciFunction) -> bool:
    """Return whether a function has ACS; what cannot be read may have it."""
    try:
        return find_acs(host, function) is not None
    except PcietuneError:
        return True


def _length(merged: Merged) -> int:
    return len(merged.text.encode())


def _check_length(merged: Merged, entries: int) -> None:
    if _length(merged) > LONGEST:
        raise BadInputError(
            f"the kernel command line would have {_length(merged)} bytes, and the kernel keeps "
            f"{LONGEST}: {entries} entries are too many, though ports are named by id where "
            "that is exact",
            hint="take other words out of it, or leave it to `pcietune apply` at each boot",
        )
