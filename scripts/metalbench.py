#!/usr/bin/env python3
"""Runs MetalBench's kernels with `assay run` and compares them with MLX on the CPU.

    python3 scripts/metalbench.py FOLDER [--assay PROGRAM] [--full] [--only NAME]

FOLDER is a checkout of MetalBench. Its registry says how each kernel is dispatched and how near it
must come, its `Model` classes are the reference. Without --full the sizes of metalbench-reduced.json
replace those of the registry, so that a kernel takes seconds. Prints one line per kernel that differs, then
the ten slowest. Exit 0: all agree; 1: some differ; 4: mlx or numpy is missing.
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


def run(program, source, entry, arrays, folder):
    """Runs the kernel; gives its output, or a line that says why there is none."""
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
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        try:
            return None, json.loads(done.stdout)["error"]["message"]
        except (ValueError, KeyError):
            return None, f"exit {done.returncode}: {done.stderr.strip()}"
    return np.load(folder / "out.npy").reshape(tuple(entry["output_shape"])), None


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
    parser.add_argument("--only")
    args = parser.parse_args()
    mx.set_default_device(mx.cpu)
    table = pathlib.Path(__file__).with_name("metalbench-reduced.json")
    sizes = {} if args.full else json.loads(table.read_text())
    rows, failed = [], 0
    for name, variant, source, entry, group in entries(args.folder, sizes):
        if args.only and args.only not in (name, f"{name}/{variant}"):
            continue
        arrays = inputs(entry)
        with tempfile.TemporaryDirectory() as folder:
            start = time.monotonic()
            got, problem = run(args.assay, source, entry, arrays, pathlib.Path(folder))
            seconds = time.monotonic() - start
        if got is not None:
            model = module(args.folder / f"mlx/kernels/{group}/{name}.py").Model()
            expected = np.array(model.forward(*map(mx.array, arrays)), dtype=np.float64)
            problem = differs(got, expected.reshape(tuple(entry["output_shape"])), entry)
        rows.append((seconds, f"{name}/{variant}"))
        if problem:
            failed += 1
            print(f"{name}/{variant}: {problem}", flush=True)
    rows.sort(reverse=True)
    total = sum(seconds for seconds, _ in rows)
    sizes = "registered" if args.full else "reduced"
    print(f"MetalBench, {sizes} sizes: {len(rows) - failed} of {len(rows)} kernels agree with MLX; {total:.0f} s (host)")
    print("slowest:")
    for seconds, name in rows[:10]:
        print(f"  {seconds:7.1f} s  {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
