"""Boots a machine."""

import contextlib
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

from bench.agent_link import AgentLink
from bench.code_disk import make_code_disk, python_path
from bench.errors import GuestDiedError
from bench.fabric import lay_out
from bench.functions import Functions
from bench.guest import Guest
from bench.guest_system import find_guest_system
from bench.initrd import make_initrd
from bench.kernel_package import find_kernel
from bench.machine import Machine
from bench.qemu import Qemu
from bench.qemu_arguments import Images
from bench.real_initrd import make_real_initrd
from bench.vm_disk import make_vm_disk

_ATTEMPTS = 3
_FAULTS = ("Kernel panic", "exit status is -11", "exit status is -6")  # the emulation's


@contextlib.contextmanager
def booted(machine: Machine) -> Iterator[Guest]:
    """Boot a machine, and switch it off in the end.

    QEMU ends with the thread that this runs in. A boot in which the kernel panics or QEMU crashes
    before the guest answers is tried again, at most twice: with a thread for each processor about
    one in thirty panicked in text_poke_early and one in a hundred crashed, which was the
    emulation's fault.

    Raises:
        CacheError: What it is booted from could not be made.
        GuestError: It did not boot; the message ends with what was on its console.
        LookupError: This QEMU is laid out differently in memory.
    """
    with tempfile.TemporaryDirectory(prefix=f"bench-{machine.name}-") as name:
        directory = Path(name)
        images = _images(machine, directory)
        guest = _boot(machine, images, directory)
        with contextlib.closing(guest.qemu):
            yield guest


def _images(machine: Machine, directory: Path) -> Images:
    kernel = find_kernel()
    system = find_guest_system()
    initrd = directory / "initrd"
    made = (
        make_initrd(kernel, system)
        if machine.initrd == "bench"
        else make_real_initrd(machine, kernel)
    )
    initrd.write_bytes(made)
    code = directory / "code.squashfs"
    make_code_disk(machine, code)
    disks = [system.disk, kernel.modules_disk, code]
    if machine.runs_vms:
        disks.append(directory / "vm.squashfs")
        make_vm_disk(kernel, system, disks[-1])
    return Images(kernel.image, initrd, disks)


def _boot(machine: Machine, images: Images, directory: Path) -> Guest:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return _boot_once(machine, images, directory)
        except GuestDiedError as error:
            if attempt == _ATTEMPTS or not any(fault in str(error) for fault in _FAULTS):
                raise GuestDiedError(
                    f"{machine.name} did not boot, in attempt {attempt} of {_ATTEMPTS}: {error}"
                ) from error
    raise AssertionError("the last attempt returns or raises")


def _boot_once(machine: Machine, images: Images, directory: Path) -> Guest:
    nonce = str(uuid.uuid4())
    fabric = lay_out(machine)
    qemu = Qemu(machine, fabric, images, nonce=nonce, directory=directory)
    try:
        functions = Functions(qemu, fabric)
        qemu.command("cont")
        return Guest(qemu, functions, AgentLink(qemu, functions, nonce=nonce), python_path(machine))
    except BaseException:
        qemu.close()
        raise
