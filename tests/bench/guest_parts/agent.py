"""The program in the guest that does what the bench asks: a line of JSON a request, one a reply.

It runs commands, reads and writes files, and calls pcietune's command line in a fork of itself,
which has imported pcietune already: under emulation that saves most of a command's time.
"""

import base64
import gc
import importlib
import json
import os
import pkgutil
import pwd
import select
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NoReturn, TypedDict

PORT = "bench.agent"
PCI_DEVICES = Path("/sys/bus/pci/devices")
COMMAND_LINE = "pcietune.cli.app"


class Request(TypedDict, total=False):
    """What the bench asks; which keys are there depends on ``do``."""

    id: int
    do: str
    argv: list[str]
    env: dict[str, str]
    cwd: str
    stdin: str
    user: str | None
    timeout: float
    path: str
    data: str


class Ended(TypedDict):
    """How a command ended; a negative return code is a signal's number, as in subprocess."""

    returncode: int
    stdout: str
    stderr: str
    timed_out: bool


def main() -> None:
    """Serve requests until the machine goes down."""
    nonce = Path("/sys/class/dmi/id/product_uuid").read_text().strip()
    port = open_port(PORT)
    with open(port, "rb", closefd=False) as requests, open(port, "wb") as replies:  # noqa: PTH123
        for line in requests:
            request: Request = json.loads(line)
            reply: dict[str, object] = {"id": request["id"], "nonce": nonce}
            try:
                reply["result"] = OPERATIONS[request["do"]](request)
            except Exception:  # noqa: BLE001 -- whatever it is, the test is to see it
                reply["error"] = traceback.format_exc()
            replies.write(json.dumps(reply).encode() + b"\n")
            replies.flush()


def open_port(name: str) -> int:
    """Open the virtio-serial port of that name, which one process may do at a time."""
    (device,) = (
        port.name
        for port in Path("/sys/class/virtio-ports").iterdir()
        if (port / "name").read_text().strip() == name
    )
    return os.open(f"/dev/{device}", os.O_RDWR | os.O_CLOEXEC)


def greet(_request: Request) -> object:
    """Say that the guest is there."""
    return None


def preload(request: Request) -> object:
    """Import all of pcietune, found along ``argv``."""
    sys.path[:0] = request["argv"]
    package = importlib.import_module("pcietune")
    for module in pkgutil.walk_packages(package.__path__, "pcietune."):
        if module.name != "pcietune.__main__":
            importlib.import_module(module.name)
    return None


def run(request: Request) -> object:
    """Run a command as a process of its own."""
    with streams(request) as (stdin, stdout, stderr):
        user = request["user"]
        process = subprocess.Popen(
            request["argv"],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=environment(request),
            cwd=request["cwd"],
            user=user,
            group=None if user is None else pwd.getpwnam(user).pw_gid,
            extra_groups=None if user is None else [],
            start_new_session=True,
        )
        try:
            process.wait(request["timeout"])
            timed_out = False
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            timed_out = True
        return ended(process.returncode, stdout, stderr, timed_out=timed_out)


def call(request: Request) -> object:
    """Run pcietune's command line in a fork of this process."""
    with streams(request) as files, tempfile.TemporaryFile() as imported:
        gc.freeze()  # what the fork shares with this process stays shared
        pid = os.fork()
        if pid == 0:
            become_command(request, files, imported)
        pidfd = os.pidfd_open(pid)
        timed_out = not select.select([pidfd], [], [], request["timeout"])[0]
        os.close(pidfd)
        if timed_out:
            os.killpg(pid, signal.SIGKILL)
        returncode = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        imported.seek(0)
        for module in imported.read().decode().split():  # so that the next call need not
            with suppress(ImportError):
                importlib.import_module(module)
        return ended(returncode, files[1], files[2], timed_out=timed_out)


def become_command(
    request: Request, files: tuple[IO[bytes], IO[bytes], IO[bytes]], imported: IO[bytes]
) -> NoReturn:
    """Turn this fork into what a process of pcietune would be, run it, and exit.

    The names of the modules that it imported are left in ``imported``.
    """
    code = 1  # Python's for an exception that nothing caught
    try:
        os.setsid()
        for descriptor, file in enumerate(files):
            os.dup2(file.fileno(), descriptor)
        os.chdir(request["cwd"])
        if request["user"] is not None:
            user = pwd.getpwnam(request["user"])
            os.setgroups([])
            os.setgid(user.pw_gid)
            os.setuid(user.pw_uid)
        os.environ.clear()
        os.environ.update(environment(request))
        sys.argv = ["pcietune", *request["argv"]]
        sys.stdin = os.fdopen(0, encoding="utf-8")
        sys.stdout = os.fdopen(1, "w", encoding="utf-8")
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1)
        before = set(sys.modules)
        code = importlib.import_module(COMMAND_LINE).run(request["argv"])
        sys.stdout.flush()
        os.write(imported.fileno(), " ".join(sys.modules.keys() - before).encode())
    except BaseException:  # noqa: BLE001 -- nothing may return into the agent's loop
        traceback.print_exc()
    finally:
        os._exit(code)


def read_file(request: Request) -> object:
    """Return a file's content."""
    return encoded(Path(request["path"]).read_bytes())


def write_file(request: Request) -> object:
    """Make a file, or replace its content."""
    Path(request["path"]).write_bytes(base64.b64decode(request["data"]))
    return None


def configs(_request: Request) -> object:
    """Return the whole configuration space of every function, by address."""
    return {
        device.name: encoded((device / "config").read_bytes())
        for device in sorted(PCI_DEVICES.iterdir())
    }


def device_paths(_request: Request) -> object:
    """Return where each function lies in /sys/devices, by address."""
    return {device.name: str(device.resolve()) for device in PCI_DEVICES.iterdir()}


OPERATIONS: dict[str, Callable[[Request], object]] = {
    "greet": greet,
    "preload": preload,
    "run": run,
    "call": call,
    "read_file": read_file,
    "write_file": write_file,
    "configs": configs,
    "device_paths": device_paths,
}


@contextmanager
def streams(request: Request) -> Iterator[tuple[IO[bytes], IO[bytes], IO[bytes]]]:
    """Give files for standard input, output and error; the first holds what is to be read."""
    with (
        tempfile.TemporaryFile() as stdin,
        tempfile.TemporaryFile() as stdout,
        tempfile.TemporaryFile() as stderr,
    ):
        stdin.write(base64.b64decode(request["stdin"]))
        stdin.seek(0)
        yield stdin, stdout, stderr


def environment(request: Request) -> dict[str, str]:
    """Return the environment of a command: the agent's, and what was asked for."""
    return dict(os.environ) | request["env"]


def ended(returncode: int, stdout: IO[bytes], stderr: IO[bytes], *, timed_out: bool) -> Ended:
    """Say how a command ended and what it wrote."""
    stdout.seek(0)
    stderr.seek(0)
    return {
        "returncode": returncode,
        "stdout": encoded(stdout.read()),
        "stderr": encoded(stderr.read()),
        "timed_out": timed_out,
    }


def encoded(data: bytes) -> str:
    """Return bytes as JSON can carry them."""
    return base64.b64encode(data).decode()


if __name__ == "__main__":
    main()
