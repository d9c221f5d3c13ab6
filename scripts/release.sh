#!/usr/bin/env bash
# Builds the program for release: stripped, in an archive with its licences, with a checksum.
# Usage: scripts/release.sh [TARGET]   Result: target/release-archives/assay-VERSION-TARGET.tar.gz and .sha256
set -euo pipefail
cd "$(dirname "$0")/.."
target=${1:-$(rustc -vV | sed -n 's/^host: //p')}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
name=assay-$version-$target
limit=15000000

cargo build --profile dist --locked -p assay-metal --target "$target"
folder=target/release-archives/$name
rm -rf "$folder" && mkdir -p "$folder"
cp "target/$target/dist/assay" LICENSE-MIT LICENSE-APACHE README.md CHANGELOG.md "$folder"

# Metal's API, which `assay metal` looks for beside the program.
case $target in
  *-linux-*)
    cargo build --profile dist --locked -p assay-metal-api --target "$target"
    cp "target/$target/dist/libassay_metal_api.so" "$folder"
    echo "release: libassay_metal_api.so has $(wc -c <"$folder/libassay_metal_api.so") bytes"
    ;;
esac

size=$(wc -c <"$folder/assay")
echo "release: assay has $size bytes"
if [ "$size" -gt $limit ]; then
  echo "release: more than $limit bytes" >&2
  exit 1
fi

cd target/release-archives
tar -czf "$name.tar.gz" "$name"
rm -rf "$name"
if command -v sha256sum >/dev/null; then sha256sum "$name.tar.gz"; else shasum -a 256 "$name.tar.gz"; fi >"$name.tar.gz.sha256"
cat "$name.tar.gz.sha256"
