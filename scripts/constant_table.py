#!/usr/bin/env python3
"""Computes the last column of crates/codegen/tests/constants/table.tsv: what Metal's constants must hold.

Each line has a declaration, what a kernel reads of it, and the same as expressions of NumPy, which say what the values
must be without any Metal compiler. Needs numpy.
"""

import sys
from pathlib import Path

import numpy as np

TABLE = Path(__file__).parent.parent / "crates/codegen/tests/constants/table.tsv"


def main() -> int:
    lines = []
    for number, line in enumerate(TABLE.read_text().splitlines(), 1):
        declaration, reads, expressions, *_ = line.split("\t")
        values = [float(eval(e, {"np": np})) for e in expressions.split(";")]
        if len(values) != len(reads.split(";")):
            print(f"{TABLE}:{number}: {reads!r} is not as many values as {expressions!r}", file=sys.stderr)
            return 1
        values = "; ".join(f"{value:.9g}" for value in values)
        lines.append("\t".join([declaration, reads, expressions, values]))
    TABLE.write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
