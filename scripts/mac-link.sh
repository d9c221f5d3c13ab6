#!/usr/bin/env bash
# Links a program for Apple silicon on any machine, against stubs of Apple's libraries, and lists what the file needs: libraries,
# the symbols of Metal, the lowest macOS. Nothing of it can run; what is shown is what a Mac's loader would read.
#   scripts/mac-link.sh [CRATE [WHICH...]]     WHICH: cargo's words for a target, `--lib` for the tests of the library
#   scripts/mac-link.sh assay-metal --bin assay
# MAC_SYSROOT: where the standard library of aarch64-apple-darwin is, if not in rustc's own
# Ends with 1 when a library is not among those expected or one is missing without which no GPU is found, with 3 when it cannot
# be linked here.
set -euo pipefail
cd "$(dirname "$0")/.."
crate=${1:-assay-device}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- --lib
target=aarch64-apple-darwin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A stub names a library and leaves its symbols to be found when the program is loaded.
stub() { # FILE INSTALL-NAME
  mkdir -p "$work/sdk/$(dirname "$1")"
  printf -- '--- !tapi-tbd\ntbd-version: 4\ntargets: [ arm64-macos ]\ninstall-name: %s\n...\n' "$2" >"$work/sdk/$1"
}
for name in CoreGraphics Metal Foundation CoreFoundation Security SystemConfiguration; do
  stub "System/Library/Frameworks/$name.framework/$name.tbd" \
    "/System/Library/Frameworks/$name.framework/Versions/A/$name"
done
for name in System objc iconv c++ sqlite3; do stub "usr/lib/lib$name.tbd" "/usr/lib/lib$name.dylib"; done
for name in c m resolv dl pthread; do cp "$work/sdk/usr/lib/libSystem.tbd" "$work/sdk/usr/lib/lib$name.tbd"; done

lld=$(rustc --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin/rust-lld
[ -x "$lld" ] || { echo "mac-link: this rustc has no rust-lld" >&2; exit 3; }
export SDKROOT=$work/sdk
export CARGO_TARGET_AARCH64_APPLE_DARWIN_RUSTFLAGS="${MAC_SYSROOT:+--sysroot $MAC_SYSROOT} -C linker=$lld \
-C linker-flavor=ld64.lld -C link-arg=-undefined -C link-arg=dynamic_lookup -C debuginfo=0 -C strip=none"
cargo test --quiet -p "$crate" "$@" --no-run --target $target --message-format json >"$work/built" || exit 3
program=$(sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' "$work/built" | tail -n 1)

python3 - "$program" "$crate" <<'PY'
import struct
import sys

data = open(sys.argv[1], "rb").read()
magic, _, _, _, count = struct.unpack_from("<5I", data)
assert magic == 0xFEEDFACF, "not a 64-bit Mach-O"
at, libraries, names = 32, [], []
for _ in range(count):
    command, size = struct.unpack_from("<2I", data, at)
    if command & 0x7FFFFFFF in (0xC, 0x18):  # LC_LOAD_DYLIB, LC_LOAD_WEAK_DYLIB
        name = struct.unpack_from("<I", data, at + 8)[0]
        libraries.append(data[at + name : at + size].rstrip(b"\0").decode())
    if command == 0x32:  # LC_BUILD_VERSION
        lowest = struct.unpack_from("<I", data, at + 12)[0]
        print(f"macOS {lowest >> 16}.{lowest >> 8 & 255} or newer")
    if command == 2:  # LC_SYMTAB
        symbols, entries, strings = struct.unpack_from("<3I", data, at + 8)
        for entry in range(symbols, symbols + 16 * entries, 16):
            text, kind = struct.unpack_from("<IB", data, entry)
            if kind & 0x0E == 0 and kind & 1:  # undefined, external
                names.append(data[strings + text : data.index(b"\0", strings + text)].decode())
    at += size
print(*sorted(libraries), sep="\n")
of_metal = sorted(name for name in names if "MTL" in name)
print(f"{len(names)} symbols of libraries; of Metal: " + (", ".join(of_metal) or "none"))

# What a Mac has since macOS 11, and what the crates are known to need.
expected = {"CoreFoundation", "CoreGraphics", "Foundation", "Metal", "Security", "SystemConfiguration"}
expected |= {"libSystem", "libiconv", "libobjc", "libsqlite3"}
short = [library.rsplit("/", 1)[1].split(".")[0] for library in libraries]
unexpected = sorted(set(short) - expected)
if unexpected:
    sys.exit("mac-link: not expected: " + ", ".join(unexpected))
# `MTLCreateSystemDefaultDevice` gives nil to a program without CoreGraphics; tests do not call it and are linked as what does.
if "_MTLCreateSystemDefaultDevice" in names or sys.argv[2] == "assay-device":
    missing = sorted({"CoreGraphics", "Foundation", "Metal"} - set(short))
    if missing:
        sys.exit("mac-link: not linked: " + ", ".join(missing))
PY
