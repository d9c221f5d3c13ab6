#!/usr/bin/env bash
# Proves recipes: every step that is worth trying, on every kernel of a corpus, printed as Metal, compiled again and compared
# with the original on the executor, with its checks on, at odd sizes.
# Usage: scripts/recipes.sh [examples|registry|metalbench|random]...   Exit 1: a result is wrong.
# With PAGE=FILE the tables are written there. RANDOM_KERNELS says how many kernels are generated.
set -euo pipefail
cd "$(dirname "$0")/.."
page=${PAGE:-}
status=0

# Makes a Markdown table of what the judge prints.
table() { # TITLE FILE
  printf '\n## %s\n\n' "$1"
  awk -F'\t' '
    /^kernels / { printf "%s kernels.", substr($1, 9) }
    /^  not judged / { sub(/^  not judged /, ""); printf " Not judged: %s.", $0 }
    /^recipe\t/ { printf "\n\n| recipe | kernels | steps | right | undecided | not printed | wrong | refused, by reason |\n|---|---|---|---|---|---|---|---|\n"; rows = 1; next }
    rows { printf "| `%s` | %s | %s | %s | %s | %s | %s | %s |\n", $1, $2, $3, $4, $5, $6, $7, $8 }' "$2"
}

judge() { # TITLE ARGUMENTS...
  local title=$1 out
  shift
  out=$(mktemp)
  ./target/release/examples/recipes "$@" > "$out" || status=1
  if [ -n "$page" ]; then table "$title" "$out" >> "$page.part"; fi
  echo "== $title"
  cat "$out"
  rm -f "$out"
}

cargo build --release --quiet -p assay-codegen --example recipes
corpora=("$@")
[ $# -gt 0 ] || corpora=(examples registry metalbench random)
if [ -n "$page" ]; then
  cat > "$page.part" <<'TEXT'
# Recipes, proven

Made by `PAGE=docs/recipes.md scripts/recipes.sh`. Every step that `assay rewrite --list` would offer is applied to every kernel, the
result printed as Metal and compiled again, and run on the executor beside the original, on random buffers at odd sizes. A step of
class E must leave the same bytes, one of class R numbers within tolerance, and the executor's checks (bounds, races,
uninitialised memory) must find nothing that they do not find in the original.

*Undecided*: no trial says anything, since the kernel's result is undefined or takes too long. *Refused* counts kernels, by why
the recipe does not apply: `assay rewrite --list` gives the reason for each.
TEXT
fi
# Sets files; bash 3.2, which macOS has, knows no mapfile.
metal_files() { # FOLDER...
  local file
  files=()
  while IFS= read -r file; do files+=("$file"); done < <(find "$@" -name '*.metal' | sort)
}

for corpus in "${corpora[@]}"; do
  case $corpus in
    examples) judge "Examples" examples/kernels/*.metal ;;
    registry)
      metal_files crates/bench/kernels
      judge "Registry" -I crates/bench/kernels/include "${files[@]}"
      ;;
    metalbench)
      if [ ! -d corpus/MetalBench ]; then
        echo "recipes: no corpus/MetalBench (scripts/judge.sh metalbench fetches it); skipped" >&2
        continue
      fi
      metal_files corpus/MetalBench/metal/kernels/{common,standard,full}
      judge "MetalBench" "${files[@]}"
      ;;
    random) judge "Random programs" --random "${RANDOM_KERNELS:-150}" ;;
    *) echo "recipes: no corpus $corpus" >&2; exit 2 ;;
  esac
done
if [ -n "$page" ]; then mv "$page.part" "$page"; fi
exit $status
