#!/usr/bin/env bash
# The arm64 half of the Objective-C runtime, which a machine with x86-64 runs under qemu-user: the tests of the runtime and of Foundation,
# with messages of every kind of result. Exit 3 where something is missing; on Debian: qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross,
# and `rustup target add aarch64-unknown-linux-gnu`.
set -euo pipefail
cd "$(dirname "$0")/.."
target=aarch64-unknown-linux-gnu
sysroot=/usr/aarch64-linux-gnu
missing() { echo "metal-arm64.sh: $1 is missing" >&2; exit 3; }

qemu=$(command -v qemu-aarch64 || command -v qemu-aarch64-static) || missing qemu-aarch64
command -v aarch64-linux-gnu-gcc > /dev/null || missing aarch64-linux-gnu-gcc
[ -d "$(rustc --print sysroot)/lib/rustlib/$target" ] || missing "Rust for $target"
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="$qemu -L $sysroot"

cargo test --quiet --target $target -p assay-objc -p assay-foundation --lib
