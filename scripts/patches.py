#!/usr/bin/env python3
"""Counts the lines that recipes change: scripts/patches.py [--assay PROGRAM] [--every N] [--pairs FOLDER].

Every recipe that applies to a kernel of the registry is applied with its first step and printed as a patch; a table of how many
lines are added or removed, by recipe. Then the pairs: the line to copy beside the cure by hand, and the ratio of their lines.
"""

import argparse
import collections
import difflib
import json
import pathlib
import shlex
import statistics
import subprocess

from registry import dispatches

ROOT = pathlib.Path(__file__).resolve().parent.parent
REGISTRY = ROOT / "crates/bench/kernels"


def document(assay, *words):
    line = [assay, *map(str, words), "--format", "json"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def changed(patch):
    return sum(line[:1] in "+-" and line[:3] not in ("+++", "---") for line in patch.splitlines())


def by_hand(faulty, cured):
    texts = [path.read_text().splitlines() for path in (faulty, cured)]
    # The mark of the planted fault and the launch are no part of the cure.
    texts = [[line.split("// fault:")[0].rstrip() for line in text if "assay: launch" not in line] for text in texts]
    return changed("\n".join(difflib.unified_diff(*texts, lineterm="", n=0)))


def registry(assay, every):
    counts = collections.defaultdict(list)
    for one in list(dispatches(REGISTRY))[::every]:
        listed = document(assay, "rewrite", one.source, *one.flags, "--list")
        for choice in (listed or {}).get("choices", []):
            for step in choice["steps"][:1]:
                made = document(assay, "rewrite", one.source, *one.flags, "--recipe", step, "--patch")
                if made is None:
                    continue
                lines = changed(made.get("patch", ""))
                counts[choice["recipe"]].append((lines, one.function))
                print(f"{choice['recipe']:16} {lines:4} lines  {one.function}  {step}", flush=True)
    for recipe, some in sorted(counts.items()):
        lines = [lines for lines, _ in some]
        print(f"{recipe:16} {len(lines):3} kernels, {statistics.median(lines):g} lines in the median, {max(lines)} at most")


def pairs(assay, folder):
    ratios = []
    for faulty in sorted(folder.glob("*/*.faulty.metal")):
        profile = document(assay, "profile", faulty, "--cures")["profiles"][0]
        command = ((profile["findings"] or [{}])[0].get("cure") or {}).get("command")
        hand = by_hand(faulty, faulty.with_name(faulty.name.replace(".faulty.", ".cured.")))
        if not command or not hand:
            continue
        made = document(assay, *shlex.split(command)[1:], "--patch")
        lines = changed(made["patch"])
        ratios.append(lines / hand)
        print(f"{faulty.name:36} {lines:3} lines, {hand:3} by hand  {lines / hand:.1f}  {command.split('--recipe', 1)[1]}", flush=True)
    print(f"{len(ratios)} cures: {statistics.median(ratios):.2f} times the lines of the change by hand, in the median")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assay", default="assay")
    parser.add_argument("--every", type=int, default=1, help="only every so manieth kernel of the registry; 0: none")
    parser.add_argument("--pairs", type=pathlib.Path, default=ROOT / "examples/pairs")
    args = parser.parse_args()
    if args.every:
        registry(args.assay, args.every)
    pairs(args.assay, args.pairs)


if __name__ == "__main__":
    main()
