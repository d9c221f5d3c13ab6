#!/usr/bin/env python3
"""Runs MetalBench's kernels with `assay run` and compares them with MLX on the CPU.

    python3 scripts/metalbench.py FOLDER [--assay PROGRAM] [--full] [--check] [--only NAME]

FOLDER is a checkout of MetalBench. Its registry says how each kernel is dispatched and how near it
must come; its `Model` classes are the reference, in double precision where MLX has it. Without --full the
sizes of metalbench.json replace those of the registry for the slow ones; slow ones that have their
sizes written into them are left out. The same file names the kernels that are known not to agree, each
with the reason; a race must be found by --check, and may agree by luck. With --check the others are checked
too, and what is reported of kernels that agree is a failure, but for the kinds of faults it names. Prints the kernels that differ and the ten slowest.
Exit 0: all agree but those known not to; 1: otherwise; 4: mlx or numpy is missing.
"""

import argparse
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import time

try:
    import mlx.core as mx
    import numpy as np
except ImportError as error:
    print(f"metalbench: {error}; python3 -m pip install 'mlx[cpu]' numpy", file=sys.stderr)
    sys.exit(4)

SETS = ("common", "standard", "full")


def module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def entries(folder, sizes):
    """Every kernel file with its dispatch: (name, variant, source, entry, set)."""
    tuning = module(folder / "mlx/kernels/common/tuning.py").CHIP_TUNING
    for group in SETS:
        registry = module(folder / f"mlx/kernels/{group}/registry.py").REGISTRY
        for name, entry in registry.items():
            source = folder / f"metal/kernels/{group}/{name}.metal"
            sources = [source] if source.is_file() else sorted(source.with_suffix("").glob("*.metal"))
            for source in sources:
                variant = source.stem if source.stem != name else "flat"
                chosen = {**entry, **tuning.get((name, variant), {})}
                smaller = sizes.get(f"{name}/{variant}", sizes.get(name, {}))
                yield name, variant, source, resize(chosen, smaller), group


def resize(entry, smaller):
    """An entry with other sizes; scalars are given by binding."""
    entry = dict(entry)
    scalars = smaller.get("scalars", {})
    entry["scalars"] = [
        {**scalar, "value": scalars.get(str(scalar["binding"]), scalar["value"])} for scalar in entry["scalars"]
    ]
    for key in ("grid", "threadgroup", "input_shapes", "output_shape"):
        entry[key] = smaller.get(key, entry[key])
    return entry


def inputs(entry):
    random = np.random.default_rng(0)
    return [random.standard_normal(tuple(shape), dtype=np.float32) for shape in entry["input_shapes"]]


def command(program, source, entry, arrays, folder):
    """The command line for a kernel, its inputs saved."""
    count = int(np.prod(entry["output_shape"]))
    output = len(arrays)
    line = [program, "run", str(source), "-f", entry["metal_function"], "--format", "json"]
    line += ["--grid", ",".join(map(str, entry["grid"]))]
    line += ["--threadgroup", ",".join(map(str, entry["threadgroup"]))]
    for index, array in enumerate(arrays):
        np.save(folder / f"{index}.npy", array)
        line += ["--buffer", f"{entry['input_bindings'][index]}={folder}/{index}.npy"]
    line += ["--buffer", f"{output}=zeros:f32:{count}", "--out", f"{output}={folder}/out.npy"]
    for scalar in entry["scalars"]:
        line += ["--bytes", f"{scalar['binding']}={scalar['dtype']}:{scalar['value']}"]
    return line


def run(line, entry, folder):
    """Runs the kernel; gives its output, or a line that says why there is none."""
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        try:
            return None, json.loads(done.stdout)["error"]["message"]
        except (ValueError, KeyError):
            return None, f"exit {done.returncode}: {done.stderr.strip()}"
    return np.load(folder / "out.npy").reshape(tuple(entry["output_shape"])), None


def findings(line):
    """The kinds of mistakes a checked run finds."""
    return {finding["kind"] for finding in reports(line)}


def reports(line):
    """What a checked run reports."""
    done = subprocess.run([*line, "--check"], capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout)["checked"]
    except (ValueError, KeyError):
        return [{"kind": "no check", "severity": "error", "message": done.stdout + done.stderr}]


def reference(path, arrays):
    """What MLX computes on the CPU, in double precision where it can, rounded once."""
    for dtype in (mx.float64, mx.float32):
        try:
            result = module(path).Model().forward(*(mx.array(array).astype(dtype) for array in arrays))
            return np.array(result, dtype=np.float32).astype(np.float64)
        except (RuntimeError, ValueError, TypeError):
            if dtype == mx.float32:
                raise


def differs(got, expected, entry):
    """What is wrong with a result; nothing if it is near enough everywhere."""
    if got.shape != expected.shape:
        return f"shape {got.shape}, expected {expected.shape}"
    with np.errstate(invalid="ignore"):
        error = np.abs(got.astype(np.float64) - expected)
        error[got == expected] = 0
        error[np.isnan(got) & np.isnan(expected)] = 0
        allowed = entry["atol"] + entry["rtol"] * np.abs(expected)
    wrong = ~(error <= allowed)
    if not wrong.any():
        return None
    worst = np.unravel_index(np.argmax(np.where(wrong, np.nan_to_num(error, nan=np.inf), -1)), error.shape)
    place = ", ".join(map(str, worst))
    return f"{wrong.sum()} of {wrong.size} numbers; at ({place}) {got[worst]}, expected {expected[worst]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--assay", default="assay")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--check", action="store_true", help="check the kernels, too")
    parser.add_argument("--only", help="a kernel, or one of its variants as NAME/VARIANT")
    parser.add_argument("--all", action="store_true", help="the times of all kernels")
    args = parser.parse_args()
    mx.set_default_device(mx.cpu)
    table = json.loads(pathlib.Path(__file__).with_suffix(".json").read_text())
    sizes = {} if args.full else table["reduced"]
    rows, known, left, wrong = [], [], [], 0
    checked, alarms = 0, 0
    for name, variant, source, entry, group in entries(args.folder, sizes):
        if args.only and args.only not in (name, f"{name}/{variant}"):
            continue
        label = f"{name}/{variant}"
        if not args.full and label in table["fixed"]:
            left.append(label)
            continue
        arrays = inputs(entry)
        with tempfile.TemporaryDirectory() as folder:
            start = time.monotonic()
            folder = pathlib.Path(folder)
            line = command(args.assay, source, entry, arrays, folder)
            got, problem = run(line, entry, folder)
            seconds = time.monotonic() - start
            reason = table["known"].get(label)
            races = bool(reason) and reason.startswith("a race")
            if races and "race" not in findings(line):
                reason = None
            if args.check and not reason:
                checked += 1
                for found in reports(line):
                    if found["kind"] == table["faults"].get(label):
                        continue
                    alarms += found["severity"] == "error"
                    print(f"{label}: {found['kind']}: {found['message']}", flush=True)
        if got is not None:
            expected = reference(args.folder / f"mlx/kernels/{group}/{name}.py", arrays)
            problem = differs(got, expected.reshape(tuple(entry["output_shape"])), entry)
        rows.append((seconds, label))
        if reason and (problem or races):
            known.append(f"{label}: {reason}\n    {problem or 'agrees here, by luck'}")
        elif problem or reason:
            wrong += 1
            print(f"{label}: {problem or 'agrees, though it is known not to'}", flush=True)
    rows.sort(reverse=True)
    total = sum(seconds for seconds, _ in rows)
    agree = len(rows) - wrong - len(known)
    sizes = "registered" if args.full else "reduced"
    print(f"MetalBench, {sizes} sizes: {agree} of {len(rows)} kernels agree with MLX; {total:.0f} s (host)")
    if args.check:
        print(f"checked {checked} of them: {alarms} reports")
    if known:
        print("known not to agree:", *known, sep="\n  ")
    if left:
        print(f"left out, as their sizes are fixed and large (--full runs them): {', '.join(left)}")
    print("slowest:")
    for seconds, label in rows[: None if args.all else 10]:
        print(f"  {seconds:7.1f} s  {label}")
    return 1 if wrong or alarms else 0


if __name__ == "__main__":
    sys.exit(main())
