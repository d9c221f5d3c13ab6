#!/usr/bin/env bash
# Proves generated code on public kernels: each is run by the executor and, as generated
# machine code, by the emulator, on the same random buffers; every byte must be equal, or
# both must stop. Repositories and libraries are kept in corpus/, and fetched there once.
# Usage: scripts/judge.sh [examples|metalbench|candle|mlx]...   Exit 1: something differs.
# With PAGE=FILE the result is written there as a page: what is not supported, by reason.
set -euo pipefail
cd "$(dirname "$0")/.."
seeds=${SEEDS:-1}
page=${PAGE:-}
sample=${SAMPLE:-320}
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

judge() { # TITLE SEED ARGUMENTS...
  local title=$1 seed=$2
  shift 2
  local run=(./target/release/examples/judge --seed "$seed")
  if [ -n "$page" ]; then
    "${run[@]}" --section "$title" "$@" >> "$page.part" || status=1
  else
    printf '\n== %s\n' "$title"
    "${run[@]}" "$@" || status=1
  fi
}

cargo build --release --quiet -p assay-codegen --example judge
status=0
if [ -n "$page" ]; then
  cat > "$page.part" <<'EOF'
# What generated code covers

Made by `make coverage`. Each kernel is run by the executor and, as generated machine code, by the emulator, on
random buffers of several sizes; *the same bytes* means that every byte of every buffer was equal after every trial
that ran to its end, and at least one did. Nothing here was measured on a GPU.

EOF
fi
for part in "${@:-examples metalbench candle mlx}"; do
  for one in $part; do
    case $one in
      examples) judge "our examples" 1 examples/kernels/*.metal ;;
      metalbench)
        clone MetalBench https://github.com/Lazarus-931/MetalBench 72c6aec || continue
        find corpus/MetalBench/metal/kernels/{common,standard,full} -name '*.metal' | sort > corpus/metalbench.txt
        # shellcheck disable=SC2046 # names without spaces, one argument each
        judge MetalBench 1 $(cat corpus/metalbench.txt) ;;
      candle)
        clone candle https://github.com/huggingface/candle 2a13b0f3ff62f7e67013597f2996f764c5735e21 || continue
        judge candle 1 corpus/candle/candle-metal-kernels/src/metal_src/*.metal ;;
      mlx)
        if [ ! -f "$mlx" ]; then
          echo "judge: $mlx is not there (make corpus fetches it); skipped" >&2
          continue
        fi
        for seed in $seeds; do
          judge "mlx, $sample kernels at random (seed $seed)" "$seed" --sample "$sample" "$mlx"
        done ;;
      *) echo "judge: no part named $one" >&2; exit 2 ;;
    esac
  done
done
if [ -n "$page" ]; then
  mv "$page.part" "$page"
fi
exit $status
