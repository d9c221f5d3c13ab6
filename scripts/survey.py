#!/usr/bin/env python3
"""Compiles, runs and profiles the texture and tensor kernels of public repositories, and counts what does not work, by reason.

Usage: survey.py FOLDER [--assay PROGRAM] [--most N] [--share N] [--page FILE] [NAME]...

FOLDER holds one checkout per project of scripts/wild.tsv (scripts/corpus.sh wild fetches them). Every kernel that binds a texture or a
sampler, or whose file includes tensors, is launched once with one threadgroup: buffers are zeros, textures small and random, function constants 1 or false. That says
whether a kernel runs, not whether it is right. Exit 1: a file does not compile, or fewer than 95 % of the kernels run.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

import wild

BYTES = 1 << 20
# Projects whose tensor code is behind a macro.
DEFINES = {"llama.cpp": ["GGML_METAL_HAS_TENSOR=1"]}
TENSORS = re.compile(r"metal_tensor|MetalPerformancePrimitives|nax\.h")
TEXTURES = re.compile(r"\b(?:texture|depth)(?:1d|2d|3d|cube|_buffer)|\bsampler\b")
EXTENTS = {"1d": "16", "2d": "16x16", "3d": "16x16x4", "cube": "16x16", "buffer": "16"}


def tool(args, *words):
    done = subprocess.run([args.assay, *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def compiled(args, file, flags):
    """The kernels of a file with their arguments, or why it does not compile."""
    code, out, _ = tool(args, "compile", str(file), "--format", "json", *flags)
    document = json.loads(out)
    if code != 0:
        return None, document.get("error", {}).get("message", str(document.get("files", ""))[:200])
    return document["files"][0]["kernels"], ""


def texture(kind):
    """A small texture such as a parameter declares."""
    bare = kind.replace("metal::", "").replace("const ", "")
    shape = next((name for name in EXTENTS if name in bare.split("<")[0]), "2d")
    element = re.search(r"<\s*(\w+)", bare)
    element = element[1] if element else "float"
    form = "depth32Float" if bare.startswith("depth") else "rgba32Float"
    if element in ("int", "short", "int32_t", "int16_t"):
        form = "rgba32Sint"
    if element in ("uint", "ushort", "uint32_t", "uint16_t"):
        form = "r32Uint" if "read_write" in bare or "atomic" in bare else "rgba32Uint"
    layers = ":layers=6" if "array" in bare.split("<")[0] else ""
    samples = ":samples=4" if "_ms" in bare.split("<")[0] else ""
    return f"random:{form}:{EXTENTS[shape]}{layers}{samples}"


def bindings(kernel):
    """Flags that bind something to every argument."""
    flags = []
    depth = any(argument["kind"] == "texture" and "depth" in argument["type"] for argument in kernel["arguments"])
    compare = ",compare_func=less" if depth else ""
    for argument in kernel["arguments"]:
        index, kind = argument["index"], argument["kind"]
        if kind == "buffer" and argument["type"].startswith(("tensor<", "metal::tensor<")):
            flags += ["--tensor", f"{index}=zeros:{element(argument['type'])}:64x64"]
        elif kind == "buffer":
            flags += ["--buffer", f"{index}=zeros:u8:{BYTES}"]
        elif kind == "texture":
            flags += ["--texture", f"{index}={texture(argument['type'])}"]
        elif kind == "sampler":
            flags += ["--sampler", f"{index}=linear,clamp_to_edge{compare}"]
        elif kind == "threadgroup":
            flags += ["--tgmem", f"{index}=16384"]
    return flags


def element(kind):
    names = {"half": "f16", "float": "f32", "bfloat": "bf16", "char": "i8", "int8_t": "i8", "uchar": "u8", "uint8_t": "u8", "int": "i32"}
    return names.get(re.search(r"<\s*(?:const )?(\w+)", kind)[1], "f32")


OPEN = re.compile(r"function constant (\d+)")
OTHER = re.compile(r"function constant (\d+).* is (\w+), the value given")
FEWER = re.compile(r"is too large: .* takes (\d+)")


def launched(args, file, kernel, flags, threads):
    """Why a kernel does not run; nothing if it does. Function constants are learnt from what is said about them."""
    constants = {}
    words = ["run", str(file), "-f", kernel["name"], "--max-steps", "2000000", *bindings(kernel), *flags]
    for _ in range(64):
        given = [word for index, value in constants.items() for word in ("--const", f"{index}={value}")]
        code, _, said = tool(args, *words, "--grid", str(threads), "--threadgroup", str(threads), *given)
        fewer, other, missing = FEWER.search(said), OTHER.search(said), OPEN.search(said)
        if code == 0:
            return ""
        if fewer:
            threads = int(fewer[1])
        elif other and other[2] != "bool":
            constants[other[1]] = f"{other[2]}:1"
        elif missing and "no value" in said and missing[1] not in constants:
            constants[missing[1]] = "bool:false"
        else:
            break
    return reason(said)


def profiled(args, file, kernel, flags):
    """Why a kernel has no profile; nothing if it has one."""
    code, _, said = tool(args, "profile", str(file), "-f", kernel["name"], *flags)
    return "" if code == 0 else reason(said)


def reason(said):
    line = next((line for line in said.splitlines() if line.startswith("error")), said[:200])
    line = re.sub(r'kernel "[^"]*"|[\w./-]+\.(?:metal|msl|h)(?::\d+)*|"[^"]*"', "…", line)
    return re.sub(r"\b\d+\b", "N", line.removeprefix("error: "))[:140]


def examine(args, name, project):
    """Rows (file, kernel, what it uses, why it does not run, why it has no profile), and files that do not compile."""
    flags = wild.options(args.folder, name, project)
    flags += [word for macro in DEFINES.get(name, []) for word in ("-D", macro)]
    rows, bad = [], []
    for file in wild.sources(args.folder, name, project):
        text = wild.read(file)
        tensors = bool(TENSORS.search(text))
        if not wild.holds_kernel(text) or not (tensors or TEXTURES.search(text)):
            continue
        if len(rows) >= args.most:
            break
        kernels, error = compiled(args, file, flags)
        if kernels is None:
            bad.append((file, error))
            continue
        wanted = [kernel for kernel in kernels if tensors or any(a["kind"] in ("texture", "sampler") for a in kernel["arguments"])]
        if not wanted:
            continue
        # Of many instantiations of a few templates an even share is looked at.
        for kernel in wanted[:: -(-len(wanted) // args.share)]:
            why = launched(args, file, kernel, flags, 128 if tensors else 32)
            cost = profiled(args, file, kernel, flags)
            rows.append((str(file), kernel["name"], "tensors" if tensors else "textures", why, cost))
    return rows, bad


def table(title, reasons):
    found = {}
    for name, kernel, why in reasons:
        found.setdefault(why, []).append(f"{name}: `{kernel}`")
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    lines = [f"| {why} | {len(where)} | {where[0]} |" for why, where in ordered]
    return ["", title, "", "| reason | | such as |", "|---|---|---|", *lines] if lines else []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--assay", default="target/release/assay")
    parser.add_argument("--most", type=int, default=500, help="kernels of one project")
    parser.add_argument("--share", type=int, default=40, help="kernels of one file")
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    args = parser.parse_intermixed_args()
    lines = ["| project | uses | files that do not compile | kernels | run | profiled |", "|---|---|---|---|---|---|"]
    failing, refused, broken, total, run = [], [], 0, 0, 0
    for name, project in wild.PROJECTS.items():
        if args.names and name not in args.names:
            continue
        rows, bad = examine(args, name, project)
        broken += len(bad)
        for file, error in bad:
            print(f"{name}: {file}: {error}", file=sys.stderr)
        for uses in ("textures", "tensors"):
            own = [row for row in rows if row[2] == uses]
            if not own:
                continue
            runs, costs = (sum(not row[at] for row in own) for at in (3, 4))
            lines.append(f"| {name} | {uses} | {len(bad)} | {len(own)} | {runs} | {costs} |")
            total, run = total + len(own), run + runs
        failing += [(name, row[1], row[3]) for row in rows if row[3]]
        refused += [(name, row[1], row[4]) for row in rows if row[4]]
        print(lines[-1], file=sys.stderr, flush=True)
    lines += table("Kernels that do not run:", failing) + table("Kernels without a profile:", refused)
    text = "\n".join(lines) + "\n"
    if args.page:
        args.page.write_text(text, encoding="utf-8")
    else:
        print(text)
    return 0 if not broken and run >= 0.95 * total else 1


if __name__ == "__main__":
    sys.exit(main())
