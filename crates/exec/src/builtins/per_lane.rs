//! Builtins computed lane by lane: their elements mix, or they are too rare for vectors.

use assay_num::{self as num, int, single};
use assay_ssa::Scalar;
use assay_ssa::builtin::{Builtin, BuiltinCall, Sign};

/// A function of a lane's numbers all together, on bit patterns.
pub(crate) type LaneKernel = fn(&LaneCall, &[u64], &mut [u64]);

/// What such a function needs to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneCall {
    pub(crate) call: BuiltinCall,
    /// Type of the elements.
    pub(crate) scalar: Scalar,
    /// Elements of the first argument.
    pub(crate) width: usize,
}

/// The function of a builtin that is not worth vector code: geometry, three-operand integers, packing, folds of vectors.
pub(crate) fn per_lane(builtin: Builtin) -> Option<LaneKernel> {
    use Builtin as B;
    Some(match builtin {
        B::Dot
        | B::Length
        | B::LengthSquared
        | B::Distance
        | B::DistanceSquared
        | B::Normalize
        | B::Cross => geometry,
        B::Min3
        | B::Max3
        | B::Median3
        | B::Clamp
        | B::MadHi
        | B::MadSat
        | B::Mad24
        | B::FunnelLeft
        | B::FunnelRight
        | B::ExtractBits
        | B::InsertBits => integer3,
        B::ReduceAdd
        | B::ReduceMul
        | B::ReduceAnd
        | B::ReduceOr
        | B::ReduceXor
        | B::ReduceMin
        | B::ReduceMax
        | B::All
        | B::Any => fold,
        B::ReduceFadd | B::ReduceFmul | B::ReduceFmin | B::ReduceFmax => float_fold,
        B::Ldexp => ldexp,
        B::Ilogb => ilogb,
        B::PackUnorm4x8
        | B::PackSnorm4x8
        | B::PackUnorm2x16
        | B::PackSnorm2x16
        | B::UnpackUnorm4x8
        | B::UnpackSnorm4x8
        | B::UnpackUnorm2x16
        | B::UnpackSnorm2x16 => packing,
        _ => return super::uncommon::per_lane(builtin),
    })
}

pub(crate) fn widened(scalar: Scalar, bits: u64) -> f32 {
    match scalar {
        Scalar::F16 => num::f16_to_f32(bits as u16),
        Scalar::BF16 => num::bf16_to_f32(bits as u16),
        _ => f32::from_bits(bits as u32),
    }
}

pub(crate) fn narrowed(scalar: Scalar, value: f32) -> u64 {
    match scalar {
        Scalar::F16 => u64::from(num::f32_to_f16(value)),
        Scalar::BF16 => u64::from(num::f32_to_bf16(value)),
        _ => u64::from(value.to_bits()),
    }
}

fn geometry(what: &LaneCall, args: &[u64], result: &mut [u64]) {
    use num::math::expand;
    let host = &num::machine::Host;
    let mut numbers = [0.0f32; 8];
    for (number, &bits) in numbers.iter_mut().zip(args) {
        *number = widened(what.scalar, bits);
    }
    let width = what.width.min(4);
    let (a, rest) = numbers.split_at(width);
    let b = &rest[..width];
    let mut difference = [0.0; 4];
    for (slot, (&x, &y)) in difference.iter_mut().zip(a.iter().zip(b)) {
        *slot = single::sub(x, y);
    }
    let difference = &difference[..width];
    let mut values = [0.0f32; 4];
    match what.call.builtin {
        Builtin::Dot => values[0] = expand::dot(host, a, b),
        Builtin::Length => values[0] = expand::length(host, a, what.call.fast),
        Builtin::LengthSquared => values[0] = expand::dot(host, a, a),
        Builtin::Distance => values[0] = expand::length(host, difference, what.call.fast),
        Builtin::DistanceSquared => values[0] = expand::dot(host, difference, difference),
        Builtin::Cross => {
            let cross = expand::cross(host, [a[0], a[1], a[2]], [b[0], b[1], b[2]]);
            values[..3].copy_from_slice(&cross);
        }
        _ => {
            let factor = expand::normalizing_factor(host, a);
            for (value, &x) in values.iter_mut().zip(a) {
                *value = single::mul(x, factor);
            }
        }
    }
    for (slot, value) in result.iter_mut().zip(values) {
        *slot = narrowed(what.scalar, value);
    }
}

fn integer3(what: &LaneCall, args: &[u64], result: &mut [u64]) {
    let (bits, signed) = (what.scalar.bits(), what.call.sign == Sign::Signed);
    let (width, each) = (what.width, |index: usize| {
        args.get(index).copied().unwrap_or(0)
    });
    let less = |a, b| int::compare(a, b, bits, signed) < 0;
    let min = |a, b| if less(a, b) { a } else { b };
    let max = |a, b| if less(a, b) { b } else { a };
    for (lane, slot) in result.iter_mut().enumerate() {
        let (a, b, c) = (each(lane), each(width + lane), each(2 * width + lane));
        *slot = int::mask(bits)
            & match what.call.builtin {
                Builtin::Min3 => min(min(a, b), c),
                Builtin::Max3 => max(max(a, b), c),
                Builtin::Median3 => max(min(a, b), min(max(a, b), c)),
                Builtin::Clamp => min(max(a, b), c),
                Builtin::MadHi => int::mul_hi(a, b, bits, signed).wrapping_add(c),
                Builtin::MadSat => int::mad_sat(a, b, c, bits, signed),
                Builtin::Mad24 => u64::from(int::mul24(a as u32, b as u32, signed)).wrapping_add(c),
                Builtin::FunnelLeft => int::funnel_left(a, b, c, bits),
                Builtin::FunnelRight => int::funnel_right(a, b, c, bits),
                // The offset and the count are one number for all elements.
                Builtin::ExtractBits => {
                    int::extract_bits(a, each(width), each(width + 1), bits, signed)
                }
                _ => int::insert_bits(a, b, each(2 * width), each(2 * width + 1), bits),
            };
    }
}

fn fold(what: &LaneCall, args: &[u64], result: &mut [u64]) {
    let (bits, signed) = (what.scalar.bits(), what.call.sign == Sign::Signed);
    let less = |a, b| int::compare(a, b, bits, signed) < 0;
    let combine = |a: u64, b: u64| match what.call.builtin {
        Builtin::ReduceAdd => a.wrapping_add(b),
        Builtin::ReduceMul => a.wrapping_mul(b),
        Builtin::ReduceAnd | Builtin::All => a & b,
        Builtin::ReduceOr | Builtin::Any => a | b,
        Builtin::ReduceXor => a ^ b,
        Builtin::ReduceMin => {
            if less(a, b) {
                a
            } else {
                b
            }
        }
        _ => {
            if less(a, b) {
                b
            } else {
                a
            }
        }
    };
    if let (Some(slot), Some(value)) = (result.first_mut(), args.iter().copied().reduce(combine)) {
        *slot = value & int::mask(bits);
    }
}

fn float_fold(what: &LaneCall, args: &[u64], result: &mut [u64]) {
    let numbers = args.iter().map(|&bits| widened(what.scalar, bits));
    let step = |a: f32, b: f32| {
        let value = match what.call.builtin {
            Builtin::ReduceFadd => single::add(a, b),
            Builtin::ReduceFmul => single::mul(a, b),
            Builtin::ReduceFmin => single::min(a, b),
            _ => single::max(a, b),
        };
        widened(what.scalar, narrowed(what.scalar, value))
    };
    if let (Some(slot), Some(value)) = (result.first_mut(), numbers.reduce(step)) {
        *slot = narrowed(what.scalar, value);
    }
}

fn ldexp(what: &LaneCall, args: &[u64], result: &mut [u64]) {
    let (values, exponents) = args.split_at(what.width.min(args.len()));
    for (slot, (&value, &exponent)) in result.iter_mut().zip(values.iter().zip(exponents)) {
        let scaled = single::ldexp(widened(what.scalar, value), exponent as u32 as i32);
        *slot = narrowed(what.scalar, scaled);
    }
}

fn ilogb(what: &LaneCall, args: &[u64], result: &mut [u64]) {
    for (slot, &value) in result.iter_mut().zip(args) {
        *slot = u64::from(single::ilogb(widened(what.scalar, value)) as u32);
    }
}

fn packing(what: &LaneCall, args: &[u64], result: &mut [u64]) {
    use num::pack;
    let number = |index: usize| {
        args.get(index)
            .map_or(0.0, |&bits| widened(what.scalar, bits))
    };
    let word = args.first().copied().unwrap_or(0) as u32;
    let (four, two) = (
        [number(0), number(1), number(2), number(3)],
        [number(0), number(1)],
    );
    let packed = match what.call.builtin {
        Builtin::PackUnorm4x8 => Some(pack::pack_unorm4x8(four)),
        Builtin::PackSnorm4x8 => Some(pack::pack_snorm4x8(four)),
        Builtin::PackUnorm2x16 => Some(pack::pack_unorm2x16(two)),
        Builtin::PackSnorm2x16 => Some(pack::pack_snorm2x16(two)),
        _ => None,
    };
    if let (Some(packed), Some(slot)) = (packed, result.first_mut()) {
        *slot = u64::from(packed);
        return;
    }
    let mut unpacked = [0.0; 4];
    match what.call.builtin {
        Builtin::UnpackUnorm4x8 => unpacked = pack::unpack_unorm4x8(word),
        Builtin::UnpackSnorm4x8 => unpacked = pack::unpack_snorm4x8(word),
        Builtin::UnpackUnorm2x16 => unpacked[..2].copy_from_slice(&pack::unpack_unorm2x16(word)),
        _ => unpacked[..2].copy_from_slice(&pack::unpack_snorm2x16(word)),
    }
    for (slot, value) in result.iter_mut().zip(unpacked) {
        *slot = narrowed(what.scalar, value);
    }
}
