"""``pcietune vfio wait-ats``."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from pcietune.cli.options import DomainOption, FromOption, JsonOption, VmPlanOption

if TYPE_CHECKING:
    from pcietune.host.sysfs import SysfsHost
    from pcietune.model.ats_seen import AtsSeen
    from pcietune.model.function import PciFunction

_LONGEST_S = 60.0
_SETTLE_S = 5.0


def wait_ats(  # noqa: PLR0913 -- one parameter per option
    addresses: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ADDRESS...]", help="The VM's functions, each by address or location."
        ),
    ] = None,
    plan: VmPlanOption = None,
    domain: DomainOption = None,
    source: FromOption = None,
    *,
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout", metavar="SECONDS", min=0, help="How long to wait until they are open."
        ),
    ] = _LONGEST_S,
    record: Annotated[
        bool,
        typer.Option(
            "--record", help="Append what was seen to /var/lib/pcietune/ats-at-start.jsonl, too."
        ),
    ] = False,
    vm: Annotated[
        str | None, typer.Option("--vm", metavar="NAME", help="With --record: the VM's name.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Wait until a VM has opened its functions, and see whether their ATS really is on.

    The kernel turns ATS on when VFIO gives a function to a VM, and never before; so only then its
    register says whether GPUDirect RDMA goes straight across the switch. Nothing is written to any
    device. Exits 0 if ATS is on in each that has it, 3 if it is off or not open in one. Examples:

    `pcietune vfio wait-ats 0000:41:00.0 0000:42:00.0`

    `pcietune vfio wait-ats --plan vm0.json --record`

    `virsh dumpxml vm0 | pcietune vfio wait-ats --domain - --record --vm vm0`
    """
    from pcietune.cli import show
    from pcietune.cli.judging import collecting
    from pcietune.cli.vms_functions import Named, vms_functions
    from pcietune.errors import ExitCode
    from pcietune.host.source import open_host
    from pcietune.report.ats_seen import seen_document, seen_lines
    from pcietune.report.outcome import Outcome

    outcome = Outcome()
    seen: list[AtsSeen] = []
    kept = False
    with collecting(outcome), open_host(source) as host:
        _check_may_look(host, record=record)
        functions = vms_functions(Named(addresses or (), plan, domain), host.functions())
        seen = _look(host, functions, timeout)
        if record:
            _keep(host, seen, vm)
            kept = True
    errors = [*outcome.errors, *(each.error for each in seen if each.error is not None)]
    codes = [error.exit_code for error in outcome.errors] + [each.exit_code for each in seen]
    exit_code = ExitCode.of_several(codes)
    if as_json:
        said = list(map(str, outcome.errors))
        show.document(seen_document(seen, recorded=kept, errors=said, exit_code=exit_code))
    else:
        show.lines(seen_lines(seen))
    show.end(errors, exit_code)


def _check_may_look(host: "SysfsHost", *, record: bool) -> None:
    """Return if this user may look at this host, and keep what is seen if that is asked for.

    Raises:
        BadInputError: It is a recording, and what is seen there is nothing for this host's log.
        NotPermittedError: Not root.
    """
    from pcietune.errors import BadInputError, NotPermittedError

    if record and host.recorded:
        raise BadInputError(
            "--record: the log is this machine's, and what is seen is of a recorded host",
            hint="leave out --record or --from",
        )
    if not host.privileged:
        raise NotPermittedError("only root may read ATS registers", hint="run pcietune as root")


def _look(
    host: "SysfsHost", functions: "Sequence[PciFunction]", longest_s: float
) -> "list[AtsSeen]":
    """Return what is seen; nothing is waited for in a recording, which does not change."""
    from pcietune.host.sysfs import SysfsHost
    from pcietune.tune.ats.at_start import Patience, wait_for_ats

    if host.recorded:
        return wait_for_ats(lambda: host, functions, Patience(0, 0, time.monotonic, time.sleep))
    patience = Patience(longest_s, _SETTLE_S, time.monotonic, time.sleep)
    return wait_for_ats(lambda: SysfsHost(host.files), functions, patience)


def _keep(host: "SysfsHost", seen: "Sequence[AtsSeen]", vm: str | None) -> None:
    """Append to the host's log; errors as ``keep_starts``."""
    from datetime import UTC, datetime

    from pcietune.host.run.ats_starts import keep_starts

    keep_starts(host.files, seen, vm=vm, boot_id=host.platform().boot_id, now=datetime.now(UTC))
