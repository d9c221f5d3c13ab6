"""Adds up how many files of several projects compile.

Usage: source_table.py FILE..., each what `assay compile FOLDER --format json` printed. A file may fail because it is a template with a
blank for the name. Exit 1 if another one fails, or nothing compiles.
"""

import json
import pathlib
import sys

BLANK = "kernel void <"


def excused(file):
    error = file["errors"][0]
    return BLANK in (error.get("source_line") or "")


def main(paths):
    worst = 0
    print(f"{'':<16}{'files':>8}{'compiled':>10}{'excused':>9}{'kernels':>9}{'host time':>12}")
    for path in map(pathlib.Path, paths):
        document = json.loads(path.read_text(encoding="utf-8"))
        files = document["files"]
        failed = [file for file in files if not file["ok"]]
        wrong = [file for file in failed if not excused(file)]
        compiled = len(files) - len(failed)
        kernels = sum(len(file["kernels"]) for file in files)
        seconds = sum(file["seconds"] for file in files)
        print(
            f"{path.stem:<16}{len(files):>8}{compiled:>10}{len(failed) - len(wrong):>9}{kernels:>9}{seconds:>10.1f} s"
        )
        for file in wrong:
            print(f"failed: {file['path']}: {file['errors'][0]['message']}")
        worst = max(worst, 1 if wrong or not compiled else 0)
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
