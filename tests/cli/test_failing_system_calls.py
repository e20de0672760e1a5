"""Whatever call of apply the kernel fails, and wherever it is killed, nothing is lost or claimed.

In each run of apply one call fails: any that changes something, any that reads pcietune's own files
or a register of a written port or of the NIC, and of sysfs attributes one of each name. After each
no bit beside the wanted ones has changed, the undo record knows of every bit that did, the exit
code is documented, and 0 only where all is as wanted, and restore brings every byte back.
"""

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from cli.struck import Call, Ended, Struck, struck
from trees.function import downstream_port, root_port
from trees.machines import one_switch

from pcietune.errors import ExitCode
from pcietune.host.host_files import HostFiles
from pcietune.host.run.undo_log import read_undo_record
from pcietune.model.undo import Change, RegisterChange
from pcietune.report.document import Document

ROOT_PORT, GPU_PORT, NIC_PORT = "0000:20:01.0", "0000:22:00.0", "0000:22:04.0"
NIC = "0000:24:00.0"
WRITTEN = (GPU_PORT, NIC_PORT)  # the ports whose ACS Control apply writes, at 0x106
BY_LINUX, TUNED = 0x001D, 0x005D
KINDS = "openat,read,pread64,write,pwrite64,fsync,rename,ftruncate,flock,mkdir"
CHANGING = ("write", "pwrite64", "fsync", "rename", "ftruncate", "flock", "mkdir")
OWN = ("etc/pcietune/", "run/pcietune", "proc/sys/kernel/random/")
KILLED = -9
PROFILE = """\
version: 1
summary: what this test asks for
match: {ids: ["10de:20f3"]}
roles:
  gpu: {ids: ["10de:20f3"], trusted: true}
  nic: {ids: ["15b3:101b"], place: gpu-switch, trusted: true}
modes:
  vm:
    ports:
      nic-side: {set: [DirectTrans+]}
      gpu-side: {set: [DirectTrans+]}
    ats: judge
    runtime-pm: keep-on
"""


class Host:
    """A recorded host that is made anew for every run."""

    def __init__(self, directory: Path, runner: Struck) -> None:
        self.runner = runner
        self.root = directory / "host"
        self._fresh = directory / "fresh"
        tree = one_switch(
            self._fresh,
            instead=[
                replace(root_port(ROOT_PORT), attributes={"power/control": "auto"}),
                downstream_port(GPU_PORT, below="0000:21:00.0"),
            ],
        )
        tree.put("etc/pcietune/profiles.d/asked.yaml", PROFILE)
        tree.put("etc/pcietune/pcietune.yaml", "profile: asked\nmode: vm")
        self.renew()
        self.before = self.files()

    def renew(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self._fresh, self.root, symlinks=True)

    def files(self) -> dict[str, bytes]:
        """Return everything of the host that apply may ever change but its own files."""
        paths = [*self.root.glob("sys/devices/**/config"), *self.root.glob("sys/**/power/control")]
        return {str(file.relative_to(self.root)): file.read_bytes() for file in paths}

    def command(self, name: str) -> tuple[str | Path, ...]:
        return (name, "--from", self.root, "--in-place", "--json")

    def calls(self) -> list[Call]:
        """Return every call of apply for a file of the host, as it is before any fails."""
        self.runner.run(*self.command("apply"))  # imports what only this needs
        self.renew()
        return self.runner.calls(self.root, KINDS, *self.command("apply"))

    def strike(self, call: Call, how: str) -> Ended:
        self.renew()
        return self.runner.strike(call, how, *self.command("apply"))

    def wrong(self, ended: Ended) -> Iterator[str]:
        """Yield what is wrong after a run that was struck."""
        now = self.files()
        if "Traceback" in ended.output:
            yield ended.output
        elif ended.code not in (KILLED, *ExitCode):
            yield f"it exits {ended.code}"
        elif ended.code == 0 and not self.is_as_wanted(now):
            yield "it claims that all is as wanted"
        elif ended.code != KILLED and self.told_exit(ended) != ended.code:
            yield "its document tells another exit code"
        yield from (f"{path} is {was} and not said to be" for path, was in self.unexplained(now))
        if now == self.before:
            return
        restored = self.runner.run(*self.command("restore"))
        if restored.code != 0:
            yield f"restore exits {restored.code}: {restored.output}"
        if self.files() != self.before:
            yield "restore does not bring all back"

    def is_as_wanted(self, now: dict[str, bytes]) -> bool:
        words = {path.split("/")[-2]: data[0x106:0x108] for path, data in now.items()}
        return all(words[port] == TUNED.to_bytes(2, "little") for port in WRITTEN)

    def told_exit(self, ended: Ended) -> int:
        """Return the exit code in the document, which is all that is printed with --json."""
        document = msgspec.json.decode(ended.output, type=Document)
        return document.exit

    def unexplained(self, now: dict[str, bytes]) -> Iterator[tuple[str, object]]:
        """Yield what changed though the undo record does not know of it."""
        record = read_undo_record(HostFiles(self.root, recorded=True))
        changes = [] if record is None else [c.entry for c in record.changes if c.stands]
        for path, data in now.items():
            address = path.split("/")[-2 if path.endswith("config") else -3]
            mine = [entry for entry in changes if str(entry.address) == address]
            if data != self.before[path] and data != self.with_changes(path, mine):
                yield path, data[0x106:0x108] if path.endswith("config") else data

    def with_changes(self, path: str, mine: Iterable[Change]) -> bytes:
        """Return what a file holds with the recorded changes made."""
        data = bytearray(self.before[path])
        for entry in mine:
            if isinstance(entry, RegisterChange) and path.endswith("config"):
                at = slice(entry.offset, entry.offset + 2)
                word = int.from_bytes(data[at], "little") & ~entry.mask | entry.new
                data[at] = word.to_bytes(2, "little")
            elif not isinstance(entry, RegisterChange) and path.endswith("control"):
                data = bytearray(f"{entry.new}\n".encode())
        return bytes(data)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    directory = tmp_path_factory.mktemp("struck")
    with struck(directory) as runner:
        yield Host(directory, runner)


@pytest.fixture(scope="module")
def calls(host: Host) -> list[Call]:
    return host.calls()


def after_each(host: Host, calls: Iterable[Call], how: str) -> list[str]:
    """Return what is wrong after runs of which each has one of the calls struck."""
    return [
        f"{call.name} {call.number} ({call.path}), {how}: {what}"
        for call in calls
        for what in host.wrong(host.strike(call, how))
    ]


def test_every_kind_of_call_is_there_to_fail(calls: list[Call]) -> None:
    assert {call.name for call in calls} == set(KINDS.split(","))
    assert [call.path.split("/")[-2] for call in calls if call.name == "pwrite64"] == [*WRITTEN]


@pytest.mark.parametrize(
    ("error", "kinds"),
    [
        ("EIO", CHANGING),
        ("ENOSPC", ("write", "fsync", "rename", "mkdir")),
        ("EPERM", ("pwrite64", "flock", "mkdir")),
    ],
)
def test_a_change_that_fails_loses_nothing(
    host: Host, calls: list[Call], error: str, kinds: tuple[str, ...]
) -> None:
    assert after_each(host, (c for c in calls if c.name in kinds), f"error={error}") == []


def test_a_write_of_which_the_kernel_takes_a_byte_loses_nothing(
    host: Host, calls: list[Call]
) -> None:
    writes = [call for call in calls if call.name in ("write", "pwrite64")]

    assert after_each(host, writes, "retval=1") == []


def test_what_cannot_be_opened_claims_nothing(host: Host, calls: list[Call]) -> None:
    names: dict[str, Call] = {}
    for call in calls:
        if call.name == "openat":
            own = call.path.startswith(OWN) or call.path.endswith("config")
            names.setdefault(call.path if own else Path(call.path).name, call)

    assert after_each(host, names.values(), "error=EIO") == []


@pytest.mark.parametrize("how", ["error=EIO", "retval=0"])
def test_a_register_that_cannot_be_read_or_only_short_claims_nothing(
    host: Host, calls: list[Call], how: str
) -> None:
    functions = (NIC_PORT, NIC) if how == "error=EIO" else (NIC_PORT,)
    reads = [call for call in calls if call.name == "pread64"]
    registers = [call for call in reads if Path(call.path).parent.name in functions]

    assert after_each(host, registers, how) == []


@pytest.mark.parametrize("how", ["error=EIO", "retval=0"])
def test_what_pcietune_keeps_and_cannot_read_claims_nothing(
    host: Host, calls: list[Call], how: str
) -> None:
    own = [call for call in calls if call.name == "read" and call.path.startswith(OWN)]

    assert after_each(host, own, how) == []


def test_a_kill_before_or_after_any_change_loses_nothing(host: Host, calls: list[Call]) -> None:
    struck_ones = {
        neighbour
        for number, call in enumerate(calls)
        if call.name in CHANGING
        for neighbour in calls[number : number + 2]
    }

    assert after_each(host, struck_ones, "signal=KILL") == []
