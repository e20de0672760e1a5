"""``pcietune vfio wait-ats``."""

from typing import TYPE_CHECKING, Annotated

import typer

from pcietune.cli.options import (
    DomainOption,
    FromOption,
    JsonOption,
    VmFunctionsArgument,
    VmPlanOption,
)

if TYPE_CHECKING:
    from pcietune.model.ats_seen import AtsSeen

_LONGEST_S = 60.0


def wait_ats(  # noqa: PLR0913 -- one parameter per option
    addresses: VmFunctionsArgument = None,
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

    The kernel decides anew on ATS when VFIO attaches a function to a VM's memory; so only then its
    register says whether GPUDirect RDMA goes straight across the switch. Nothing is written to any
    device. Exits 0 if ATS is on in each that has it, 3 if it is off or not open in one. Examples:

    `pcietune vfio wait-ats 0000:41:00.0 0000:42:00.0`

    `pcietune vfio wait-ats --plan vm0.json --record`

    `virsh dumpxml vm0 | pcietune vfio wait-ats --domain - --record --vm vm0`
    """
    from pcietune.cli import show
    from pcietune.cli.ats_at_start import check_may_look, keep_seen, look_at_start
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
        check_may_look(host, record=record)
        functions = vms_functions(Named(addresses or (), plan, domain), host.functions())
        seen = look_at_start(host, functions, timeout)
        if record:
            keep_seen(host, seen, vm)
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
