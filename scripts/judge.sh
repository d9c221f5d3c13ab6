#!/usr/bin/env bash
# Proves generated code on public kernels: each is run by the executor and, as generated
# machine code, by the emulator, on the same random buffers; every byte must be equal, or
# both must stop. Repositories and libraries are kept in corpus/, and fetched there once.
# Usage: scripts/judge.sh [examples|metalbench|candle|mlx]...   Exit 1: something differs.
set -euo pipefail
cd "$(dirname "$0")/.."
seed=${SEED:-1}
sample=${SAMPLE:-300}
mlx=corpus/mlx-0.32.4/mlx/lib/mlx.metallib

clone() { # NAME URL COMMIT
  [ -d "corpus/$1" ] && return
  mkdir -p corpus
  if ! git clone --quiet "$2" "corpus/$1.part" || ! git -C "corpus/$1.part" checkout --quiet "$3"; then
    rm -rf "corpus/$1.part"
    echo "judge: $2 could not be fetched; skipped" >&2
    return 1
  fi
  mv "corpus/$1.part" "corpus/$1"
}

judge() {
  printf '\n== %s\n' "$1"
  shift
  ./target/release/examples/judge --seed "$seed" "$@" || status=1
}

cargo build --release --quiet -p assay-codegen --example judge
status=0
for part in "${@:-examples metalbench candle mlx}"; do
  for one in $part; do
    case $one in
      examples) judge examples examples/kernels/*.metal ;;
      metalbench)
        clone MetalBench https://github.com/Lazarus-931/MetalBench 72c6aec || continue
        find corpus/MetalBench/metal/kernels/{common,standard,full} -name '*.metal' | sort > corpus/metalbench.txt
        judge MetalBench $(cat corpus/metalbench.txt) ;;
      candle)
        clone candle https://github.com/huggingface/candle 2a13b0f3ff62f7e67013597f2996f764c5735e21 || continue
        judge candle corpus/candle/candle-metal-kernels/src/metal_src/*.metal ;;
      mlx)
        if [ ! -f "$mlx" ]; then
          echo "judge: $mlx is not there (make corpus fetches it); skipped" >&2
          continue
        fi
        judge "mlx, $sample kernels at random" --sample "$sample" "$mlx" ;;
      *) echo "judge: no part named $one" >&2; exit 2 ;;
    esac
  done
done
exit $status
