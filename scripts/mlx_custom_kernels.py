#!/usr/bin/env python3
"""Runs MLX's own custom kernels with Assay: its tests of metal_kernel and the examples of its documentation, unchanged but
for where metal_kernel comes from.

    python3 scripts/mlx_custom_kernels.py [--mlx FOLDER]

FOLDER is a checkout of MLX; without it the tag of the installed version is cloned. Exit 0: all pass; 1: some do not; 3: no
checkout could be made; 4: mlx, numpy or assay is missing.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest

try:
    import mlx.core as mx
    import numpy as np

    import assay.mlx
except ImportError as error:
    print(f"mlx_custom_kernels: {error} (pip install 'mlx[cpu]' ./python)")
    sys.exit(4)

PAGE = "docs/src/dev/custom_metal_kernels.rst"
TESTS = "python/tests"


def checkout(folder: pathlib.Path) -> pathlib.Path:
    version = f"v{mx.__version__}"
    command = ["git", "clone", "--quiet", "--depth", "1", "--branch", version, "https://github.com/ml-explore/mlx", str(folder)]
    try:
        subprocess.run(command, check=True, timeout=300, stderr=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        print(f"mlx_custom_kernels: cannot clone {version} of MLX; give a checkout with --mlx")
        sys.exit(3)
    return folder


def substitute() -> None:
    """Puts Assay in the place of the GPU."""
    mx.fast.metal_kernel = assay.mlx.metal_kernel
    mx.metal.is_available = lambda: True
    mx.is_available = lambda _device: True


def tests(folder: pathlib.Path) -> tuple[int, list[str]]:
    """Runs the tests of custom kernels; how many, and which failed."""
    sys.path.insert(0, str(folder / TESTS))
    import test_fast

    cases = [case for case in vars(test_fast).values() if isinstance(case, type) and issubclass(case, unittest.TestCase)]
    names = [(case, name) for case in cases for name in dir(case) if re.match(r"test_custom_(metal_)?kernel", name)]
    failed = []
    for case, name in names:
        test = case(name)
        # MLX's test case puts what is evaluated on the CPU's stream; nothing is left for a GPU to do.
        result = unittest.TestResult()
        test.run(result)
        for _, trace in result.failures + result.errors:
            failed.append(f"{name}: {trace.strip().splitlines()[-1]}")
        for _, reason in result.skipped:
            print(f"  skipped {name}: {reason}")
    return len(names), failed


def page(folder: pathlib.Path) -> tuple[int, list[str]]:
    """Runs the examples of the documentation in their order; how many kernels, and what failed."""
    text = (folder / PAGE).read_text()
    blocks = re.findall(r"\.\. code-block:: python\n\s*\n((?:[ \t]+.*\n|\s*\n)+)", text)
    space = {"mx": mx, "np": np}
    failed = []
    kernels = 0
    for block in map(textwrap.dedent, blocks):
        # One block shows how metal_kernel is told about arithmetic, with a source that is not there; one only sizes.
        if "my_kernel" in block or not re.search(r"^\s*def |metal_kernel", block, re.M):
            continue
        kernels += block.count("metal_kernel(")
        # Blocks use one name for several kernels: each has globals of its own.
        own = dict(space)
        try:
            exec(block, own)
        except Exception as error:
            failed.append(f"{block.strip().splitlines()[0]} …: {error!r}")
        space.update(own)
    # Points between four pixels: nearer to the border the kernel loads what it then does not use, outside of x.
    x, grid = mx.random.normal((2, 9, 7, 5)), mx.random.uniform(-0.7, 0.7, (2, 4, 6, 2))
    if not mx.allclose(space["grid_sample"](x, grid), space["grid_sample_ref"](x, grid), atol=1e-4):
        failed.append("grid_sample is not grid_sample_ref")
    cotangent = mx.random.normal((2, 4, 6, 5))
    found = mx.vjp(space["grid_sample"], [x, grid], [cotangent])[1]
    expected = mx.vjp(lambda x: space["grid_sample_ref"](x, grid), [x], [cotangent])[1]
    if not mx.allclose(found[0], expected[0], atol=1e-3):
        failed.append("the gradient of grid_sample by x is not grid_sample_ref's")
    try:
        space["grid_sample"](x, mx.ones_like(grid))
        failed.append("grid_sample reads outside x at the border, and nothing said so")
    except assay.KernelFault as fault:
        print(f"  found in the documentation: {fault}")
    return kernels, failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mlx", type=pathlib.Path, help="a checkout of MLX")
    chosen = parser.parse_args().mlx
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen or checkout(pathlib.Path(temporary) / "mlx")
        substitute()
        ran, failed = tests(folder)
        kernels, more = page(folder)
    for line in failed + more:
        print(f"  failed {line}")
    print(f"mlx_custom_kernels: {ran} tests, {len(failed)} failed; {kernels} kernels of the documentation, {len(more)} failed")
    return 1 if failed or more else 0


if __name__ == "__main__":
    sys.exit(main())
