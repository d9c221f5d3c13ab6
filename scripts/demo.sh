#!/usr/bin/env bash
# Shows the best thing the project can do so far.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --quiet -p assay-cli
./target/release/assay --help
