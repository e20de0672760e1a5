"""The disk with what a guest needs to run VMs itself: QEMU, its firmware, and a kernel to boot.

QEMU is this machine's, which the bench runs, too: program, libraries and firmware take a second to
pack, and a Debian tree of them minutes. Guest and machine are of the same Debian; a library that
the guest's own system has is not seen in it.
"""

import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

from bench.cache import CacheError, command
from bench.guest_system import GuestSystem
from bench.initrd import make_initrd
from bench.kernel_package import Kernel
from bench.squashfs import pack_files

KERNEL = "/bench/vm/vmlinuz"  # in the guest
INITRD = "/bench/vm/initrd"

_PROGRAM = "qemu-system-x86_64"
_MODULES = Path("/usr/lib/x86_64-linux-gnu/qemu")
_LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
_FIRMWARE = ["OVMF", "qemu", "seabios"]  # in /usr/share


def make_vm_disk(kernel: Kernel, system: GuestSystem, image: Path) -> None:
    """Make the image.

    Raises:
        CacheError: QEMU or OVMF is not installed, or mksquashfs failed.
    """
    found = shutil.which(_PROGRAM)
    if found is None or not Path("/usr/share/OVMF").is_dir():
        raise CacheError(f"{_PROGRAM} or ovmf is not installed")
    program = Path(found)
    # Software emulation is a module of its own (accel in Debian's QEMU); KVM is built in.
    modules = sorted(_MODULES.glob("accel-tcg-x86_64.so"))
    initrd = image.with_suffix(".initrd")
    initrd.write_bytes(make_initrd(kernel, system))

    def add_files(archive: tarfile.TarFile) -> None:
        archive.add(program.resolve(), f"usr/bin/{_PROGRAM}")
        for library in sorted(set(_libraries([program, *modules]))):
            archive.add(library.resolve(), str(_LIBRARIES / library.name))
        for module in modules:
            archive.add(module)
        for folder in _FIRMWARE:
            archive.add(Path("/usr/share", folder))
        archive.add(kernel.image, KERNEL)
        archive.add(initrd, INITRD)

    pack_files(add_files, image)


def _libraries(programs: list[Path]) -> Iterator[Path]:
    """Yield the shared libraries that programs are linked with, however indirectly."""
    for line in command("ldd", *programs).splitlines():
        _, arrow, place = line.partition(" => ")
        if arrow and place.startswith("/"):
            yield Path(place.rpartition(" (")[0])
