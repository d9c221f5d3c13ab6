#!/usr/bin/env bash
# Step one of the action: whether to install a release or to build, and where things are kept.
# Reads ACTION_REF (the name the action was called by) and INPUT_VERSION; writes GITHUB_OUTPUT.
set -euo pipefail

version=${INPUT_VERSION:-auto}
how=release
case $version in
  build) how=build ;;
  auto)
    # `uses: owner/repository@v1.2.3` asks for that release; a branch or a commit has none.
    ref=${ACTION_REF:-${GITHUB_ACTION_REF:-}}
    if [[ $ref =~ ^v[0-9]+\.[0-9]+\.[0-9]+ ]]; then version=${ref#v}; else how=build; fi
    ;;
  *)
    version=${version#v}
    if ! [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]*$ ]]; then
      echo "::error title=assay gate::version: '$version' is neither a release such as 0.1.0 nor auto nor build"
      exit 1
    fi
    ;;
esac

base=${RUNNER_TOOL_CACHE:-${RUNNER_TEMP:?}}/assay
if [ "$how" = build ]; then
  # Another source is another program.
  key=$(cd "$GITHUB_ACTION_PATH" && find Cargo.lock Cargo.toml crates -type f -print0 | LC_ALL=C sort -z |
    xargs -0 cat | { sha256sum 2>/dev/null || shasum -a 256; } | cut -c 1-20)
else
  key=$version
fi
{
  echo "how=$how"
  echo "version=$version"
  echo "key=${RUNNER_OS:-linux}-${RUNNER_ARCH:-x64}-$key"
  echo "folder=$base/$key/bin"
  echo "cache=${RUNNER_TEMP:?}/assay-cache"
} >>"$GITHUB_OUTPUT"
