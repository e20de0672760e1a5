#!/bin/sh
# The least that is usual instead of pcietune's hook: hook.sh TREE NIC
# TREE stands for /sys/bus/pci. DirectTrans is set at the port right above the NIC, and looked at.
set -eu
tree=$1
port=$(basename "$(dirname "$(readlink -f "$tree/devices/$2")")")
lspci -O "sysfs.path=$tree" -D -vvv -s "$port" | grep -q 'ACSCap:.*DirectTrans+'
setpci -O "sysfs.path=$tree" -s "$port" ECAP_ACS+6.w=0040:0040
lspci -O "sysfs.path=$tree" -D -vvv -s "$port" | grep -q 'ACSCtl:.*DirectTrans+'
