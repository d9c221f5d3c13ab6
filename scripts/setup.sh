#!/usr/bin/env bash
# Installs what the project needs and this machine lacks, through the system's own
# package manager, and says what it does. Safe to run again: it does nothing twice.
set -euo pipefail

say() { printf 'setup: %s\n' "$*"; }

if ! command -v cargo >/dev/null 2>&1; then
  say "Rust is missing; install it from https://rustup.rs and run this again"
  exit 4
fi

# A clang that can be our Metal front end: version 17 or newer, or Python's ziglang.
clang_major() { "$1" --version 2>/dev/null | sed -n 's/.*clang version \([0-9]*\).*/\1/p' | head -n 1; }

find_clang() {
  local candidate major
  for candidate in "${ASSAY_CLANG:-}" clang-22 clang-21 clang-20 clang-19 clang-18 clang-17 clang; do
    [ -n "$candidate" ] && command -v "$candidate" >/dev/null 2>&1 || continue
    # Apple numbers its clang differently; the program itself probes by compiling.
    if "$candidate" --version 2>/dev/null | grep -q '^Apple clang'; then echo "$candidate"; return 0; fi
    major=$(clang_major "$candidate")
    [ -n "$major" ] && [ "$major" -ge 17 ] && { echo "$candidate"; return 0; }
  done
  if command -v python3 >/dev/null 2>&1 && python3 -c 'import ziglang' >/dev/null 2>&1; then
    echo "python3 -m ziglang c++"; return 0
  fi
  return 1
}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null 2>&1; then sudo "$@"; else return 1; fi; }

install_clang() {
  local version
  if command -v apt-get >/dev/null 2>&1; then
    as_root apt-get update -qq || true
    for version in 22 21 20 19 18 17; do
      if apt-cache show "clang-$version" >/dev/null 2>&1; then
        say "installing clang-$version with apt-get"
        as_root apt-get install -y -qq "clang-$version" >/dev/null && return 0
      fi
    done
  elif command -v brew >/dev/null 2>&1; then
    say "installing llvm with brew"
    brew install --quiet llvm && return 0
  elif command -v dnf >/dev/null 2>&1; then
    say "installing clang with dnf"
    as_root dnf install -y -q clang && return 0
  fi
  if command -v python3 >/dev/null 2>&1; then
    say "installing ziglang (a packaged clang) with pip"
    python3 -m pip install --user --quiet ziglang && return 0
  fi
  return 1
}

if clang=$(find_clang); then
  say "clang: $clang"
elif install_clang && clang=$(find_clang); then
  say "clang: $clang"
else
  say "no clang 17 or newer, and none could be installed; kernels from .metal source will be refused (assay doctor says more)"
fi
