#!/usr/bin/env python3
"""Judges findings and cures by the pairs of faulty and cured kernels: scripts/pairs.py [assay] [FOLDER].

A pair is FAULT/NAME.faulty.metal and NAME.cured.metal; the faulty line ends in `// fault: RULE`. The first finding must name
the fault at its line, its weight be within 1.5 of what the cure by hand brings, and it must be gone afterwards. The line to
copy that `assay profile --cures` shows must make the kernel at least 0.8 times as fast as the cure by hand. A table, then counts.
"""
import json
import pathlib
import shlex
import subprocess
import sys

ASSAY = sys.argv[1] if len(sys.argv) > 1 else "assay"
FOLDER = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else "examples/pairs")


def document(*words):
    done = subprocess.run([ASSAY, *words, "--format", "json"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: {done.stderr or done.stdout}")
    return json.loads(done.stdout)


def profiled(path, *flags):
    kernel = document("profile", str(path), *flags)["profiles"][0]
    return kernel["predicted"]["time_us"], kernel["findings"]


def planted(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if "// fault: " in line:
            return number, line.split("// fault: ")[1].strip()
    raise SystemExit(f"{path}: no line says // fault:")


def copied(command):
    """The time of the kernel that a line to copy makes, and whether what it made is an edit of the source."""
    words = shlex.split(command)
    made = document(*words[1:], "--patch")
    changed = [line for line in made["patch"].splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    return made["predicted"]["after"]["time_us"], len(changed)


def main():
    counts = dict.fromkeys(["named", "weighed", "gone", "cured"], 0)
    pairs = sorted(FOLDER.glob("*/*.faulty.metal"))
    for path in pairs:
        cure = path.with_name(path.name.replace(".faulty.", ".cured."))
        line, rule = planted(path)
        before, findings = profiled(path, "--cures")
        after, left = profiled(cure)
        first = findings[0]
        weight = next((one["weight"]["us"] for one in findings if one["rule"] == rule), 0.0)
        ratio = weight / max(before - after, 1e-9)
        command = (first.get("cure") or {}).get("command")
        made, lines = copied(command) if command else (None, 0)
        seen = {
            "named": first["rule"] == rule and first["lines"][0] == line,
            "weighed": 1 / 1.5 <= ratio <= 1.5,
            "gone": all(one["rule"] != rule for one in left),
            "cured": made is not None and after / made >= 0.8,
        }
        for name, yes in seen.items():
            counts[name] += yes
        verdict = " ".join(name if yes else name.upper() + "?" for name, yes in seen.items())
        by_line = f"{made:.1f} us, {lines} lines: {command}" if made else "no cure"
        print(f"{rule:20} {path.name:36} {before:8.1f} -> {after:8.1f} us  {verdict}  ({ratio:.2f})  {by_line}", flush=True)
        if not made:
            for why in (first.get("cure") or {}).get("refused", []):
                print(f"    {why}")
    print(f"{len(pairs)} pairs: " + ", ".join(f"{name} {count}" for name, count in counts.items()))


main()
