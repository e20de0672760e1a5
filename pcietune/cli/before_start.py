"""``pcietune vfio before-start``."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from pcietune.cli.options import (
    DomainOption,
    FromOption,
    JsonOption,
    Mode,
    ModeOption,
    ProfileOption,
    VmFunctionsArgument,
    VmPlanOption,
)

if TYPE_CHECKING:
    from pcietune.host.sysfs import SysfsHost
    from pcietune.model.function import PciFunction
    from pcietune.model.vm_start import BeforeStart


def before_start(  # noqa: PLR0913 -- one parameter per option
    addresses: VmFunctionsArgument = None,
    plan: VmPlanOption = None,
    domain: DomainOption = None,
    source: FromOption = None,
    *,
    profile: ProfileOption = None,
    mode: ModeOption = None,
    vm: Annotated[str | None, typer.Option("--vm", metavar="NAME", help="The VM's name.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Judge the functions of a VM that is about to start, as audit does.

    With `vm-start: refuse` in /etc/pcietune/pcietune.yaml it exits 3 if an error stands against one
    of them, and a libvirt hook that runs this keeps the VM from starting. Without it all is told,
    here and in systemd's journal, and it exits 0. Writes nothing to any device. Examples:

    `pcietune vfio before-start 0000:41:00.0 0000:42:00.0`

    `virsh dumpxml vm0 | pcietune vfio before-start --domain - --vm vm0`
    """
    from pcietune.cli import show
    from pcietune.cli.vms_functions import Named, vms_functions
    from pcietune.errors import ExitCode, PcietuneError
    from pcietune.host.journal import JOURNAL, send
    from pcietune.host.source import open_host
    from pcietune.report.vm_start import vm_start_entries, vm_start_lines
    from pcietune.report.vm_start_document import vm_start_document

    try:
        with open_host(source) as host:
            named = Named(addresses or (), plan, domain)
            found = _judge(host, vms_functions(named, host.functions()), profile, mode)
    except PcietuneError as error:
        show.end([error], error.exit_code)
    if not source:
        send(vm_start_entries(found, vm), JOURNAL)
    if as_json:
        show.document(vm_start_document(found, vm))
    elif found.refuses:
        for line in vm_start_lines(found):
            show.note(line)
    else:
        show.lines(vm_start_lines(found))
    show.end(found.errors, found.exit_code if found.refuses else ExitCode.OK)


def _judge(
    host: "SysfsHost", functions: "Sequence[PciFunction]", profile: str | None, mode: Mode | None
) -> "BeforeStart":
    """Judge the host, and return what concerns the functions.

    Raises:
        BadInputError: The settings cannot be used, so that nobody knows what they say.
        NotPermittedError: They may not be read.
    """
    from pcietune.cli.judging import Request, collecting, judge
    from pcietune.host.off_switch import why_switched_off
    from pcietune.host.settings_file import load_settings
    from pcietune.model.profile import ModeName
    from pcietune.model.severity import Severity
    from pcietune.model.vm_start import BeforeStart
    from pcietune.report.outcome import Outcome
    from pcietune.tune.audit.concerning import standing_against

    policy = load_settings(host.files).vm_start
    disabled = why_switched_off(host.files)
    if disabled is not None or not functions:
        return BeforeStart(functions, (), (), policy, disabled)
    outcome = Outcome()
    with collecting(outcome):
        judge(host, Request(profile, None if mode is None else ModeName(mode)), outcome)
    findings = () if outcome.audit is None else outcome.audit.findings
    counting = (Severity.ERROR, Severity.WARNING)
    against = [
        finding
        for function in functions
        for finding in standing_against(host, findings, function, counting)
    ]
    return BeforeStart(functions, list(dict.fromkeys(against)), outcome.errors, policy)
