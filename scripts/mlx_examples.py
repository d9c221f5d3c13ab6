#!/usr/bin/env python3
"""Runs the example kernels with `assay run` and compares them with MLX on the CPU.

    python3 scripts/mlx_examples.py [--assay PROGRAM]

Exit 0: all agree; 1: some differ; 4: mlx or numpy is missing.
"""

import argparse
import pathlib
import sys

from mlx_kernels import Case, compare, mx, normal

KERNELS = pathlib.Path(__file__).parent.parent / "examples/kernels"


def case(kernel, arrays, scalars, expected, group, near, *, file=None, output=0, kind="f32", **extent):
    path = str(KERNELS / f"{file or kernel}.metal")
    return Case(kernel, arrays, scalars, output, expected, group, near=near, file=path, kind=kind, **extent)


def matmul(name, m, n, k):
    a, b = normal(m, k), normal(k, n)
    scalars = {3: f"u32:{m}", 4: f"u32:{n}", 5: f"u32:{k}"}
    return case(name, {1: a, 2: b}, scalars, a @ b, "16,16", 1e-5, grid=f"{n},{m}")


def simdgroup_matmul(suffix, dtype, m, n, k, near):
    a, b = normal(m, k, dtype=dtype), normal(k, n, dtype=dtype)
    return case(
        f"matmul_simdgroup_{suffix}", {1: a, 2: b}, {3: f"u32:{n}", 4: f"u32:{k}"},
        a.astype(mx.float32) @ b.astype(mx.float32), "32", near, file="matmul_simdgroup", groups=f"{n // 16},{m // 16}",
    )


def cases():
    x = normal(1024)
    yield case("relu", {0: x}, {}, mx.maximum(x, 0), "64", 0, output=1, grid="1024")
    yield case("gelu_tanh", {1: x}, {}, mx.array(0.5) * x * (1 + mx.tanh(0.7978845608 * (x + 0.044715 * x**3))), "64", 1e-5,
               grid="1024")
    yield case("erf_gelu", {1: x}, {}, 0.5 * x * (1 + mx.erf(x * 0.70710678)), "64", 1e-5, grid="1024")
    rows = normal(6, 700)
    yield case("softmax", {1: rows}, {2: "u32:700"}, mx.softmax(rows, axis=-1), "256", 1e-6, groups="6")
    gain, bias = normal(700), normal(700)
    yield case("layernorm", {1: rows, 2: gain, 3: bias}, {4: "u32:700", 5: "f32:1e-5"},
               mx.fast.layer_norm(rows, gain, bias, 1e-5), "256", 1e-5, groups="6")
    half, weight = normal(4, 300, dtype=mx.float16), normal(300, dtype=mx.float16)
    expected = mx.fast.rms_norm(half.astype(mx.float32), weight.astype(mx.float32), 1e-5)
    yield case("rmsnorm_half", {1: half, 2: weight}, {3: "u32:300", 4: "f32:1e-5"}, expected, "32", 1e-3, kind="f16",
               groups="4")
    yield matmul("matmul_tiled", 32, 48, 64)
    yield matmul("matmul_naive", 32, 48, 64)
    yield simdgroup_matmul("f32", mx.float32, 32, 48, 64, 1e-5)
    yield simdgroup_matmul("f16", mx.float16, 32, 48, 64, 1e-4)
    yield simdgroup_matmul("bf16", mx.bfloat16, 32, 48, 64, 1e-4)
    wide = normal(40, 50)
    yield case("transpose_tiled", {1: wide}, {2: "u32:50", 3: "u32:40"}, wide.T, "16,16", 0, groups="4,3")
    query, key, value = normal(5, 32), normal(77, 32), normal(77, 32)
    scores = mx.softmax(query @ key.T * 0.25, axis=-1)
    yield case("attention_row", {1: query, 2: key, 3: value}, {4: "u32:77", 5: "f32:0.25"}, scores @ value, "32", 1e-5,
               groups="5")
    line = normal(256)
    yield case("scan_block", {1: line}, {2: "u32:256"}, mx.cumsum(line), "256", 1e-5, grid="256")
    yield case("argmax", {1: x}, {2: "u32:1024"}, mx.argmax(x).reshape(1), "128", 0, kind="i32", grid="128")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assay", default="assay")
    total, failed = compare(cases(), parser.parse_args().assay)
    print(f"examples: {total - failed} of {total} kernels agree with MLX")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
