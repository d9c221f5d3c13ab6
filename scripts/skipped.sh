#!/usr/bin/env bash
# Prints how many tests were skipped, by reason. Usage: scripts/skipped.sh LOG
set -euo pipefail
if [ -s "$1" ]; then
  echo "skipped: $(wc -l <"$1") tests"
  sort "$1" | uniq -c | sort -rn
else
  echo "skipped: no test"
fi
