#!/usr/bin/env bash
# Whole programs recorded on Linux and their GPU time modelled: an Objective-C program that computes a chain of operations as four kernels
# and as one, and layers on candle. Prints the reports; fails where they lack what they must say, and where the chapter on candle
# shows something else. Exit 3 without a clang or a package registry.
# Usage: scripts/programs.sh [PROFILE]   (release by default)
set -euo pipefail
cd "$(dirname "$0")/.."
profile=${1:-release}
case $profile in dev | test) folder=debug ;; *) folder=$profile ;; esac
folder=${CARGO_TARGET_DIR:-target}/$folder
out=${CARGO_TARGET_DIR:-target}/programs
mkdir -p "$out"

compiler=${ASSAY_CLANG:-}
for name in clang-22 clang-21 clang-20 clang-19 clang; do
  [ -n "$compiler" ] || compiler=$(command -v "$name" || true)
done
[ -n "$compiler" ] || { echo "programs.sh: no clang; scripts/setup.sh installs one" >&2; exit 3; }

cargo build --profile "$profile" --quiet -p assay-metal -p assay-metal-api
assay=$(cd "$folder" && pwd)/assay
"$compiler" "@$("$assay" metal sdk)/flags" -fobjc-arc -O1 crates/metal/tests/programs/fusion.m -o "$out/fusion" -lobjc

# A report must have a line that matches.
must() { grep -qE "$2" "$1" || { cat "$1" >&2; echo "programs.sh: $1 has no line with $2" >&2; exit 1; }; }

for kind in eager fused; do
  "$assay" metal run --record "$out/$kind.recording" --no-execute -- "$out/fusion" "$kind"
  "$assay" trace report --chip m2,m4-max --step 4 "$out/$kind.recording" | tee "$out/$kind.txt"
done
must "$out/eager.txt" 'on Apple M2 .*modelled'
must "$out/eager.txt" '160 .*5 different launches'
must "$out/eager.txt" 'm4-max ~'
must "$out/fused.txt" '64 .*2 different launches'

# Twice the same, byte for byte; the second time nothing is executed again.
"$assay" trace report --chip m2,m4-max --step 4 "$out/eager.recording" | cmp - "$out/eager.txt"

"$assay" trace compare --full --steps 4 "$out/eager.recording" "$out/fused.recording" | tee "$out/compare.txt"
must "$out/compare.txt" 'Fusion working'
must "$out/compare.txt" 'fused_sine_cosine_exponential_logarithm'
"$assay" trace export "$out/eager.recording" -o "$out/eager.json"
must "$out/eager.json" 'dispatches \(modelled\)'
must "$out/eager.json" '"logarithm"'
"$assay" trace report --format html "$out/eager.recording" -o "$out/eager.html"
must "$out/eager.html" 'modelled'

# What was executed while it was recorded is recorded alike.
"$assay" trace record --chip m2 --keep "$out/run.recording" -- "$out/fusion" fused > "$out/run.txt"
must "$out/run.txt" '64 .*2 different launches'

# The gate holds the program: fused it passes, and unfused it fails by its dispatches.
gated=$(mktemp -d)
trap 'rm -rf "$gated"' EXIT
git -C "$gated" init -q -b main
printf 'chips = ["m2"]\n[[program]]\nname = "chain"\nrun = "./run.sh"\n' > "$gated/assay.toml"
printf '#!/bin/sh\n%s fused\n' "$(realpath "$out/fusion")" > "$gated/run.sh"
chmod +x "$gated/run.sh"
git -C "$gated" add -A
git -C "$gated" -c user.name=test -c user.email=test@example.com commit -qm one
(cd "$gated" && "$assay" gate --against main --programs)
sed -i 's/fused/eager/' "$gated/run.sh"
(cd "$gated" && ! "$assay" gate --against main --programs) > "$out/gate.txt"
must "$out/gate.txt" 'chain: dispatches grew from 64 to 160 .*program-grew'

# The guide's chapter on candle, line by line.
layers=crates/metal/examples/candle
candle=$(mkdir -p "$out/candle" && cd "$out/candle" && pwd)
export PATH=$(dirname "$assay"):$candle/debug:$PATH ASSAY_CLANG=$compiler
cargo fetch --quiet --locked --target "$(rustc -vV | sed -n 's/^host: //p')" --manifest-path $layers/Cargo.toml || { echo "programs.sh: the crate registry cannot be reached" >&2; exit 3; }
CARGO_TARGET_DIR=$candle assay metal run -- \
  cargo --config "$(assay metal sdk)/cargo.toml" build --quiet --locked --manifest-path $layers/Cargo.toml
for kind in plain fused; do
  rm -f "$candle/$kind.recording"
  assay metal run --record "$candle/$kind.recording" -- layers "$kind" 4
done
python3 scripts/chapter.py docs/guide/slow-candle-model.md "$candle"
echo "programs.sh: as expected"
