#!/usr/bin/env bash
# Runs every fuzz target for some seconds, or with RUNS=N until it has seen as many inputs, in at most these seconds. A panic, an input
# that takes 20 seconds and one that takes 1 GiB end it. Needs a nightly Rust and cargo-fuzz.
# Usage: [RUNS=N] scripts/fuzz.sh [SECONDS]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-30}
limits=(-max_total_time="$seconds" -timeout=20 -rss_limit_mb=1024 -print_final_stats=1)
[ -z "${RUNS:-}" ] || limits+=(-runs="$RUNS")
for folder in crates/*/fuzz; do
  for target in "$folder"/fuzz_targets/*.rs; do
    name=$(basename "$target" .rs)
    echo "fuzz: $folder $name"
    (cd "$folder/.." && cargo +nightly fuzz run "$name" -- "${limits[@]}")
  done
done
