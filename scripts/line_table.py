"""Adds up how many instructions carry a line of the user's source.

Reads documents of `assay ir FILE --stats --format json` from standard input. Exit 1 below 95 %.
"""

import json
import sys


def documents(text):
    decoder = json.JSONDecoder()
    at = 0
    while at < len(text):
        while at < len(text) and text[at].isspace():
            at += 1
        if at < len(text):
            document, at = decoder.raw_decode(text, at)
            yield document


def main():
    files = kernels = instructions = lines = 0
    for document in documents(sys.stdin.read()):
        if "with_source_line" not in document:
            continue
        files += 1
        kernels += document["verified"]
        instructions += document["instructions"]
        lines += document["with_source_line"]
    share = 100 * lines / max(instructions, 1)
    print(f"{'files':<20}{files:>12}")
    print(f"{'kernels':<20}{kernels:>12}")
    print(f"{'instructions':<20}{instructions:>12}")
    print(f"{'with source line':<20}{share:>10.2f} %")
    return 0 if share >= 95 else 1


if __name__ == "__main__":
    sys.exit(main())
