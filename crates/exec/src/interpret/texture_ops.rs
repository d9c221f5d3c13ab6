//! Texture operations, of one simdgroup at a time.
//!
//! First each active lane says which texels it accesses; then observers see them, the first texel of all lanes, the second of all
//! lanes, and so on; then lanes read, weigh and write.

use super::addresses::Addresses;
use super::observer::{AccessEvent, Observer, TextureEvent};
use super::{Batch, ExecutionContext, Trap};
use crate::atomics::Update;
use crate::code::{Cell, Reg};
use crate::error::FaultKind;
use crate::lanes::lanes_of;
use crate::memory::{Action, OFFSET_BITS, OFFSET_MASK, Region};
use crate::texture::{Resource, TextureError, TextureOp, What, dimension};
use assay_num::{f16_to_f32, f32_to_f16};
use assay_ssa::builtin::Sign;
use assay_ssa::{AtomicOp, Scalar};
use assay_texture::{Border, Class, Filter, Format, Layout, Lod, Query, Reduction, Sampler, Texel};

/// What one lane does.
#[derive(Debug, Default)]
struct Plan {
    /// The texels with their weights; none lies outside.
    texels: Vec<(Option<u64>, f32)>,
    layout: Option<Layout>,
    sampler: Sampler,
}

/// Why a lane does nothing.
struct Wrong {
    error: TextureError,
    message: String,
}

fn unsuitable<T>(message: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong {
        error: TextureError::Unsuitable,
        message: message.into(),
    })
}

/// The numbers of a lane's arguments.
struct Given<'a> {
    batch: &'a Batch,
    args: &'a [Reg],
    lane: usize,
}

impl Given<'_> {
    fn bits(&self, index: usize) -> u64 {
        let reg = self.args.get(index);
        reg.map_or(0, |&reg| self.batch.get(reg, self.lane))
    }

    fn number(&self, index: usize) -> u32 {
        self.bits(index) as u32
    }

    fn float(&self, index: usize) -> f32 {
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

impl Batch {
    /// Runs a texture operation for the current simdgroup.
    #[inline(never)]
    pub(super) fn texture<O: Observer>(
        &mut self,
        context: &ExecutionContext<'_>,
        observer: &mut O,
        op: &TextureOp,
        position: usize,
    ) -> Result<(), Trap> {
        if op.what == What::Fence {
            if O::OBSERVES {
                observer.on_texture_fence(self);
            }
            return Ok(());
        }
        let args = context.program.list(op.args);
        let mut plans: Vec<Plan> = Vec::new();
        plans.resize_with(32, Plan::default);
        let mut mask = self.mask();
        for lane in lanes_of(mask) {
            let given = Given {
                batch: self,
                args,
                lane,
            };
            match plan(context, op, &given) {
                Ok(plan) => plans[lane] = plan,
                Err(wrong) => {
                    mask &= !(1 << lane);
                    let stops = wrong.error == TextureError::Unsuitable;
                    if O::OBSERVES {
                        observer.on_texture_error(&TextureEvent {
                            context,
                            position,
                            lane,
                            error: wrong.error,
                            message: &wrong.message,
                        });
                    } else if stops {
                        let kind = FaultKind::Texture {
                            what: wrong.message,
                        };
                        return Err(Trap {
                            kind,
                            position,
                            lane,
                        });
                    }
                }
            }
        }
        if O::OBSERVES {
            self.report_texels(context, observer, op, position, (&mut plans, mask));
        }
        let results = context.program.list(op.results);
        for lane in lanes_of(self.mask()) {
            let given = Given {
                batch: self,
                args,
                lane,
            };
            let values = match mask >> lane & 1 {
                0 => [0; 4],
                _ => perform(context, op, &given, &plans[lane]),
            };
            for (&reg, value) in results.iter().zip(values) {
                self.set(reg, lane, value);
            }
        }
        Ok(())
    }

    /// Reports the texels of all lanes. Those that may not be accessed are taken from the plans.
    fn report_texels<O: Observer>(
        &self,
        context: &ExecutionContext<'_>,
        observer: &mut O,
        op: &TextureOp,
        position: usize,
        (plans, mask): (&mut [Plan], u32),
    ) {
        let action = match op.what {
            What::Write => Action::Write,
            What::Atomic => Action::Atomic,
            _ => Action::Read,
        };
        let most = plans
            .iter()
            .map(|plan| plan.texels.len())
            .max()
            .unwrap_or(0);
        for number in 0..most {
            let mut addresses = [0; 32];
            let mut left = 0u32;
            for lane in lanes_of(mask) {
                if let Some(&(Some(address), _)) = plans[lane].texels.get(number) {
                    addresses[lane] = address;
                    left |= 1 << lane;
                }
            }
            // Lanes may hold textures of different formats: one report for each size of a texel.
            while left != 0 {
                let first = left.trailing_zeros() as usize;
                let bytes = |plan: &Plan| plan.layout.map_or(0, |layout| layout.format.bytes);
                let size = bytes(&plans[first]);
                let same = lanes_of(left).filter(|&lane| bytes(&plans[lane]) == size);
                let lanes = same.fold(0, |lanes, lane| lanes | 1u32 << lane);
                left &= !lanes;
                let pointers = (Addresses::Pointers(&addresses, 0), lanes);
                let event = AccessEvent::new(
                    context,
                    self,
                    position,
                    pointers,
                    (action, cell(size), size),
                );
                let allowed = observer.on_access(&event);
                for lane in lanes_of(lanes & !allowed) {
                    if let Some(texel) = plans[lane].texels.get_mut(number) {
                        texel.0 = None;
                    }
                }
            }
        }
    }
}

/// The largest number that a texel is made of.
fn cell(bytes: u32) -> Cell {
    match bytes {
        1 => Cell::Byte,
        2 => Cell::Short,
        4 => Cell::Word,
        _ => Cell::Long,
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
fn plan(context: &ExecutionContext<'_>, op: &TextureOp, given: &Given<'_>) -> Result<Plan, Wrong> {
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
    let name = &region.name;
    match op.what {
        What::Read | What::Write | What::Atomic => {
            let at = match op.what {
                What::Atomic => given.texel(2, &layout, 0),
                _ => given.texel(1, &layout, given.number(5)),
            };
            let Some(offset) = layout.offset(at) else {
                let action = match op.what {
                    What::Read => "read",
                    What::Write => "write",
                    _ => "atomic access",
                };
                let at = layout.describe(at);
                return Err(Wrong {
                    error: TextureError::Outside,
                    message: format!("{action} at {at} of {name}, which is {layout}"),
                });
            };
            plan.texels.push((Some(handle + offset), 1.0));
        }
        _ => {
            plan.sampler = sampler(context, given.bits(1))?;
            let (sampler, query) = (plan.sampler, given.query());
            let compares = matches!(op.what, What::SampleCompare | What::GatherCompare);
            if compares && sampler.compare == assay_texture::Compare::None {
                return unsuitable("a comparison with a sampler that has no compare_func");
            }
            if query.layer >= layout.shape.layers {
                let layers = query.layer;
                return Err(Wrong {
                    error: TextureError::Outside,
                    message: format!("sample of layer {layers} of {name}, which is {layout}"),
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
                offset.map(|offset| handle + offset)
            };
            if gathers {
                let texels = assay_texture::gather(&layout.shape, &sampler, &query);
                plan.texels
                    .extend(texels.map(|texel| (address(texel), 1.0)));
            } else {
                let taps = assay_texture::taps(&layout.shape, &sampler, &query);
                let taps = taps.into_iter();
                plan.texels
                    .extend(taps.map(|tap| (address(tap.texel), tap.weight)));
            }
        }
    }
    Ok(plan)
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

/// Does what a lane does; gives its results.
fn perform(
    context: &ExecutionContext<'_>,
    op: &TextureOp,
    given: &Given<'_>,
    plan: &Plan,
) -> [u64; 4] {
    let Some(layout) = &plan.layout else {
        return [u64::from(op.what == What::IsNull); 4];
    };
    let format = layout.format;
    let one = |number: u32| [u64::from(number), 0, 0, 0];
    let read =
        |address: Option<u64>| address.map(|address| load(context, format, address, given.lane));
    match op.what {
        What::Width => one(layout.shape.level(given.number(1))[0]),
        What::Height => one(layout.shape.level(given.number(1))[1]),
        What::Depth => one(layout.shape.level(given.number(1))[2]),
        What::Layers => one(layout.shape.layers),
        What::Levels => one(layout.shape.levels),
        What::Samples => one(layout.shape.samples),
        What::IsNull | What::Fence => [0; 4],
        What::Read => {
            let texel = plan.texels.first().and_then(|(address, _)| read(*address));
            texel.map_or([0; 4], |texel| results(op, format, texel))
        }
        What::Write => {
            if let Some(&(Some(address), _)) = plan.texels.first() {
                store(context, format, address, given.lane, written(op, given));
            }
            [0; 4]
        }
        What::Atomic => atomic(context, op, given, plan),
        What::Sample => {
            let border = border(&plan.sampler, format);
            let parts = plan.texels.iter();
            let parts = parts.map(|(address, weight)| {
                let texel = read(*address);
                (texel.map_or(border, |texel| format.decode(texel)), *weight)
            });
            let value = weigh(parts, plan.sampler.reduction);
            value.map(|bits| narrowed(op.scalar, bits))
        }
        What::SampleCompare | What::GatherCompare => {
            let (reference, sampler) = (given.float(5), &plan.sampler);
            let depth = |address: Option<u64>| {
                let texel = read(address);
                let value = texel.map_or(border(sampler, format), |texel| format.decode(texel));
                let holds = sampler.compare.holds(reference, f32::from_bits(value[0]));
                (if holds { 1f32 } else { 0.0 }).to_bits()
            };
            if op.what == What::GatherCompare {
                return gathered(op, plan, depth);
            }
            let parts = plan.texels.iter();
            let parts = parts.map(|(address, weight)| ([depth(*address); 4], *weight));
            weigh(parts, Reduction::WeightedAverage).map(|bits| narrowed(op.scalar, bits))
        }
        What::Gather => {
            let component = (given.number(7) >> 8 & 3) as usize;
            gathered(op, plan, |address| {
                let texel = read(address);
                let border = border(&plan.sampler, format);
                texel.map_or(border, |texel| format.decode(texel))[component]
            })
        }
    }
}

fn gathered(op: &TextureOp, plan: &Plan, value: impl Fn(Option<u64>) -> u32) -> [u64; 4] {
    std::array::from_fn(|index| {
        let texel = plan.texels.get(index);
        texel.map_or(0, |(address, _)| narrowed(op.scalar, value(*address)))
    })
}

/// The weighted sum of texels, in their order; a single one is what it is, integers too.
fn weigh(mut parts: impl Iterator<Item = ([u32; 4], f32)>, reduction: Reduction) -> [u32; 4] {
    let Some((first, weight)) = parts.next() else {
        return [0; 4];
    };
    let Some(second) = parts.next() else {
        return first;
    };
    let pick: Option<fn(f32, f32) -> f32> = match reduction {
        Reduction::WeightedAverage => None,
        Reduction::Minimum => Some(f32::min),
        Reduction::Maximum => Some(f32::max),
    };
    let scaled =
        |bits: u32, weight: f32| f32::from_bits(bits) * if pick.is_some() { 1.0 } else { weight };
    let mut sum = first.map(|bits| scaled(bits, weight));
    for (texel, weight) in std::iter::once(second).chain(parts) {
        for (sum, bits) in sum.iter_mut().zip(texel) {
            *sum = match pick {
                Some(pick) => pick(*sum, f32::from_bits(bits)),
                None => f32::from_bits(bits).mul_add(weight, *sum),
            };
        }
    }
    sum.map(f32::to_bits)
}

/// What lies outside a texture that is sampled. Only a border has a colour; zero has an alpha of one where the format has none.
fn border(sampler: &Sampler, format: &Format) -> [u32; 4] {
    let one = match format.class() {
        Class::Float => 1f32.to_bits(),
        _ => 1,
    };
    let bordered = sampler
        .address
        .contains(&assay_texture::Address::ClampToBorder);
    match (bordered, sampler.border) {
        (true, Border::OpaqueWhite) => [one; 4],
        (true, Border::OpaqueBlack) => [0, 0, 0, one],
        (true, Border::TransparentBlack) => [0; 4],
        (false, _) if format.has_alpha() => [0; 4],
        (false, _) => [0, 0, 0, one],
    }
}

/// Single precision or 32 bits, as the type of the program.
fn narrowed(scalar: Scalar, bits: u32) -> u64 {
    match scalar {
        Scalar::F16 => f32_to_f16(f32::from_bits(bits)).into(),
        Scalar::I16 => u64::from(bits & 0xffff),
        _ => bits.into(),
    }
}

/// The components of a texel as the program's numbers. One of 64 bits is two channels.
fn results(op: &TextureOp, format: &Format, texel: u128) -> [u64; 4] {
    if op.scalar == Scalar::I64 {
        return [texel as u64, 0, 0, 1];
    }
    format.decode(texel).map(|bits| narrowed(op.scalar, bits))
}

/// The components that a lane writes.
fn written(op: &TextureOp, given: &Given<'_>) -> [u32; 4] {
    let component = |index: usize| match (op.scalar, given.bits(6 + index)) {
        (Scalar::F16, bits) => f16_to_f32(bits as u16).to_bits(),
        (Scalar::I16, bits) if op.sign == Sign::Signed => i32::from(bits as i16) as u32,
        (Scalar::I16, bits) => bits as u32 & 0xffff,
        (_, bits) => bits as u32,
    };
    if op.scalar == Scalar::I64 {
        let bits = given.bits(6);
        return [bits as u32, (bits >> 32) as u32, 0, 0];
    }
    std::array::from_fn(component)
}

fn load(context: &ExecutionContext<'_>, format: &Format, address: u64, lane: usize) -> u128 {
    let place = context
        .memory
        .place(address, format.bytes, lane, Action::Read);
    let Ok(place) = place else {
        return 0;
    };
    let low = place.read(cell(format.bytes));
    let high = if format.bytes == 16 {
        place.at(8).read(Cell::Long)
    } else {
        0
    };
    u128::from(low) | u128::from(high) << 64
}

fn store(
    context: &ExecutionContext<'_>,
    format: &Format,
    address: u64,
    lane: usize,
    values: [u32; 4],
) {
    let texel = format.encode(values);
    if let Ok(place) = context
        .memory
        .place(address, format.bytes, lane, Action::Write)
    {
        place.write(cell(format.bytes), texel as u64);
        if format.bytes == 16 {
            place.at(8).write(Cell::Long, (texel >> 64) as u64);
        }
    }
}

/// Atomic operations, by the numbers of `metal_texture`. They work on the first component.
fn atomic(
    context: &ExecutionContext<'_>,
    op: &TextureOp,
    given: &Given<'_>,
    plan: &Plan,
) -> [u64; 4] {
    let Some(&(Some(address), _)) = plan.texels.first() else {
        return [0; 4];
    };
    let cell = Cell::of(op.scalar);
    let width = context.program.list(op.results).len().max(1);
    let (value, desired) = (given.bits(6), given.bits(6 + width));
    let signed = op.sign == Sign::Signed;
    let update = |kind: AtomicOp| move |old| Update(kind).apply(cell, old, value);
    let Ok(place) = context
        .memory
        .place(address, cell.bytes(), given.lane, Action::Atomic)
    else {
        return [0; 4];
    };
    let old = match given.number(1) {
        0 => place.update(cell, update(AtomicOp::Add)),
        1 => place.update(cell, update(AtomicOp::Sub)),
        2 if signed => place.update(cell, update(AtomicOp::SMin)),
        2 => place.update(cell, update(AtomicOp::UMin)),
        3 if signed => place.update(cell, update(AtomicOp::SMax)),
        3 => place.update(cell, update(AtomicOp::UMax)),
        4 => place.update(cell, update(AtomicOp::And)),
        5 => place.update(cell, update(AtomicOp::Or)),
        6 => place.update(cell, update(AtomicOp::Xor)),
        7 | 9 => place.update(cell, |_| value),
        10 => place.update(cell, |old| if old == value { desired } else { old }),
        _ => place.update(cell, |old| old),
    };
    [old.unwrap_or(0), 0, 0, 1]
}
