#!/bin/sh
# Sets DirectTrans on the port above every NIC by setpci, as is usual. $1 stands for /sys/bus/pci.
set -eu
lspci="lspci -O sysfs.path=$1 -D"
setpci="setpci -O sysfs.path=$1"

for nic in $($lspci -d 15b3: | cut -d ' ' -f 1); do
    port=$(basename "$(dirname "$(readlink -f "$1/devices/$nic")")")
    $lspci -vvv -s "$port" | grep -q 'ACSCap:.*DirectTrans+' || continue
    $setpci -s "$port" ECAP_ACS+6.w=0040:0040
    $lspci -vvv -s "$port" | grep -q 'ACSCtl:.*DirectTrans+' || echo "$port does not take it"
done
