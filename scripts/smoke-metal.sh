#!/usr/bin/env bash
# Drives this Mac's GPU with the commands a user would type and compares with the CPU device.
#   scripts/smoke-metal.sh [path/to/assay]
# Ends with 0 when GPU and CPU agree, with 4 when this machine has no Metal GPU, with 3 when the CPU cannot run the kernel (no clang).
set -euo pipefail
assay=$(cd "$(dirname "${1:-target/release/assay}")" && pwd)/$(basename "${1:-target/release/assay}")
cd "$(dirname "$0")/.."

"$assay" doctor || true
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

kernel=examples/kernels/saxpy.metal
run() {
  "$assay" run "$kernel" -f saxpy --device "$1" --grid 1000 --threadgroup 64 \
    --buffer 0=random:f32:1000:1 --buffer 1=random:f32:1000:2 --bytes 2=f32:0.5 --bytes 3=u32:1000 \
    --out "0=$folder/$1.npy" --print 0:4 --repeat 5
}
run cpu || { echo "smoke: nothing to compare with: the kernel does not run on the CPU (assay doctor says what is missing)" >&2; exit 3; }
status=0
run metal || status=$?
if [ "$status" != 0 ]; then exit "$status"; fi
cmp "$folder/cpu.npy" "$folder/metal.npy"
echo "smoke: GPU and CPU agree on saxpy"

# Apple's own machine code for the same kernel, where Xcode's Metal toolchain is installed.
status=0
"$assay" profile "$kernel" -f saxpy || status=$?
[ "$status" = 0 ] || [ "$status" = 4 ]
