//! Textures: reads, writes, samples, atomics and queries of every kind, and handles in argument buffers.

use crate::common::program_of;
use assay_exec::{Bindings, BoundTexture, Buffer, Grid, Limits, Program, Target};
use assay_launch::Sizes;
use assay_launch::texture::{Declared, fill};

const HEAD: &str = "#include <metal_stdlib>\nusing namespace metal;\n";

fn texture(kind: &str, text: &str) -> BoundTexture {
    let declared = Declared::parse(kind).expect("a kind");
    let filled = fill(text, &declared, 0, &Sizes::new())
        .expect("fine")
        .expect("described");
    BoundTexture {
        layout: filled.layout,
        texels: Buffer::from_bytes(&filled.data),
        undefined: filled.undefined,
    }
}

fn run(program: &Program, bindings: &mut Bindings, threads: u32) {
    let grid = Grid::line(threads, threads.min(32));
    program
        .run(&grid, bindings, &Limits::default())
        .expect("runs");
}

#[test]
fn every_kind_of_texture_is_read_written_and_measured() {
    // Kind, texture, coordinates of thread i, sizes: width + 10 height + 100 depth, then 1000 layers, 10000 levels, 100000 samples.
    let kinds = [
        (
            "texture1d<float, access::read_write>",
            "zeros:r32Float:8",
            "i",
            "",
            8.0,
        ),
        (
            "texture1d_array<float, access::read_write>",
            "zeros:r32Float:4x2",
            "i % 4",
            ", i / 4",
            2004.0,
        ),
        (
            "texture2d<float, access::read_write>",
            "zeros:r32Float:4x2",
            "uint2(i % 4, i / 4)",
            "",
            24.0,
        ),
        (
            "texture2d_array<float, access::read_write>",
            "zeros:r32Float:2x2x2",
            "uint2(i % 2, i / 2 % 2)",
            ", i / 4",
            2022.0,
        ),
        (
            "texture3d<float, access::read_write>",
            "zeros:r32Float:2x2x2",
            "uint3(i % 2, i / 2 % 2, i / 4)",
            "",
            222.0,
        ),
        (
            "texturecube<float, access::read_write>",
            "zeros:r32Float:2x2",
            "uint2(i % 2, i / 2 % 2)",
            ", i / 4",
            22.0,
        ),
        (
            "texturecube_array<float, access::read_write>",
            "zeros:r32Float:2x2x2",
            "uint2(i % 2, i / 2 % 2)",
            ", 3, i / 4",
            2022.0,
        ),
        (
            "texture_buffer<float, access::read_write>",
            "zeros:r32Float:8",
            "i",
            "",
            8.0,
        ),
    ];
    for (kind, text, at, more, sizes) in kinds {
        let name = kind.split('<').next().expect("a name");
        let size = match name {
            "texture1d" | "texture_buffer" => "t.get_width()",
            "texture1d_array" => "t.get_width() + 1000 * t.get_array_size()",
            "texture3d" => "t.get_width() + 10 * t.get_height() + 100 * t.get_depth()",
            "texture2d" | "texturecube" => "t.get_width() + 10 * t.get_height()",
            _ => "t.get_width() + 10 * t.get_height() + 1000 * t.get_array_size()",
        };
        let source = format!(
            "{HEAD}kernel void k({kind} t [[texture(2)]], device float2 *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {{
                t.write(float4(i * 3 + 1), {at}{more});
                t.fence();
                out[i] = float2(t.read({at}{more}).x, float({size}));
            }}"
        );
        let Some(program) = program_of(&source, "k.metal", "k") else {
            return;
        };
        let mut bindings = Bindings::new();
        bindings.set(0, Buffer::zeroed(64));
        bindings.set_texture(2, texture(kind, text));
        run(&program, &mut bindings, 8);
        let out = bindings.take(0).expect("bound").to_vec::<f32>();
        for (thread, pair) in out.chunks(2).enumerate() {
            assert_eq!(pair, [thread as f32 * 3.0 + 1.0, sizes], "{kind}");
        }
        let texels = bindings
            .take_texture(2)
            .expect("bound")
            .texels
            .to_vec::<f32>();
        assert_eq!(
            texels.iter().filter(|texel| **texel != 0.0).count(),
            8,
            "{kind}"
        );
    }
}

#[test]
fn atomics_of_texels_add_up() {
    let source = format!(
        "{HEAD}kernel void k(texture2d<uint, access::read_write> t [[texture(0)]], device uint *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {{
            t.atomic_fetch_add(uint2(i % 4, 0), uint4(i));
            t.atomic_fetch_max(uint2(0, 1), uint4(i));
            uint4 expected = uint4(0);
            if (t.atomic_compare_exchange_weak(uint2(1, 1), &expected, uint4(i + 1))) out[0] = i;
            out[i] = t.atomic_exchange(uint2(2, 1), uint4(i)).x;
        }}"
    );
    let Some(program) = program_of(&source, "k.metal", "k") else {
        return;
    };
    assert!(program.runs_in_order());
    let mut bindings = Bindings::new();
    bindings.set(0, Buffer::zeroed(400));
    let kind = "texture2d<uint, access::read_write>";
    bindings.set_texture(0, texture(kind, "zeros:r32Uint:4x2"));
    run(&program, &mut bindings, 100);
    let texels = bindings
        .take_texture(0)
        .expect("bound")
        .texels
        .to_vec::<u32>();
    assert_eq!(texels, [1200, 1225, 1250, 1275, 99, 1, 99, 0]);
}

#[test]
fn argument_buffers_hold_pointers_textures_and_samplers() {
    let source = format!(
        "{HEAD}struct Inner {{ device float *out; }};
        struct Args {{ texture2d<float> t; sampler s; Inner inner[2]; array<texture2d<float>, 2> more; }};
        kernel void k(constant Args &args [[buffer(0)]], uint i [[thread_position_in_grid]]) {{
            args.inner[1].out[i] = args.t.sample(args.s, float2(float(i) + 0.5f, 0.5f)).x + args.more[i & 1].read(uint2(0)).x;
        }}"
    );
    let Some(program) = program_of(&source, "k.metal", "k") else {
        return;
    };
    let members = &program.arguments()[0].members;
    let offset = |path: &str| {
        let member = members.iter().find(|member| member.path == path);
        u64::from(
            member
                .unwrap_or_else(|| panic!("{path}: {members:?}"))
                .offset,
        )
    };
    let mut bindings = Bindings::new();
    bindings.set(0, Buffer::zeroed(64));
    bindings.set(65536, Buffer::zeroed(32));
    let kind = "texture2d<float>";
    bindings.set_texture(65537, texture(kind, "iota:r32Float:4x1"));
    bindings.set_texture(65538, texture(kind, "zeros:r32Float:1x1"));
    let mut half = texture(kind, "zeros:r32Float:1x1");
    half.texels = Buffer::from_slice(&[0.5f32]);
    bindings.set_texture(65539, half);
    bindings.set_sampler(65540, "pixel,clamp_to_zero".parse().expect("a sampler"));
    bindings.set_member(
        0,
        offset("inner[1].out"),
        Target::Buffer(65536),
        "0.inner[1].out",
    );
    bindings.set_member(0, offset("t"), Target::Texture(65537), "0.t");
    bindings.set_member(0, offset("more[0]"), Target::Texture(65538), "0.more[0]");
    bindings.set_member(0, offset("more[1]"), Target::Texture(65539), "0.more[1]");
    bindings.set_member(0, offset("s"), Target::Sampler(65540), "0.s");
    let grid = Grid::line(9, 9);
    let error = program
        .run(&grid, &mut bindings, &Limits::default())
        .expect_err("too far");
    assert!(
        error.to_string().contains("argument \"0.inner[1].out\""),
        "{error}"
    );
    run(&program, &mut bindings, 8);
    let out = bindings.take(65536).expect("bound").to_vec::<f32>();
    assert_eq!(out, [0.0, 1.5, 2.0, 3.5, 0.0, 0.5, 0.0, 0.5]);
}
