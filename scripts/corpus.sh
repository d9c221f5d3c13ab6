#!/usr/bin/env bash
# Runs whole public corpora through the program. Downloads to corpus/ once.
#
#   corpus.sh            every kernel of Apple-compiled MLX becomes a verified, optimised, verified program
#   corpus.sh torch      the same for the two metallibs inside PyTorch
#   corpus.sh lines      how many instructions of MetalBench's kernels carry a line of their source
#   corpus.sh fidelity   MLX's source compiled by us against Apple's AIR of the same version: barriers, group and
#                        matrix operations of every kernel
#   corpus.sh all
#
# Sources that git cannot fetch are taken from corpus/MetalBench and corpus/mlx-src-VERSION if they are there.
# Exit 1: a kernel failed or differs. Exit 3: not possible here.
set -euo pipefail
cd "$(dirname "$0")/.."
assay=./target/release/assay
apple_version=0.32.4
# The newest version whose source and whose wheel both exist; the wheel's build says so in mlx/version.h.
source_version=0.32.2
source_commit=846d176227a0ac13d2667e58d2bb68b322109ab0
torch_version=2.15.0

missing() { echo "corpus: $1" >&2; exit 3; }

# wheel PACKAGE VERSION FOLDER: unpacks a macOS wheel into corpus/FOLDER.
wheel() {
  [ -d "corpus/$3" ] && return
  mkdir -p corpus/wheels
  python3 -m pip download --quiet --no-deps --platform macosx_14_0_arm64 --python-version 3.12 \
    --only-binary=:all: "$1==$2" -d corpus/wheels || missing "the $1 $2 wheel could not be fetched"
  python3 -m zipfile -e "corpus/wheels/${1//-/_}-$2"-*.whl "corpus/$3"
}

# checkout FOLDER REPOSITORY [COMMIT]: a source tree in corpus/FOLDER.
checkout() {
  [ -d "corpus/$1" ] && return
  git clone --quiet --filter=blob:none "$2" "corpus/$1" || missing "$2 could not be fetched"
  [ -z "${3:-}" ] || git -C "corpus/$1" checkout --quiet "$3"
}

apple() {
  wheel mlx-metal $apple_version mlx-$apple_version
  $assay ir corpus/mlx-$apple_version/mlx/lib/mlx.metallib --stats
}

torch() {
  wheel torch $torch_version torch-$torch_version
  $assay ir corpus/torch-$torch_version/torch/lib/libtorch_cpu.dylib --stats
}

lines() {
  checkout MetalBench https://github.com/Lazarus-931/MetalBench
  find corpus/MetalBench -name '*.metal' | sort | while read -r file; do
    # Files without kernels and the template for new ones are no part of this.
    $assay ir "$file" --stats --format json 2>/dev/null || true
  done | python3 scripts/line_table.py
}

fidelity() {
  local bitcode=corpus/mlx-bitcode-$source_version
  wheel mlx-metal $source_version mlx-$source_version
  checkout mlx-src-$source_version https://github.com/ml-explore/mlx $source_commit
  mkdir -p "$bitcode"
  find corpus/mlx-src-$source_version -name '*.metal' | sort | while read -r file; do
    local target
    target=$bitcode/$(basename "$file" .metal).bc
    [ -f "$target" ] || $assay compile "$file" -I corpus/mlx-src-$source_version -fno-fast-math --no-lines \
      -o "$target" >/dev/null 2>&1 || echo "not compiled: $file" >&2
  done
  $assay ir corpus/mlx-$source_version/mlx/lib/mlx.metallib --stats --each --no-opt >corpus/apple.tsv
  for file in "$bitcode"/*.bc; do $assay ir "$file" --stats --each --no-opt; done >corpus/ours.tsv
  python3 scripts/fidelity_table.py corpus/apple.tsv corpus/ours.tsv
}

cargo build --release --quiet -p assay-cli
for part in "${@:-apple}"; do
  case $part in
    apple | torch | lines | fidelity) $part ;;
    all) apple; torch; lines; fidelity ;;
    *) echo "corpus: no part named $part" >&2; exit 2 ;;
  esac
done
