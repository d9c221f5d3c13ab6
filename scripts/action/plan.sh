#!/usr/bin/env bash
# Step one of the action: whether to install a release or to build, and where things are kept.
# Reads ACTION_REF (the name the action was called by), ACTION_REPOSITORY and INPUT_VERSION; writes GITHUB_OUTPUT.
set -euo pipefail

# Returns true if a commit is that of a tag in the action's own repository.
is_released() { # COMMIT TAG
  local url=${GITHUB_SERVER_URL:-https://github.com}/${ACTION_REPOSITORY:-${GITHUB_ACTION_REPOSITORY:-}}
  # An annotated tag has an object of its own; `^{}` is what it is about.
  GIT_TERMINAL_PROMPT=0 git ls-remote "$url" "refs/tags/$2" "refs/tags/$2^{}" 2>/dev/null | cut -f 1 | grep -qxF "$1"
}

version=${INPUT_VERSION:-auto}
how=release
case $version in
  build) how=build ;;
  auto)
    # `uses: owner/repository@v1.2.3` asks for that release; `@v1` and `@v1.2` for the one that is there under that name.
    ref=${ACTION_REF:-${GITHUB_ACTION_REF:-}}
    own=$(sed -n 's/^version = "\(.*\)"/\1/p' "$GITHUB_ACTION_PATH/Cargo.toml" | head -n 1)
    if [[ $ref =~ ^v[0-9]+\.[0-9]+\.[0-9]+ ]]; then
      version=${ref#v}
    elif [[ $ref =~ ^v[0-9]+(\.[0-9]+)?$ && $own. == "${ref#v}".* ]]; then
      version=$own
    elif [[ $ref =~ ^[0-9a-f]{40}$ ]] && is_released "$ref" "v$own"; then
      # Pinned to the commit of a release, as a careful caller does.
      version=$own
    else
      how=build
    fi
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
