"""A VM that a guest runs itself, as a host does: with functions that VFIO has, and KVM."""

import base64
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import msgspec

from bench.guest import Guest, Result
from bench.vm_disk import INITRD, KERNEL
from bench.waiting import until

PIPE_TIMEOUT = 30  # seconds that a request takes beyond what it asks for
_ASK = Path(__file__).parent / "guest_parts" / "ask_vm.py"
_BOOT_TIMEOUT = 240  # seconds
_EMULATED_TIMEOUT = 600  # seconds, of a VM without KVM
_KERNEL_WORDS = "console=ttyS0 quiet panic=-1 init_on_alloc=0"
# The host's disks are the VM's, too: read-only here and there. Slots 1 to 0xf are the site's.
_DISKS = ("vda", "vdb", "vdc")
_FIRST_SLOT = 2
_SERIAL_SLOT = 8


class _Ended(msgspec.Struct):
    returncode: int
    stdout: bytes
    stderr: bytes
    timed_out: bool


class _Reply(msgspec.Struct):
    id: int
    result: msgspec.Raw = msgspec.Raw(b"null")
    error: str | None = None


class InnerVm:
    """A running VM, whose agent answers as the host's own does.

    Attributes:
        host: The guest that runs it.
        directory: In the host: ``console``, ``qemu`` (what QEMU said), ``pid``.
    """

    def __init__(self, host: Guest, directory: str, python_path: str) -> None:
        """Speak to the VM that is being started in a directory of the host."""
        self.host = host
        self.directory = directory
        self._environment = {"PYTHONPATH": python_path}
        self._requests = 0

    def run(self, *argv: str, timeout: float = 120) -> Result:
        """Run a command in the VM; ``timeout`` is in seconds.

        Raises:
            GuestTimeoutError: It took longer.
        """
        ended = msgspec.json.decode(
            self.request(
                "run",
                timeout=timeout,
                argv=argv,
                env=self._environment,
                stdin="",
                user=None,
                cwd="/",
            ),
            type=_Ended,
        )
        assert not ended.timed_out, f"{argv} took longer than {timeout} s: {ended}"
        return Result(ended.returncode, ended.stdout.decode(), ended.stderr.decode())

    def write_file(self, path: str, content: bytes) -> None:
        """Make a file in the VM, or replace its content."""
        self.request("write_file", path=path, data=base64.b64encode(content).decode())

    def request(self, do: str, *, timeout: float = 0, **arguments: object) -> bytes:
        """Make the VM's agent do something, and return its result as JSON.

        Args:
            do: What.
            timeout: In seconds, what it may take.
            arguments: What the agent needs to know for it.
        """
        self._requests += 1
        message = {"id": self._requests, "do": do, "timeout": timeout, **arguments}
        asked = self.host.run(
            *("/usr/bin/python3", "-I", "/run/ask_vm.py", f"{self.directory}/agent"),
            stdin=msgspec.json.encode(message).decode() + "\n",
            timeout=timeout + PIPE_TIMEOUT,
        )
        assert asked.returncode == 0, asked
        reply = msgspec.json.decode(asked.stdout, type=_Reply)
        assert reply.error is None, reply.error
        assert reply.id == self._requests
        return bytes(reply.result)


@contextmanager
def starting(host: Guest, name: str, qemu: Sequence[str], boot: Sequence[str]) -> Iterator[str]:
    """Have a guest run QEMU for a while; yield the folder of its files.

    Args:
        host: The guest.
        name: Of the VM.
        qemu: The program and its arguments, unchanged.
        boot: Arguments that say what it boots.
    """
    directory = _directory(name)
    _must(host, f"mkdir -p {directory}; mkfifo {directory}/agent.in {directory}/agent.out")
    host.write_file("/run/ask_vm.py", _ASK.read_bytes())
    command = shlex.join([*qemu, *boot])
    _must(host, f"cd {directory}; exec {command} > qemu 2>&1 & echo $! > {directory}/pid")
    try:
        yield directory
    finally:
        _must(host, f"kill $(cat {directory}/pid) || true")
        gone = f"! kill -0 $(cat {directory}/pid) 2>/dev/null"
        until(lambda: host.run("sh", "-c", gone).returncode == 0)
        _must(host, f"rm -r {directory}")


@contextmanager
def inner_vm(host: Guest, name: str, qemu: Sequence[str]) -> Iterator[InnerVm]:
    """Have a guest run a VM for a while, which has the guest's own kernel and root.

    Args:
        host: The guest.
        name: Of the VM.
        qemu: The program and its arguments, unchanged.
    """
    python_path = ":".join(host.python_path)
    with starting(host, name, qemu, _boot_arguments(name)) as directory:
        vm = InnerVm(host, directory, python_path)
        try:
            vm.request("greet", timeout=_BOOT_TIMEOUT)
        except Exception as error:
            said = host.run("sh", "-c", f"tail -n 30 {directory}/qemu {directory}/console").stdout
            raise AssertionError(f"the VM does not answer: {said}") from error
        yield vm


def look_only(name: str) -> list[str]:
    """Return what boots a VM that tells its functions on its console, and switches itself off."""
    console = f"{_directory(name)}/console"
    return [
        *("-no-reboot", "-serial", f"file:{console}", "-kernel", KERNEL),
        *("-initrd", INITRD, "-append", f"{_KERNEL_WORDS} rdinit=/tell-pci"),
    ]


def until_off(host: Guest, directory: str) -> str:
    """Wait until a VM has switched itself off, and return what it said on its console."""
    waited = host.run(
        *("sh", "-c", f"while kill -0 $(cat {directory}/pid) 2>/dev/null; do sleep 1; done"),
        timeout=_EMULATED_TIMEOUT,
    )
    assert waited.returncode == 0, waited
    return host.read_file(f"{directory}/console").decode(errors="replace")


def _directory(name: str) -> str:
    return f"/run/vm/{name}"


def _boot_arguments(name: str) -> list[str]:
    directory = _directory(name)
    return [
        *("-no-reboot", "-serial", f"file:{directory}/console"),
        *("-uuid", str(uuid4())),  # which the agent tells
        *("-kernel", KERNEL, "-initrd", INITRD, "-append", _KERNEL_WORDS),
        *(word for number, disk in enumerate(_DISKS) for word in _disk(disk, number)),
        *("-device", f"virtio-serial-pci,bus=pcie.0,addr={_SERIAL_SLOT:#x}"),
        *("-chardev", f"pipe,id=agent,path={directory}/agent"),
        *("-device", "virtserialport,chardev=agent,name=bench.agent"),
    ]


def _disk(disk: str, number: int) -> list[str]:
    slot = _FIRST_SLOT + number
    return [
        *("-drive", f"file=/dev/{disk},format=raw,readonly=on,if=none,id={disk}"),
        *("-device", f"virtio-blk-pci,drive={disk},bus=pcie.0,addr={slot:#x}"),
    ]


def _must(host: Guest, script: str) -> None:
    """Run a script that does not fail."""
    result = host.run("sh", "-c", script)
    assert result.returncode == 0, result
