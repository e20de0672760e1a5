"""pcietune run in a guest, and what the guest's own lspci says of the same registers."""

import re
from pathlib import Path

import msgspec

from bench.guest import Guest, Result
from pcietune.model.severity import Severity
from pcietune.report.document import Document, FindingDocument

VM = ("--mode", "vm")
GENERIC = ("--profile", "gpu-rdma")  # for machines that have fewer functions than an HGX board
_ACT_AT = Path(__file__).parent / "guest_parts" / "act_at.py"
ACS_CONTROL = 0x148 + 6  # of the bench's downstream ports, in bytes


def document(result: Result) -> Document:
    """Read the one document, and hold it to the process's own exit status."""
    read = msgspec.json.decode(result.stdout, type=Document)
    assert read.exit == result.returncode, result
    return read


def wanting(guest: Guest, ats: str, *, attach: str = "pf") -> tuple[str, str]:
    """Write a profile with a policy for ATS; return how it is chosen."""
    file = f"/run/{ats}-{attach}.yaml"
    guest.write_file(
        file,
        "version: 1\nsummary: Made for a test\nextends: gpu-rdma\n"
        f"roles: {{nic: {{attach: {attach}}}}}\nmodes: {{vm: {{ats: {ats}}}}}\n".encode(),
    )
    return ("--profile", file)


def audited(guest: Guest, *arguments: str) -> Document:
    return document(guest.pcietune("audit", *VM, "--json", *arguments))


def states(found: Document) -> dict[str, set[tuple[str, str]]]:
    """Return id and path of each finding, by state."""
    by_state: dict[str, set[tuple[str, str]]] = {}
    for finding in found.findings:
        by_state.setdefault(finding.state, set()).add((finding.id, finding.subject.path))
    return by_state


def weighty(found: Document) -> dict[str, set[tuple[str, str]]]:
    """Return the same of the findings that can turn the exit code: of no mere information."""
    return states(
        msgspec.structs.replace(
            found, findings=[f for f in found.findings if f.severity is not Severity.INFO]
        )
    )


def path(guest: Guest, name: str) -> str:
    """Return a function's location; what is no function (``host``, ``dmar0``) is its own path."""
    return name if name in ("host", "dmar0") else guest.location(name)


def finding(found: Document, finding_id: str, at: str) -> FindingDocument:
    """Return the one finding with this id about the subject at this path."""
    (only,) = (f for f in found.findings if (f.id, f.subject.path) == (finding_id, at))
    return only


def direct_translated(guest: Guest) -> set[str]:
    """Return the addresses of the functions for which lspci says DirectTrans+."""
    said = set()
    for block in guest.run("lspci", "-D", "-vvv").stdout.strip().split("\n\n"):
        if re.search(r"ACSCtl:.*DirectTrans\+", block):
            said.add(block.split(" ")[0])
    return said


def addresses(guest: Guest, *names: str) -> set[str]:
    return {guest.address(name) for name in names}


def differences(before: dict[str, bytes], after: dict[str, bytes]) -> dict[tuple[str, int], str]:
    """Return every byte of Configuration Space that differs: address and offset, old and new."""
    assert before.keys() == after.keys()
    return {
        (address, offset): f"{old:02x} {new:02x}"
        for address in before
        for offset, (old, new) in enumerate(zip(before[address], after[address], strict=True))
        if old != new
    }


def acting(guest: Guest, when: str, function: str, number: int, command: str) -> tuple[str, ...]:
    """Return how to run pcietune with a shell command at the nth call of a function of os.

    The command finds pcietune's process in $PCIETUNE.
    """
    guest.write_file("/run/act_at.py", _ACT_AT.read_bytes())
    return ("/usr/bin/python3", "/run/act_at.py", when, function, str(number), command)


def with_signal(
    guest: Guest, signal: str, when: str, function: str, number: int, *arguments: str
) -> Result:
    """Run pcietune, and let it get a signal before or after the nth call of an os function."""
    kill = f"kill -{signal.removeprefix('SIG')} $PCIETUNE"
    return guest.run(*acting(guest, when, function, number, kill), *arguments)
