"""``pcietune guest check``."""

from pcietune.cli.options import FromOption, JsonOption, MemoryOption, PlanArgument


def check(
    plan: PlanArgument,
    source: FromOption = None,
    memory: MemoryOption = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """In a VM: compare what arrived with its plan, and name the first difference.

    Of each function address, id, ports above it, NUMA node, BARs, link, ATS and clique; of the VM
    its NUMA nodes, their CPUs and memory, and what the plan has not. Needs no profile and no
    mode. Reads, and writes nothing; exits 0 if all is as planned, 3 if something differs, 5 or 6
    if something could not be read. Examples:

    `pcietune guest check vm0.json`

    `pcietune guest check vm0.json --json`

    `pcietune guest check vm0.json --from recording-made-in-the-vm.tar.gz`
    """
    from pcietune.cli import show
    from pcietune.cli.planned import read_plan
    from pcietune.guest.check.check import check as check_vm
    from pcietune.guest.check.document import check_document
    from pcietune.guest.check.told import lines
    from pcietune.guest.memory_size import parse_memory
    from pcietune.guest.scaled import with_memory
    from pcietune.host.source import open_host

    planned = read_plan(plan)
    if memory is not None:
        planned = with_memory(planned, parse_memory(memory))
    with open_host(source) as host:
        checked = check_vm(planned, host)
    if as_json:
        show.document(check_document(checked))
    else:
        show.lines(lines(checked))
    hints = {row.error.hint: row.error for row in checked.rows if row.error is not None}
    show.end(hints.values(), checked.exit_code)
