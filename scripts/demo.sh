#!/usr/bin/env bash
# Shows the best the project can do so far, on files that come with it.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --quiet -p assay-cli
assay=./target/release/assay
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

say "A naive matrix product as M1/M2 machine code: what does it cost, and why?"
$assay asm examples/agx/matmul_naive.agx -o target/matmul_naive.bin
$assay profile target/matmul_naive.bin

say "The same code with its wait taken out, run on the emulator:"
grep -v '^wait 0' examples/agx/matmul_naive.agx | $assay asm - -o target/no_wait.bin
$assay emu target/no_wait.bin --grid 4,4,1 --threadgroup 4,4,1 --arg 0=zeros:64 --arg 4=zeros:64 \
  --arg 8=zeros:64 --arg 12=u32:4 --arg 14=u32:4 || true

say "The Metal source of such a kernel, as the program Assay works on:"
$assay ir examples/kernels/matmul_naive.metal || true

say "More: $assay --help, and the tour in README.md"
