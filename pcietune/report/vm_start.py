"""What stands against a VM's start, as lines and as entries of the journal."""

from collections.abc import Iterator

from pcietune.model.finding import Finding
from pcietune.model.vm_start import BeforeStart

VM_START = "6890470749e4467299b1f037cb94d711"
"""``MESSAGE_ID`` of what stands against a VM's start."""

_ERROR, _WARNING = "3", "4"  # syslog(3)


def vm_start_lines(found: BeforeStart) -> Iterator[str]:
    """Yield what stands against the start, the verdict first."""
    if found.disabled is not None:
        yield f"not judged: pcietune is switched off here: {found.disabled}"
        return
    if not found.functions:
        yield "the VM has no PCI function of this host"
        return
    yield _verdict(found)
    for finding in found.against:
        yield f"{finding.severity}  {_said(finding)}"
        if finding.remedy is not None:
            yield f"  {finding.remedy.kind}: {finding.remedy.command}"


def vm_start_entries(found: BeforeStart, vm: str | None) -> list[dict[str, str]]:
    """Return an entry for each thing that stands against the start.

    Args:
        found: A VM's functions, judged.
        vm: The VM's name; None if nobody told.
    """
    what = "is refused" if found.refuses else "starts all the same"
    told = [(_ERROR, str(error)) for error in found.errors]
    told += [(_ERROR if f.severity == "error" else _WARNING, _said(f)) for f in found.against]
    return [
        {
            "MESSAGE": f"VM {vm or 'without a name'} {what}: {said}",
            "MESSAGE_ID": VM_START,
            "PRIORITY": priority,
            "SYSLOG_IDENTIFIER": "pcietune",
            **({} if vm is None else {"PCIETUNE_VM": vm}),
        }
        for priority, said in told
    ]


def _verdict(found: BeforeStart) -> str:
    functions = ", ".join(str(function.address) for function in found.functions)
    if found.refuses:
        return f"refused, as vm-start of the settings says: {functions}"
    if found.against or found.errors:
        return f"may start, but not all is as it should be: {functions}"
    return f"may start: {functions}"


def _said(finding: Finding) -> str:
    subject = finding.subject
    where = subject.path if subject.address is None else str(subject.address)
    return (
        f"{finding.id}: {where}: {finding.reason or finding.state}"
        f" (found {finding.found.text}, wanted {finding.wanted.text})"
    )
