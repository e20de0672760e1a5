#!/bin/sh
# Runs libvirtd with folders of its own and a hook, and has it start two VMs; in a mount namespace of its own.
#
# Its argument is a folder with: etc, for /etc/libvirt; passwd and group, for those of /etc; one.xml and other.xml.
set -eu
here=$1

for folder in /run /var/lib /var/log /var/cache; do
    mount -t tmpfs tmpfs "$folder"
done
mount --bind "$here/etc" /etc/libvirt
mount --bind "$here/passwd" /etc/passwd
mount --bind "$here/group" /etc/group

libvirtd >"$here/libvirtd.log" 2>&1 &
daemon=$!
end() {
    virsh -q -c qemu:///system destroy one >/dev/null 2>&1 || :
    kill "$daemon" 2>/dev/null || :
    wait "$daemon" || :
}
trap end EXIT

tries=0
until virsh -q -c qemu:///system list >/dev/null 2>"$here/connecting"; do
    tries=$((tries + 1))
    [ "$tries" -lt 600 ] || exit 1
    sleep 0.1
done
for name in one other; do
    code=0
    virsh -q -c qemu:///system create "$here/$name.xml" >"$here/$name.said" 2>&1 || code=$?
    echo "$code" >"$here/$name.code"
done
virsh -q -c qemu:///system list --name >"$here/running"
tries=0
until [ -s "$here/seen" ]; do # what the hook left behind says when it is done
    tries=$((tries + 1))
    [ "$tries" -lt 600 ] || exit 1
    sleep 0.1
done
