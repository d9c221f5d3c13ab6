"""How the time of `assay profile` grows with the statements and with the kernels of a file, as a table for docs/performance.md.

Usage: growth.py [--assay PROGRAM] [--least N] [--most N]

Straight-line accesses, conditions in a row and calls of one kernel, 100 to 50,000 of them; files of 1 to 4,000 kernels. Times are CPU
seconds of the program and of clang, the least of three runs where that takes no more than a second; "without clang" is a second run
over the same file, whose bitcode is kept. Exit 1: a doubling took more than 2.3 times the time.
"""

import argparse
import math
import os
import pathlib
import subprocess
import sys
import tempfile

# Per doubling, and the seconds under which starting the program decides.
MOST, START = 2.3, 0.3
HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
ARGUMENTS = "device float *x [[buffer(0)]], device const float *y [[buffer(1)]], uint i [[thread_position_in_grid]]"


def one_kernel(statement, before=""):
    return lambda n: HEAD + before + f"kernel void k({ARGUMENTS}) {{\n" + "".join(statement(k) for k in range(n)) + "}\n"


def many_kernels(n):
    return HEAD + "".join(f"kernel void k{k}({ARGUMENTS}) {{ x[i] = y[i] * {k}.5f + x[i + {k}]; }}\n" for k in range(n))


STATEMENTS = (100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 50000)
CALLED = "inline float mix(float a, float b) { return a * b + fabs(a - b); }\n"
SERIES = {
    "accesses in a row": (STATEMENTS, one_kernel(lambda k: f"x[i + {k}] = y[i + {k}] * {k}.5f;\n")),
    "conditions in a row": (STATEMENTS, one_kernel(lambda k: f"if (y[i + {k}] > {k}.0f) x[i] += y[{k}];\n")),
    "inlined calls": (STATEMENTS, one_kernel(lambda k: f"x[i] = mix(x[i], y[i + {k % 64}]);\n", CALLED)),
    "kernels of a file": ((1, 250, 500, 1000, 2000, 4000), many_kernels),
}


def spent(program, text):
    """CPU seconds of a run and its children, and of a second one that finds the bitcode."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "grown.metal"
        source.write_text(text, encoding="utf-8")
        return tuple(profiled(program, source) for _ in range(2))


def profiled(program, source):
    before = os.times()
    subprocess.run([program, "profile", source, "--all", "--format", "jsonl", "-q"], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def per_doubling(size, seconds, before):
    """The factor from the size before, none where starting the program decides."""
    if not before or before[1] < START:
        return None
    return (seconds / before[1]) ** (1 / math.log2(size / before[0]))


def shown(factor):
    return f"{factor:.2f} ×" if factor else "–"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assay", default="target/release/assay")
    parser.add_argument("--most", type=int, default=50000, help="the largest kernel")
    parser.add_argument("--least", type=int, default=1, help="the smallest")
    args = parser.parse_args()
    fine = True
    print("| what | number | CPU seconds | per doubling | without clang | per doubling |\n|---|---|---|---|---|---|")
    for name, (sizes, text) in SERIES.items():
        last = [None, None]
        for size in (size for size in sizes if args.least <= size <= args.most):
            runs = [spent(args.assay, text(size))]
            if runs[0][0] < 1:
                runs += [spent(args.assay, text(size)) for _ in range(2)]
            seconds = [min(run[part] for run in runs) for part in range(2)]
            factors = [per_doubling(size, seconds[part], last[part]) for part in range(2)]
            fine = fine and all(not factor or factor <= MOST for factor in factors)
            cells = (f"{seconds[part]:.2f} | {shown(factors[part])}" for part in range(2))
            print(f"| {name} | {size:,} | {' | '.join(cells)} |", flush=True)
            last = [(size, part) for part in seconds]
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
