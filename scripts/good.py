#!/usr/bin/env python3
"""Judges findings by good kernels: scripts/good.py [--assay PROGRAM] [--mlx FOLDER] [--llama FOLDER] [--only NAME].

examples/good.tsv lists kernels of the registry, of MLX and of llama.cpp with the launches of their engines. No finding may claim 3 %
of the time or more unless a cure applied beside it is predicted to bring at least half of the claim. The folders are those that
hold the kernels: mlx/backend/metal/kernels and ggml/src/ggml-metal of checkouts; without one its kernels are left out, and counted.
Exit 1: a finding claims what no cure brings.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time

from registry import dispatches

ROOT = pathlib.Path(__file__).resolve().parent.parent
REGISTRY = ROOT / "crates/bench/kernels"
LIST = ROOT / "examples/good.tsv"

# A claim that a finding makes, and the share of it that a cure has to bring.
CLAIM, HALF = 0.03, 0.5


def kernels(path):
    """The rows of the list: where from, file, kernel, flags."""
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            origin, file, kernel, flags = line.split("\t")
            yield origin, file, kernel, flags.split()


def commands(args):
    """What `assay profile` is given for each kernel; nothing where its checkout was not named."""
    registry = {(one.entry, one.function): one for one in dispatches(REGISTRY)}
    folders = {"mlx": args.mlx, "llama.cpp": args.llama}
    for origin, file, kernel, flags in kernels(args.list):
        if args.only and args.only not in kernel:
            continue
        if origin == "registry":
            one = registry[file, kernel]
            yield origin, kernel, [str(one.source), *one.flags]
        elif folders[origin] is None:
            yield origin, kernel, None
        else:
            folder = folders[origin]
            # MLX includes its files from the root of the checkout, llama.cpp two folders up.
            includes = {"mlx": folder.parents[3], "llama.cpp": folder.parent}[origin]
            yield origin, kernel, [str(folder / file), "-I", str(includes), "-f", kernel, *flags]


def judge(findings):
    """The findings that claim what no cure brings, and those that are answered."""
    false, true = [], []
    for one in findings:
        claim = (one.get("weight") or {}).get("share", 0.0)
        if claim < CLAIM:
            continue
        gain = ((one.get("cure") or {}).get("gain") or {}).get("share", 0.0)
        (true if gain >= HALF * claim else false).append((one, claim, gain))
    return false, true


def tell(one, claim, gain, verdict):
    line = ",".join(map(str, one.get("lines", [])[:2]))
    print(f"    {verdict}: {one['rule']} at {line or '-'} claims {claim:.1%}, a cure brings {gain:.1%}: {one['message']}")
    if not gain:
        for why in (one.get("cure") or {}).get("refused", []):
            print(f"        {why}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assay", default="assay")
    parser.add_argument("--mlx", type=pathlib.Path)
    parser.add_argument("--llama", type=pathlib.Path)
    parser.add_argument("--list", type=pathlib.Path, default=LIST)
    parser.add_argument("--only", help="kernels whose name contains this")
    args = parser.parse_args()
    good = judged = left_out = failed = 0
    for origin, kernel, words in commands(args):
        if words is None:
            left_out += 1
            continue
        start = time.monotonic()
        done = subprocess.run([args.assay, "profile", *words, "--cures", "--format", "json"], capture_output=True, text=True)
        seconds = time.monotonic() - start
        if done.returncode:
            failed += 1
            print(f"{origin} {kernel}: {(done.stderr or done.stdout).strip()[:400]}", flush=True)
            continue
        profile = json.loads(done.stdout)["profiles"][0]
        false, true = judge(profile["findings"])
        judged += 1
        good += not false
        predicted = profile.get("predicted") or {}
        print(f"{origin} {kernel}: {predicted.get('time_us')} us, {seconds:.1f} s (host){', FALSE' if false else ''}", flush=True)
        for verdict, some in (("FALSE", false), ("answered", true)):
            for one in some:
                tell(*one, verdict)
    print(f"{judged} kernels: {good} without a false claim, {judged - good} with one; {failed} failed, {left_out} left out")
    return 1 if failed or good < judged else 0


if __name__ == "__main__":
    sys.exit(main())
