#!/usr/bin/env bash
# First screens: writes what every command answers on terminals of 80×24 and 120×40 to crates/cli/tests/screens/, checks that each
# fits, and shows what changed.
set -euo pipefail
cd "$(dirname "$0")/.."
BLESS=1 cargo test --quiet -p assay-metal --test screens
git --no-pager diff --stat -- crates/cli/tests/screens
