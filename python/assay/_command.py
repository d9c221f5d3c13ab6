"""The program ``assay``, on the path of whoever installed the package."""

from __future__ import annotations

import sys


def main() -> int:
    """Runs the command line of this process."""
    from ._native import command

    return command(["assay", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
