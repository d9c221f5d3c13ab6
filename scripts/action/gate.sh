#!/usr/bin/env bash
# Step three of the action: runs the gate in the caller's repository, once, and leaves its report in every form.
# Reads INPUT_*, GITHUB_BASE_REF, GITHUB_SHA, MERGE_GROUP_BASE, BEFORE; writes GITHUB_OUTPUT and GITHUB_STEP_SUMMARY. The last step exits with the status,
# so that findings are uploaded first.
set -uo pipefail

out=$(mktemp -d "${RUNNER_TEMP:?}/assay-gate.XXXXXX")
arguments=()
[ -n "${INPUT_CONFIG:-}" ] && arguments+=(--config "$INPUT_CONFIG")

zero=0000000000000000000000000000000000000000
has() { git rev-parse --verify --quiet "$1^{commit}" >/dev/null; }
fetch() { git fetch --quiet --no-tags --depth=1 origin "$1" || echo "::warning title=assay gate::cannot fetch $2"; }
# The parents of a commit, whether or not a shallow clone has them.
parents() { git cat-file -p "$1" 2>/dev/null | sed -n '/^$/q; s/^parent //p'; }
# The configuration: the one that is named, or the nearest from here up.
configuration() {
  if [ -n "${INPUT_CONFIG:-}" ]; then
    echo "$INPUT_CONFIG"
    return
  fi
  local folder=$PWD
  while [ ! -f "$folder/assay.toml" ] && [ "$folder" != / ]; do folder=$(dirname "$folder"); done
  echo "$folder/assay.toml"
}

against=${INPUT_AGAINST:-auto}
case $against in
  baseline) against= ;;
  auto)
    against=
    if [ -n "${MERGE_GROUP_BASE:-}" ]; then
      # A merge queue's commit comes after those that are queued before it.
      against=$MERGE_GROUP_BASE
      has "$against" || fetch "$against" "the base of the merge group"
    elif [ -n "${GITHUB_BASE_REF:-}" ]; then
      # What is checked out for a pull request is its merge into the base, whose first parent is the base as it was merged: the
      # branch may have moved since. Whoever checks the branch itself out is compared with where it began.
      first=$(parents HEAD | head -n 1)
      if [ "$(git rev-parse HEAD)" = "${GITHUB_SHA:-}" ] && [ "$(parents HEAD | wc -l)" -eq 2 ]; then
        against=$first
        has "$against" || fetch "$against" "the merge's first parent"
      else
        against=origin/$GITHUB_BASE_REF
        has "$against" || fetch "+refs/heads/$GITHUB_BASE_REF:refs/remotes/origin/$GITHUB_BASE_REF" "$GITHUB_BASE_REF"
      fi
    elif grep -qs '^baseline *=' "$(configuration)"; then
      : # a push, and figures are kept in the repository
    elif [ -n "${BEFORE:-}" ] && [ "$BEFORE" != $zero ]; then
      against=$BEFORE
      has "$against" || fetch "$BEFORE" "the commit before"
      # A force push may have made it unreachable.
      has "$against" || against=
    fi
    ;;
esac
[ -n "$against" ] && arguments+=(--against "$against")
# shellcheck disable=SC2206 # words of the caller's, on purpose
arguments+=(${INPUT_ARGUMENTS:-})

# bash 3.2, which macOS has, takes an empty array for an unset variable.
assay gate ${arguments[@]+"${arguments[@]}"} --format github --also "json=$out/gate.json" --also "sarif=$out/gate.sarif" \
  --also "markdown=$out/gate.md" --also "junit=$out/gate.xml"
status=$?

passed=false
[ $status -eq 0 ] && passed=true
{
  echo "status=$status"
  echo "passed=$passed"
  [ -f "$out/gate.json" ] && echo "report=$out/gate.json"
  [ -f "$out/gate.sarif" ] && echo "sarif=$out/gate.sarif"
  [ -f "$out/gate.md" ] && echo "markdown=$out/gate.md"
} >>"$GITHUB_OUTPUT"
if [ "${INPUT_SUMMARY:-true}" = true ] && [ -f "$out/gate.md" ]; then
  # A summary may have a megabyte.
  head -c 1000000 "$out/gate.md" >>"$GITHUB_STEP_SUMMARY"
fi
[ -f "$out/gate.json" ] || echo "::error title=assay gate::assay gate ended with status $status before it had a report"
exit 0
