"""The program ``assay``, on the path of whoever installed the package."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Runs the command line of this process."""
    from ._native import command

    # Commands that start the program again start this interpreter with this package.
    os.environ.setdefault("ASSAY_INTERPRETER", sys.executable)
    return command(["assay", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
