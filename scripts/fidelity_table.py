"""Compares two lists of kernels with their barriers, group and matrix operations.

Usage: fidelity_table.py APPLE OURS, both as `assay ir FILE --stats --each --no-opt` prints them.
Prints a table of what agrees, then every kernel that does not. Exit 1 if there is one.
"""

import sys


def read(path):
    kernels = {}
    columns = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            name, *counts = line.rstrip("\n").split("\t")
            if name == "kernel":
                columns = counts
            elif counts:
                kernels[name] = [int(count) for count in counts]
    return columns, kernels


def main(apple_path, our_path):
    columns, apple = read(apple_path)
    _, ours = read(our_path)
    both = sorted(apple.keys() & ours.keys())
    print(f"kernels: {len(apple)} Apple's, {len(ours)} ours, {len(both)} of the same name")
    print(f"{'':<20}{'Apple':>12}{'ours':>12}{'equal in':>12}")
    for column, title in enumerate(columns):
        sums = [sum(kernels[name][column] for name in both) for kernels in (apple, ours)]
        equal = sum(apple[name][column] == ours[name][column] for name in both)
        print(f"{title:<20}{sums[0]:>12}{sums[1]:>12}{equal:>12}")
    different = [name for name in both if apple[name] != ours[name]]
    for name in different:
        print(f"differs: {name}: Apple {apple[name]}, ours {ours[name]}")
    for name in sorted(apple.keys() - ours.keys()):
        print(f"only Apple's: {name}")
    return 1 if different or not both else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
