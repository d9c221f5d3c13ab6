#!/usr/bin/env bash
# Runs whole public corpora through the program. Downloads to corpus/ once.
#
#   mlx         every kernel of Apple-compiled MLX becomes a verified, optimised, verified program
#   run         kernels of that library run and are compared with MLX on the CPU
#   metalbench  MetalBench's kernels run at reduced sizes and are compared with MLX on the CPU
#   registered  the same at the sizes of MetalBench's registry: about 211 GFLOP, minutes
#   torch       as mlx, for the metallibs inside PyTorch
#   sources     every file of MetalBench, candle, mlx-native and llama.cpp compiles
#   lines       how many instructions of MetalBench's kernels carry a line of their source
#   fidelity    MLX's source compiled by us against Apple's AIR of the same version: barriers, group
#               and matrix operations of every kernel
#   wild        the sources of the public repositories in scripts/wild.tsv, and those that the compilers of its packages
#               generate, compile, have code, and a sample of their kernels is judged; writes docs/corpus.md
#
# Usage: scripts/corpus.sh [PART]...   The first three when none is named.
# What lies in corpus/ already is not fetched: corpus/MetalBench may be a checkout of your own.
# Exit 1: a kernel failed or differs. Exit 3: something could not be fetched, the rest is fine.
set -euo pipefail
cd "$(dirname "$0")/.."
assay=target/release/assay
apple_version=0.32.4
# The newest version whose source and whose wheel both exist; the wheel's build says so in mlx/version.h.
source_version=0.32.2
source_commit=846d176227a0ac13d2667e58d2bb68b322109ab0
torch_version=2.15.0
metalbench_commit=72c6aec7e8152bb8874b9a17008ce88a7dae5174
candle_commit=2a13b0f3ff62f7e67013597f2996f764c5735e21
mlx_native_commit=b30e508e498f27ffe825a6a0b17fbaa4c656cefd
llama_commit=b21e4de74567f5eef213765c9476a843c2e43f0d
library=corpus/mlx-$apple_version/mlx/lib/mlx.metallib

missing() { echo "corpus: $1" >&2; exit 3; }

# wheel PACKAGE VERSION FOLDER: unpacks a macOS wheel into corpus/FOLDER.
wheel() {
  [ -d "corpus/$3" ] && return
  mkdir -p corpus/wheels
  python3 -m pip download --quiet --no-deps --platform macosx_14_0_arm64 --python-version 3.12 \
    --only-binary=:all: "$1==$2" -d corpus/wheels || missing "the $1 $2 wheel could not be fetched"
  rm -rf "corpus/$3.part"
  python3 -m zipfile -e "corpus/wheels/${1//-/_}-$2"-*.whl "corpus/$3.part" || missing "the $1 wheel could not be opened"
  mv "corpus/$3.part" "corpus/$3"
}

# checkout FOLDER REPOSITORY COMMIT: a source tree in corpus/FOLDER.
checkout() {
  [ -d "corpus/$1" ] && return
  mkdir -p "$(dirname "corpus/$1")"
  rm -rf "corpus/$1.part"
  git clone --quiet --filter=blob:none "$2" "corpus/$1.part" &&
    git -C "corpus/$1.part" checkout --quiet "$3" || missing "$2 could not be fetched"
  mv "corpus/$1.part" "corpus/$1"
}

# A Python with MLX for the CPU: the one there is, or one of our own.
python_with_mlx() {
  if python3 -c 'import mlx.core, numpy' 2>/dev/null; then
    echo python3
    return
  fi
  if [ ! -x corpus/python/bin/python ]; then
    python3 -m venv corpus/python
    if ! corpus/python/bin/python -m pip install --quiet "mlx[cpu]==$apple_version" numpy; then
      rm -rf corpus/python
      missing "mlx for the CPU could not be installed"
    fi
  fi
  echo corpus/python/bin/python
}

part_mlx() {
  wheel mlx-metal $apple_version mlx-$apple_version
  $assay ir "$library" --stats
}

part_run() {
  wheel mlx-metal $apple_version mlx-$apple_version
  local python
  python=$(python_with_mlx) || exit
  $python scripts/mlx_kernels.py "$library" --assay $assay
}

# metalbench [--full]
metalbench() {
  checkout MetalBench https://github.com/Lazarus-931/MetalBench $metalbench_commit
  local python
  python=$(python_with_mlx) || exit
  $python scripts/metalbench.py corpus/MetalBench --assay $assay "$@"
}

part_metalbench() { metalbench; }

part_registered() { metalbench --full; }

part_torch() {
  wheel torch $torch_version torch-$torch_version
  $assay ir corpus/torch-$torch_version/torch/lib/libtorch_cpu.dylib --stats
}

part_sources() {
  checkout MetalBench https://github.com/Lazarus-931/MetalBench $metalbench_commit
  checkout candle https://github.com/huggingface/candle $candle_commit
  checkout mlx-native https://github.com/robertelee78/mlx-native $mlx_native_commit
  checkout llama.cpp https://github.com/ggml-org/llama.cpp $llama_commit
  local folder table tables=()
  for folder in MetalBench candle mlx-native llama.cpp/ggml/src/ggml-metal; do
    table=corpus/${folder%%/*}.json
    tables+=("$table")
    # Some files are not expected to compile; the table knows which.
    $assay compile "corpus/$folder" -I corpus/llama.cpp/ggml/src --format json >"$table" || true
  done
  python3 scripts/source_table.py "${tables[@]}"
}

part_lines() {
  checkout MetalBench https://github.com/Lazarus-931/MetalBench $metalbench_commit
  find corpus/MetalBench -name '*.metal' | sort | while read -r file; do
    # Files without kernels and the template for new ones are no part of this.
    $assay ir "$file" --stats --format json 2>/dev/null || true
  done | python3 scripts/line_table.py
}

part_fidelity() {
  local bitcode=corpus/mlx-bitcode-$source_version
  wheel mlx-metal $source_version mlx-$source_version
  checkout mlx-src-$source_version https://github.com/ml-explore/mlx $source_commit
  mkdir -p "$bitcode"
  find corpus/mlx-src-$source_version -name '*.metal' | sort | while read -r file; do
    local target
    target=$bitcode/$(basename "$file" .metal).bc
    # Bitcode older than the program is of another compiler.
    [ "$target" -nt $assay ] || $assay compile "$file" -I corpus/mlx-src-$source_version -fno-fast-math --no-lines \
      -o "$target" >/dev/null 2>&1 || echo "not compiled: $file" >&2
  done
  $assay ir corpus/mlx-$source_version/mlx/lib/mlx.metallib --stats --each --no-opt >corpus/apple.tsv
  for file in "$bitcode"/*.bc; do $assay ir "$file" --stats --each --no-opt; done >corpus/ours.tsv
  python3 scripts/fidelity_table.py corpus/apple.tsv corpus/ours.tsv
}

# A Python with the packages of scripts/wild.tsv: compilers that write Metal.
generators() {
  local python=corpus/generators/bin/python
  [ -x $python ] || python3 -m venv corpus/generators
  $python -m pip install --quiet numpy "$@" || missing "packages that generate Metal could not be installed"
  $python scripts/generators.py corpus/wild
}

part_wild() {
  local folder address commit left=0 here=0 packages=()
  while read -r folder address commit; do
    case $address in
      https://pypi.org/project/*) packages+=("$(basename "$address")==$commit") ;;
      # A shell of its own: one repository that cannot be fetched does not end the part.
      *) if (checkout "wild/$folder" "$address" "$commit"); then here=$((here + 1)); else left=$((left + 1)); fi ;;
    esac
  done < scripts/wild.tsv
  [ $here -gt 0 ] || missing "none of the repositories could be fetched"
  (generators "${packages[@]}") || left=$((left + 1))
  cargo build --release --quiet -p assay-codegen --example judge
  python3 scripts/wild.py corpus/wild --judge target/release/examples/judge --assay $assay --page docs/corpus.md
  [ $left = 0 ] || missing "$left repositories or packages were left out"
}

cargo build --release --quiet -p assay-metal
[ $# -gt 0 ] || set -- mlx run metalbench
worst=0
for part; do
  case $part in
    mlx | run | metalbench | registered | torch | sources | lines | fidelity | wild) ;;
    *) echo "corpus: no part named $part" >&2; exit 2 ;;
  esac
  status=0
  # A shell of its own, so that a part that cannot be fetched does not end the others.
  ("part_$part") || status=$?
  case $status in
    0) ;;
    3) [ $worst != 0 ] || worst=3 ;;
    *) worst=1 ;;
  esac
done
exit $worst
