"""Compiles, generates and judges the Metal sources of public repositories, and writes a page about it.

Usage: wild.py FOLDER [--assay PROGRAM] [--judge PROGRAM] [--page FILE] [--sample N] [NAME]...

FOLDER holds one checkout per project (scripts/corpus.sh wild fetches them). Sources that are not called .metal, or that
hold several programs in one file, are copied to FOLDER/files first. A file counts when it holds a compute kernel and is
self-contained: every header it includes is there. Exit 1: fewer than 99 % of those files compile.
"""

import argparse
import hashlib
import json
import pathlib
import re
import subprocess
import sys

HASHCAT = [
    "KERNEL_STATIC", "INCLUDE_PATH=OpenCL", "XM2S(x)=#x", "M2S(x)=XM2S(x)", "MAX_THREADS_PER_BLOCK=256", "IS_APPLE_SILICON",
    "LOCAL_MEM_TYPE=1", "VENDOR_ID=2", "CUDA_ARCH=0", "VECT_SIZE=1", "DEVICE_TYPE=4", "DGST_R0=0", "DGST_R1=1", "DGST_R2=2",
    "DGST_R3=3", "DGST_ELEM=4", "KERN_TYPE=0", "ATTACK_EXEC=11", "ATTACK_KERN=3", "ATTACK_MODE=3", "HAS_SHFW=0",
]
MNN = ["LOCAL_SIZE=256", "UNIT=8", "BIN_NUMBER=256", "BINARY_OP=in0+in1", "UNARY_OP=abs"]

# name: where its sources are, which of them, macros and files its host program puts in front, folders for #include.
PROJECTS = {
    "SPIRV-Cross": dict(files=["reference/**/shaders-msl*/**/*.comp"]),
    "naga": dict(folder="wgpu", files=["naga/tests/out/msl/*.msl", "naga/tests/out/msl/*.metal"]),
    "dawn": dict(files=["test/tint/**/*.msl"], split=True, one_in=6),
    "tinygrad": dict(files=["extra/**/*.metal", "rendered/*.metal"], include=["extra/thunder/metal"]),
    "mlx": dict(files=["mlx/**/*.metal"], include=["."], in_place=True),
    "mistral.rs": dict(files=["**/*.metal"], in_place=True),
    "MNN": dict(
        files=["source/backend/metal/**/*.metal"], define=MNN,
        before=[f"source/backend/metal/shader/Metal{part}.metal" for part in ("Define", "ConvolutionActivation")],
    ),
    "TNN": dict(files=["source/tnn/device/metal/**/*.metal"], include=["source", "include", "."], in_place=True),
    "Paddle-Lite": dict(files=["lite/backends/metal/**/*.metal"], include=["."], in_place=True),
    "zkMetal": dict(files=["**/*.metal"], in_place=True),
    "mopro": dict(files=["**/*.metal"], in_place=True),
    "risc0": dict(
        files=["risc0/**/*.metal"], in_place=True,
        include=["risc0/sys/kernels/zkp/metal", "risc0/sys/cxx", "risc0/circuit/rv32im-sys/cxx", "risc0/sys/kernels/zkp"],
    ),
    "hashcat": dict(files=["OpenCL/m*.cl"], define=HASHCAT, include=["."], one_in=20),
    "candle": dict(files=["candle-metal-kernels/**/*.metal"], in_place=True),
    "llama.cpp": dict(files=["ggml/src/ggml-metal/*.metal"], include=["ggml/src"], in_place=True),
    "metal-sci-kernels": dict(files=["**/*.metal"], one_in=4),
}

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
KERNEL = re.compile(r"\bkernel\b|\bKERNEL_FQ\b")
# Dawn writes the programs of all entry points of a module into one file, under such a heading.
HEADING = re.compile(r"^//\n// \w+\n//\n", re.MULTILINE)


def holds_kernel(text):
    return bool(KERNEL.search(COMMENT.sub(" ", text)))


def chosen(path, one_in):
    return int(hashlib.sha256(str(path).encode()).hexdigest(), 16) % one_in == 0


def sources(root, name, project):
    """The files of a project, copies where they have to be cut or renamed."""
    base = root / project.get("folder", name)
    found = sorted({path for glob in project["files"] for path in base.glob(glob) if path.is_file()})
    before = [base / path for path in project.get("before", [])]
    prefix = "".join(path.read_text(encoding="utf-8", errors="replace") + "\n" for path in before if path.is_file())
    found = [path for path in found if path not in before and chosen(path.relative_to(base), project.get("one_in", 1))]
    if project.get("in_place"):
        return found
    out = root / "files" / name
    out.mkdir(parents=True, exist_ok=True)
    copies = []
    for path in found:
        text = path.read_text(encoding="utf-8", errors="replace")
        parts = [text]
        if project.get("split"):
            if text.startswith("SKIP"):
                continue
            parts = [part for part in HEADING.split(text) if part.strip()]
        for number, part in enumerate(parts):
            # What the tool that made a program warns of stands before it.
            start = part.find("#include <metal_stdlib>")
            part = part[start:] if project.get("split") and start > 0 else part
            tail = f"_{number}" if len(parts) > 1 else ""
            copy = out / (str(path.relative_to(base)).replace("/", "__") + tail + ".metal")
            copy.write_text(prefix + part, encoding="utf-8")
            copies.append(copy)
    return copies


def options(root, name, project):
    base = root / project.get("folder", name)
    flags = [flag for folder in project.get("include", []) for flag in ("-I", str(base / folder))]
    return flags + [flag for macro in project.get("define", []) for flag in ("-D", macro)]


def reason(message):
    return re.sub(r"'[^']*'", "'…'", re.sub(r"\d+", "N", message))


PLACED = re.compile(r":\d+:\d+: (.*)")


def document_kernels(document):
    files = document.get("files") or [document]
    return files[0].get("kernels") or []


def compile_all(assay, files, flags):
    """For every file: whether it compiled, its kernels or its first error."""
    results = {}
    for path in files:
        run = subprocess.run([assay, "compile", str(path), *flags, "--format", "json"], capture_output=True, check=False)
        try:
            document = json.loads(run.stdout or run.stderr)
        except json.JSONDecodeError:
            document = {}
        said = document.get("error", {}).get("message", run.stderr.decode(errors="replace"))
        first = PLACED.search(said)
        results[path] = (run.returncode == 0, document_kernels(document), first[1] if first else said[:200])
    return results


MISSING = re.compile(r"(?:unknown type name|undeclared identifier|no template named) '(\w+)'")


def outside(message, others):
    """Why a file is not self-contained: a header that is not there, a feature that is refused, a name of another file."""
    if "file not found" in message or "not supported" in message:
        return True
    name = MISSING.search(message)
    declares = name and re.compile(rf"\b(?:struct|class|typedef|using|define|constant|inline|constexpr|enum)\b[^;(\n]*\b{name[1]}\b")
    return bool(declares and any(declares.search(text) for text in others))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--assay", default="target/release/assay")
    parser.add_argument("--judge", default="target/release/examples/judge")
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--sample", type=int, default=500)
    parser.add_argument("names", nargs="*")
    args = parser.parse_intermixed_args()
    rows, failures, judged = [], [], []
    counted = compiled = 0
    for name, project in PROJECTS.items():
        if args.names and name not in args.names:
            continue
        files = sources(args.folder, name, project)
        if not files:
            print(f"{name}: not here", file=sys.stderr)
            continue
        kernel_files = [path for path in files if holds_kernel(path.read_text(encoding="utf-8", errors="replace"))]
        flags = options(args.folder, name, project)
        results = compile_all(args.assay, kernel_files, flags)
        good = [path for path, (ok, _, _) in results.items() if ok]
        bad = {path: error for path, (ok, _, error) in results.items() if not ok}
        others = [path.read_text(encoding="utf-8", errors="replace") for path in files] if bad else []
        excused = [path for path, error in bad.items() if outside(error, others)]
        kernels = sum(len(found) for ok, found, _ in results.values() if ok)
        rows.append((name, len(files), len(kernel_files), len(excused), len(good), kernels))
        counted += len(kernel_files) - len(excused)
        compiled += len(good)
        failures += [(name, path, error) for path, error in bad.items()]
        judged.append((name, good, flags))
        print(f"{name}: {len(good)} of {len(kernel_files)} files, {kernels} kernels, {len(excused)} excused", file=sys.stderr, flush=True)
        for path, error in bad.items():
            print(f"  {path.name}: {error[:200]}", file=sys.stderr, flush=True)
    page = table(rows, failures, counted, compiled)
    page += code(args, judged)
    if args.page:
        args.page.write_text(page, encoding="utf-8")
    else:
        print(page)
    return 0 if compiled >= 0.99 * counted and compiled else 1


def table(rows, failures, counted, compiled):
    lines = [
        "# Kernels as they are in the wild",
        "",
        "Made by `scripts/corpus.sh wild`. Sources of public repositories, compiled as they are. A file counts when it holds a",
        "compute kernel; *excused* are those that are not self-contained (a header or a name of another file is missing, which",
        "their host program puts before them) or use a feature that is refused by name.",
        "",
        "| project | files | with a kernel | excused | compiled | kernels |",
        "|---|---|---|---|---|---|",
    ]
    lines += [f"| {' | '.join(map(str, row))} |" for row in rows]
    share = 100 * compiled / max(counted, 1)
    lines += ["", f"Compiled: {compiled} of {counted} files, {share:.1f} %.", ""]
    reasons = {}
    for name, path, error in failures:
        reasons.setdefault(reason(error), []).append(f"{name}: `{path.name}`")
    if reasons:
        lines += ["| not compiled because | files | such as |", "|---|---|---|"]
        ordered = sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0]))
        lines += [f"| {why.replace('|', ' ')} | {len(where)} | {where[0]} |" for why, where in ordered]
        lines.append("")
    return "\n".join(lines) + "\n"


def code(args, judged):
    """Code for every kernel, then executor against emulator on a sample of them."""
    parts = []
    total = sum(len(files) for _, files, _ in judged) or 1
    for name, files, flags in judged:
        share = max(1, args.sample * len(files) // total)
        for mode in (["--code", "--section", f"{name}: code for every kernel"], ["--sample", str(share), "--section", f"{name}: {share} kernels judged"]):
            run = subprocess.run([args.judge, *mode, *flags, *map(str, files)], capture_output=True, check=False, text=True)
            parts.append(run.stdout if run.returncode in (0, 1) else f"## {name}\n\n{run.stderr[-400:]}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
