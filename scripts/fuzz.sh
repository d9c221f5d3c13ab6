#!/usr/bin/env bash
# Runs every fuzz target for some seconds. Needs a nightly Rust and cargo-fuzz.
# Usage: scripts/fuzz.sh [SECONDS]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-30}
for folder in crates/*/fuzz; do
  for target in "$folder"/fuzz_targets/*.rs; do
    name=$(basename "$target" .rs)
    echo "fuzz: $folder $name"
    (cd "$folder/.." && cargo +nightly fuzz run "$name" -- -max_total_time="$seconds" -timeout=20)
  done
done
