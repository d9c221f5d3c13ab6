#!/usr/bin/env python3
"""Compiles, runs and profiles the texture and tensor kernels of public repositories, and counts what does not work, by reason.

Usage: survey.py FOLDER [--assay PROGRAM] [--most N] [--share N] [--page FILE] [NAME]...

FOLDER holds one checkout per project of scripts/wild.tsv (scripts/corpus.sh wild fetches them). Every kernel that binds a texture or a
sampler, or whose file includes tensors, is launched once with one threadgroup: buffers are zeros, textures small and random, function constants 1 or false. That says
whether a kernel runs, not whether it is right. What is found out about a project is kept in FOLDER/survey: with NAMEs only those are
done again, and the page is made of all. Exit 1: a file does not compile, or fewer than 95 % of the kernels run.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

import wild

BYTES = 1 << 20
# Besides those of the page on all kernels, one whose tensor kernels are of interest.
PROJECTS = {**wild.PROJECTS, "mlx-native": dict(files=["**/*.metal"], in_place=True)}
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
    # What is written and read may be the target of atomic operations, which need one channel.
    channels = "r" if "read_write" in bare or "atomic" in bare else "rgba"
    if element in ("int", "short", "int32_t", "int16_t"):
        form = f"{channels}32Sint"
    if element in ("uint", "ushort", "uint32_t", "uint16_t"):
        form = f"{channels}32Uint"
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
            bad.append((str(file), error, wild.outside(file, error, []), "tensors" if tensors else "textures"))
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


INTRODUCTION = """# Texture and tensor kernels in the wild

Made by `scripts/survey.py corpus/wild --page docs/survey.md`, after `scripts/corpus.sh wild`. The kernels that bind a texture or a
sampler, and those of files with tensors, of the same projects as on [the page on all kernels](corpus.md): an even share where a file
or a project has very many. A kernel is launched once, with one threadgroup, buffers of zeros and small random textures: that says
whether it runs, not whether it is right; `scripts/texture_reference.py` and `scripts/tensor_reference.py` compare results with NumPy.
*Profiled* is for M1 and M2. Nothing here was measured on a GPU.
"""


def table(title, reasons):
    """Reasons, the most frequent first, each with a kernel to look at."""
    found = {}
    for name, what, why in reasons:
        found.setdefault(re.sub(r"\s+", " ", why).replace("|", "\\|"), []).append(f"{name}: `{what}`")
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    lines = [f"| {why} | {len(where)} | {where[0]} |" for why, where in ordered]
    return ["", f"## {title}", "", "| reason | | such as |", "|---|---|---|", *lines] if lines else []


def page(results):
    """The page, and whether the figures are good enough."""
    commits = wild.commits()
    lines = [INTRODUCTION, "| project | uses | files | compiled | kernels launched | run | profiled |", "|---|---|---|---|---|---|---|"]
    broken, refused, failing, costless = [], [], [], []
    total, run, profiles = 0, 0, 0
    for name, result in results.items():
        address = commits.get(PROJECTS[name].get("folder", name), ("",))[0]
        shown = f"[{name}]({address})" if address else name
        share = PROJECTS[name].get("one_in")
        shown += f", one file in {share}" if share else ""
        bad = [row for row in result["bad"] if not row[2]]
        for uses in ("textures", "tensors"):
            own = [row for row in result["rows"] if row[2] == uses]
            if not own:
                continue
            files = {row[0] for row in own}
            missing = [row for row in bad if row[3] == uses]
            runs, costs = (sum(not row[at] for row in own) for at in (3, 4))
            lines.append(f"| {shown} | {uses} | {len(files) + len(missing)} | {len(files)} | {len(own)} | {runs} | {costs} |")
            total, run, profiles = total + len(own), run + runs, profiles + costs
        broken += [(name, pathlib.Path(row[0]).name, row[1]) for row in bad]
        refused += [(name, pathlib.Path(row[0]).name, row[2]) for row in result["bad"] if row[2]]
        failing += [(name, row[1], row[3]) for row in result["rows"] if row[3]]
        costless += [(name, row[1], row[4]) for row in result["rows"] if row[4]]
    percent = lambda part: f"{100 * part / max(total, 1):.1f} %"
    lines += ["", f"Of {total} kernels {run} run, {percent(run)}, and {profiles} have a profile, {percent(profiles)}; files that do not compile: {len(broken)}."]
    lines += table("Files that do not compile", broken) + table("Files left out", refused)
    lines += table("Kernels that do not run", failing) + table("Kernels without a profile", costless)
    return "\n".join(lines) + "\n", not broken and run >= 0.95 * total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--assay", default="target/release/assay")
    parser.add_argument("--most", type=int, default=500, help="kernels of one project")
    parser.add_argument("--share", type=int, default=40, help="kernels of one file")
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    args = parser.parse_intermixed_args()
    kept = args.folder / "survey"
    kept.mkdir(exist_ok=True)
    results = {}
    for name, project in PROJECTS.items():
        file = kept / f"{name}.json"
        if not args.names or name in args.names:
            rows, bad = examine(args, name, project)
            file.write_text(json.dumps(dict(rows=rows, bad=bad), indent=1), encoding="utf-8")
            runs, costs = (sum(not row[at] for row in rows) for at in (3, 4))
            print(f"{name}: {len(rows)} kernels, {runs} run, {costs} profiled, {len(bad)} files do not compile", file=sys.stderr, flush=True)
        if file.is_file():
            results[name] = json.loads(wild.read(file))
    text, fine = page(results)
    if args.page:
        args.page.write_text(text, encoding="utf-8")
    else:
        print(text)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
