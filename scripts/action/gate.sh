#!/usr/bin/env bash
# Step three of the action: runs the gate in the caller's repository, once, and leaves its report in every form.
# Reads INPUT_*, GITHUB_BASE_REF, BEFORE; writes GITHUB_OUTPUT and GITHUB_STEP_SUMMARY. The last step exits with the status,
# so that findings are uploaded first.
set -uo pipefail

out=$(mktemp -d "${RUNNER_TEMP:?}/assay-gate.XXXXXX")
arguments=()
[ -n "${INPUT_CONFIG:-}" ] && arguments+=(--config "$INPUT_CONFIG")

zero=0000000000000000000000000000000000000000
fetch() { git fetch --quiet --no-tags --depth=1 origin "$1" || echo "::warning title=assay gate::cannot fetch $2"; }

against=${INPUT_AGAINST:-auto}
case $against in
  baseline) against= ;;
  auto)
    against=
    if grep -qs '^baseline *=' "${INPUT_CONFIG:-assay.toml}"; then
      : # figures are kept in the repository
    elif [ -n "${GITHUB_BASE_REF:-}" ]; then
      # A pull request's checkout is its merge with the base: the base's tip is what it changes.
      against=origin/$GITHUB_BASE_REF
      git rev-parse --verify --quiet "$against^{commit}" >/dev/null ||
        fetch "+refs/heads/$GITHUB_BASE_REF:refs/remotes/origin/$GITHUB_BASE_REF" "$GITHUB_BASE_REF"
    elif [ -n "${BEFORE:-}" ] && [ "$BEFORE" != $zero ]; then
      against=$BEFORE
      git rev-parse --verify --quiet "$against^{commit}" >/dev/null || fetch "$BEFORE" "the commit before"
      # A force push may have made it unreachable.
      git rev-parse --verify --quiet "$against^{commit}" >/dev/null || against=
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
