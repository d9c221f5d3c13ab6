#!/usr/bin/env python3
"""Holds what removing a term is said to bring against removals made by hand: scripts/removals.py [assay] [KERNEL]...

examples/removals/removals.toml lists kernels of the registry, a term of their predicted time, and edits of the source (or other flags of
the launch) that take the effect away; results become wrong, times are what counts. The time that goes away must be within 25 %
of what the term's `without it` says, or within 2 % of the kernel's time, which is what predictions differ by for no reason.
Exit 1: a removal is off.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import tomllib

from registry import dispatches

ROOT = pathlib.Path(__file__).resolve().parent.parent
REGISTRY = ROOT / "crates/bench/kernels"
LIST = ROOT / "examples/removals/removals.toml"
WITHIN, NOISE = 0.25, 0.02


def predicted(assay, source, flags):
    done = subprocess.run([assay, "predict", str(source), *flags, "--format", "json"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{source}: {done.stderr or done.stdout}")
    return json.loads(done.stdout)["predictions"][0]


def edited(one, dispatch, folder):
    """The kernel and what it includes in a folder of its own, with the edits made."""
    shutil.copytree(REGISTRY / "include", folder, dirs_exist_ok=True)
    source = pathlib.Path(shutil.copy(dispatch.source, folder))
    for old, new in one.get("edits", []):
        holders = [path for path in sorted(folder.iterdir()) if old in path.read_text()]
        if not holders:
            raise SystemExit(f"{one['kernel']}: nothing to edit reads {old!r}")
        for path in holders:
            path.write_text(path.read_text().replace(old, new))
    flags = list(dispatch.flags)
    flags[flags.index("-I") + 1] = str(folder)
    for name, value in one.get("flags", {}).items():
        flags[flags.index(name) + 1] = value
    return source, flags


def main():
    assay = sys.argv[1] if len(sys.argv) > 1 else "assay"
    only = sys.argv[2:]
    registry = {}
    for one in dispatches(REGISTRY):
        registry.setdefault(one.function, one)
        registry[one.entry, one.function] = one
    right = total = 0
    for one in tomllib.loads(LIST.read_text())["removal"]:
        if only and one["kernel"] not in only:
            continue
        dispatch = registry[(one["entry"], one["kernel"]) if "entry" in one else one["kernel"]]
        before = predicted(assay, dispatch.source, dispatch.flags)
        term = next(term for term in before["terms"] if term["name"] == one["term"])
        with tempfile.TemporaryDirectory() as folder:
            after = predicted(assay, *edited(one, dispatch, pathlib.Path(folder)))
        said, seen = term["removal_us"], before["time_us"] - after["time_us"]
        fine = abs(seen - said) <= max(WITHIN * said, NOISE * before["time_us"])
        left = next((term["us"] for term in after["terms"] if term["name"] == one["term"]), 0.0)
        total += 1
        right += fine
        print(
            f"{one['kernel']:34} {one['term']:18} {before['time_us']:8.1f} us: {term['us']:7.1f} us of it, without it {said:7.1f} less; "
            f"by hand {seen:7.1f} ({left:.1f} us of the term left){'' if fine else '  OFF'}",
            flush=True,
        )
    print(f"{total} removals: {right} as said")
    return 0 if right == total else 1


if __name__ == "__main__":
    sys.exit(main())
