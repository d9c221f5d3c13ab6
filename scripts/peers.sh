#!/bin/sh
# Kernels on one core, beside PoCL (the system's OpenCL for CPUs), in one run: scripts/peers.sh
#
# Both sides run the same kernels on the same sizes, in turns; each figure is the least host time of all turns. Streaming kernels are
# interpreted on our side, those that calculate run as machine code. Exit 1 if a result is wrong, a streaming kernel is slower than on
# PoCL, or a kernel that calculates not 1.5 times as fast; 4 if PoCL or its headers are missing.
set -eu
cd "$(dirname "$0")/.."
turns=${TURNS:-3}

[ -f /usr/include/CL/cl.h ] && ls /etc/OpenCL/vendors/pocl*.icd >/dev/null 2>&1 || {
    echo "PoCL is missing: apt-get install pocl-opencl-icd ocl-icd-opencl-dev" >&2
    exit 4
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for part in streaming compute; do
    cc -O2 -o "$work/$part" "scripts/peers/$part.c" -lOpenCL -lm
done
cargo bench -q -p assay-exec --features native --bench streaming --bench native --no-run
: "${ASSAY_CLANG:=$(command -v clang-22 || command -v clang-19 || command -v clang)}"
export ASSAY_CLANG
# One core: the same for both.
pin=""
command -v taskset >/dev/null && pin="taskset -c 0"
ours() { $pin cargo bench -q -p assay-exec --features native --bench "$1"; }
theirs() { POCL_MAX_PTHREAD_COUNT=1 POCL_CPU_MAX_CU_COUNT=1 $pin "$work/$1"; }
turn=0
while [ "$turn" -lt "$turns" ]; do
    ours streaming >>"$work/ours.streaming"
    theirs streaming >>"$work/theirs.streaming"
    # Its lines: name, interpreted, machine code, work, making, verdict.
    ours native | awk -F'\t' -v OFS='\t' '{ print $1, $3, $6 }' >>"$work/ours.compute"
    theirs compute >>"$work/theirs.compute"
    turn=$((turn + 1))
done
status=0
for part in streaming:1.0 compute:1.5; do
    awk -F'\t' -v margin="${part#*:}" '
        $3 != "ok" { print "wrong: " FILENAME ": " $0; bad = 1 }
        NR == FNR { if (!($1 in theirs) || $2 < theirs[$1]) theirs[$1] = $2; if (!seen[$1]++) order[++count] = $1; next }
        { if (!($1 in ours) || $2 < ours[$1]) ours[$1] = $2 }
        END {
            printf "%-14s %10s %10s %8s\n", "kernel", "assay", "PoCL", "ratio"
            for (at = 1; at <= count; at++) {
                name = order[at]
                if (!(name in ours)) { print name ": not measured here"; bad = 1; continue }
                ratio = theirs[name] / (ours[name] > 0 ? ours[name] : 1)
                printf "%-14s %7d µs %7d µs %7.2f×\n", name, ours[name], theirs[name], ratio
                logs += log(ratio)
                if (ratio < margin) bad = 1
            }
            if (count) printf "geometric mean %.2f×\n\n", exp(logs / count)
            exit bad
        }' "$work/theirs.${part%:*}" "$work/ours.${part%:*}" || status=1
done
exit "$status"
