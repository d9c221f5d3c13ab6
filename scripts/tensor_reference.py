#!/usr/bin/env python3
"""Compares tensor products of `assay run` with NumPy.

    scripts/tensor_reference.py target/debug/assay

Products with and without tails, of every type, transposition, scope, mode and kind of operand that the tensor headers have, in one
kernel template. Integers must be equal; floats may differ by the bound
that is printed, relative to the largest element of the result. Exit 1: something differs by more.
"""

import itertools
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ASSAY = sys.argv[1] if len(sys.argv) > 1 else "target/debug/assay"
WORK = pathlib.Path(tempfile.mkdtemp(prefix="tensor-reference-"))
RANDOM = np.random.default_rng(11)
FAILED = []
WORST = {}

HEAD = """#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;
"""

# Operands in memory or in registers; a product at once, or in steps of the inner index that are summed up.
PRODUCT = """
template <typename A, typename B, typename C, int M, int N, int step, bool TA, bool TB, typename Scope, bool registers>
kernel void product(tensor<device A, dextents<int, 2>> a [[buffer(0)]], tensor<device B, dextents<int, 2>> b [[buffer(1)]],
                    tensor<device C, dextents<int, 2>> c [[buffer(2)]], uint2 group [[threadgroup_position_in_grid]]) {
  const int K = a.get_extent(TA ? 1 : 0), row = group.y * M, column = group.x * N;
  constexpr auto mode = step > 0 ? matmul2d_descriptor::mode::multiply_accumulate : matmul2d_descriptor::mode::multiply;
  constexpr auto descriptor = matmul2d_descriptor(M, N, step > 0 ? step : static_cast<int>(dynamic_extent), TA, TB, false, mode);
  matmul2d<descriptor, Scope> op;
  auto sums = op.template get_destination_cooperative_tensor<decltype(a), decltype(b), C>();
  for (int k = 0; k < K; k += step > 0 ? step : K) {
    auto left = a.slice(TA ? row : k, TA ? k : row);
    auto right = b.slice(TB ? k : column, TB ? column : k);
    if constexpr (registers) {
      auto l = op.template get_left_input_cooperative_tensor<A, B, C>();
      auto r = op.template get_right_input_cooperative_tensor<A, B, C>();
      l.load(left);
      r.load(right);
      op.run(l, r, sums);
    } else {
      op.run(left, right, sums);
    }
  }
  sums.store(c.slice(column, row));
}
"""

METAL = {"f16": "half", "bf16": "bfloat", "f32": "float", "i8": "char", "u8": "uchar", "i32": "int"}
NUMPY = {"f16": np.float16, "bf16": np.uint16, "f32": np.float32, "i8": np.int8, "u8": np.uint8, "i32": np.int32}
BOUND = {"f16": 2.0**-10, "f32": 1e-6, "i32": 0.0}
THREADS = {"execution_thread": 1, "execution_simdgroup": 32, "execution_simdgroups<4>": 128}


def operand(kind, shape):
    """An array as it is stored, and its numbers as doubles."""
    if kind in ("i8", "u8"):
        info = np.iinfo(NUMPY[kind])
        stored = RANDOM.integers(info.min, info.max, shape, NUMPY[kind], endpoint=True)
        return stored, stored.astype(np.float64)
    numbers = RANDOM.uniform(-1, 1, shape).astype(np.float32)
    if kind == "bf16":
        stored = (numbers.view(np.uint32) >> 16).astype(np.uint16)
        return stored, (stored.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    stored = numbers.astype(NUMPY[kind])
    return stored, stored.astype(np.float64)


def run(file, kernel, grid, threadgroup, *flags):
    command = [ASSAY, "run", str(file), "-f", kernel, "--grid", grid, "--threadgroup", str(threadgroup), *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(" ".join(command) + "\n" + done.stderr)


def compare(what, kind, found, expected):
    scale = max(float(np.abs(expected).max()), 1.0)
    error = float(np.abs(found.astype(np.float64) - expected).max()) / (1.0 if kind == "i32" else scale)
    WORST[kind] = max(WORST.get(kind, 0.0), error)
    if not error <= BOUND[kind]:
        FAILED.append(what)
        print(f"DIFFERS {what}: by {error:.3g}")


CASES = [
    # types, tile M N, step, scope, registers
    *[(("f16", "f16", "f32"), tile, 0, scope, False) for tile in ((64, 32), (16, 16), (24, 40), (8, 8)) for scope in ("execution_simdgroup", "execution_simdgroups<4>")],
    *[(types, (32, 32), step, "execution_simdgroups<4>", False) for step in (0, 16, 12) for types in (("f16", "f16", "f16"), ("bf16", "bf16", "f32"), ("f32", "f32", "f32"))],
    *[(types, (16, 32), 16, "execution_simdgroup", True) for types in (("f16", "f16", "f32"), ("bf16", "bf16", "f32"), ("f32", "f32", "f32"), ("i8", "i8", "i32"))],
    *[(types, (32, 16), 0, "execution_simdgroup", False) for types in (("i8", "i8", "i32"), ("u8", "i8", "i32"), ("i8", "i8", "f32"), ("f16", "i8", "f32"), ("f16", "f32", "f32"))],
    (("f16", "f16", "f32"), (4, 8), 0, "execution_thread", False),
    (("f32", "f32", "f32"), (4, 4), 4, "execution_thread", True),
]


def products():
    transposed = list(itertools.product((False, True), repeat=2))
    instances, todo = [], []
    for number, ((types, tile, step, scope, registers), (ta, tb)) in enumerate(itertools.product(CASES, transposed)):
        a, b, c = (METAL[kind] for kind in types)
        flags = ", ".join("true" if flag else "false" for flag in (ta, tb))
        tensors = ", ".join(f"tensor<device {kind}, dextents<int, 2>>" for kind in (a, b, c))
        arguments = f"{a}, {b}, {c}, {tile[0]}, {tile[1]}, {step}, {flags}, {scope}, {'true' if registers else 'false'}"
        instances.append(f'template [[host_name("p{number}")]] kernel void product<{arguments}>({tensors}, uint2);\n')
        todo.append((f"p{number}", types, tile, step, scope, registers, ta, tb))
    file = WORK / "products.metal"
    file.write_text(HEAD + PRODUCT + "".join(instances))
    for name, types, tile, step, scope, registers, ta, tb in todo:
        small = scope == "execution_thread"
        for m, n, k in ((16, 16, 16), (13, 9, 7)) if small else ((64, 64, 32), (53, 41, 27), (1, 3, 1)):
            a, left = operand(types[0], (k, m) if ta else (m, k))
            b, right = operand(types[1], (n, k) if tb else (k, n))
            np.save(WORK / "a.npy", a)
            np.save(WORK / "b.npy", b)
            grid = f"{-(-n // tile[1]) * THREADS[scope]},{-(-m // tile[0])}"
            out = WORK / "c.npy"
            run(file, name, grid, THREADS[scope], "--tensor", f"0={WORK}/a.npy", "--tensor", f"1={WORK}/b.npy", "--tensor", f"2=zeros:{types[2]}:{m}x{n}", "--out", f"tensor:2={out}")
            what = f"{types} tile {tile} step {step} {scope} registers {registers} transposed {ta, tb} at {m, n, k}"
            compare(what, types[2], np.load(out), (left.T if ta else left) @ (right.T if tb else right))
    print(f"products: {len(todo)} kernels")


def main():
    products()
    for kind, worst in WORST.items():
        print(f"{kind}: largest difference {worst:.2g}, bound {BOUND[kind]:.2g}")
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
