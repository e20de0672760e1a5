#!/bin/bash
# dracut's side of pcietune's early overrides; /etc/pcietune/disabled keeps them out of the image.

check() {
    [[ -e ${dracutsysrootdir-}/etc/pcietune/early-overrides ]] || return 1
    [[ ! -e ${dracutsysrootdir-}/etc/pcietune/disabled ]]
}

install() {
    inst_simple /etc/pcietune/early-overrides
    inst_script /usr/lib/pcietune/early-overrides
    # shellcheck disable=SC2154  # dracut's variable
    inst_hook pre-udev 10 "$moddir/early-overrides.sh"
}
