#!/usr/bin/env bash
# Installs what the project needs and this machine lacks, through the system's own
# package manager, and says what it does. Safe to run again: it does nothing twice.
set -euo pipefail

say() { printf 'setup: %s\n' "$*"; }

if ! command -v cargo >/dev/null 2>&1; then
  say "Rust is missing; install it from https://rustup.rs and run this again"
  exit 4
fi

# Whether a clang can be our Metal front end: it computes in bfloat itself. Version numbers do not tell, since Apple counts
# in its own way: the clang of Xcode 15 refuses the option, that of Xcode 16 takes it. `assay doctor` probes for more.
compiles() {
  printf '__bf16 product(__bf16 a, __bf16 b) { return a * b; }\n' |
    "$@" -x c++ --target=aarch64-linux-gnu -std=c++17 -Xclang -fbfloat16-excess-precision=none -S -o /dev/null - >/dev/null 2>&1
}

# Homebrew keeps its llvm off the path.
find_clang() {
  local candidate
  for candidate in "${ASSAY_CLANG:-}" clang-22 clang-21 clang-20 clang-19 clang-18 clang-17 clang \
    "${HOMEBREW_PREFIX:-/opt/homebrew}"/opt/llvm*/bin/clang /usr/local/opt/llvm*/bin/clang; do
    [ -n "$candidate" ] && command -v "$candidate" >/dev/null 2>&1 || continue
    if compiles "$candidate"; then echo "$candidate"; return 0; fi
  done
  if command -v python3 >/dev/null 2>&1 && compiles python3 -m ziglang clang; then
    echo "python3 -m ziglang clang"; return 0
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
    # Homebrew's and Debian's Python refuse this outside a virtual environment.
    python3 -m pip install --user --quiet ziglang && return 0
  fi
  return 1
}

if clang=$(find_clang); then
  say "clang: $clang"
elif install_clang && clang=$(find_clang); then
  say "clang: $clang"
else
  say "no clang that compiles Metal source (LLVM 17, Xcode 16 or newer), and none could be installed; kernels from .metal source will be refused (assay doctor says more)"
  if [ "$(uname -s)" = Darwin ]; then say "on a Mac: brew install llvm, or a newer Xcode"; fi
fi
