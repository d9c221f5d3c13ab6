//! Which texels a lane's texture operation accesses, and what is wrong with it.

use super::{Batch, ExecutionContext};
use crate::code::Reg;
use crate::memory::{OFFSET_BITS, OFFSET_MASK, Region};
use crate::texture::{Resource, TextureError, TextureOp, What, dimension};
use assay_texture::{Class, Filter, Layout, Lod, Query, Sampler, Texel};

/// What one lane does.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The texels with their weights; none lies outside.
    pub(super) texels: Vec<(Option<u64>, f32)>,
    pub(super) layout: Option<Layout>,
    pub(super) sampler: Sampler,
}

/// Why a lane does nothing.
pub(super) struct Wrong {
    pub(super) error: TextureError,
    pub(super) message: String,
}

fn unsuitable<T>(message: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong {
        error: TextureError::Unsuitable,
        message: message.into(),
    })
}

/// Texels that lie outside are read as zero, as a GPU does: only an observer wants to know of them.
fn outside<T>(is_told: bool, message: impl FnOnce() -> String) -> Result<T, Wrong> {
    Err(Wrong {
        error: TextureError::Outside,
        message: if is_told { message() } else { String::new() },
    })
}

/// The numbers of a lane's arguments.
pub(super) struct Given<'a> {
    pub(super) batch: &'a Batch,
    pub(super) args: &'a [Reg],
    pub(super) lane: usize,
    /// Whether anyone reads what is wrong with texels that lie outside.
    pub(super) is_told: bool,
}

impl Given<'_> {
    pub(super) fn bits(&self, index: usize) -> u64 {
        let reg = self.args.get(index);
        reg.map_or(0, |&reg| self.batch.get(reg, self.lane))
    }

    pub(super) fn number(&self, index: usize) -> u32 {
        self.bits(index) as u32
    }

    pub(super) fn float(&self, index: usize) -> f32 {
        f32::from_bits(self.number(index))
    }

    fn floats(&self, index: usize) -> [f32; 3] {
        [0, 1, 2].map(|more| self.float(index + more))
    }

    /// The place that reads, writes and atomic operations name; the layer follows three coordinates.
    fn texel(&self, first: usize, layout: &Layout, last: u32) -> Texel {
        let multisampled = layout.shape.samples > 1;
        Texel {
            x: self.number(first),
            y: self.number(first + 1),
            z: self.number(first + 2),
            layer: self.number(first + 3),
            level: if multisampled { 0 } else { last },
            sample: if multisampled { last } else { 0 },
        }
    }

    fn query(&self) -> Query {
        let options = self.number(7);
        let lod = self.float(8);
        Query {
            at: self.floats(2),
            layer: self.number(6),
            lod: match options & 3 {
                0 => Lod::Base,
                1 => Lod::Level(lod),
                2 => Lod::Bias(lod),
                _ => Lod::Gradient([self.floats(14), self.floats(18)]),
            },
            min_lod: if options & 4 != 0 {
                self.float(9)
            } else {
                f32::MIN
            },
            offset: [10, 11, 12].map(|index| self.number(index) as i32),
        }
    }
}

fn resource<'a>(context: &ExecutionContext<'a>, handle: u64) -> Option<(&'a Region, Resource)> {
    let region = context
        .memory
        .shared
        .get((handle >> OFFSET_BITS) as usize)?;
    let found = region.resource?;
    (handle & OFFSET_MASK == 0).then_some((region, found))
}

fn sampler(context: &ExecutionContext<'_>, handle: u64) -> Result<Sampler, Wrong> {
    let sampler = match Sampler::from_bits(handle) {
        Some(sampler) => sampler,
        None => match resource(context, handle) {
            Some((_, Resource::Sampler(sampler))) => sampler,
            _ => return unsuitable("no sampler is bound"),
        },
    };
    match sampler.check() {
        Ok(()) => Ok(sampler),
        Err(why) => unsuitable(why),
    }
}

/// What a lane accesses.
pub(super) fn plan(
    context: &ExecutionContext<'_>,
    op: &TextureOp,
    given: &Given<'_>,
) -> Result<Plan, Wrong> {
    let handle = given.bits(0);
    let found = resource(context, handle);
    let Some((region, Resource::Texture { layout, .. })) = found else {
        return match op.what {
            What::IsNull => Ok(Plan::default()),
            _ => unsuitable("no texture is bound"),
        };
    };
    let mut plan = Plan {
        layout: Some(layout),
        ..Plan::default()
    };
    if is_query(op.what) {
        return Ok(plan);
    }
    suits(op, &layout, region)?;
    match op.what {
        What::Read | What::Write | What::Atomic => {
            let address = texel_address(op, given, (&layout, region))?;
            plan.texels.push((Some(address), 1.0));
        }
        _ => {
            plan.sampler = sampler(context, given.bits(1))?;
            plan.texels = sampled_texels(op, given, &plan.sampler, (&layout, region))?;
        }
    }
    Ok(plan)
}

/// The address of the texel that is read, written or changed.
fn texel_address(
    op: &TextureOp,
    given: &Given<'_>,
    (layout, region): (&Layout, &Region),
) -> Result<u64, Wrong> {
    let (at, action) = match op.what {
        What::Atomic => (given.texel(2, layout, 0), "atomic access"),
        What::Write => (given.texel(1, layout, given.number(5)), "write"),
        _ => (given.texel(1, layout, given.number(5)), "read"),
    };
    match layout.offset(at) {
        Some(offset) => Ok(given.bits(0) + offset),
        None => outside(given.is_told, || {
            let (name, at) = (&region.name, layout.describe(at));
            format!("{action} at {at} of {name}, which is {layout}")
        }),
    }
}

/// The texels of a sample or gather, with their weights.
fn sampled_texels(
    op: &TextureOp,
    given: &Given<'_>,
    sampler: &Sampler,
    (layout, region): (&Layout, &Region),
) -> Result<Vec<(Option<u64>, f32)>, Wrong> {
    let (query, name) = (given.query(), &region.name);
    let compares = matches!(op.what, What::SampleCompare | What::GatherCompare);
    if compares && sampler.compare == assay_texture::Compare::None {
        return unsuitable("a comparison with a sampler that has no compare_func");
    }
    if query.layer >= layout.shape.layers {
        let layer = query.layer;
        return outside(given.is_told, || {
            format!("sample of layer {layer} of {name}, which is {layout}")
        });
    }
    let integers = layout.format.class() != Class::Float;
    let gathers = matches!(op.what, What::Gather | What::GatherCompare);
    if integers && !gathers && [sampler.mag, sampler.min].contains(&Filter::Linear) {
        return unsuitable(format!(
            "linear filtering of {name}, which holds integers ({layout})"
        ));
    }
    let address = |texel: Option<Texel>| {
        let offset = texel.and_then(|texel| layout.offset(texel));
        offset.map(|offset| given.bits(0) + offset)
    };
    if gathers {
        let texels = assay_texture::gather(&layout.shape, sampler, &query);
        return Ok(texels.map(|texel| (address(texel), 1.0)).to_vec());
    }
    let taps = assay_texture::taps(&layout.shape, sampler, &query).into_iter();
    Ok(taps.map(|tap| (address(tap.texel), tap.weight)).collect())
}

fn is_query(what: What) -> bool {
    use What::{Depth, Height, IsNull, Layers, Levels, Samples, Width};
    matches!(
        what,
        Width | Height | Depth | Layers | Levels | Samples | IsNull
    )
}

/// Compares a texture with what an operation takes it for.
fn suits(op: &TextureOp, layout: &Layout, region: &Region) -> Result<(), Wrong> {
    let name = &region.name;
    if layout.shape.dimension != dimension(op.kind) {
        return unsuitable(format!(
            "{name} is {layout}, and the kernel takes a {}",
            op.kind.name()
        ));
    }
    if layout.format.class() != op.class() {
        return unsuitable(format!(
            "{name} is {layout}, and the kernel takes texels of {}",
            op.class().name()
        ));
    }
    if op.what == What::Atomic {
        let bytes = op.scalar.bytes();
        let right = layout.format.bytes == bytes && !op.scalar.is_float();
        if !right {
            return unsuitable(format!(
                "atomic operations on {name}, which is {layout}: they need {}",
                if bytes == 8 {
                    "rg32Uint"
                } else {
                    "r32Uint or r32Sint"
                }
            ));
        }
    }
    Ok(())
}
