"""Compiles, generates and judges the Metal sources of public repositories, and writes a page about it.

Usage: wild.py FOLDER [--judge PROGRAM] [--page FILE] [--sample N] [NAME]...

FOLDER holds one checkout per project of scripts/wild.tsv (scripts/corpus.sh wild fetches them). Sources that are not called
.metal, or that hold several programs in one file, are copied to FOLDER/files first. What is found out about a project is kept
in FOLDER/results: with NAMEs only those are done again, and the page is made of all. A file counts when it holds a compute
kernel and is self-contained: every header it includes and every name it uses is there.

Projects that are marked code_only are not judged: `assay profile --all` makes the code of their kernels (--assay PROGRAM). With
--more only these are examined, and their part of the page alone is written.

Exit 1: fewer than 99 % of those files compile, fewer than 99 % of their kernels have code, or a judged kernel differs.
"""

import argparse
import hashlib
import json
import pathlib
import re
import resource
import subprocess
import sys

HASHCAT = [
    "KERNEL_STATIC", "INCLUDE_PATH=OpenCL", "XM2S(x)=#x", "M2S(x)=XM2S(x)", "MAX_THREADS_PER_BLOCK=256", "IS_APPLE_SILICON",
    "FIXED_LOCAL_SIZE=256", "LOCAL_MEM_TYPE=1", "VENDOR_ID=2", "CUDA_ARCH=0", "VECT_SIZE=1", "DEVICE_TYPE=4", "DGST_R0=0", "DGST_R1=1", "DGST_R2=2",
    "DGST_R3=3", "DGST_ELEM=4", "KERN_TYPE=0", "ATTACK_EXEC=11", "ATTACK_KERN=3", "ATTACK_MODE=3", "HAS_SHFW=0",
]
MNN = ["LOCAL_SIZE=256", "UNIT=8", "BIN_NUMBER=256", "BINARY_OP=in0+in1", "UNARY_OP=abs", "TYPE=float"]

# name: where its sources are, which of them, macros and files its host program puts in front, folders for #include, files that its
# build links with one, by the name of that one.
PROJECTS = {
    "SPIRV-Cross": dict(files=["reference/**/shaders-msl*/**/*.comp"]),
    "naga": dict(folder="wgpu", files=["naga/tests/out/msl/*.msl", "naga/tests/out/msl/*.metal"]),
    "dawn": dict(files=["test/tint/**/*.msl"], split=True, one_in=6),
    "mlx": dict(files=["mlx/**/*.metal"], include=["."], in_place=True, code_only=True),
    "mistral.rs": dict(files=["**/*.metal"], in_place=True),
    "MNN": dict(
        files=["source/backend/metal/**/*.metal"], define=MNN,
        before=[f"source/backend/metal/shader/Metal{part}.metal" for part in ("Define", "ConvolutionActivation")],
    ),
    "TNN": dict(files=["source/tnn/device/metal/**/*.metal"], include=["source", "include", "."], in_place=True),
    "Paddle-Lite": dict(files=["lite/backends/metal/**/*.metal"], include=["."], in_place=True),
    "zkMetal": dict(files=["**/*.metal"], in_place=True, define=["USE_LUT"]),
    "mopro": dict(files=["**/*.metal"], in_place=True),
    "risc0": dict(
        files=["risc0/**/*.metal"], in_place=True,
        include=["risc0/build_kernel/kernels/metal", "risc0/sys/kernels/zkp/metal", "risc0/sys/cxx", "risc0/circuit/rv32im-sys/cxx", "risc0/sys/kernels/zkp"],
    ),
    "hashcat": dict(files=["OpenCL/m*.cl"], define=HASHCAT, include=["."], one_in=20, code_only=True),
    "candle": dict(files=["candle-metal-kernels/**/*.metal"], in_place=True),
    "llama.cpp": dict(files=["ggml/src/ggml-metal/*.metal"], include=["ggml/src"], in_place=True),
    "metal-sci-kernels": dict(files=["**/*.metal"], in_place=True, one_in=4),
    "whisper.cpp": dict(files=["ggml/src/ggml-metal/*.metal"], include=["ggml/src"], in_place=True, code_only=True),
    "cycles": dict(files=["src/kernel/device/metal/kernel.metal"], include=["src"], in_place=True, code_only=True),
    "OpenSplat": dict(files=["rasterizer/**/*.metal"], in_place=True, code_only=True),
    "pcsx2": dict(files=["pcsx2/GS/Renderers/Metal/*.metal"], in_place=True, code_only=True),
    "gpt-oss": dict(files=["gpt_oss/metal/source/*.metal"], include=["gpt_oss/metal/source/include"], in_place=True, code_only=True),
    "TinyChatEngine": dict(files=["kernels/metal/**/*.metal"], include=["kernels/metal/include"], in_place=True, code_only=True),
    "uzu": dict(files=["crates/backend-uzu/src/backends/metal/**/*.metal"], include=["crates/backend-uzu/src/backends/metal/kernel"], in_place=True, code_only=True),
    "kernels-community": dict(files=["**/*.metal"], include=["."], in_place=True, code_only=True),
    "oidn": dict(files=["devices/metal/*.metal"], include=["."], in_place=True, code_only=True),
    "AppleNumericalComputing": dict(files=["**/*.metal"], in_place=True, code_only=True),
    "metal_performance_testing": dict(files=["**/*.metal"], in_place=True, code_only=True),
    "metal-matmul": dict(files=["**/*.metal"], in_place=True, code_only=True),
    "gemm-metal": dict(files=["**/*.metal"], in_place=True, code_only=True),
    "metal-benchmarks": dict(files=["**/*.metal"], in_place=True, code_only=True),
    "MetalBench": dict(files=["metal/**/*.metal"], in_place=True, code_only=True),
    "G13": dict(files=["**/*.metal"], in_place=True, code_only=True),
    "mlx-native": dict(files=["src/**/*.metal"], in_place=True, code_only=True),
    "vllm-metal": dict(
        files=["vllm_metal/metal/kernels_v2/*.metal"], joined=True, code_only=True, define=["VLLM_METAL_PARTITION_SIZE=512"],
        before=[f"vllm_metal/metal/kernels_v2/{part}.metal" for part in ("float8", "utils")],
    ),
    "torchao": dict(
        files=["torchao/experimental/kernels/mps/metal/*.metal"], joined=True, code_only=True,
        before=["torchao/experimental/kernels/mps/metal/common.metal"],
    ),
    "metal-marlin": dict(files=["src/**/*.metal", "metal_marlin/**/*.metal"], include=["src"], in_place=True, code_only=True),
    "MetalFluid": dict(files=["**/*.metal"], in_place=True, code_only=True),
    "SwiftArche": dict(
        files=["**/*.metal"], include=["app.shader", "flex.shader"], in_place=True, code_only=True,
        link={
            "hash_grid_visual.metal": ["flex.shader/hash-grid/hash_grid.metal"],
            "point_emitter.metal": ["flex.shader/emitter/samplers.metal"],
            "volume_emitter.metal": ["flex.shader/emitter/samplers.metal"],
        },
    ),
    "UltrafastSecp256k1": dict(files=["**/*.metal"], in_place=True, code_only=True),
    "metal-float64": dict(files=["Sources/**/*.metal"], in_place=True, code_only=True),
    "Metal.jl": dict(files=["test/**/*.metal"], in_place=True, code_only=True),
    "LuisaCompute": dict(files=["src/**/*.metal"], in_place=True, code_only=True),
    "bmf": dict(files=["bmf_lite/**/*.metal"], in_place=True, code_only=True),
    "halide": dict(files=["generated/*.metal"], in_place=True, code_only=True),
    "iree": dict(files=["generated/*.metal"], in_place=True, code_only=True),
    "tinygrad": dict(files=["generated/*.metal"], in_place=True, code_only=True),
    "slang": dict(files=["generated/*.metal"], in_place=True, code_only=True),
    "tvm": dict(files=["generated/*.metal"], in_place=True, code_only=True),
}

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# hashcat's and mlx's kernels are made by macros of these names.
KERNEL = re.compile(r"\bkernel\b|\bKERNEL_FQ\b|\binstantiate_\w+\(")
# Dawn writes the programs of all entry points of a module into one file, under such a heading.
HEADING = re.compile(r"^//\n// \w+\n//\n", re.MULTILINE)
LOCAL = re.compile(r'^#include\s+"[^"]*"', re.MULTILINE)


def read(path):
    return path.read_text(encoding="utf-8", errors="replace")


def holds_kernel(text):
    return bool(KERNEL.search(COMMENT.sub(" ", text)))


def chosen(path, one_in):
    return int(hashlib.sha256(str(path).encode()).hexdigest(), 16) % one_in == 0


def sources(root, name, project):
    """The files of a project, copies where they have to be cut or renamed."""
    base = root / project.get("folder", name)
    found = sorted({path for glob in project["files"] for path in base.glob(glob) if path.is_file()})
    before = [base / path for path in project.get("before", [])]
    prefix = "".join(read(path) + "\n" for path in before if path.is_file())
    found = [path for path in found if path not in before and chosen(path.relative_to(base), project.get("one_in", 1))]
    if project.get("in_place"):
        return found
    out = root / "files" / name
    out.mkdir(parents=True, exist_ok=True)
    copies = []
    for path in found:
        text = read(path)
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
            whole = prefix + part
            # The host program takes out the includes of what it has put in front.
            copy.write_text(LOCAL.sub("", whole) if project.get("joined") else whole, encoding="utf-8")
            copies.append(copy)
    return copies


def options(root, name, project):
    base = root / project.get("folder", name)
    flags = [flag for folder in project.get("include", []) for flag in ("-I", str(base / folder))]
    return flags + [flag for macro in project.get("define", []) for flag in ("-D", macro)]


PLACED = re.compile(r":\d+:\d+: (.*)")


def refusals(said, files):
    """The first error of every file that does not compile, from what the judge says."""
    errors = {}
    for line in said.splitlines():
        _, known, rest = line.partition("not compiled: ")
        file = next((file for file in files if known and rest.startswith(f"{file}: ")), None)
        if file:
            first = PLACED.search(rest)
            errors[file] = first[1] if first else rest[len(file) + 2 :][:200]
    return errors


MISSING = re.compile(r"(?:unknown type name|undeclared identifier|no template named) '(\w+)'")


def declaring(name):
    return re.compile(rf"\b(?:struct|class|typedef|using|define|constant|inline|constexpr|enum)\b[^;(\n]*\b{name}\b")


def outside(path, message, others):
    """Why a file does not count: what it needs from elsewhere, what is refused by name, what Apple's compiler refused too."""
    if "file not found" in message:
        return "a header that is not there"
    if "not supported" in message:
        return "a feature that is refused by name"
    if "it declares no kernels" in message:
        return "a part of other files, whose kernels need their macros"
    twice = re.search(r"redefinition of '(\w+)'", message)
    if twice and sum(bool(declaring(twice[1]).search(text)) for text in others) > 1:
        return "a definition that a file it includes has too: the host program takes out the includes"
    verdict = path.with_name(path.name.replace("_candidate.metal", "_result.json"))
    if verdict != path and verdict.is_file() and not json.loads(read(verdict)).get("compile_ok", True):
        return "refused by Apple's compiler too, by the project's own records"
    if "did you mean 'metal::" in message and not re.search(r"using\s+namespace\s+metal\b", read(path)):
        return "a name of another file, which the host program puts before it"
    name = MISSING.search(message)
    if name and any(declaring(name[1]).search(text) for text in others):
        return "a name of another file, which the host program puts before it"
    return ""


# Seconds after which a kernel is named.
SLOW = 5


# What one run of the judge may take: bytes of address space and seconds.
MOST_MEMORY = 10 << 30
MOST_SECONDS = 1800


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


def fates(judge, mode, flags, files):
    """What became of each kernel (file, kernel, fate, reason), and of files that do not compile."""
    try:
        run = subprocess.run([judge, "--tsv", *mode, *flags, *files], capture_output=True, check=False, text=True, timeout=MOST_SECONDS, preexec_fn=limited)
        out, said, ended = run.stdout, run.stderr, run.returncode in (0, 1)
    except subprocess.TimeoutExpired:
        out, said, ended = "", "", False
    if not ended and len(files) > 1:
        # One of them takes all the others with it.
        halves = [fates(judge, mode, flags, part) for part in (files[: len(files) // 2], files[len(files) // 2 :])]
        return halves[0][0] + halves[1][0], halves[0][1] | halves[1][1]
    if not ended:
        print(f"not to an end: {files[0]}: {said[-500:]}", file=sys.stderr, flush=True)
        return [[files[0], pathlib.Path(files[0]).name, "not generated", "more memory or time than the judge is given"]], {}
    rows = [line.split("\t") for line in out.splitlines()]
    rows = [row for row in rows if len(row) == 5]
    for file, kernel, _, _, seconds in rows:
        if float(seconds) > SLOW:
            print(f"{seconds} s: {kernel} of {file}", file=sys.stderr, flush=True)
    return [row[:4] for row in rows], refusals(said, files)


# Seconds and bytes of address space that all kernels of one file may take.
MOST_SECONDS_OF_A_FILE = 300
MOST_MEMORY_OF_A_FILE = 4 << 30


def profiled(assay, flags, file):
    """What became of the kernels of a file, and its first error if it does not compile."""
    command = ["nice", assay, "profile", file, "--all", "--keep-going", "--format", "jsonl", "-q", *flags]
    bounded = lambda: resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_OF_A_FILE, MOST_MEMORY_OF_A_FILE))
    try:
        run = subprocess.run(command, capture_output=True, check=False, text=True, timeout=MOST_SECONDS_OF_A_FILE, preexec_fn=bounded)
    except subprocess.TimeoutExpired:
        return [], f"more than {MOST_SECONDS_OF_A_FILE} seconds"
    kernels = []
    for line in run.stdout.splitlines():
        if line.startswith('{"kernel"'):
            row = json.loads(line)
            refused = row.get("refused", {}).get("reason", "")
            kernels.append([file, row["kernel"], "same" if "costs" in row else "not generated", refused])
    if kernels:
        return kernels, ""
    panicked = re.search(r"panicked at (\S+?):?\n(.*)", run.stderr)
    if panicked:
        return [], f"a panic in {panicked[1]}: {panicked[2]}"
    messages = re.findall(r'"message": "([^"]*)"', run.stdout)
    # The first is about the file, the others are the compiler's.
    return [], (messages[1:] or messages or [run.stderr.strip()[-200:] or "nothing was said"])[0]


def examine_code(args, name, project):
    """The same as `examine` by `assay profile`, for projects that are not judged."""
    files = sources(args.folder, name, project)
    if not files:
        return None
    texts = {path: read(path) for path in files}
    with_kernel = [path for path in files if holds_kernel(texts[path])]
    flags = options(args.folder, name, project)
    kernels, bad = [], []
    for path in with_kernel:
        linked = [args.folder / name / file for file in project.get("link", {}).get(path.name, [])]
        rows, error = profiled(args.assay, [*flags, *(flag for file in linked for flag in ("--link", str(file)))], str(path))
        kernels += rows
        if error:
            bad.append([str(path), error, outside(path, error, texts.values())])
    return dict(files=len(files), with_kernel=len(with_kernel), compiled=len(with_kernel) - len(bad), bad=bad, kernels=kernels, judged=[])


def more(results):
    """The part of the page about projects that are not judged."""
    at = commits()
    lines = [
        "## More projects: code alone",
        "",
        "The kernels of these were not judged: their code was made by `assay profile --all`, with the folders that their builds",
        "include from. Files are left out for the same reasons as above. Halide, IREE, Slang, TVM and tinygrad are compilers: what they",
        "generate is counted (`scripts/generators.py`), at a version of their package; of Slang's tests one in five.",
        "",
        "| project | commit | files with a kernel | left out | compiled | kernels | beyond the hardware, or with textures or tensors | code |",
        "|---|---|---|---|---|---|---|---|",
    ]
    total = [0] * 6
    for name, result in results.items():
        address, commit = at.get(PROJECTS[name].get("folder", name), ("", ""))
        files, kernels, impossible, textures, have = counted(result)
        row = [result["with_kernel"], result["with_kernel"] - files, result["compiled"], kernels, textures + impossible, have]
        total = [a + b for a, b in zip(total, row)]
        share = PROJECTS[name].get("one_in")
        shown = f"{name}, one file in {share}" if share else name
        lines.append(f"| [{shown}]({address}) | `{version(commit)}` | " + " | ".join(map(str, row)) + " |")
    lines.append("| all | | " + " | ".join(map(str, total)) + " |")
    with_kernel, left, compiled_files, kernels, textures, have = total
    wanted, files = kernels - textures, with_kernel - left
    lines += ["", f"Compiled: {compiled_files} of {files} files. Code: {have} of {wanted} kernels, {100 * have / max(wanted, 1):.1f} %.", ""]
    absent = [name for name, project in PROJECTS.items() if project.get("code_only") and name not in results]
    if absent:
        lines += [f"Not in this run: {', '.join(absent)}.", ""]
    return "\n".join(lines + reasons(results, "###")).rstrip() + "\n"


def examine(args, name, project):
    """Compiles a project's files and generates code for their kernels."""
    files = sources(args.folder, name, project)
    if not files:
        return None
    texts = {path: read(path) for path in files}
    with_kernel = [path for path in files if holds_kernel(texts[path])]
    flags = options(args.folder, name, project)
    kernels, errors = fates(args.judge, ["--code"], flags, [str(path) for path in with_kernel])
    bad = [[file, error, outside(pathlib.Path(file), error, texts.values())] for file, error in errors.items()]
    good = len(with_kernel) - len(bad)
    return dict(files=len(files), with_kernel=len(with_kernel), compiled=good, bad=bad, kernels=kernels, judged=[])


def judge_sample(args, results):
    """Runs a sample of all kernels that have code, the same on every machine."""
    place = {name: args.folder / PROJECTS[name].get("folder", name) for name in results}

    def rank(name, file, kernel):
        folders = (place[name], args.folder / "files")
        inside = next((pathlib.Path(file).relative_to(at) for at in folders if pathlib.Path(file).is_relative_to(at)), file)
        return hashlib.sha256(f"{name} {inside} {kernel}".encode()).hexdigest()

    kernels = [(name, file, kernel) for name, result in results.items() for file, kernel, fate, _ in result["kernels"] if fate == "same"]
    ranked = sorted(kernels, key=lambda one: rank(*one))
    while True:
        # The judge makes buffers only: kernels that take textures leave their places to the next.
        textured = {(name, *row) for name, result in results.items() for row in result.setdefault("textured", [])}
        sample = [(name, file, kernel) for name, file, kernel in ranked if (name, file, kernel) not in textured][: args.sample]
        if not any([judge_more(args, name, result, sample) for name, result in results.items()]):
            return


def judge_more(args, name, result, sample):
    """Judges the kernels of a project's part of the sample that are not known yet; whether a texture was found."""
    wanted = [(file, kernel) for project, file, kernel in sample if project == name]
    known = {(row[0], row[1]): row for row in result["judged"]}
    missing = [one for one in wanted if one not in known]
    only = [flag for file, kernel in missing for flag in ("--only", f"{file}:{kernel}")]
    flags = options(args.folder, name, PROJECTS[name])
    rows, _ = fates(args.judge, only, flags, sorted({file for file, _ in missing})) if missing else ([], {})
    known.update({(row[0], row[1]): row for row in rows})
    textured = [list(one) for one in wanted if one in known and known[one][2] not in ("same", "differs") and NOT_YET.search(known[one][3])]
    result["textured"] += textured
    result["judged"] = [known[one] for one in wanted if one in known and list(one) not in textured]
    keep(args, name, result)
    return bool(textured)


def keep(args, name, result):
    folder = args.folder / "results"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(result, indent=1), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--judge", default="target/release/examples/judge")
    parser.add_argument("--assay", default="target/release/assay")
    parser.add_argument("--more", action="store_true")
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--sample", type=int, default=500, help="kernels to judge; 0 for none")
    parser.add_argument("names", nargs="*")
    args = parser.parse_intermixed_args()
    results = {}
    for name, project in PROJECTS.items():
        kept = args.folder / "results" / f"{name}.json"
        if args.names and name not in args.names:
            if kept.is_file():
                results[name] = json.loads(read(kept))
            continue
        of_more = project.get("code_only", False)
        if args.more and not of_more:
            continue
        result = (examine_code if of_more else examine)(args, name, project)
        if result is None:
            print(f"{name}: not here", file=sys.stderr)
            continue
        keep(args, name, result)
        results[name] = result
        have = sum(fate == "same" for _, _, fate, _ in result["kernels"])
        print(f"{name}: {result['compiled']} of {result['with_kernel']} files, {have} of {len(result['kernels'])} kernels", file=sys.stderr, flush=True)
    unjudged = {name: result for name, result in results.items() if PROJECTS[name].get("code_only")}
    judged = {name: result for name, result in results.items() if name not in unjudged}
    if args.sample and judged:
        judge_sample(args, judged)
    page, fine = report(judged) if not args.more else ("", True)
    page += more(unjudged) if unjudged else ""
    if args.page:
        args.page.write_text(page, encoding="utf-8")
    else:
        print(page)
    return 0 if fine else 1


# Reasons that the executor and the code generator give for what they do not do yet.
NOT_YET = re.compile(r"texture|sampler|tensor|image", re.IGNORECASE)


def counted(result):
    """Of one project: files that count, kernels, those that need not have code, those that have."""
    files = result["with_kernel"] - sum(bool(why) for _, _, why in result["bad"])
    kernels = result["kernels"]
    # Of a kernel that declares more threadgroup memory than there is Metal makes no pipeline either.
    no_pipeline = ("M1 GPUs have none", "more bytes of threadgroup memory than there are")
    impossible = sum(fate == "no pipeline" or any(words in why for words in no_pipeline) for _, _, fate, why in kernels)
    textures = sum(fate in ("not generated", "not executed") and bool(NOT_YET.search(why)) for _, _, fate, why in kernels)
    have = sum(fate == "same" for _, _, fate, _ in kernels)
    return files, len(kernels), impossible, textures, have


def commits():
    rows = [line.split() for line in read(pathlib.Path(__file__).with_name("wild.tsv")).splitlines()]
    return {row[0]: row[1:] for row in rows if len(row) == 3}


def version(commit):
    """A version of a package is shown whole."""
    return commit if "." in commit else commit[:10]


def report(results):
    at = commits()
    lines = [
        "# Kernels as they are in the wild",
        "",
        "Made by `scripts/corpus.sh wild`. Sources of public repositories as they are, with the macros and the files that their",
        "host programs put before them. A file counts when it holds a compute kernel and is self-contained; *left out* are the",
        "others, by reason below. *Code* is machine code for M1 and M2, what `assay profile` looks at. *Judged* kernels were run by the",
        "executor and, as generated machine code, by the emulator, on the same random buffers: *same* means that every byte was",
        "equal in every trial, and that at least one ran to its end. Nothing here was measured on a GPU.",
        "Kernels with textures or tensors have [a page of their own](survey.md).",
        "",
        "| project | commit | files with a kernel | left out | compiled | kernels | beyond the hardware | with textures or tensors | code | judged | same | no result | different |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    total = [0] * 10
    different = 0
    for name, result in results.items():
        folder = PROJECTS[name].get("folder", name)
        address, commit = at.get(folder, ("", ""))
        files, kernels, impossible, textures, have = counted(result)
        left = result["with_kernel"] - files
        same = sum(fate == "same" for _, _, fate, _ in result["judged"])
        differ = sum(fate == "differs" for _, _, fate, _ in result["judged"])
        different += differ + sum(fate == "differs" for _, _, fate, _ in result["kernels"])
        judged = len(result["judged"])
        row = [result["with_kernel"], left, result["compiled"], kernels, impossible, textures, have, judged, same, judged - same - differ]
        total = [a + b for a, b in zip(total, row)]
        share = PROJECTS[name].get("one_in")
        shown = f"{name}, one file in {share}" if share else name
        lines.append(f"| [{shown}]({address}) | `{version(commit)}` | " + " | ".join(map(str, row)) + f" | {differ} |")
    lines.append("| all | | " + " | ".join(map(str, total)) + f" | {different} |")
    with_kernel, left, compiled_files, kernels, impossible, textures, have, judged, same, without = total
    files = with_kernel - left
    wanted = kernels - impossible - textures
    percent = lambda part, whole: f"{100 * part / max(whole, 1):.1f} %"
    lines += [
        "",
        f"Compiled: {compiled_files} of {files} files, {percent(compiled_files, files)}. Code: {have} of {wanted} kernels that the hardware allows and that use "
        f"no textures or tensors, {percent(have, wanted)}. Judged: {judged}, {same} the same, {different} different; "
        f"of {without} no trial ran to its end, on either side alike.",
        "",
    ]
    absent = [name for name, project in PROJECTS.items() if name not in results and not project.get("code_only")]
    if absent:
        lines += [f"Not in this run: {', '.join(absent)}.", ""]
    lines += reasons(results)
    fine = compiled_files >= 0.99 * files and have >= 0.99 * wanted and not different and compiled_files
    return "\n".join(lines) + "\n", fine


def grouped(title, rows, level="##"):
    """A table of reasons, the most frequent first, each with one to look at."""
    found = {}
    for why, name, what in rows:
        found.setdefault(re.sub(r"\s+", " ", why).replace("|", "\\|"), []).append(f"{name}: `{what}`")
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    table = [f"| {why} | {len(where)} | {where[0]} |" for why, where in ordered]
    return [f"{level} {title}", "", "| reason | | such as |", "|---|---|---|", *table, ""] if table else []


def general(why):
    """What a judged kernel did, without the names of this kernel, its buffers and its registers."""
    kind, _, what = why.partition(": ")
    what = re.sub(r"^undefined in the kernel: ", "", what)
    what = re.sub(r'kernel "[^"]*"(?:, \S+:\d+)?(?:, called at \S+:\d+)*: ', "", what)
    what = re.sub(r" at offset .*| \(at .*|, (?:in|by) thread .*|`[^`]*` (?:at \S+ )?| \[.*", "", what)
    return f"{kind}: {what}"


def reasons(results, level="##"):
    short = lambda file: pathlib.Path(file).name
    numbers = lambda why: re.sub(r"\b(?:0x[0-9a-f]+|\d[\d.]*(?:e[+-]?\d+)?)\b", "N", why)
    neutral = lambda why: numbers(re.sub(r"'[^']*'", "'…'", why))
    bad = [(name, *row) for name, result in results.items() for row in result["bad"]]
    kernels = [(name, *row) for name, result in results.items() for row in result["kernels"]]
    judged = [(name, *row) for name, result in results.items() for row in result["judged"]]
    return [
        *grouped("Files left out", [(why, name, short(file)) for name, file, _, why in bad if why], level),
        *grouped("Files that do not compile", [(neutral(error), name, short(file)) for name, file, error, why in bad if not why], level),
        *grouped("Kernels without code", [(f"{fate}: {neutral(why)}", name, kernel) for name, _, kernel, fate, why in kernels if fate != "same"], level),
        *grouped("Kernels judged that differ", [(general("the two disagree: " + why), name, kernel) for name, _, kernel, fate, why in judged if fate == "differs"], level),
        *grouped("Kernels judged without a result", [(numbers(general(why)), name, kernel) for name, _, kernel, fate, why in judged if fate not in ("same", "differs")], level),
    ]


if __name__ == "__main__":
    sys.exit(main())
