"""Roots of hosts with one boot loader or another, and what is to be inserted there."""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from pcietune.host.boot_loader.loaders import carry_out, loader_of
from pcietune.host.host_files import HostFiles
from pcietune.model.boot_loader import LoaderChange, LoaderName
from pcietune.tune.kernel_args.merge import Merged, Ours, merge

OURS = Ours(
    config_acs=("1011101@0000:20:01.0/00.0/04.0", "0011101@0000:20:01.0"), others=("iommu=pt",)
)
WORDS = ("pci=config_acs=1011101@0000:20:01.0/00.0/04.0;0011101@0000:20:01.0", "iommu=pt")
SOURCES_DIRECTORY = """#!/bin/sh
if test -f /etc/default/grub ; then . /etc/default/grub; fi
for x in /etc/default/grub.d/*.cfg ; do
  if [ -e "${x}" ]; then . "${x}"; fi
done
"""
SOURCES_ONE_FILE = """#!/bin/sh
if test -f /etc/default/grub ; then . /etc/default/grub; fi
"""


def merging(ours: Ours, words: Sequence[str], before: Sequence[str]) -> Merged:
    """Merge as ``advise`` does, where only ports with a path below 20:01.0 are pcietune's."""
    del before
    return merge(words, ours, lambda device: device.startswith("0000:20:01.0"))


def put(root: Path, path: str, text: str, mode: int = 0o644) -> Path:
    """Write a file below the root."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(mode)
    return file


def debian(root: Path, default: str = 'GRUB_CMDLINE_LINUX_DEFAULT="quiet"\n') -> HostFiles:
    """Return a host whose ``grub-mkconfig`` reads /etc/default/grub.d."""
    put(root, "usr/sbin/grub-mkconfig", SOURCES_DIRECTORY, 0o755)
    put(root, "usr/sbin/update-grub", "", 0o755)
    put(root, "boot/grub/grub.cfg", "")
    put(root, "etc/default/grub", default)
    return HostFiles(root, recorded=False)


def with_kernel_install(root: Path, cmdline: str | None = "root=/dev/sda1 ro\n") -> HostFiles:
    """Return a host with kernel-install, and /etc/kernel/cmdline unless that is None."""
    put(root, "usr/bin/kernel-install", "", 0o755)
    put(root, "proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro initrd=/initrd quiet\n")
    put(root, "proc/sys/kernel/osrelease", "6.16.1\n")
    put(root, "efi/loader/entries/one.conf", "")
    if cmdline is not None:
        put(root, "etc/kernel/cmdline", cmdline)
    return HostFiles(root, recorded=False)


def insert(files: HostFiles, name: LoaderName, ours: Ours = OURS) -> LoaderChange:
    """Insert, and return what was changed."""
    change = loader_of(name).insert(files, partial(merging, ours))
    carry_out(files, change)
    return change


def remove(files: HostFiles, name: LoaderName) -> LoaderChange:
    """Remove, and return what was changed."""
    change = loader_of(name).remove(files)
    carry_out(files, change)
    return change


def intended(files: HostFiles, name: LoaderName) -> list[tuple[str, str]]:
    """Return the words that its files ask for, and where."""
    return [(word.word, word.place) for word in loader_of(name).intended(files)]


if __name__ == "__main__":  # so that strace may kill it
    {"insert": insert, "remove": remove}[sys.argv[1]](
        HostFiles(Path(sys.argv[3]), recorded=False), LoaderName(sys.argv[2])
    )
