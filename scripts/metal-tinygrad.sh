#!/usr/bin/env bash
# tinygrad's Metal device over our library, by the way of its users: the package, ctypes, and the site hook of the SDK. Exit 3 where the
# registry is missing.
#
#   metal-tinygrad.sh LIBRARY
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.14.0
library=$(realpath "$1")
out=$PWD/target/metal/tinygrad
python=$out/python/bin/python
if [ ! -x "$python" ] || ! "$python" -c "import tinygrad, numpy" 2> /dev/null; then
  python3 -m venv "$out/python"
  "$python" -m pip --disable-pip-version-check install --quiet "tinygrad==$version" numpy ||
    { echo "metal-tinygrad.sh: the package registry cannot be reached" >&2; exit 3; }
fi
# What tinygrad computes on the CPU itself, it compiles by a clang.
compiler=${ASSAY_CLANG:-}
for name in clang-22 clang-21 clang-20 clang-19 clang; do
  [ -n "$compiler" ] || compiler=$(command -v "$name" || true)
done
[ -n "$compiler" ] || { echo "metal-tinygrad.sh: no clang; scripts/setup.sh installs one" >&2; exit 3; }
mkdir -p "$out/sdk/lib" "$out/sdk/python"
for name in objc Metal CoreGraphics MTLCompiler System; do
  ln -sf "$library" "$out/sdk/lib/lib$name.so"
done
cp crates/metal/sdk/python/sitecustomize.py "$out/sdk/python/"
LD_LIBRARY_PATH=$out/sdk/lib PYTHONPATH=$out/sdk/python ASSAY_CACHE=$out/cache CACHEDB=$out/cache.db DEV=METAL CC=$compiler \
  "$python" crates/metal/tests/tinygrad_operators.py
