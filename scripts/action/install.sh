#!/usr/bin/env bash
# Step two of the action: puts `assay` and a clang on the path.
# A release is taken from the action's own repository and must have the checksum that was published beside it.
# Reads HOW, VERSION, FOLDER, CACHE; writes GITHUB_PATH and GITHUB_ENV.
set -euo pipefail

fail() {
  echo "::error title=assay gate::$1"
  exit 1
}

target() {
  case $(uname -s)-$(uname -m) in
    Linux-x86_64) echo x86_64-unknown-linux-gnu ;;
    Linux-aarch64 | Linux-arm64) echo aarch64-unknown-linux-gnu ;;
    Darwin-arm64) echo aarch64-apple-darwin ;;
    *) return 1 ;;
  esac
}

download() {
  local target name url work
  target=$(target) || fail "there is no release for $(uname -s) $(uname -m): use version: build"
  name=assay-$VERSION-$target
  # Where the action came from; a fork has its own releases.
  url=${GITHUB_SERVER_URL:-https://github.com}/${ACTION_REPOSITORY:-${GITHUB_ACTION_REPOSITORY:?}}/releases/download/v$VERSION
  work=$(mktemp -d "${RUNNER_TEMP:?}/assay.XXXXXX")
  for file in "$name.tar.gz" "$name.tar.gz.sha256"; do
    curl --fail --silent --show-error --location --retry 3 --output "$work/$file" "$url/$file" ||
      fail "cannot download $url/$file; version: build builds from source"
  done
  (cd "$work" && { sha256sum --check --status "$name.tar.gz.sha256" 2>/dev/null ||
    shasum -a 256 --check --status "$name.tar.gz.sha256"; }) ||
    fail "$name.tar.gz does not have its published checksum"
  # The archive's time stays with the program, by which what is cached is known again.
  tar -xzf "$work/$name.tar.gz" -C "$work"
  mkdir -p "$FOLDER"
  cp -p "$work/$name/assay" "$FOLDER/assay"
  rm -rf "$work"
}

build() {
  command -v cargo >/dev/null || fail "building needs cargo: install Rust before this step, or name a release with version"
  cargo build --release --locked --quiet --manifest-path "$GITHUB_ACTION_PATH/Cargo.toml" -p assay-metal \
    --target-dir "${RUNNER_TEMP:?}/assay-build"
  mkdir -p "$FOLDER"
  cp -p "$RUNNER_TEMP/assay-build/release/assay" "$FOLDER/assay"
}

if [ ! -x "$FOLDER/assay" ]; then
  if [ "$HOW" = build ]; then build; else download; fi
fi
echo "$FOLDER" >>"$GITHUB_PATH"
echo "ASSAY_CACHE=$CACHE" >>"$GITHUB_ENV"
mkdir -p "$CACHE"

# Metal source is compiled by a clang; runners have one, or know where to get it.
if ! ASSAY_CACHE=$CACHE "$FOLDER/assay" doctor --format json | grep -q '"ready": true'; then
  if command -v apt-get >/dev/null && ! command -v clang-19 >/dev/null; then
    sudo apt-get update -qq && sudo apt-get install -y -qq clang-19 ||
      sudo apt-get install -y -qq clang || fail "no clang that compiles Metal source: install clang 17 or newer before this step"
  fi
fi
"$FOLDER/assay" --version
