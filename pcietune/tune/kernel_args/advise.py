"""The kernel command line that makes a profile hold from enumeration on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pcietune.errors import BadInputError, PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.function import PciFunction
from pcietune.tune.audit.audit import Audit
from pcietune.tune.audit.config_acs import Semantics, Words
from pcietune.tune.audit.named_device import means
from pcietune.tune.kernel_args.choose import Choice, Situation, choose_entries, choose_list
from pcietune.tune.kernel_args.command_line import LONGEST, split
from pcietune.tune.kernel_args.merge import IsOurs, Merged, merge
from pcietune.tune.kernel_args.named import has_foreign, to_be_named
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
        merge: Does the same with another one, by what that one has; errors as ``advise``, and a
            BadInputError where the profile cannot be had so.
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

    def predicted(merged: Merged) -> tuple[PredictedPort, ...]:
        return tuple(
            PredictedPort(each, _predicted(merged.words, each, semantics)) for each in debts.ports
        )

    def merged_with(choice: Choice, words: Sequence[str], before: Sequence[str]) -> Merged:
        ours = replace(choice.ours, others=others.among(words, before))
        return merge(words, ours, is_ours)

    def best(words: Sequence[str], before: Sequence[str]) -> tuple[Choice, Merged]:
        situation = Situation(
            debts.ports,
            to_be_named(debts.ports, running, words, is_ours),
            host.functions(),
            partial(_has_acs, host),
            takes.semantics,
            has_foreign(words, is_ours),
        )
        return _first_that_does(
            situation, words, lambda choice: merged_with(choice, words, before), predicted
        )

    def merge_into(words: Sequence[str], before: Sequence[str]) -> Merged:
        choice, merged = best(words, before)
        if choice.why_not:
            raise BadInputError(f"nothing is written: {choice.why_not}")
        return merged

    choice, merged = best(running, running)
    return Advice(
        takes=takes,
        merged=merged,
        merge=merge_into,
        words=() if choice.why_not else merged_with(choice, (), running).words,
        ports=predicted(merged),
        why_not=choice.why_not,
        notes=(*debts.left_out, *others.notes, *filter(None, [choice.doubt])),
    )


def _first_that_does(
    situation: Situation,
    words: Sequence[str],
    merged: Callable[[Choice], Merged],
    predicted: Callable[[Merged], Sequence[PredictedPort]],
) -> tuple[Choice, Merged]:
    """Return the choice that does it and is short enough, and the command line with it.

    A list is tried first, as every kernel knows it; the site's own ``config_acs`` may outdo it.

    Raises:
        BadInputError: None is short enough.
    """
    if situation.ports and situation.may_be_listed:
        listed = choose_list(situation)
        line = merged(listed)
        if _length(line) <= LONGEST and all(port.as_wanted for port in predicted(line)):
            return listed, line
    choice = choose_entries(situation)
    if choice.why_not:
        return choice, Merged(tuple(words))
    line = merged(choice)
    if _length(line) > LONGEST:
        short = choose_entries(situation, short=True)
        choice, line = min(
            (choice, line), (short, merged(short)), key=lambda each: _length(each[1])
        )
    if line.added:
        _check_length(line, len(choice.ours.config_acs))
    return choice, line


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
            "that is exact"
            if entries
            else f"{LONGEST}: {' '.join(merged.added)} finds no room",
            hint="take other words out of it, or leave it to `pcietune apply` at each boot",
        )
