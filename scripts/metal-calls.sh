#!/usr/bin/env bash
# The calls into Metal of crates/device and crates/timing, compiled for Linux (`--cfg metal_runtime`) and run over crates/metal with the
# CPU behind it: results, leaks, encoders and time per dispatch. Exit 3 where clang or objc2's source is missing.
#   scripts/metal-calls.sh [LIBRARY]     LIBRARY: a libassay_metal_api.so that is built; without it one is
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
out=$root/target/metal/calls
objc2_metal=0.3.2

library=${1:-}
if [ -z "$library" ]; then
  cargo build --quiet --profile test -p assay-metal-api
  library=${CARGO_TARGET_DIR:-$root/target}/debug/libassay_metal_api.so
fi
library=$(realpath "$library")
mkdir -p "$out/lib"
for name in objc Metal Foundation CoreFoundation CoreGraphics dispatch gnustep-base BlocksRuntime; do
  ln -sf "$library" "$out/lib/lib$name.so"
done

# objc2-metal links a framework, which rustc refuses outside Apple's systems: a workspace of the same crates has a copy that links a
# library. The repository's own lock file and builds see nothing of it.
source=$(cargo metadata --format-version 1 --filter-platform aarch64-apple-darwin 2>/dev/null |
  grep -o "\"manifest_path\":\"[^\"]*/objc2-metal-$objc2_metal/Cargo.toml\"" | head -n 1 | cut -d '"' -f 4) || true
[ -n "$source" ] || { echo "metal-calls.sh: objc2-metal $objc2_metal is not there; \`cargo fetch\` gets it" >&2; exit 3; }
if [ ! -d "$out/objc2-metal" ]; then
  cp -r "$(dirname "$source")" "$out/objc2-metal.part"
  sed -i.orig 's/^#\[link(name = "Metal", kind = "framework")\]/#[link(name = "Metal", kind = "dylib")]/' "$out/objc2-metal.part/src/generated/mod.rs"
  mv "$out/objc2-metal.part" "$out/objc2-metal"
fi
ln -sfn "$root/crates" "$out/crates"
# To objc2 another runtime than Apple's is GNUstep's; a member of its own says so.
mkdir -p "$out/runtime/src"
: >>"$out/runtime/src/lib.rs"
cat >"$out/runtime/Cargo.toml" <<'TOML'
[package]
name = "runtime"
edition = "2024"
[dependencies]
block2 = { version = "0.6", features = ["gnustep-2-0"] }
objc2 = { version = "0.6", features = ["gnustep-2-0"] }
TOML
{
  cat Cargo.toml
  printf '\n[patch.crates-io]\nobjc2-metal = { path = "objc2-metal" }\n'
} | sed -e 's/^members = .*/members = ["crates\/device", "crates\/timing", "runtime"]/' -e '/^exclude = /d' >"$out/Cargo.toml.new"
cmp -s "$out/Cargo.toml.new" "$out/Cargo.toml" || cp "$out/Cargo.toml.new" "$out/Cargo.toml"
cmp -s Cargo.lock "$out/Cargo.lock.from" || { cp Cargo.lock "$out/Cargo.lock"; cp Cargo.lock "$out/Cargo.lock.from"; }

cd "$out"
export CARGO_TARGET_DIR=$out/target RUSTFLAGS="--cfg metal_runtime -L $out/lib -C link-arg=-Wl,-rpath,$out/lib"
export CARGO_INCREMENTAL=0 CARGO_PROFILE_TEST_DEBUG=0 CARGO_PROFILE_DEV_DEBUG=0
timeout 420 cargo test --quiet -p runtime -p assay-device --lib metal::objc -- --nocapture
