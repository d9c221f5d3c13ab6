#!/bin/sh
# Streaming kernels on one core, beside PoCL (the system's OpenCL for CPUs), in one run: scripts/peers.sh
#
# Both sides run the same kernels on buffers of 16 MB, in turns; each figure is the least host time of all turns.
# Exit 1 if a result is wrong or a kernel is slower than on PoCL, 4 if PoCL or its headers are missing.
set -eu
cd "$(dirname "$0")/.."
turns=${TURNS:-3}
margin=${MARGIN:-1.0}

[ -f /usr/include/CL/cl.h ] && ls /etc/OpenCL/vendors/pocl*.icd >/dev/null 2>&1 || {
    echo "PoCL is missing: apt-get install pocl-opencl-icd ocl-icd-opencl-dev" >&2
    exit 4
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc -O2 -o "$work/pocl" scripts/peers/pocl.c -lOpenCL
cargo bench -q -p assay-exec --bench streaming --no-run
: "${ASSAY_CLANG:=$(command -v clang-22 || command -v clang-19 || command -v clang)}"
export ASSAY_CLANG
# One core: the same for both.
pin=""
command -v taskset >/dev/null && pin="taskset -c 0"
turn=0
while [ "$turn" -lt "$turns" ]; do
    $pin cargo bench -q -p assay-exec --bench streaming >>"$work/ours"
    POCL_MAX_PTHREAD_COUNT=1 POCL_CPU_MAX_CU_COUNT=1 $pin "$work/pocl" >>"$work/theirs"
    turn=$((turn + 1))
done
awk -F'\t' -v margin="$margin" '
    $3 != "ok" { print "wrong: " FILENAME ": " $0; bad = 1 }
    NR == FNR { if (!($1 in ours) || $2 < ours[$1]) ours[$1] = $2; if (!seen[$1]++) order[++count] = $1; next }
    { if (!($1 in theirs) || $2 < theirs[$1]) theirs[$1] = $2 }
    END {
        printf "%-12s %10s %10s %8s\n", "kernel", "assay", "PoCL", "ratio"
        for (at = 1; at <= count; at++) {
            name = order[at]
            ratio = theirs[name] / ours[name]
            printf "%-12s %7d µs %7d µs %7.2f×\n", name, ours[name], theirs[name], ratio
            if (ratio < margin) bad = 1
        }
        exit bad
    }' "$work/ours" "$work/theirs"
