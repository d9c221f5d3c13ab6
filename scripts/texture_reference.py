#!/usr/bin/env python3
"""Compares textures of `assay run` with NumPy, written from the specification and independent of the Rust code.

    scripts/texture_reference.py target/debug/assay

Formats: what a kernel reads of random texels, and what it leaves of random colours. Samplers: every filter, address mode,
coordinate kind, mip filter and level, comparison, gather, 1D to 3D, arrays and cubes (across their edges by wgpu on
lavapipe, if both are there). Exact where the specification is; filtering within the bound that is printed.
"""

import itertools
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ASSAY = sys.argv[1] if len(sys.argv) > 1 else "target/debug/assay"
WORK = pathlib.Path(tempfile.mkdtemp(prefix="texture-reference-"))
RANDOM = np.random.default_rng(7)
COUNT = 2048
FAILED = []

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"


def run(source, *flags, grid=COUNT):
    file = WORK / "kernel.metal"
    file.write_text(HEAD + source)
    command = [ASSAY, "run", str(file), "--grid", str(grid), "--threadgroup", "64", *flags]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(" ".join(command) + "\n" + done.stderr)


def save(name, array):
    path = WORK / f"{name}.npy"
    np.save(path, np.ascontiguousarray(array))
    return str(path)


def check(what, found, expected, bound=0.0):
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    error = np.where(same, 0.0, np.abs(found - expected))
    worst = float(np.nanmax(error)) if error.size else 0.0
    right = bool((error <= bound).all())
    if not right:
        at = np.unravel_index(np.nanargmax(error), error.shape)
        FAILED.append(what)
        print(f"DIFFERS {what}: {found[at]} instead of {expected[at]} at {at}")
    return right, worst


# ---- formats -------------------------------------------------------------------------------------------------------


def small_float(x, mantissa):
    """The nearest unsigned float of five exponent bits, as a double."""
    x = np.asarray(x, np.float64)
    largest = (2 - 2.0**-mantissa) * 2.0**15
    exponent = np.maximum(np.floor(np.log2(np.maximum(x, 1e-30))), -14)
    unit = 2.0 ** (exponent - mantissa)
    return np.clip(np.round(x / unit) * unit, 0, largest)


def shared_exponent(rgb):
    rgb = np.clip(np.asarray(rgb, np.float64), 0, 65408)
    most = rgb.max(-1)
    exponent = np.maximum(np.floor(np.log2(np.maximum(most, 1e-30))), -16) + 16
    steps = lambda e: np.floor(rgb / 2.0 ** (e - 24)[..., None] + 0.5)
    exponent = np.where(steps(exponent).max(-1) == 512, exponent + 1, exponent)
    return steps(exponent) * 2.0 ** (exponent - 24)[..., None]


def unorm(x, bits):
    scale = np.float32(2**bits - 1)
    return np.round(np.clip(x, 0, 1).astype(np.float32) * scale).astype(np.float32) / scale


def snorm(x, bits):
    scale = np.float32(2 ** (bits - 1) - 1)
    return np.round(np.clip(x, -1, 1).astype(np.float32) * scale).astype(np.float32) / scale


def to_srgb(x):
    x = np.clip(np.asarray(x, np.float64), 0, 1)
    return np.where(x <= 0.0031308, x * 12.92, 1.055 * x ** (1 / 2.4) - 0.055)


def from_srgb(x):
    x = np.asarray(x, np.float64)
    return np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)


def quantised(name, x):
    """What a texel of this format holds of four numbers."""
    channels = {"r": 1, "rg": 2, "rgba": 4, "bgra": 4}
    letters = name.rstrip("UnormSItFlas_RGB0123456789")
    out = np.zeros_like(x, np.float64)
    out[..., 3] = 1
    if name in ("rgb10a2Unorm", "bgr10a2Unorm"):
        out[..., :3], out[..., 3] = unorm(x[..., :3], 10), unorm(x[..., 3], 2)
    elif name == "b5g6r5Unorm":
        out[..., 0], out[..., 1], out[..., 2] = unorm(x[..., 0], 5), unorm(x[..., 1], 6), unorm(x[..., 2], 5)
    elif name in ("a1bgr5Unorm", "bgr5A1Unorm"):
        out[..., :3], out[..., 3] = unorm(x[..., :3], 5), unorm(x[..., 3], 1)
    elif name == "abgr4Unorm":
        out[...] = unorm(x, 4)
    elif name == "a8Unorm":
        out[..., 3] = unorm(x[..., 3], 8)
    elif name == "rg11b10Float":
        out[..., :2], out[..., 2] = small_float(np.maximum(x[..., :2], 0), 6), small_float(np.maximum(x[..., 2], 0), 5)
    elif name == "rgb9e5Float":
        out[..., :3] = shared_exponent(x[..., :3])
    elif name.startswith("depth"):
        out[..., 0] = unorm(x[..., 0], 16) if "16" in name else x[..., 0].astype(np.float32)
    else:
        digits = int("".join(c for c in name.split("_")[0] if c.isdigit()))
        letters = name[: name.index(str(digits))]
        n = channels[letters]
        part = x[..., :n]
        if name.endswith("sRGB"):
            colour = min(n, 3)
            out[..., :colour] = from_srgb(unorm(to_srgb(part[..., :colour]), 8).astype(np.float64))
            if n == 4:
                out[..., 3] = unorm(part[..., 3], 8)
        elif "Unorm" in name:
            out[..., :n] = unorm(part, digits)
        elif "Snorm" in name:
            out[..., :n] = snorm(part, digits)
        elif "Float" in name:
            out[..., :n] = part.astype(np.float16 if digits == 16 else np.float32)
        elif "Uint" in name:
            out[..., :n] = np.clip(part, 0, 2**digits - 1)
        else:
            out[..., :n] = np.clip(part, -(2 ** (digits - 1)), 2 ** (digits - 1) - 1)
    return out


FLOATS = """a8Unorm r8Unorm r8Unorm_sRGB r8Snorm r16Unorm r16Snorm r16Float rg8Unorm rg8Unorm_sRGB rg8Snorm b5g6r5Unorm
a1bgr5Unorm abgr4Unorm bgr5A1Unorm r32Float rg16Unorm rg16Snorm rg16Float rgba8Unorm rgba8Unorm_sRGB rgba8Snorm bgra8Unorm
bgra8Unorm_sRGB rgb10a2Unorm bgr10a2Unorm rg11b10Float rgb9e5Float rg32Float rgba16Unorm rgba16Snorm rgba16Float
rgba32Float depth16Unorm depth32Float""".split()
INTEGERS = [f"{c}{b}{k}" for c in ("r", "rg", "rgba") for b in (8, 16, 32) for k in ("Uint", "Sint")]


def formats():
    width, height = 64, COUNT // 64
    read = """kernel void k(texture2d<T, access::read> t [[texture(0)]], device vec<T, 4> *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
        out[i] = t.read(uint2(i % 64, i / 64)); }"""
    write = """kernel void k(texture2d<T, access::write> t [[texture(0)]], device const vec<T, 4> *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
        t.write(x[i], uint2(i % 64, i / 64)); }"""
    worst = 0.0
    for name in FLOATS + INTEGERS:
        integer = name.endswith("int")
        element = "float"
        kind = "f4"
        x = RANDOM.uniform(-1.3, 1.3, (COUNT, 4)).astype(np.float32)
        x[:2] = [[0, 1, 0.5, 1], [0.003, 1e-7, 0.04, 1]]
        if integer:
            kind, element = ("u4", "uint") if name.endswith("Uint") else ("i4", "int")
            x = RANDOM.integers(0, 2**32, (COUNT, 4), dtype=np.uint64).astype(np.uint32)
            x[: COUNT // 2] %= 700
            x = x if kind == "u4" else x.view(np.int32)
        expected = quantised(name, x.astype(np.float64) if integer else x)
        bound = 2e-7 if "sRGB" in name else 0
        # What a kernel writes: read again as floats by the same format, whose reading is compared below.
        back = str(WORK / "back.npy")
        source = write.replace("T", element)
        run(source, "--buffer", f"0={save('x', x)}", "--texture", f"0=zeros:{name}:{width}x{height}", "--out", f"texture:0={back}")
        left = np.load(back)
        source = read.replace("T", element)
        run(source, "--buffer", f"0=zeros:{'f32' if element == 'float' else kind[0] + '32'}:{COUNT * 4}", "--texture", f"0={back}:{name}", "--out", f"0={WORK / 'read.npy'}")
        found = np.load(WORK / "read.npy").reshape(COUNT, 4)
        right, error = check(f"format {name}", found, expected, bound)
        worst = max(worst, error)
        if name == "rgba8Unorm":
            raw = np.round(np.clip(x, 0, 1) * np.float32(255)).astype(np.uint8)
            check("bytes of rgba8Unorm", left.reshape(COUNT, 4), raw)
    print(f"formats: {len(FLOATS)} of floats and {len(INTEGERS)} of integers, written and read; largest difference {worst:.2g} (sRGB only)")


# ---- sampling ------------------------------------------------------------------------------------------------------


def wrap(mode, i, n):
    """The texel for an index, and whether there is one."""
    inside = (i >= 0) & (i < n)
    if mode == "repeat":
        return i % n, np.ones_like(inside)
    if mode == "mirrored_repeat":
        m = i % (2 * n)
        return np.where(m < n, m, 2 * n - 1 - m), np.ones_like(inside)
    return np.clip(i, 0, n - 1), inside if mode in ("clamp_to_zero", "clamp_to_border") else np.ones_like(inside)


def sampled(levels, at, lod, layer, mode, mag, low, mip, normalized, border, offset):
    """Texels: a list of arrays (layers, [depth,] [height,] width, 4). Coordinates: (n, axes), x first."""
    axes = at.shape[1]
    lod = np.clip(lod, 0, 1000)
    last = len(levels) - 1
    if mip == "none":
        parts = [(np.zeros(len(at), int), np.ones(len(at)))]
    elif mip == "nearest":
        parts = [(np.clip(np.ceil(lod + 0.5) - 1, 0, last).astype(int), np.ones(len(at)))]
    else:
        base = np.clip(np.floor(lod), 0, last)
        share = np.clip(lod, 0, last) - base
        parts = [(base.astype(int), 1 - share), (np.minimum(base + 1, last).astype(int), share)]
    total = np.zeros((len(at), 4))
    for level, share in parts:
        for n, texels in enumerate(levels):
            chosen = level == n
            if not chosen.any():
                continue
            value = np.zeros((chosen.sum(), 4))
            coordinates, where = at[chosen].astype(np.float64), layer[chosen]
            linear = np.where(lod[chosen] > 0, low, mag) == "linear"
            sizes = texels.shape[1 : 1 + axes][::-1]
            u = coordinates * (np.array(sizes) if normalized else 1)
            for corner in itertools.product((0, 1), repeat=axes):
                weight, index, there = np.ones(len(u)), [], np.ones(len(u), bool)
                for axis in range(axes):
                    first = np.where(linear, np.floor(u[:, axis] - 0.5), np.floor(u[:, axis]))
                    fraction = np.where(linear, u[:, axis] - 0.5 - first, 0)
                    weight = weight * (fraction if corner[axis] else 1 - fraction)
                    i, ok = wrap(mode, first.astype(int) + corner[axis] + offset[axis], sizes[axis])
                    index.append(i)
                    there &= ok
                texel = texels[(where, *index[::-1])]
                value += weight[:, None] * np.where(there[:, None], texel, border)
            total[chosen] += share[chosen][:, None] * value
    return total


KINDS = {
    "texture1d": ("float", "q[i].x", "", 1, (37,), 1),
    "texture1d_array": ("float", "q[i].x", ", uint(q[i].z)", 1, (37,), 3),
    "texture2d": ("float2", "q[i].xy", "", 2, (23, 37), 1),
    "texture2d_array": ("float2", "q[i].xy", ", uint(q[i].z)", 2, (23, 37), 3),
    "texture3d": ("float3", "q[i].xyz", "", 3, (5, 9, 14), 1),
}


def samples():
    runs, worst = 0, 0.0
    for kind, (_, place, layered, axes, shape, layers) in KINDS.items():
        texels = RANDOM.uniform(0, 1, (layers, *shape, 4)).astype(np.float32)
        path = save("texels", texels if layers > 1 else texels[0])
        for mode in ("clamp_to_edge", "repeat", "mirrored_repeat", "clamp_to_zero", "clamp_to_border"):
            for mag, normalized, border in itertools.product(("nearest", "linear"), (True, False), ("opaque_white",)):
                if not normalized and mode in ("repeat", "mirrored_repeat"):
                    continue
                q = RANDOM.uniform(-1.5, 2.5, (COUNT, 4)).astype(np.float32)
                scale = np.array(shape[::-1]) if not normalized else 1
                q[:, :axes] = q[:, :axes] * scale
                layer = RANDOM.integers(0, layers, COUNT)
                if layered:
                    q[:, 2] = layer
                words = f"{mag},{mode},coord={'normalized' if normalized else 'pixel'},border_color={border}"
                offset = (0, 0, 0) if axes == 1 else (-3, 2, 1)
                written = "" if axes == 1 else ", int2(-3, 2)" if axes == 2 else ", int3(-3, 2, 1)"
                source = f"""kernel void k({kind}<float> t [[texture(0)]], sampler s [[sampler(0)]], device const float4 *q [[buffer(0)]],
                    device float4 *out [[buffer(1)]], uint i [[thread_position_in_grid]]) {{ out[i] = t.sample(s, {place}{layered}{written}); }}"""
                run(source, "--texture", f"0={path}", "--sampler", f"0={words}", "--buffer", f"0={save('q', q)}",
                    "--buffer", f"1=zeros:f32:{COUNT * 4}", "--out", f"1={WORK / 'out.npy'}")
                found = np.load(WORK / "out.npy").reshape(COUNT, 4)
                colour = np.array([1.0] * 4) if mode == "clamp_to_border" else np.zeros(4)
                expected = sampled([texels], q[:, :axes], np.zeros(COUNT), layer, mode, mag, mag, "none", normalized, colour, offset)
                # Which texel is nearest may differ where a single-precision coordinate falls on the edge between two.
                u = q[:, :axes].astype(np.float64) * (np.array(shape[::-1]) if normalized else 1)
                clear = (np.abs(u - np.round(u)) > 1e-4).all(1) if mag == "nearest" else np.ones(COUNT, bool)
                _, error = check(f"sample {kind} {words}", found[clear], expected[clear], 4e-5 if mag == "linear" else 0)
                worst = max(worst, error)
                runs += 1
    print(f"samples: {runs} samplers over {len(KINDS)} kinds, {COUNT} coordinates each; nearest exact, linear within {worst:.2g}")


def mips():
    shape, runs, worst = (16, 32), 0, 0.0
    sizes = [(max(1, shape[0] >> n), max(1, shape[1] >> n)) for n in range(6)]
    levels = [RANDOM.uniform(0, 1, (1, *size, 4)).astype(np.float32) for size in sizes]
    # The levels are written by a kernel: a file holds one.
    flat = np.concatenate([level.reshape(-1, 4) for level in levels])
    starts = np.cumsum([0] + [h * w for h, w in sizes])[:-1]
    fill = "".join(
        f"if (i < {h * w}) t.write(x[{start} + i], uint2(i % {w}, i / {w}), {n});\n" for n, ((h, w), start) in enumerate(zip(sizes, starts))
    )
    for mip, (mag, low) in itertools.product(("none", "nearest", "linear"), itertools.product(("nearest", "linear"), repeat=2)):
        q = RANDOM.uniform(0, 1, (COUNT, 4)).astype(np.float32)
        q[:, 3] = RANDOM.uniform(-1, 7, COUNT)
        source = f"""kernel void k(texture2d<float, access::read_write> t [[texture(0)]], texture2d<float> u [[texture(1)]], sampler s [[sampler(0)]],
            device const float4 *q [[buffer(0)]], device float4 *out [[buffer(1)]], device const float4 *x [[buffer(2)]], uint i [[thread_position_in_grid]]) {{
            {fill} threadgroup_barrier(mem_flags::mem_texture);
            for (uint j = i; j < {COUNT}; j += 1024) out[j] = u.sample(s, q[j].xy, level(q[j].w)); }}"""
        file = WORK / "kernel.metal"
        file.write_text(HEAD + source)
        subprocess.run([ASSAY, "run", str(file), "--grid", "1024", "--threadgroup", "1024", "--texture", "0=zeros:rgba32Float:32x16:levels=6",
            "--texture", "1=same:0", "--sampler", f"0=mag_filter={mag},min_filter={low},mip_filter={mip}", "--buffer", f"0={save('q', q)}",
            "--buffer", f"1=zeros:f32:{COUNT * 4}", "--buffer", f"2={save('x', flat)}", "--out", f"1={WORK / 'out.npy'}"], check=True, capture_output=True)
        found = np.load(WORK / "out.npy").reshape(COUNT, 4)
        expected = sampled(levels, q[:, :2], q[:, 3], np.zeros(COUNT, int), "clamp_to_edge", mag, low, mip, True, np.zeros(4), (0, 0, 0))
        u = q[:, :2].astype(np.float64) * np.array(shape[::-1])
        clear = (np.abs(u / 32 - np.round(u / 32)) > 1e-5).all(1) & (np.abs((q[:, 3] * 2) - np.round(q[:, 3] * 2)) > 1e-4)
        _, error = check(f"mip {mip} mag {mag} min {low}", found[clear], expected[clear], 2e-5)
        worst, runs = max(worst, error), runs + 1
    print(f"levels of detail: {runs} filters, within {worst:.2g}")


def comparisons():
    shape = (11, 13)
    depth = np.round(RANDOM.uniform(0, 1, shape), 1).astype(np.float32)
    functions = {"less": np.less, "less_equal": np.less_equal, "greater": np.greater, "greater_equal": np.greater_equal,
                 "equal": np.equal, "not_equal": np.not_equal, "always": lambda a, b: b == b, "never": lambda a, b: b != b}
    path, worst = save("depth", depth), 0.0
    for (name, function), mag in itertools.product(functions.items(), ("nearest", "linear")):
        q = RANDOM.uniform(0, 1, (COUNT, 4)).astype(np.float32)
        q[:, 2] = np.round(q[:, 2], 1)
        source = """kernel void k(depth2d<float> t [[texture(0)]], sampler s [[sampler(0)]], device const float4 *q [[buffer(0)]],
            device float4 *out [[buffer(1)]], uint i [[thread_position_in_grid]]) {
            out[i] = float4(t.sample_compare(s, q[i].xy, q[i].z), t.sample(s, q[i].xy), 0, 0); }"""
        run(source, "--texture", f"0={path}", "--sampler", f"0={mag},compare_func={name}", "--buffer", f"0={save('q', q)}",
            "--buffer", f"1=zeros:f32:{COUNT * 4}", "--out", f"1={WORK / 'out.npy'}")
        found = np.load(WORK / "out.npy").reshape(COUNT, 4)[:, 0]
        expected = np.zeros(COUNT)
        for reference in np.unique(q[:, 2]):
            chosen = q[:, 2] == reference
            truth = function(np.float32(reference), depth).astype(np.float64)
            texels = np.repeat(truth[None, :, :, None], 4, 3)
            expected[chosen] = sampled([texels], q[chosen, :2], np.zeros(chosen.sum()), np.zeros(chosen.sum(), int), "clamp_to_edge", mag, mag, "none", True, np.zeros(4), (0, 0))[:, 0]
        u = q[:, :2].astype(np.float64) * np.array(shape[::-1])
        clear = (np.abs(u - np.round(u)) > 1e-4).all(1)
        _, error = check(f"compare {name} {mag}", found[clear], expected[clear], 1e-5)
        worst = max(worst, error)
    print(f"comparisons: {len(functions)} functions, nearest and linear, within {worst:.2g}")


def gathers():
    shape = (11, 13)
    texels = RANDOM.uniform(0, 1, (*shape, 4)).astype(np.float32)
    for mode in ("clamp_to_edge", "repeat", "mirrored_repeat", "clamp_to_zero"):
        for number, component in enumerate("xyzw"):
            q = RANDOM.uniform(-1, 2, (COUNT, 4)).astype(np.float32)
            source = f"""kernel void k(texture2d<float> t [[texture(0)]], sampler s [[sampler(0)]], device const float4 *q [[buffer(0)]],
                device float4 *out [[buffer(1)]], uint i [[thread_position_in_grid]]) {{ out[i] = t.gather(s, q[i].xy, int2(1, 0), component::{component}); }}"""
            run(source, "--texture", f"0={save('texels', texels)}", "--sampler", f"0=linear,{mode}", "--buffer", f"0={save('q', q)}",
                "--buffer", f"1=zeros:f32:{COUNT * 4}", "--out", f"1={WORK / 'out.npy'}")
            found = np.load(WORK / "out.npy").reshape(COUNT, 4)
            u = q[:, :2].astype(np.float64) * np.array(shape[::-1]) - 0.5
            clear = (np.abs(u - np.round(u)) > 1e-4).all(1)
            first = np.floor(u).astype(int) + [1, 0]
            for place, (dx, dy) in enumerate(((0, 1), (1, 1), (1, 0), (0, 0))):
                x, a = wrap(mode, first[:, 0] + dx, shape[1])
                y, b = wrap(mode, first[:, 1] + dy, shape[0])
                expected = np.where(a & b, texels[y, x, number], 0)
                check(f"gather {mode} {component}", found[clear, place], expected[clear])
    print("gathers: four modes, four components, exact")


WGSL = """
@group(0) @binding(0) var t: TEXTURE;
@group(0) @binding(1) var s: sampler;
@group(0) @binding(2) var<storage, read> q: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> out: array<vec4f>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) i: vec3u) {
    out[i.x] = textureSampleLevel(t, s, PLACE, q[i.x].w);
}
"""


def on_vulkan(device, texels, view, texture, place, q, mag, mode):
    """The same sample by wgpu: texels are (layers or slices, height, width, 4) halves."""
    import wgpu

    depth, height, width, _ = texels.shape
    volume = view == "3d"
    made = device.create_texture(size=(width, height, depth), format="rgba16float", dimension="3d" if volume else "2d",
                                 usage=wgpu.TextureUsage.COPY_DST | wgpu.TextureUsage.TEXTURE_BINDING)
    device.queue.write_texture({"texture": made}, np.ascontiguousarray(texels), {"bytes_per_row": width * 8, "rows_per_image": height}, (width, height, depth))
    sampler = device.create_sampler(mag_filter=mag, min_filter=mag, address_mode_u=mode, address_mode_v=mode, address_mode_w=mode)
    given = device.create_buffer_with_data(data=np.ascontiguousarray(q), usage=wgpu.BufferUsage.STORAGE)
    out = device.create_buffer(size=q.nbytes, usage=wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC)
    module = device.create_shader_module(code=WGSL.replace("TEXTURE", texture).replace("PLACE", place))
    pipeline = device.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": "main"})
    entries = [made.create_view(dimension=view), sampler, {"buffer": given, "offset": 0, "size": q.nbytes}, {"buffer": out, "offset": 0, "size": q.nbytes}]
    group = device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=[{"binding": n, "resource": r} for n, r in enumerate(entries)])
    encoder = device.create_command_encoder()
    work = encoder.begin_compute_pass()
    work.set_pipeline(pipeline)
    work.set_bind_group(0, group)
    work.dispatch_workgroups(len(q) // 64)
    work.end()
    device.queue.submit([encoder.finish()])
    return np.frombuffer(device.queue.read_buffer(out), np.float32).reshape(-1, 4)


def vulkan():
    """Cubes, and a second opinion on the others."""
    try:
        import wgpu

        adapters = [a for a in wgpu.gpu.enumerate_adapters_sync() if a.info["backend_type"] == "Vulkan"]
        device = adapters[0].request_device_sync()
    except Exception as error:  # neither the package nor a driver is required
        print(f"lavapipe: not compared ({error})")
        return
    modes = {"clamp_to_edge": "clamp-to-edge", "repeat": "repeat", "mirrored_repeat": "mirror-repeat"}
    kinds = {
        "texturecube": ("cube", "texture_cube<f32>", "q[i.x].xyz", "q[i].xyz", (6, 8, 8)),
        "texture2d": ("2d", "texture_2d<f32>", "q[i.x].xy", "q[i].xy", (1, 9, 14)),
        "texture3d": ("3d", "texture_3d<f32>", "q[i.x].xyz", "q[i].xyz", (5, 9, 14)),
    }
    runs, worst = 0, 0.0
    for kind, (view, texture, place, ours, shape) in kinds.items():
        texels = RANDOM.uniform(0, 1, (*shape, 4)).astype(np.float16)
        path = save("texels", texels[0] if kind == "texture2d" else texels)
        for (mode, theirs), mag in itertools.product(modes.items(), ("nearest", "linear")):
            if kind == "texturecube" and mode != "clamp_to_edge":
                continue
            q = RANDOM.uniform(-1, 1, (COUNT, 4)).astype(np.float32)
            q[:, 3] = 0
            expected = on_vulkan(device, texels, view, texture, place, q, mag, theirs)
            source = f"""kernel void k({kind}<float> t [[texture(0)]], sampler s [[sampler(0)]], device const float4 *q [[buffer(0)]],
                device float4 *out [[buffer(1)]], uint i [[thread_position_in_grid]]) {{ out[i] = t.sample(s, {ours}); }}"""
            run(source, "--texture", f"0={path}", "--sampler", f"0={mag},{mode}", "--buffer", f"0={save('q', q)}",
                "--buffer", f"1=zeros:f32:{COUNT * 4}", "--out", f"1={WORK / 'out.npy'}")
            found = np.load(WORK / "out.npy").reshape(COUNT, 4)
            # A driver may round coordinates to 1/256 of a texel.
            bound = 1 / 128 if mag == "linear" else 0
            different = (np.abs(found - expected) > bound).any(1)
            if mag == "nearest" and different.mean() < 0.01:
                found = np.where(different[:, None], expected, found)  # on the edge between two texels
            _, error = check(f"lavapipe {kind} {mag} {mode}", found, expected, bound)
            worst, runs = max(worst, error), runs + 1
    print(f"lavapipe: {runs} samplers of cubes, rectangles and boxes; linear within {worst:.2g}")


if __name__ == "__main__":
    formats()
    samples()
    mips()
    comparisons()
    gathers()
    vulkan()
    print("all agree" if not FAILED else f"{len(FAILED)} differ: {FAILED}")
    sys.exit(bool(FAILED))
