#!/usr/bin/env bash
# Runs whole public corpora through the program. Downloads to corpus/ once.
#   mlx         every kernel of Apple-compiled MLX becomes a verified, optimised, verified program
#   run         kernels of that library run and are compared with MLX on the CPU
#   metalbench  MetalBench's kernels run and are compared with MLX on the CPU: at reduced sizes in
#               minutes, with CORPUS_FULL=1 at registered sizes in tens of minutes
# Usage: scripts/corpus.sh [mlx|run|metalbench]...   Exit 1: something differs; 3: not possible here.
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.32.4
library=corpus/mlx-$version/mlx/lib/mlx.metallib
metalbench=corpus/MetalBench
commit=72c6aec7e8152bb8874b9a17008ce88a7dae5174
assay=target/release/assay

fetch_library() {
  [ -f "$library" ] && return
  mkdir -p corpus/wheels
  if ! python3 -m pip download --quiet --no-deps --platform macosx_14_0_arm64 --only-binary=:all: \
      "mlx-metal==$version" -d corpus/wheels; then
    echo "corpus: the mlx-metal $version wheel could not be fetched" >&2
    exit 3
  fi
  python3 -m zipfile -e corpus/wheels/mlx_metal-$version-*.whl "corpus/mlx-$version"
}

fetch_metalbench() {
  [ -d "$metalbench" ] && return
  mkdir -p corpus
  if ! git clone --quiet https://github.com/Lazarus-931/MetalBench "$metalbench.part" ||
      ! git -C "$metalbench.part" checkout --quiet "$commit"; then
    rm -rf "$metalbench.part"
    echo "corpus: MetalBench could not be fetched" >&2
    exit 3
  fi
  mv "$metalbench.part" "$metalbench"
}

# A Python with MLX for the CPU: the one there is, or one of our own.
python_with_mlx() {
  if python3 -c 'import mlx.core, numpy' 2>/dev/null; then
    echo python3
    return
  fi
  if [ ! -x corpus/python/bin/python ]; then
    python3 -m venv corpus/python
    if ! corpus/python/bin/python -m pip install --quiet "mlx[cpu]==$version" numpy; then
      rm -rf corpus/python
      echo "corpus: mlx for the CPU could not be installed" >&2
      exit 3
    fi
  fi
  echo corpus/python/bin/python
}

cargo build --release --quiet -p assay-cli
status=0
for part in "${@:-mlx run metalbench}"; do
  for one in $part; do
    case $one in
      mlx)
        fetch_library
        $assay ir "$library" --stats || status=1 ;;
      run)
        fetch_library
        python=$(python_with_mlx)
        $python scripts/mlx_kernels.py "$library" --assay $assay || status=1 ;;
      metalbench)
        fetch_metalbench
        python=$(python_with_mlx)
        $python scripts/metalbench.py "$metalbench" --assay $assay ${CORPUS_FULL:+--full} || status=1 ;;
      *) echo "corpus: no part named $one" >&2; exit 2 ;;
    esac
  done
done
exit $status
