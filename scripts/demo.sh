#!/usr/bin/env bash
# Shows the best the project can do so far, on files that come with it.
set -euo pipefail
cd "$(dirname "$0")/.."
# Unoptimised and without agents and language models: what is shown takes seconds either way, and an optimised build takes minutes.
cargo build --quiet -p assay-metal --no-default-features
assay=./target/debug/assay
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

say "A naive matrix product in Metal: what does it cost, and why?"
$assay profile examples/kernels/matmul_naive.metal --show asm

say "The tiled version beside it: a sixteenth of the bytes, though threadgroup memory now takes the time;"
$assay diff examples/kernels/matmul_naive.metal examples/kernels/matmul_tiled.metal

say "and with 4 by 4 results per thread in registers (hot_cycles_per_float is what counts):"
$assay diff examples/kernels/matmul_naive.metal examples/kernels/matmul_reg4x4.metal

say "Machine code with a wait taken out, run on the emulator:"
grep -v '^wait 0' examples/agx/matmul_naive.agx | $assay asm - -o target/no_wait.bin
$assay emu target/no_wait.bin --grid 4,4,1 --threadgroup 4,4,1 --arg 0=zeros:64 --arg 4=zeros:64 \
  --arg 8=zeros:64 --arg 12=u32:4 --arg 14=u32:4 || true

say "More: $assay --help, and the tour in README.md. For daily use: cargo build --release -p assay-metal"
