//! Textures, samplers and members of argument buffers, through Metal's calls and on the CPU device: the same bytes.

use super::{alone, cpu, gpu, runtime};
use crate::{Binding, BufferId, CompileOptions, Device, Dispatch, Extent, Member, Source, Storage};
use assay_texture::{Address, Filter, Format, Layout, Mip, Sampler, Shape};
use std::path::Path;

const TEXT: &str = "#include <metal_stdlib>
using namespace metal;
kernel void blend(texture2d<float> from [[texture(0)]], texture2d<float, access::write> to [[texture(1)]],
                  sampler smooth [[sampler(0)]], uint2 p [[thread_position_in_grid]]) {
  float2 at = (float2(p) + 0.75f) / float2(to.get_width(), to.get_height());
  to.write(from.sample(smooth, at * 1.25f - 0.125f) * 0.5f + from.read(p) * 0.25f, p);
}
kernel void levels(texture2d_array<uint, access::read_write> x [[texture(0)]], device uint *out [[buffer(0)]],
                   uint2 p [[thread_position_in_grid]]) {
  for (uint layer = 0; layer < x.get_array_size(); ++layer) {
    uint4 texel = x.read(p, layer);
    out[(layer * 8 + p.y) * 8 + p.x] = texel.x;
    x.write(texel + layer + 1, p, layer);
  }
}
kernel void smaller(texture2d<float> x [[texture(0)]], sampler between [[sampler(0)]], device float4 *out [[buffer(0)]],
                    uint2 p [[thread_position_in_grid]]) {
  float2 at = (float2(p) + 0.5f) / 8.0f;
  out[p.y * 8 + p.x] = x.sample(between, at, level(0.1f * float(p.x))) + x.read(p / 2, 1);
}
struct Held {
  device float4 *out;
  texture2d<float> image;
  float scale;
};
kernel void held(constant Held &held [[buffer(0)]], uint2 p [[thread_position_in_grid]]) {
  held.out[p.y * 8 + p.x] = held.image.read(p) * held.scale;
}
struct Smooth {
  device float4 *out;
  texture2d<float> image;
  sampler smooth;
  float scale;
};
kernel void smooth(constant Smooth &held [[buffer(0)]], uint2 p [[thread_position_in_grid]]) {
  float2 at = (float2(p) + 0.25f) / 8.0f;
  held.out[p.y * 8 + p.x] = held.image.sample(held.smooth, at) * held.scale;
}
";

const SIDE: u32 = 8;

fn layout(format: &str, layers: u32, levels: u32) -> Layout {
    Layout {
        shape: Shape {
            layers,
            levels,
            ..Shape::flat(SIDE, SIDE)
        },
        format: Format::named(format).expect("a format"),
    }
}

/// Bytes of texels. None of them are a float that is not a number.
fn texels(layout: &Layout) -> Vec<u8> {
    let bytes = 0..layout.bytes();
    bytes
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 7 & 0x3f) as u8)
        .collect()
}

fn linear() -> Sampler {
    Sampler {
        mag: Filter::Linear,
        min: Filter::Linear,
        address: [
            Address::Repeat,
            Address::MirroredRepeat,
            Address::ClampToEdge,
        ],
        ..Sampler::default()
    }
}

/// What a kernel is given.
struct Given<'d> {
    device: &'d mut dyn Device,
    made: Vec<BufferId>,
}

impl Given<'_> {
    fn buffer(&mut self, contents: &[u8]) -> BufferId {
        let length = contents.len() as u64;
        let buffer = self.device.buffer(length, Storage::Shared).expect("fits");
        self.device.write(buffer, 0, contents).expect("inside");
        self.made.push(buffer);
        buffer
    }

    fn texture(&mut self, layout: Layout) -> Binding {
        let buffer = self.buffer(&texels(&layout));
        Binding::Texture {
            buffer,
            layout,
            undefined: false,
        }
    }

    /// As many floats as the threads have results.
    fn results(&mut self) -> Binding {
        let buffer = self.buffer(&[0; (SIDE * SIDE * 16) as usize]);
        Binding::Buffer { buffer, offset: 0 }
    }
}

/// The bytes of every buffer that was made for a kernel, after its run.
fn run(
    device: &mut dyn Device,
    kernel: &str,
    bind: impl Fn(Dispatch, &mut Given<'_>) -> Dispatch,
) -> Vec<Vec<u8>> {
    let source = Source {
        path: Path::new("textures.metal"),
        text: TEXT,
    };
    let library = device.compile(source, &CompileOptions::default());
    let library = library.expect("compiles");
    let pipeline = device.pipeline(library, kernel, &[]).expect("exists");
    let mut given = Given {
        device,
        made: Vec::new(),
    };
    let dispatch = Dispatch::new(pipeline, Extent::Threads([SIDE, SIDE, 1]), [4, 4, 1]);
    let dispatch = bind(dispatch, &mut given);
    given.device.run(vec![dispatch]).expect("runs");
    let Given { device, made } = given;
    let contents = made.into_iter().map(|buffer| {
        let bytes = device.contents(buffer).expect("inside");
        device.release(buffer).expect("is there");
        bytes
    });
    contents.collect()
}

/// Runs a kernel on both devices. What it was given has changed.
fn the_same(kernel: &str, bind: impl Fn(Dispatch, &mut Given<'_>) -> Dispatch + Copy) {
    let _alone = alone();
    let wrong = runtime::wrong_uses();
    let got = run(&mut *gpu(false), kernel, bind);
    let expected = run(&mut cpu(), kernel, bind);
    assert!(
        got == expected,
        "{kernel}: other bytes through Metal's calls"
    );
    let results = got.last().expect("a result");
    let different = results.windows(2).filter(|two| two[0] != two[1]).count();
    assert!(different > 64, "{kernel}: {results:?}");
    assert_eq!(runtime::wrong_uses(), wrong, "{kernel}");
    assert_eq!(runtime::outside_pools(), 0, "{kernel}");
}

#[test]
fn textures_are_sampled_read_and_written() {
    for format in ["rgba8Unorm", "r16Float", "rgba32Float"] {
        the_same("blend", |dispatch, given| {
            let from = given.texture(layout(format, 1, 1));
            let to = given.texture(layout("rgba8Unorm", 1, 1));
            let dispatch = dispatch.bind(0, from).bind(1, to);
            dispatch.bind(0, Binding::Sampler(linear()))
        });
    }
}

#[test]
fn layers_and_levels_lie_where_the_cpu_device_has_them() {
    the_same("levels", |dispatch, given| {
        let layers = given.texture(layout("rgba16Uint", 4, 1));
        let results = given.results();
        dispatch.bind(0, layers).bind(0, results)
    });
    the_same("smaller", |dispatch, given| {
        let image = given.texture(layout("rgba8Unorm", 1, 4));
        let sampler = Sampler {
            mip: Mip::Linear,
            ..linear()
        };
        let results = given.results();
        let dispatch = dispatch.bind(0, image).bind(0, results);
        dispatch.bind(0, Binding::Sampler(sampler))
    });
}

/// Runs a kernel whose argument buffer has these members, and a scale behind them.
fn holds(kernel: &str, sampler: Option<Sampler>) {
    the_same(kernel, |dispatch, given| {
        let mut bytes = vec![0; 32];
        let scale = if sampler.is_some() { 24 } else { 16 };
        bytes[scale..scale + 4].copy_from_slice(&0.75_f32.to_le_bytes());
        let member = |offset, name: &str, binding| Member {
            index: 0,
            offset,
            name: format!("0.{name}"),
            binding,
        };
        let image = given.texture(layout("rgba8Unorm", 1, 1));
        let out = given.results();
        let mut dispatch = dispatch.bind(0, Binding::Bytes(bytes));
        dispatch.members = vec![member(0, "out", out), member(8, "image", image)];
        let sampler = sampler.map(|sampler| member(16, "smooth", Binding::Sampler(sampler)));
        dispatch.members.extend(sampler);
        dispatch
    });
}

#[test]
fn argument_buffers_hold_addresses_and_ids() {
    holds("held", None);
}

#[test]
fn argument_buffers_hold_samplers() {
    holds("smooth", Some(linear()));
}
