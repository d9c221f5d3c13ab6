#!/usr/bin/env bash
# The page (web/): our crates as WebAssembly, the examples with their bitcode, a clang as WebAssembly with precompiled headers, and
# the page around them. Nothing of it needs a server: OUT can be hosted below any path.
#
#     scripts/web.sh build [OUT]     small and fast: what is published (default target/web/site)
#     scripts/web.sh [test]          built quickly, then tried in node against the program, and in a headless Chromium
#
# Exit 3: a target of Rust or a package registry is missing, so not everything can be done here.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'web: %s\n' "$*"; }
what=${1:-test}
root=$PWD/target/web
out=${2:-$root/site}
[ "$what" = build ] || out=$root/tried
mkdir -p "$root"
target=wasm32-unknown-unknown

# The standard library for WebAssembly: rustup's, or built from rust-src of the same version.
standard=()
if [ ! -d "$(rustc --print target-libdir --target $target 2>/dev/null)" ] && ! rustup target add $target >/dev/null 2>&1; then
  if [ -f "$(rustc --print sysroot)/lib/rustlib/src/rust/library/std/Cargo.toml" ]; then
    say "no standard library for $target: it is built from rust-src"
    export RUSTC_BOOTSTRAP=1
    standard=(-Z build-std=std,panic_abort)
  else
    say "no standard library for $target: rustup target add $target, or rust-src of $(rustc --version | cut -d' ' -f2) to build one"
    exit 3
  fi
fi
command -v npm >/dev/null || { say "no npm"; exit 3; }

# The program as `make test` builds it, so that nothing is built twice.
[ -n "${ASSAY:-}" ] || cargo test --quiet --workspace --test frame --no-run
assay=${ASSAY:-$PWD/target/debug/assay}

profile=release
[ "$what" = test ] && profile=quick
(
  cd web/wasm
  export CARGO_TARGET_DIR=$root
  cargo build --quiet -p assay-web-bindgen
  cargo build --quiet --profile $profile --target $target "${standard[@]}" -p assay-web
) || { say "the module was not built"; exit 1; }
module=$root/module-$profile
"$root/debug/assay-web-bindgen" "$root/$target/$profile/assay_web.wasm" "$module"
say "module: $(wc -c <"$module/engine_bg.wasm") bytes, $(gzip -9 -c "$module/engine_bg.wasm" | wc -c) compressed"

# Each example, and each kernel of the guide, with what a clang makes of it, as it is and to be checked.
examples=$root/examples
mkdir -p "$examples"
for file in examples/kernels/*.metal examples/guide/*.metal; do
  name=$(basename "$file" .metal)
  if [ ! -e "$examples/$name.checked.bc" ] || [ "$file" -nt "$examples/$name.checked.bc" ] || [ "$assay" -nt "$examples/$name.checked.bc" ]; then
    cp "$file" "$examples/"
    (cd "$examples" && "$assay" -q compile "$name.metal" -o "$name.bc" && "$assay" -q compile "$name.metal" --checked -o "$name.checked.bc")
  fi
done
"$assay" doctor --format json | sed -n 's/.*"\(.*clang version[^"(]*\).*/\1/p' | head -n 1 | sed 's/ *$//' >"$examples/clang.txt"

cd web
[ node_modules/.package-lock.json -nt package-lock.json ] ||
  npm ci --silent --no-audit --no-fund --ignore-scripts || { say "npm's registry cannot be reached"; exit 3; }
npm run --silent check
clang=$root/clang
if [ ! -e "$clang/made.json" ] || [ "$module/engine_bg.wasm" -nt "$clang/made.json" ]; then
  node headers.mjs "$module" "$clang"
fi
node build.mjs "$module" "$examples" "$out" "$clang"
say "page: $out"

[ "$what" = test ] || exit 0
node test/engine.mjs "$module" "$examples" "$assay"
CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
[ -n "$CHROMIUM" ] || { say "no Chromium (apt-get install chromium): the page was not tried in a browser"; exit 3; }
export CHROMIUM
node test/page.mjs "$out"
