#!/usr/bin/env bash
# Programs that were written for macOS, run on Linux with Metal's API on the CPU (crates/metal): Objective-C compiled by clang, the kernel
# tests of candle, operators of tinygrad, a sample of llama.cpp's tests. Exit 3 where clang or a registry is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
out=$root/target/metal
sdk=$root/crates/metal/sdk/include
candle=0.11.1
objc2_metal=0.3.2
# Tests of candle that compare with numbers of a real GPU's rounding; docs/metal.md says why each differs.
known="tests::gelu_f16"

compiler=${ASSAY_CLANG:-}
for name in clang-22 clang-21 clang-20 clang-19 clang; do
  [ -n "$compiler" ] || compiler=$(command -v "$name" || true)
done
[ -n "$compiler" ] || { echo "metal.sh: no clang; scripts/setup.sh installs one" >&2; exit 3; }

cargo build --release --quiet -p assay-metal-api
library=${CARGO_TARGET_DIR:-$root/target}/release/libassay_metal_api.so
mkdir -p "$out/lib"
for name in objc Metal Foundation CoreFoundation CoreGraphics dispatch gnustep-base BlocksRuntime; do
  ln -sf "$library" "$out/lib/lib$name.so"
done

# Programs of our own: what they print is NAME.expected, what is reported about them NAME.reports.
what_is_reported() {
  sed -nE -e '/^# /p' -e 's/^assay metal: (validation|check|fault): (.*)/\1: \2/p' -e 's/^assay metal: race: ([a-z-]+): .*/race: \1/p' "$1" |
    sed -E 's/0x[0-9a-f]+/ADDRESS/g'
}
for program in crates/metal/tests/programs/*.m; do
  name=$(basename "$program" .m)
  "$compiler" -g -fobjc-arc -fobjc-runtime=macosx-15 -fblocks -O1 -I "$sdk" "$program" -o "$out/$name" \
    -L "$out/lib" -lobjc -Wl,-rpath,"$out/lib"
  case $name in checks | races) check=1 ;; *) check= ;; esac
  status=0
  ASSAY_METAL_CHECK=$check timeout 120 "$out/$name" > "$out/$name.out" 2> "$out/$name.err" || status=$?
  # A checked run with reports ends with 1.
  [ "$status" = "${check:-0}" ] || { cat "$out/$name.err"; echo "metal.sh: $name ended with $status" >&2; exit 1; }
  if [ -f "${program%.m}.reports" ]; then
    what_is_reported "$out/$name.err" > "$out/$name.reports"
    [ -z "${BLESS:-}" ] || cp "$out/$name.reports" "${program%.m}.reports"
    diff "${program%.m}.reports" "$out/$name.reports"
  else
    diff "${program%.m}.expected" "$out/$name.out"
    # What a program sees is the same where kernels are put off.
    ASSAY_METAL_NO_EXECUTE=1 timeout 120 "$out/$name" > "$out/$name.out" 2> "$out/$name.err"
    diff "${program%.m}.expected" "$out/$name.out"
  fi
  echo "$name: as expected"
done

# Kernels whose results nobody looks at did not run.
grep -q '^assay metal: 113 of 213 dispatches ran' "$out/deferred.err" || { cat "$out/deferred.err"; echo "metal.sh: deferred ran others" >&2; exit 1; }
echo "deferred: what nobody looks at did not run"

# The half of the runtime for another CPU, where an emulator of it is installed.
./scripts/metal-arm64.sh || { [ $? = 3 ] && echo "arm64: not run here"; }

# Our own calls into Metal, those that a Mac runs.
./scripts/metal-calls.sh "$library"

# Sources by cargo itself, from whatever registry it is set to.
sources=$out/candle/sources
if [ ! -d "$sources" ]; then
  mkdir -p "$out/candle/names/src"
  touch "$out/candle/names/src/lib.rs"
  printf '[package]\nname = "names"\nedition = "2024"\n[dependencies]\ncandle-metal-kernels = "=%s"\nobjc2-metal = "=%s"\n[workspace]\n' \
    $candle $objc2_metal > "$out/candle/names/Cargo.toml"
  (cd "$out/candle/names" && cargo vendor --quiet --versioned-dirs "$sources.part" > /dev/null) ||
    { echo "metal.sh: the crate registry cannot be reached" >&2; exit 3; }
  mv "$sources.part" "$sources"
fi
for name in candle-metal-kernels-$candle objc2-metal-$objc2_metal; do
  [ -d "$out/candle/$name" ] || cp -r "$sources/$name" "$out/candle/"
done
kernels=$out/candle/candle-metal-kernels-$candle
# Frameworks exist only on Apple's systems; where the runtime is another, objc2 wants to be told so.
sed -i 's/^#\[link(name = "Metal", kind = "framework")\]/#[link(name = "Metal", kind = "dylib")]/' "$out/candle/objc2-metal-$objc2_metal/src/generated/mod.rs"
if ! grep -q gnustep "$kernels/Cargo.toml"; then
  sed -i -e 's/^\[dependencies.objc2\]/&\nfeatures = ["gnustep-2-0"]/' \
    -e '/^\[dependencies.block2\]/,/^$/ s/features = \["alloc"\]/features = ["alloc", "gnustep-2-0"]/' "$kernels/Cargo.toml"
  printf '[patch.crates-io]\nobjc2-metal = { path = "../objc2-metal-%s" }\n[workspace]\n' $objc2_metal >> "$kernels/Cargo.toml"
fi
cd "$kernels"
skipped=()
for test in $known; do skipped+=(--skip "$test"); done
CARGO_TARGET_DIR=$out/candle/target RUSTFLAGS="-L $out/lib -C link-arg=-Wl,-rpath,$out/lib" \
  timeout 420 cargo test --lib --quiet -- "${skipped[@]}"
echo "candle-metal-kernels $candle: all but $known"

cd "$root"
# Engines as their registries carry them, several minutes more: ENGINES=1.
if [ -n "${ENGINES:-}" ]; then
  ./scripts/metal-tinygrad.sh "$library"
  ./scripts/metal-llama.sh "$library"
fi
