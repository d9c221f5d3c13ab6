#!/bin/sh
# `assay profile` beside metal-profiler (PyPI) on the same raw code, in one run.
# Needs python3 with venv and access to PyPI. metal-profiler's compilation steps need a
# Mac; its disassembly, analysis and report, which are timed here, do not.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"
cargo build --release --quiet -p assay-metal
assay=${CARGO_TARGET_DIR:-target}/release/assay
"$assay" asm "$here/kernel.agx" -o "$work/kernel.bin"
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet metal-profiler==0.1.1
"$work/venv/bin/python" - "$assay" "$work/kernel.bin" <<'PYTHON'
import statistics, subprocess, sys, time
from metal_profiler import extract, profiler
assay, path = sys.argv[1:]
code = open(path, "rb").read()

def median(run, times):
    run()
    seen = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        seen.append((time.perf_counter() - start) * 1000)
    return statistics.median(seen)

def theirs():
    listing = extract.disassemble(code)
    result = profiler.analyze(profiler.parse_disassembly(listing))
    return profiler.format_report(result, "kernel")

def process(*command):
    return lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

ours = median(process(assay, "profile", path), 40)
print(f"{len(code)} bytes of code, medians")
print(f"metal-profiler, in process without its start: {median(theirs, 10):8.2f} ms")
print(f"assay profile, the whole process:             {ours:8.2f} ms")
PYTHON
