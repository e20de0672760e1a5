#!/bin/bash
# What the guest's disks need, and how dracut mounts the root there.
check() { return 0; }

installkernel() { instmods virtio_blk squashfs overlay; }

install() {
    inst_simple "$moddir/mount-root" /mount-root
    inst_hook cmdline 00 "$moddir/root-is-ours.sh"
    inst_hook mount 00 "$moddir/mount.sh"
}
