"""Writes the Metal sources that compilers of other projects generate, for scripts/wild.py.

Usage: generators.py FOLDER [NAME]...

Each generator writes FOLDER/NAME/generated/*.metal, from programs that are made here (Halide, IREE, TVM, tinygrad) or from the
tests of its checkout in FOLDER/NAME (Slang). None of the packages in scripts/wild.tsv needs a Mac.
Exit 3: a generator's package or checkout is not here; the others are fine.
"""

import concurrent.futures
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import types


def write(out, name, text):
    (out / (re.sub(r"\W+", "_", name) + ".metal")).write_text(text, encoding="utf-8")


def halide(out):
    """Image operations, reductions and products, scheduled for tiles of 16 x 16 threads."""
    import halide as hl

    x, y, xi, yi = (hl.Var(name) for name in ("x", "y", "xi", "yi"))
    target = hl.Target("arm-64-osx-metal")

    def tiled(func, parameters, name):
        func.gpu_tile(x, y, xi, yi, 16, 16)
        with tempfile.TemporaryDirectory() as folder:
            made = os.path.join(folder, "object.o")
            func.compile_to_object(made, parameters, name, target)
            data = pathlib.Path(made).read_bytes()
        # The source of all kernels lies in the object as one text.
        texts = [text for text in re.findall(rb"[\t\n\x20-\x7e]{200,}", data) if b"metal_stdlib" in text]
        assert texts, f"{name}: no Metal source"
        for number, text in enumerate(texts):
            write(out, f"{name}_{number}", text.decode())

    for bits, kind in ((32, hl.Float(32)), (16, hl.Float(16)), (8, hl.UInt(8)), (32, hl.Int(32)), (16, hl.UInt(16))):
        of = f"{'float' if kind.is_float() else 'uint' if kind.is_uint() else 'int'}{bits}"
        image = hl.ImageParam(kind, 2, "image")
        other = hl.ImageParam(kind, 2, "other")
        wide = hl.Float(32) if kind.is_float() else hl.Int(32)
        inside = hl.BoundaryConditions.repeat_edge(image)
        at = lambda dx, dy: hl.cast(wide, inside[x + dx, y + dy])
        programs = {
            "blur": (hl.cast(kind, (at(-1, 0) + at(0, 0) + at(1, 0)) / hl.cast(wide, 3)), [image]),
            "sobel": (hl.cast(kind, hl.abs(at(1, -1) + 2 * at(1, 0) + at(1, 1) - at(-1, -1) - 2 * at(-1, 0) - at(-1, 1))), [image]),
            "median": (hl.cast(kind, hl.max(hl.min(at(-1, 0), at(0, 0)), hl.min(hl.max(at(-1, 0), at(0, 0)), at(1, 0)))), [image]),
            "threshold": (hl.select(image[x, y] > other[x, y], image[x, y], hl.cast(kind, 0)), [image, other]),
            "transpose": (image[y, x], [image]),
            "gather": (image[hl.clamp(hl.cast(hl.Int(32), other[x, y]), 0, image.width() - 1), y], [image, other]),
        }
        if kind.is_float():
            programs["transcendental"] = (hl.exp(image[x, y]) + hl.sin(other[x, y]) * hl.sqrt(hl.abs(image[x, y])) + hl.pow(other[x, y], image[x, y]), [image, other])
            programs["activation"] = (hl.tanh(image[x, y]) / (hl.cast(kind, 1) + hl.exp(-image[x, y])), [image])
        else:
            programs["bits"] = ((image[x, y] & other[x, y]) ^ (image[x, y] << hl.cast(kind, 3)) | (other[x, y] >> hl.cast(kind, 1)), [image, other])
            programs["quotient"] = (image[x, y] / hl.max(other[x, y], hl.cast(kind, 1)) + image[x, y] % hl.max(other[x, y], hl.cast(kind, 1)), [image, other])
        for name, (value, parameters) in programs.items():
            func = hl.Func(f"{name}_{of}")
            func[x, y] = value
            tiled(func, parameters, f"{name}_{of}")
        product = hl.Func(f"product_{of}")
        r = hl.RDom([(0, 256)])
        product[x, y] = hl.cast(wide, 0)
        product[x, y] += hl.cast(wide, image[r, y]) * hl.cast(wide, other[x, r])
        result = hl.Func(f"result_{of}")
        result[x, y] = hl.cast(kind, product[x, y])
        product.compute_at(result, xi)
        tiled(result, [image, other], f"product_{of}")
        staged = hl.Func(f"staged_{of}")
        producer = hl.Func(f"producer_{of}")
        producer[x, y] = at(0, 0) * at(0, 0)
        staged[x, y] = hl.cast(kind, producer[x, y] + producer[x + 1, y] + producer[x, y + 1])
        producer.compute_at(staged, x).gpu_threads(x, y)
        tiled(staged, [image], f"staged_{of}")


OPERATIONS = {
    "product": ("{b}x{m}x{k}x{t}, {b}x{k}x{n}x{t}", "{b}x{m}x{n}x{t}", "linalg.batch_matmul"),
    "sum": ("{b}x{m}x{n}x{t}", "{b}x{m}x{t}", "reduce"),
    "rows": ("{m}x{n}x{t}", "{m}x{n}x{t}", "softmax"),
    "map": ("{m}x{n}x{t}, {m}x{n}x{t}", "{m}x{n}x{t}", "map"),
    "swap": ("{m}x{n}x{t}", "{n}x{m}x{t}", "transpose"),
}


def mlir(kind, types_in, type_out, operation, one):
    """A function of one operation over tensors."""
    ins = [f"tensor<{one_type.strip()}>" for one_type in types_in.split(",")]
    arguments = ", ".join(f"%a{at}: {one_type}" for at, one_type in enumerate(ins))
    out = f"tensor<{type_out}>"
    names = ", ".join(f"%a{at}" for at in range(len(ins)))
    zero = "0.0" if kind.startswith("f") else "0"
    add, mul = ("arith.addf", "arith.mulf") if kind.startswith("f") else ("arith.addi", "arith.muli")
    head = [f"func.func @{one}({arguments}) -> {out} {{", f"  %zero = arith.constant {zero} : {kind}", f"  %e = tensor.empty() : {out}"]
    fill = f"  %f = linalg.fill ins(%zero : {kind}) outs(%e : {out}) -> {out}"
    body = {
        "linalg.batch_matmul": [fill, f"  %r = linalg.batch_matmul ins({names} : {', '.join(ins)}) outs(%f : {out}) -> {out}"],
        "reduce": [fill, f"  %r = linalg.reduce {{ {add} }} ins(%a0 : {ins[0]}) outs(%f : {out}) dimensions = [2]"],
        "softmax": [f"  %r = linalg.softmax dimension(1) ins(%a0 : {ins[0]}) outs(%e : {out}) -> {out}"],
        "map": [f"  %r = linalg.map {{ {mul} }} ins({names} : {', '.join(ins)}) outs(%e : {out})"],
        "transpose": [f"  %r = linalg.transpose ins(%a0 : {ins[0]}) outs(%e : {out}) permutation = [1, 0]"],
    }[operation]
    return "\n".join([*head, *body, f"  return %r : {out}", "}"]) + "\n"


def iree(out):
    """Operations of linalg through SPIR-V and SPIRV-Cross."""
    compiler = pathlib.Path(sys.executable).with_name("iree-compile")

    def one(job):
        name, text = job
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / f"{name}.mlir"
            source.write_text(text, encoding="utf-8")
            made = pathlib.Path(folder) / "files"
            flags = ["--iree-hal-target-backends=metal-spirv", "--iree-metal-compile-to-metallib=false", f"--iree-hal-dump-executable-files-to={made}"]
            run = subprocess.run([compiler, *flags, source, "-o", os.devnull], capture_output=True, text=True, check=False)
            if run.returncode != 0:
                print(f"iree: {name}: {run.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
            for number, file in enumerate(sorted(made.glob("*.metal"))):
                write(out, f"{name}_{number}", file.read_text(encoding="utf-8"))

    jobs = []
    for kind in ("f32", "f16", "i32", "i8"):
        for b, m, n, k in ((4, 128, 512, 256), (1, 100, 77, 33)):
            for name, (ins, result, operation) in OPERATIONS.items():
                if operation == "softmax" and not kind.startswith("f"):
                    continue
                size = dict(b=b, m=m, n=n, k=k, t=kind)
                called = f"{name}_{kind}_{m}"
                jobs.append((called, mlir(kind, ins.format(**size), result.format(**size), operation, called)))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, jobs))


def tvm(out):
    """Operators of topi, scheduled by the rules that MLC uses; that for products ends the process in this version."""
    import tvm
    from tvm import te, topi
    from tvm.s_tir import dlight

    device = {"kind": "metal", "max_threads_per_block": 256, "max_shared_memory_per_block": 32768, "thread_warp_size": 32}
    target = tvm.target.Target(device, host="llvm")
    rules = [getattr(dlight.gpu, name) for name in ("GEMV", "Reduction", "GeneralReduction", "Transpose", "Fallback")]

    def build(name, tensors):
        module = tvm.IRModule({"main": te.create_prim_func(tensors)})
        with target:
            module = dlight.ApplyDefaultSchedule(*[rule() for rule in rules])(module)
        built = tvm.compile(module, target=target)
        imports = [one for one in getattr(built, "mod", built).imports if one.kind == "metal"]
        for number, one in enumerate(imports):
            text = "\n".join(re.split(r"// Function: .*", one.inspect_source()))
            # Each kernel has the head of a file of its own.
            first, *rest = re.split(r"(?=#include <metal_stdlib>)", text)[1:]
            for at, part in enumerate([first, *rest]):
                write(out, f"{name}_{number}_{at}", part)

    for kind in ("float32", "float16"):
        a = te.placeholder((256, 384), kind, "a")
        b = te.placeholder((384, 512), kind, "b")
        v = te.placeholder((384, 1), kind, "v")
        image = te.placeholder((1, 16, 34, 34), kind, "image")
        weight = te.placeholder((32, 16, 3, 3), kind, "weight")
        scale, shift = te.placeholder((384,), kind, "scale"), te.placeholder((384,), kind, "shift")
        programs = {
            "matmul": ([a, b], lambda: topi.matmul(a, b)),
            "gemv": ([a, v], lambda: topi.matmul(a, v)),
            "softmax": ([a], lambda: topi.nn.softmax(a)),
            "layer_norm": ([a, scale, shift], lambda: topi.nn.layer_norm(a, scale, shift, [1])),
            "rms_norm": ([a, scale], lambda: topi.nn.rms_norm(a, scale, [1])),
            "conv2d": ([image, weight], lambda: topi.nn.conv2d_nchw(image, weight, 1, 0, 1)),
            "pool": ([image], lambda: topi.nn.pool2d(image, [2, 2], [2, 2], [1, 1], [0, 0, 0, 0], "max")),
            "sum": ([a], lambda: topi.sum(a, 1)),
            "argmax": ([a], lambda: topi.argmax(a, 1)),
            "transpose": ([a], lambda: topi.transpose(a)),
            "exp": ([a], lambda: topi.exp(a)),
            "tanh": ([a], lambda: topi.tanh(a)),
            "sigmoid": ([a], lambda: topi.sigmoid(a)),
            "relu": ([a], lambda: topi.nn.relu(a)),
            "cast": ([a], lambda: topi.cast(a, "int8")),
            "take": ([a], lambda: topi.strided_slice(a, [0, 0], [256, 384], [2, 3])),
        }
        for name, (arguments, result) in programs.items():
            build(f"{name}_{kind}", [*arguments, result()])


def tinygrad(out):
    """Kernels of tensor expressions, as its renderer for Metal writes them."""
    sources = set()

    # The renderer asks for the compiler of Apple, which only a Mac has; sources are all that is wanted here.
    class Compiler:
        def __init__(self, *_):
            pass

        def compile_cached(self, source):
            # Kernels of several types have one name.
            if source not in sources:
                write(out, f"kernel_{len(sources)}", source)
                sources.add(source)
            return source.encode()

        compile = compile_cached

        def __getattr__(self, _):
            return None

    sys.modules["tinygrad.runtime.ops_metal"] = types.SimpleNamespace(MetalCompiler=Compiler)
    # In processes of its own the compiler above would not be found.
    os.environ |= {"DEV": "NULL:METAL", "PARALLEL": "0"}
    from tinygrad import Tensor, dtypes

    for kind in (dtypes.float, dtypes.half, dtypes.int, dtypes.uchar):
        a, b = Tensor.empty(128, 192, dtype=kind), Tensor.empty(192, 256, dtype=kind)
        expressions = [a @ b, a.sum(), a.sum(1), a.max(0), (a + 1) * a, a.T.contiguous(), a.argmax(1), (a > 1).where(a, 2), a.pad(((1, 1), (3, 3))).contiguous()]
        image, weight = Tensor.empty(1, 16, 32, 32, dtype=kind), Tensor.empty(32, 16, 3, 3, dtype=kind)
        expressions += [image.conv2d(weight), image.max_pool2d((2, 2)), a.cumsum(1), a[::2, 1:].contiguous()]
        if kind in (dtypes.float, dtypes.half):
            expressions += [a.softmax(), a.layernorm(), a.gelu(), a.exp() + a.sin() + a.sqrt(), a.log_softmax(), a.sigmoid(), a.std(1)]
            expressions += [a.scaled_dot_product_attention(Tensor.empty(64, 192, dtype=kind), Tensor.empty(64, 192, dtype=kind))]
        for one in expressions:
            one.realize()
    Tensor.rand(1000).realize()


def slang(out):
    """The tests of its repository, one in five, that are compute shaders and that slangc compiles for Metal."""
    found = importlib.util.find_spec("slangtorch")
    if not found or not found.origin:
        raise ImportError("slangtorch")
    compiler = pathlib.Path(found.origin).parent / "bin" / "slangc"
    compiler.chmod(0o755)
    base = out.parent
    tests = sorted((base / "tests").glob("**/*.slang"))[::5]
    if not tests:
        raise ImportError("the checkout of slang")

    def one(path):
        text = path.read_text(encoding="utf-8", errors="replace")
        if "[numthreads" not in text or "computeMain" not in text:
            return
        called = str(path.relative_to(base / "tests").with_suffix(""))
        made = out / (re.sub(r"\W+", "_", called) + ".metal")
        command = [compiler, path, "-target", "metal", "-entry", "computeMain", "-stage", "compute", "-o", made]
        try:
            run = subprocess.run(command, capture_output=True, check=False, timeout=60)
        except subprocess.TimeoutExpired:
            run = None
        if run is None or run.returncode != 0:
            made.unlink(missing_ok=True)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, tests))


GENERATORS = {one.__name__: one for one in (halide, iree, tvm, tinygrad, slang)}


def main():
    folder, *names = sys.argv[1:] or sys.exit(__doc__)
    absent = False
    for name in names or GENERATORS:
        out = pathlib.Path(folder) / name / "generated"
        out.mkdir(parents=True, exist_ok=True)
        for old in out.glob("*.metal"):
            old.unlink()
        try:
            GENERATORS[name](out)
        except ImportError as error:
            print(f"{name}: not here: {error}", file=sys.stderr)
            absent = True
        print(f"{name}: {len(list(out.glob('*.metal')))} files", file=sys.stderr, flush=True)
    return 3 if absent else 0


if __name__ == "__main__":
    sys.exit(main())
