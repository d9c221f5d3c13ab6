#!/usr/bin/env bash
# Runs one of the parts that need more than Rust, for CI in public: exit code 3 ("not possible here") fails unless .github/skips says
# which part may and why.
# Usage: scripts/part.sh NAME
set -uo pipefail
cd "$(dirname "$0")/.."
name=${1:?a part: python, editors, gate, fleet, metal, programs, corpus or web}
"./scripts/$name.sh"
status=$?
if [ "$status" = 3 ]; then
  reason=$(sed -n "s/^$name: //p" .github/skips)
  [ -n "$reason" ] || { echo "$name: not possible here, and .github/skips does not list it" >&2; exit 1; }
  echo "$name: not all of it is possible here ($reason)"
  exit 0
fi
exit "$status"
