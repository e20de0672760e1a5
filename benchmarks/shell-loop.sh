#!/bin/sh
# Does by lspci and setpci what pcietune does, as is usual: shell-loop.sh audit|apply TREE
# TREE stands for /sys/bus/pci. VFs are passed over: a loop that knows no better takes far longer.
set -eu
what=$1
tree=$2
lspci="lspci -O sysfs.path=$tree -D"
setpci="setpci -O sysfs.path=$tree"

nics() {
    for nic in $($lspci -d 15b3: | cut -d ' ' -f 1); do
        [ -e "$tree/devices/$nic/physfn" ] || echo "$nic"
    done
}

case $what in
audit)
    for port in $($lspci -d ::0604 | cut -d ' ' -f 1); do
        echo "$port $($lspci -vvv -s "$port" | grep ACSCtl)"
    done
    for nic in $(nics); do
        echo "$nic $($lspci -vvv -s "$nic" | grep ATSCtl)"
    done
    ;;
apply)
    for nic in $(nics); do
        port=$(basename "$(dirname "$(readlink -f "$tree/devices/$nic")")")
        $lspci -vvv -s "$port" | grep -q 'ACSCap:.*DirectTrans+' || continue
        $setpci -s "$port" ECAP_ACS+6.w=0040:0040
        $lspci -vvv -s "$port" | grep -q 'ACSCtl:.*DirectTrans+' || echo "$port does not take it"
    done
    ;;
*)
    echo "shell-loop.sh: neither audit nor apply: $what" >&2
    exit 2
    ;;
esac
