"""Initrds that Debian's own tools make, of a system with pcietune and its owner's files."""

import gzip
import shutil
import tempfile
from pathlib import Path

from bench.cache import command
from bench.debian_tree import cached_tree
from bench.installation import installed
from bench.kernel_package import Kernel
from bench.machine import Machine

_PARTS = Path(__file__).parent / "guest_parts"
_COMMON = ["busybox-static", "kmod", "udev"]
PACKAGES = {"initramfs-tools": ["initramfs-tools-core"], "dracut": ["dracut-core", "gzip"]}
"""What each tool needs; the two cannot be in one system."""

_COMMANDS = {
    "initramfs-tools": "mkinitramfs -o /made {release}",
    "dracut": "dracut --quiet --no-hostonly --kver {release}"
    " --modules 'dash base udev-rules pcietune bench' /made",
}

# A system's tree stays as it is: what is added lies over it, and goes with the namespace.
_SCRIPT = """
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/tree"
mount -t overlay -o "lowerdir=$2,upperdir=$1/upper,workdir=$1/work" overlay "$1/tree"
cp -R "$3/." "$1/tree"
mkdir -p "$1/tree/lib/modules/$5"
mount --bind "$4" "$1/tree/lib/modules/$5"
mount -t proc proc "$1/tree/proc"
mount --bind /dev "$1/tree/dev"
chroot "$1/tree" sh -c "$6" >&2
cat "$1/tree/made" >"$7"
"""


def make_real_initrd(machine: Machine, kernel: Kernel) -> bytes:
    """Return the initrd that the tool named by the machine makes, uncompressed.

    Raises:
        CacheError: It could not be made.
    """
    tool = machine.initrd
    tree = find_tree(tool)
    with tempfile.TemporaryDirectory(prefix="bench-initrd-") as name:
        folder = Path(name)
        (mounted := folder / "mounted").mkdir()
        added, made = folder / "added", folder / "made"
        release = kernel.modules.name
        _lay_out(added, machine, release)
        command(
            *("unshare", "--mount", "--propagation", "private", "sh", "-euc", _SCRIPT, "initrd"),
            *(mounted, tree, added, kernel.modules, release),
            *(_COMMANDS[tool].format(release=release), made),
        )
        return gzip.decompress(made.read_bytes())


def find_tree(tool: str) -> Path:
    """Return the system that a tool runs in, made by debootstrap if need be.

    Raises:
        CacheError: debootstrap failed or is not installed.
    """
    return cached_tree(tool, [*_COMMON, *PACKAGES[tool]])


def _lay_out(folder: Path, machine: Machine, release: str) -> None:
    """Make what the system has besides Debian's packages."""
    shutil.copytree(installed().root, folder)
    (folder / "boot").mkdir()
    (folder / "boot" / f"config-{release}").write_text("CONFIG_RD_GZIP=y\n")  # all that is asked
    if machine.initrd == "dracut":
        bench = folder / "usr/lib/dracut/modules.d/99bench"
        shutil.copytree(_PARTS / "dracut", bench)
    else:
        bench = folder / "etc/initramfs-tools/scripts"
        shutil.copytree(_PARTS / "initramfs-tools", bench.parent)
    shutil.copy(_PARTS / "mount-root", bench)
    for path, content in machine.files.items():
        file = folder / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
