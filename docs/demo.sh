#!/bin/sh
# What `make demo` runs: the main job on a recorded HGX A800, which ships with pcietune.
# It changes nothing on this machine; what apply writes goes to a copy of the recording.
set -u
host=$(python -c 'import pcietune, pathlib
print(pathlib.Path(pcietune.__file__).parent / "recorded_hosts" / "a800-sxm4-8gpu.tar.gz")')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# run WANTED-EXIT-CODE COMMAND... shows a command, runs it, and ends the demo if it ends otherwise.
run() {
    wanted=$1
    shift
    printf '\n$ pcietune %s\n' "$*" | sed "s|$host|a800.tar.gz|g; s|$work/||g"
    pcietune "$@"
    code=$?
    printf '(exit %s)\n' "$code"
    if [ "$code" != "$wanted" ]; then
        echo "demo: exit $wanted was expected" >&2
        exit 1
    fi
}

# way HOST shows the way of a NIC's writes into a GPU: the first of what `pcietune paths A B` tells.
way() {
    printf '\n$ pcietune paths NIC0 GPU0 --mode vm --from %s | sed -n "/^NIC0 asks/,/decides$/p"\n' \
        "$(printf '%s' "$1" | sed "s|$host|a800.tar.gz|; s|$work/||")"
    pcietune paths NIC0 GPU0 --mode vm --from "$1" | sed -n '/^NIC0 asks/,/decides$/p'
}

run 0 status --from "$host"
run 3 audit --mode vm --from "$host"
way "$host"
run 3 plan --mode vm --from "$host"
run 0 apply --mode vm --from "$host" --to "$work/tuned.tar"
run 0 audit --mode vm --from "$work/tuned.tar"
way "$work/tuned.tar"
run 0 restore --from "$work/tuned.tar" --to "$work/restored.tar"
run 3 audit --mode vm --from "$work/restored.tar" --json >"$work/audit.json"
printf '\nThe last audit again finds %s ports without DirectTrans.\n' \
    "$(grep -c '"id": "port.nic-side.DirectTrans"' "$work/audit.json")"
