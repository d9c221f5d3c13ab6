"""The program ``assay``, on the path of whoever installed the package."""

from __future__ import annotations

import os
import pathlib
import sys


def main() -> int:
    """Runs the command line of this process."""
    from ._native import command

    # Commands that start the program again start this interpreter with this package.
    os.environ.setdefault("ASSAY_INTERPRETER", sys.executable)
    # Metal's API for Linux comes with the package; the program would look for it beside the interpreter.
    library = pathlib.Path(__file__).with_name("libassay_metal_api.so")
    if library.is_file():
        os.environ.setdefault("ASSAY_METAL_LIBRARY", str(library))
    return command(["assay", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
