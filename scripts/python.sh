#!/usr/bin/env bash
# The Python package: builds a wheel, installs it into a venv of its own and runs its tests, the examples of its
# documentation, type checks, example programs, and a notebook.
# Exit 3: a package registry cannot be reached, so the package cannot be tested here.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'python: %s\n' "$*"; }
python=${PYTHON:-python3}
venv=$PWD/target/python-venv

command -v "$python" >/dev/null || { say "no $python"; exit 3; }
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { say "Python 3.11 or newer is needed"; exit 3; }
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv" || { say "no venv"; exit 3; }
pip() { "$venv/bin/python" -m pip --disable-pip-version-check "$@"; }

pip install --quiet 'maturin>=1.16,<2' numpy pytest mypy pandas pandas-stubs nbconvert ipykernel ml_dtypes \
  || { say "the package registry cannot be reached"; exit 3; }
pip install --quiet 'mlx[cpu]' 2>/dev/null || say "no MLX for this machine: comparisons with it are left out"

# Metal's API for Linux goes into the wheel.
if [ "$(uname)" = Linux ]; then
  CARGO_TARGET_DIR=$PWD/target cargo build --quiet --locked --profile test -p assay-metal-api
  strip -o python/assay/libassay_metal_api.so target/debug/libassay_metal_api.so
fi

# What tests use: quick to build, fast enough to run. Releases are built with --release.
CARGO_TARGET_DIR=$PWD/target "$venv/bin/maturin" build --quiet --locked --manifest-path python/Cargo.toml --profile quick \
  --interpreter "$venv/bin/python" --out target/python-wheels ||
  { cargo fetch --manifest-path python/Cargo.toml >/dev/null 2>&1 || { say "the crate registry cannot be reached"; exit 3; }; exit 1; }
pip install --quiet --force-reinstall --no-deps target/python-wheels/assay_metal-*.whl

"$venv/bin/assay" --version
"$venv/bin/python" -m pytest --quiet python/tests
"$venv/bin/python" -m pytest --quiet --doctest-modules --pyargs assay
(cd python && "$venv/bin/python" -m mypy --strict --no-error-summary assay examples)
for example in python/examples/*.py; do "$venv/bin/python" "$example" >/dev/null; done
"$venv/bin/jupyter" nbconvert --log-level ERROR --to html --execute python/examples/profile.ipynb --output-dir target/notebook
say "tests, documentation, types, examples and notebook are fine"

status=0
"$venv/bin/python" scripts/mlx_custom_kernels.py ${MLX_CHECKOUT:+--mlx "$MLX_CHECKOUT"} || status=$?
case $status in
  0) ;;
  3 | 4) say "MLX's own kernels were not tried" ;;
  *) exit "$status" ;;
esac
