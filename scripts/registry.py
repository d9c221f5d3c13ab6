"""The kernels of the registry as files with launches: what the scripts that judge findings and cures go over.

`dispatches(folder)` reads kernel.toml of every entry and gives each pass at its reference size as the source, the function and
the flags that `assay profile` takes. Formulas are those of `assay bench`, worked out here.
"""

import pathlib
import re
import tomllib
from typing import NamedTuple

INCLUDE = "include"
SETS = ("common", "standard", "full")


class Dispatch(NamedTuple):
    """One pass of an entry."""

    entry: str
    function: str
    source: pathlib.Path
    flags: list


def value(formula, sizes):
    """A formula as a number; whole numbers divide as whole numbers."""
    names = {
        **sizes,
        "ceil_div": lambda a, b: -(-a // b),
        "round_up": lambda a, b: -(-a // b) * b,
        "min": min,
        "max": max,
        "pow2": lambda a: 1 << (a - 1).bit_length(),
        "sqrt": lambda a: a**0.5,
    }
    text = formula if "sqrt" in formula else re.sub(r"/+", "//", formula)
    try:
        return float(formula)if "." in formula else eval(text, {"__builtins__": {}}, names)  # noqa: S307: our own files
    except ValueError:
        return eval(formula, {"__builtins__": {}}, names)  # noqa: S307


def extent(formulas, sizes):
    return ",".join(str(value(one, sizes)) for one in formulas)


def contents(argument, dtype, sizes):
    """What `--arg` takes for an argument."""
    dtype = argument.get("dtype", dtype)
    if argument["role"] == "scalar":
        return f"{dtype}:{value(argument['value'], sizes)}"
    shape = "x".join(str(value(one, sizes)) for one in argument["shape"])
    if argument.get("values") == "index":
        return f"index:{dtype}:{shape}:{value(argument['below'], sizes)}"
    kind = {"input": "random", "output": "zeros", "scratch": "zeros"}[argument["role"]]
    return f"{kind}:{dtype}:{shape}"


def passes(kernel, folder, folder_of_includes):
    sizes = dict(kernel["sizes"]["reference"])
    for name, formula in kernel.get("derived", []):
        sizes[name] = value(formula, sizes)
    dtype = kernel.get("dtypes", ["f32"])[0]
    arguments = {one["name"]: one for one in kernel["arguments"]}
    for one in kernel["passes"]:
        function = one.get("function", kernel.get("function", folder.name))
        flags = ["-f", f"{function}_{dtype}", "-I", str(folder_of_includes)]
        for index, name in enumerate(one.get("arguments", arguments)):
            if name.startswith("="):
                flags += ["--bytes", f"{index}=u32:{value(name[1:], sizes)}"]
                continue
            argument = arguments[name]
            flag = "--bytes" if argument["role"] == "scalar" else "--buffer"
            flags += [flag, f"{index}={contents(argument, dtype, sizes)}"]
        for constant in kernel.get("constants", []):
            flags += ["--const", f"{constant['name']}={constant['value']}"]
        flags += ["--grid", extent(one["threads"], sizes)] if "threads" in one else ["--groups", extent(one["groups"], sizes)]
        flags += ["--threadgroup", extent(one["threadgroup"], sizes)]
        if "threadgroup_memory" in one:
            flags += ["--tgmem", str(value(one["threadgroup_memory"], sizes))]
        yield Dispatch(folder.name, f"{function}_{dtype}", folder / f"{folder.name}.metal", flags)


def dispatches(root):
    """Every pass of every entry of a registry; a function that several passes start is there once."""
    for kind in SETS:
        for path in sorted((root / kind).glob("*/kernel.toml")):
            seen = set()
            for one in passes(tomllib.loads(path.read_text()), path.parent, root / INCLUDE):
                if one.function not in seen:
                    seen.add(one.function)
                    yield one
