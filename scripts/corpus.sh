#!/usr/bin/env bash
# Runs whole public corpora through the program: every kernel of Apple-compiled MLX becomes a
# verified, optimised, verified program. Downloads to corpus/ once. Exit 3: not possible here.
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.32.4
library=corpus/mlx-$version/mlx/lib/mlx.metallib

if [ ! -f "$library" ]; then
  mkdir -p corpus/wheels
  if ! python3 -m pip download --quiet --no-deps --platform macosx_14_0_arm64 --only-binary=:all: \
      "mlx-metal==$version" -d corpus/wheels; then
    echo "corpus: the mlx-metal $version wheel could not be fetched" >&2
    exit 3
  fi
  python3 -m zipfile -e corpus/wheels/mlx_metal-$version-*.whl "corpus/mlx-$version"
fi

cargo build --release --quiet -p assay-cli
./target/release/assay ir "$library" --stats
