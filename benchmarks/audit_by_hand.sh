#!/bin/sh
# Audits a host by lspci, as is usual. $1 is what stands for /sys/bus/pci.
set -eu
lspci="lspci -O sysfs.path=$1 -D"

for port in $($lspci -d ::0604 | cut -d ' ' -f 1); do
    echo "$port $($lspci -vvv -s "$port" | grep ACSCtl)"
done
for nic in $($lspci -d 15b3: | cut -d ' ' -f 1); do
    echo "$nic $($lspci -vvv -s "$nic" | grep ATSCtl)"
done
