#!/usr/bin/env python3
"""Runs kernels out of Apple-compiled `mlx.metallib` with `assay run` and compares them with MLX on the CPU.

    python3 scripts/mlx_kernels.py mlx.metallib [--assay PROGRAM]

Geometry and arguments are those of MLX's own host code (mlx/backend/metal). Exit 0: all agree; 1: some
differ; 4: mlx or numpy is missing.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import time

try:
    import mlx.core as mx
    import numpy as np
except ImportError as error:
    print(f"mlx_kernels: {error}; python3 -m pip install 'mlx[cpu]' numpy", file=sys.stderr)
    sys.exit(4)

random = np.random.default_rng(1)


def normal(*shape, dtype=mx.float32):
    return mx.array(random.standard_normal(shape, dtype=np.float32)).astype(dtype)


def threadgroup(size, reads=4):
    """Threads for a row of so many numbers, each thread reading a few, in whole simdgroups."""
    return -(-size // (32 * reads)) * 32


class Case:
    """One dispatch: buffers by index, bytes by index, and what the output (or the fault) should be."""

    def __init__(self, kernel, arrays, scalars, output, expected, group, *, grid=None, groups=None, constants=(), near, fault=None):
        self.fault = fault
        self.kernel, self.arrays, self.scalars, self.output = kernel, arrays, scalars, output
        self.expected, self.group, self.constants, self.near = expected, group, constants, near
        self.extent = ["--grid", grid] if grid else ["--groups", groups]


def softmax(dtype, name, rows, size, near):
    x = normal(rows, size, dtype=dtype)
    group = threadgroup(size)
    expected = mx.softmax(x.astype(mx.float32), axis=-1)
    return Case(
        f"block_softmax_{name}", {0: x}, {2: f"i32:{size}"}, 1, expected, f"{group}", grid=f"{rows * group}", near=near
    )


def looped_softmax(rows, size):
    x = normal(rows, size, dtype=mx.float16)
    expected = mx.softmax(x.astype(mx.float32), axis=-1)
    return Case(
        "looped_softmax_precise_float16", {0: x}, {2: f"i32:{size}"}, 1, expected, "1024", grid=f"{rows * 1024}",
        near=1e-3,
    )


def rms_norm(dtype, name, rows, size, near):
    x, w = normal(rows, size, dtype=dtype), normal(size, dtype=dtype)
    group = threadgroup(size)
    expected = mx.fast.rms_norm(x.astype(mx.float32), w.astype(mx.float32), 1e-5)
    scalars = {3: "f32:1e-5", 4: f"u32:{size}", 5: "u32:1"}
    return Case(f"rms{name}", {0: x, 1: w}, scalars, 2, expected, f"{group}", grid=f"{rows * group}", near=near)


def layer_norm(rows, size, fault=None):
    x, w, b = normal(rows, size), normal(size), normal(size)
    group = threadgroup(size, 8)
    expected = mx.fast.layer_norm(x, w, b, 1e-5)
    scalars = {4: "f32:1e-5", 5: f"u32:{size}", 6: "u32:1", 7: "u32:1"}
    return Case(
        "layer_normfloat32", {0: x, 1: w, 2: b}, scalars, 3, expected, f"{group}", grid=f"{rows * group}", near=1e-4,
        fault=fault,
    )


def gemm(m, n, k, bm=64, bn=64, bk=16, wm=2, wn=2):
    a, b = normal(m, k, dtype=mx.float16), normal(k, n, dtype=mx.float16)
    tiles_m, tiles_n = -(-m // bm), -(-n // bn)
    params = f"i32:{m},{n},{k},{k},{n},{n},{tiles_n},{tiles_m},i64:0,0,0,i32:0,{k // bk},1,0"
    aligned = {200: m % bm == 0, 201: n % bn == 0, 202: k % bk == 0}
    constants = {10: False, 100: False, 110: False, **aligned}
    return Case(
        f"steel_gemm_fused_nn_float16_float16_bm{bm}_bn{bn}_bk{bk}_wm{wm}_wn{wn}", {0: a, 1: b}, {4: params}, 3,
        a.astype(mx.float32) @ b.astype(mx.float32), f"32,{wn},{wm}", groups=f"{tiles_n},{tiles_m},1",
        constants=[f"{index}=bool:{int(value)}" for index, value in constants.items()], near=1e-3,
    )


def sort(rows, size, block=256):
    x = normal(rows, size)
    scalars = {2: f"i32:{size}", 3: "i32:1", 4: "i32:1", 5: f"i32:{size}", 6: f"i32:{size}"}
    return Case(
        f"c_block_sort_float32_float32_bn{block}_tn4", {0: x}, scalars, 1, mx.sort(x, axis=-1), f"{block}",
        groups=f"1,{rows}", near=0,
    )


def argsort(rows, size, block=256):
    x = normal(rows, size)
    scalars = {2: f"i32:{size}", 3: "i32:1", 4: "i32:1", 5: f"i32:{size}", 6: f"i32:{size}"}
    return Case(
        f"carg_block_sort_float32_uint32_bn{block}_tn4", {0: x}, scalars, 1, mx.argsort(x, axis=-1), f"{block}",
        groups=f"1,{rows}", near=0,
    )


def scan(rows, size):
    x = normal(rows, size)
    group = threadgroup(size)
    return Case(
        "contig_scan_inclusive_sum_float32_float32", {0: x}, {2: f"u64:{size}"}, 1, mx.cumsum(x, axis=-1), f"{group}",
        grid=f"{group},{rows}", near=1e-4,
    )


def quantised_matvec(name, dtype, n, k, near):
    w, x = normal(n, k, dtype=dtype), normal(1, k, dtype=dtype)
    packed, scales, biases = mx.quantize(w, group_size=64, bits=4)
    whole = mx.dequantize(packed, scales, biases, group_size=64, bits=4).astype(mx.float32)
    return Case(
        f"affine_qmv_fast_{name}_gs_64_b_4_batch_0_pr_0_hgs_0_r_4",
        {0: packed, 1: scales, 2: biases, 3: x}, {5: f"i32:{k}", 6: f"i32:{n}"}, 4,
        x.astype(mx.float32) @ whole.T, "32,2", groups=f"1,{n // 8},1", near=near,
    )


def cases():
    yield softmax(mx.float32, "float32", 5, 1000, 1e-5)
    yield softmax(mx.float16, "precise_float16", 3, 2048, 1e-3)
    yield softmax(mx.bfloat16, "precise_bfloat16", 3, 300, 1e-2)
    yield looped_softmax(2, 5000)
    yield rms_norm(mx.float32, "float32", 4, 1024, 1e-5)
    yield rms_norm(mx.float16, "float16", 4, 1000, 2e-3)
    yield layer_norm(3, 1024)
    # Threads beyond the end of a row have a negative count left and write thread_x[-7], before the array.
    yield layer_norm(3, 777, fault="write of 4 bytes at offset -28 of thread memory")
    yield gemm(128, 128, 64)
    yield gemm(100, 70, 33)
    yield gemm(64, 96, 48, bm=32, bn=32)
    yield sort(3, 1000)
    yield argsort(2, 600)
    yield scan(4, 1500)
    yield quantised_matvec("float", mx.float32, 64, 1024, 1e-4)
    yield quantised_matvec("float16_t", mx.float16, 32, 512, 2e-3)


def save(path, array):
    bits = array.view(mx.uint16) if array.dtype == mx.bfloat16 else array
    np.save(path, np.array(bits))


def output_type(kernel):
    """The type of a kernel's output, by its name."""
    if "uint32" in kernel:
        return "u32"
    for word, name in (("bfloat16", "bf16"), ("float16", "f16")):
        if word in kernel:
            return name
    return "f32"


def run(program, library, case, folder):
    kind = output_type(case.kernel)
    count = case.expected.size
    line = [program, "run", library, "-f", case.kernel, *case.extent, "--threadgroup", case.group, "-q"]
    for index, array in case.arrays.items():
        save(folder / f"{index}.npy", array)
        line += ["--buffer", f"{index}={folder}/{index}.npy"]
    line += ["--buffer", f"{case.output}=zeros:{kind}:{count}", "--out", f"{case.output}={folder}/out.npy"]
    for index, value in case.scalars.items():
        line += ["--bytes", f"{index}={value}"]
    for constant in case.constants:
        line += ["--const", constant]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None, f"exit {done.returncode}: {done.stderr.strip()}"
    got = np.load(folder / "out.npy")
    if kind == "bf16":
        got = np.array(mx.array(got.view(np.uint16)).view(mx.bfloat16).astype(mx.float32))
    return got.astype(np.float64), None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--assay", default="assay")
    args = parser.parse_args()
    mx.set_default_device(mx.cpu)
    failed = total = 0
    for case in cases():
        total += 1
        expected = np.array(case.expected).astype(np.float64).ravel()
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            got, problem = run(args.assay, args.library, case, pathlib.Path(folder))
        seconds = time.monotonic() - start
        if case.fault:
            found = problem is not None and case.fault in problem
            verdict = f"stops as it should: {case.fault}"
            problem = None if found else f"{problem or 'runs'}; should stop with: {case.fault}"
        elif got is not None:
            scale = max(np.abs(expected).max(), 1.0) if case.near else 1.0
            error = np.abs(got - expected).max() / scale
            verdict = f"error {error:.1e} of {case.near:.0e} allowed"
            if not error <= case.near:
                problem = verdict
        if problem:
            failed += 1
        print(f"{case.kernel}: {problem or verdict}, {seconds:.1f} s (host)", flush=True)
    print(f"mlx.metallib: {total - failed} of {total} dispatches are as they should be, by MLX on the CPU")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
