//! Texture operations, of one simdgroup at a time.
//!
//! First each active lane says which texels it accesses; then observers see them, the first texel of all lanes, the second of all
//! lanes, and so on; then lanes read, weigh and write.

use super::addresses::Addresses;
use super::observer::{AccessEvent, Observer, TextureEvent};
use super::texture_plan::{Given, Plan, plan};
use super::{Batch, ExecutionContext, Trap};
use crate::atomics::Update;
use crate::code::Cell;
use crate::error::FaultKind;
use crate::lanes::lanes_of;
use crate::memory::Action;
use crate::texture::{TextureError, TextureOp, What};
use assay_num::{f16_to_f32, f32_to_f16};
use assay_ssa::builtin::Sign;
use assay_ssa::{AtomicOp, Scalar};
use assay_texture::{Border, Class, Format, Reduction, Sampler};

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
                is_told: O::OBSERVES,
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
                is_told: O::OBSERVES,
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
