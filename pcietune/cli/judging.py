"""What audit, plan, apply and status begin with: which host, which profile, how it is judged."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from pcietune.cli.remembering import trials_of
from pcietune.errors import (
    BadInputError,
    ConfigSpaceError,
    NotPermittedError,
    PcietuneError,
    SwitchedOffError,
)
from pcietune.host.kernel_log import read_kernel_log
from pcietune.host.off_switch import why_switched_off
from pcietune.host.owners.read_owners import owners_of
from pcietune.host.profiles.store import Profiles, shipped_profiles
from pcietune.host.run.boot_guard import read_boot_guard
from pcietune.host.run.keep_policy import read_stamps
from pcietune.host.run.undo_log import read_undo_record
from pcietune.host.settings_file import load_settings
from pcietune.host.sysfs import SysfsHost
from pcietune.host.trust import check_profile_trusted, check_tree_trusted
from pcietune.model.ats_proof import NO_TRIALS, AtsTrials
from pcietune.model.fabric import Fabric
from pcietune.model.profile import ModeName, Profile
from pcietune.model.selection import EVERYTHING, Selection
from pcietune.model.settings import Settings
from pcietune.model.undo import UndoRecord
from pcietune.model.yardstick import Yardstick
from pcietune.report.outcome import Outcome
from pcietune.tune.audit.audit import Audit, audit
from pcietune.tune.audit.memory import Memory
from pcietune.tune.change.channels import channels
from pcietune.tune.match.choose import find_profile, insist
from pcietune.tune.match.survey import concerned, survey

_SETTINGS = "etc/pcietune"


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asked for.

    Attributes:
        profile: ``--profile``; None to match the host.
        mode: ``--mode``; None for the setting.
        writes: Whether something is to be written, so that what is believed must be trustworthy.
        selection: Which findings are asked for.
        while_in_use: Whether to write above functions that VFIO has in use.
        force_ats: Whether to write ATS Enable where the profile says so.
    """

    profile: str | None = None
    mode: ModeName | None = None
    writes: bool = False
    selection: Selection = EVERYTHING
    while_in_use: bool = False
    force_ats: bool = False


@contextmanager
def collecting(outcome: Outcome) -> Iterator[None]:
    """Take a failure that ends the run into its outcome."""
    try:
        yield
    except PcietuneError as error:
        outcome.errors.append(error)


def describe(host: SysfsHost, outcome: Outcome) -> None:
    """Fill in what the host is, whether pcietune is switched off there, and the ways, if told.

    A function that cannot be made sense of may be what matters here, so it is an error.
    """
    outcome.platform = host.platform()
    outcome.errors += [ConfigSpaceError(problem) for problem in host.problems]
    if outcome.tells_channels:
        outcome.channels = channels(host)
    outcome.disabled = why_switched_off(host.files)
    outcome.guard = read_boot_guard(host.files, outcome.platform.boot_id)


def decided(host: SysfsHost, outcome: Outcome, typed: ModeName | None = None) -> Settings:
    """Fill in and return what the host's administrator decided; a typed mode is the host's.

    Raises:
        BadInputError: The settings cannot be used.
    """
    settings = load_settings(host.files)
    settings = replace(settings, mode=typed or settings.mode)
    outcome.enforce = settings.enforce
    outcome.mode = settings.mode
    outcome.group_modes = settings.group_modes
    return settings


def judge(host: SysfsHost, request: Request, outcome: Outcome) -> None:
    """Fill in everything up to the findings.

    Raises:
        PcietuneError: Something ends the run; what was filled in until then stands.
    """
    describe(host, outcome)
    if request.writes:
        _tell_if_switched_off(outcome)
        _check_settings_trusted(host)
    settings = decided(host, outcome, request.mode)
    fabric = recognise(host, request, settings, outcome)
    if outcome.match is not None:
        profile = outcome.match.profile
        outcome.audit = judge_by(host, fabric, profile, settings, request.selection)
        outcome.protection = outcome.audit.protection


def _check_settings_trusted(host: SysfsHost) -> None:
    """Do nothing if only root can have written what a live host's settings say.

    Raises:
        BadInputError: Somebody else may write them.
    """
    if not host.recorded:
        check_tree_trusted(host.root / _SETTINGS)


def recognise(host: SysfsHost, request: Request, settings: Settings, outcome: Outcome) -> Fabric:
    """Fill in which profile describes the host, and return its fabric.

    Raises:
        NoProfileError: None does, two do, or not the one that was named.
        BadInputError: A profile cannot be used.
    """
    store = Profiles(host.files, shipped_profiles())
    named = settings.profile if request.profile is None else request.profile
    loaded = store.all() if named is None else (store.load(named),)
    if request.writes and not host.recorded:
        for one in loaded:
            check_profile_trusted(one)
    profiles = [one.profile for one in loaded]
    fabric = survey(host, partial(concerned, profiles=profiles))
    if named is None:
        outcome.match = find_profile(host, fabric, profiles)
        outcome.nothing_here = outcome.match is None and not host.problems
    else:
        outcome.match = insist(host, fabric, profiles[0])
    return fabric


def judge_by(
    host: SysfsHost,
    fabric: Fabric,
    profile: Profile,
    settings: Settings,
    selection: Selection = EVERYTHING,
) -> Audit:
    """Return the host judged.

    Raises:
        BadInputError: The settings have no mode, or the host lacks what they name.
    """
    if settings.mode is None:
        raise BadInputError(
            "no mode is set, and pcietune does not guess whether this host serves VMs",
            hint="add --mode vm or --mode baremetal, or `mode: vm` to /etc/pcietune/pcietune.yaml",
        )
    yardstick = Yardstick(
        profile,
        settings.mode,
        settings.group_modes,
        settings.tenancy,
        settings.waivers,
        datetime.now(UTC).date(),
        selection,
        settings.protect,
        settings.vfio,
    )
    return audit(host, fabric, yardstick, _memory(host))


def look_again(host: SysfsHost, audited: Audit, seen: AtsTrials) -> Audit:
    """Return the host judged as before, from registers as they were last read.

    ``seen`` is what this run saw the kernel do about ATS.
    """
    return audit(host, audited.fabric, audited.yardstick, _memory(host, seen))


def _memory(host: SysfsHost, seen: AtsTrials = NO_TRIALS) -> Memory:
    known = Memory(
        trials=trials_of(host).then(seen),
        owners=owners_of(host.files),
        log=read_kernel_log(host.files),
    )
    try:
        stamps = read_stamps(host.files, host.platform().boot_id)
        return replace(known, record=record_of_this_boot(host), stamps=stamps)
    except NotPermittedError as error:
        return replace(known, record=error)


def this_boot(host: SysfsHost) -> str:
    """Return what tells this boot from all others.

    Raises:
        NotPermittedError: It is not readable, so no change could be told from an earlier boot's.
    """
    boot_id = host.platform().boot_id
    if boot_id is None:
        raise NotPermittedError(
            "the kernel does not say which boot this is, so no undo record can be kept",
            hint="is /proc mounted? see /proc/sys/kernel/random/boot_id",
        )
    return boot_id


def record_of_this_boot(host: SysfsHost) -> UndoRecord | None:
    """Return the undo record; None if there is none, or it is another boot's."""
    record = read_undo_record(host.files)
    if record is None or record.boot_id != host.platform().boot_id:
        return None
    return record


def _tell_if_switched_off(outcome: Outcome) -> None:
    """Take it for an error that a writing command runs where pcietune is switched off.

    It goes on to judge, since that is told too; and whatever else is wrong is less grave.
    """
    if outcome.disabled is not None:
        outcome.errors.append(
            SwitchedOffError(
                f"pcietune is switched off here: {outcome.disabled}",
                hint="rm /etc/pcietune/disabled, or boot without pcietune=off",
            )
        )
