//! Builtins that few kernels use: parts of numbers, three-way comparisons, overflow, geometry of rays, packed colours.

use super::{LaneCall, LaneKernel, narrowed, widened};
use assay_num::math::{expand, fast, fast_half, precise};
use assay_num::{brain, half, int, machine::Host, pack, parts, single};
use assay_ssa::Scalar;
use assay_ssa::builtin::{Builtin, Sign};

/// The function of such a builtin.
pub(crate) fn per_lane(builtin: Builtin) -> Option<LaneKernel> {
    use Builtin as B;
    Some(match builtin {
        B::Powi => powi,
        B::IsNormal | B::IsClass => class,
        B::Compare3 => compare,
        B::AddOverflow | B::SubOverflow | B::MulOverflow => overflow,
        B::FaceForward | B::Reflect | B::Refract => rays,
        B::PackUnorm4x8Srgb | B::PackUnorm10A2 | B::PackUnorm565 => packed,
        B::UnpackUnorm4x8Srgb | B::UnpackUnorm10A2 | B::UnpackUnorm565 => unpacked,
        _ => return None,
    })
}

/// The function of a builtin that gives one value back and writes another through a pointer: values, then what is
/// written. Its arguments are without the pointer.
pub(crate) fn two_results(builtin: Builtin) -> Option<LaneKernel> {
    Some(match builtin {
        Builtin::Sincos => sincos,
        Builtin::Frexp => frexp,
        Builtin::Modf => modf,
        _ => return None,
    })
}

/// Applies a function that gives two numbers to each element.
fn halves(what: &LaneCall, args: &[u64], result: &mut [u64], function: impl Fn(f32) -> (u64, u64)) {
    let (values, written) = result.split_at_mut(what.width.min(result.len()));
    for ((value, second), &bits) in values.iter_mut().zip(written).zip(args) {
        (*value, *second) = function(widened(what.scalar, bits));
    }
}

fn sincos(what: &LaneCall, args: &[u64], result: &mut [u64]) {
    halves(what, args, result, |x| {
        let (sine, cosine) = if what.call.fast && what.scalar == Scalar::F32 {
            (fast::sin(x), fast::cos(x))
        } else if what.call.fast {
            (fast_half::sin(x), fast_half::cos(x))
        } else {
            (precise::sin(x), precise::cos(x))
        };
        (narrowed(what.scalar, sine), narrowed(what.scalar, cosine))
    });
}

fn frexp(what: &LaneCall, args: &[u64], result: &mut [u64]) {
    halves(what, args, result, |x| {
        let (fraction, exponent) = single::frexp(x);
        (narrowed(what.scalar, fraction), u64::from(exponent as u32))
    });
}

fn modf(what: &LaneCall, args: &[u64], result: &mut [u64]) {
    halves(what, args, result, |x| {
        let (fraction, whole) = parts::modf(x);
        (
            narrowed(what.scalar, fraction),
            narrowed(what.scalar, whole),
        )
    });
}

fn powi(what: &LaneCall, args: &[u64], result: &mut [u64]) {
    let exponent = args.get(what.width).copied().unwrap_or(0) as u32 as i32;
    for (slot, &bits) in result.iter_mut().zip(args) {
        let power = parts::powi(widened(what.scalar, bits), exponent);
        *slot = narrowed(what.scalar, power);
    }
}

/// Normal numbers, as a mask of `llvm.is.fpclass`.
const NORMAL: u32 = 0x108;

fn class(what: &LaneCall, args: &[u64], result: &mut [u64]) {
    let mask = match what.call.builtin {
        Builtin::IsNormal => NORMAL,
        _ => args.get(what.width).copied().unwrap_or(0) as u32,
    };
    for (slot, &bits) in result.iter_mut().zip(args) {
        let class = match what.scalar {
            Scalar::F16 => half::class(bits as u16),
            Scalar::BF16 => brain::class(bits as u16),
            _ => single::class(f32::from_bits(bits as u32)),
        };
        *slot = u64::from(class & mask != 0);
    }
}

fn compare(what: &LaneCall, args: &[u64], result: &mut [u64]) {
    let (bits, signed) = (what.scalar.bits(), what.call.sign == Sign::Signed);
    let (left, right) = args.split_at(what.width.min(args.len()));
    for (slot, (&a, &b)) in result.iter_mut().zip(left.iter().zip(right)) {
        *slot = int::compare(a, b, bits, signed) as u64;
    }
}

/// The wrapped result, and whether it had to be wrapped.
fn overflow(what: &LaneCall, args: &[u64], result: &mut [u64]) {
    let (bits, signed) = (what.scalar.bits(), what.call.sign == Sign::Signed);
    let exact = |bits_of: u64| -> i128 {
        let raw = bits_of & int::mask(bits);
        match signed {
            true => i128::from(((raw << (64 - bits)) as i64) >> (64 - bits)),
            false => i128::from(raw),
        }
    };
    let (left, right) = args.split_at(what.width.min(args.len()));
    let (values, flags) = result.split_at_mut(what.width.min(result.len()));
    for ((slot, flag), (&a, &b)) in values.iter_mut().zip(flags).zip(left.iter().zip(right)) {
        let (a, b) = (exact(a), exact(b));
        // Products of two 64-bit numbers fit 128 bits, signed; unsigned ones that do not have overflown.
        let whole = match what.call.builtin {
            Builtin::AddOverflow => Some(a + b),
            Builtin::SubOverflow => Some(a - b),
            _ => a.checked_mul(b),
        };
        *slot = match whole {
            Some(whole) => whole as u64 & int::mask(bits),
            None => (a as u64).wrapping_mul(b as u64) & int::mask(bits),
        };
        *flag = u64::from(whole != Some(exact(*slot)));
    }
}

fn rays(what: &LaneCall, args: &[u64], result: &mut [u64]) {
    // Components beyond the width are zero and change no dot product.
    let vector = |number: usize| -> [f32; 4] {
        let start = number * what.width;
        std::array::from_fn(|axis| match args.get(start + axis) {
            Some(&bits) if axis < what.width => widened(what.scalar, bits),
            _ => 0.0,
        })
    };
    let turned = match what.call.builtin {
        Builtin::FaceForward => expand::face_forward(&Host, vector(0), vector(1), vector(2)),
        Builtin::Reflect => expand::reflect(&Host, vector(0), vector(1)),
        _ => {
            let eta = args.get(2 * what.width).copied().unwrap_or(0);
            expand::refract(&Host, vector(0), vector(1), widened(what.scalar, eta))
        }
    };
    for (slot, value) in result.iter_mut().zip(turned) {
        *slot = narrowed(what.scalar, value);
    }
}

fn packed(what: &LaneCall, args: &[u64], result: &mut [u64]) {
    let number = |index: usize| {
        let bits = args.get(index).copied().unwrap_or(0);
        widened(what.scalar, bits)
    };
    let [x, y, z, w] = [number(0), number(1), number(2), number(3)];
    if let Some(slot) = result.first_mut() {
        *slot = match what.call.builtin {
            Builtin::PackUnorm4x8Srgb => u64::from(pack::pack_unorm4x8_srgb([x, y, z, w])),
            Builtin::PackUnorm10A2 => u64::from(pack::pack_unorm10a2([x, y, z, w])),
            _ => u64::from(pack::pack_unorm565([x, y, z])),
        };
    }
}

fn unpacked(what: &LaneCall, args: &[u64], result: &mut [u64]) {
    let word = args.first().copied().unwrap_or(0);
    let mut values = [0.0; 4];
    match what.call.builtin {
        Builtin::UnpackUnorm4x8Srgb => values = pack::unpack_unorm4x8_srgb(word as u32),
        Builtin::UnpackUnorm10A2 => values = pack::unpack_unorm10a2(word as u32),
        _ => values[..3].copy_from_slice(&pack::unpack_unorm565(word as u16)),
    }
    for (slot, value) in result.iter_mut().zip(values) {
        *slot = narrowed(what.scalar, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_ssa::builtin::BuiltinCall;

    fn ask(call: BuiltinCall, scalar: Scalar, args: &[u64], results: usize) -> Vec<u64> {
        let what = LaneCall {
            call,
            scalar,
            width: 1,
        };
        let kernel = per_lane(call.builtin).or_else(|| two_results(call.builtin));
        let mut result = vec![0; results];
        kernel.expect("one of these")(&what, args, &mut result);
        result
    }

    fn float(value: f32) -> u64 {
        u64::from(value.to_bits())
    }

    #[test]
    fn two_results_are_given() {
        let one = |builtin: Builtin, x: f32| ask(builtin.call(), Scalar::F32, &[float(x)], 2);
        assert_eq!(one(Builtin::Sincos, 0.0), [float(0.0), float(1.0)]);
        assert_eq!(one(Builtin::Frexp, -12.0), [float(-0.75), 4]);
        assert_eq!(
            one(Builtin::Frexp, 0.375),
            [float(0.75), u64::from(-1i32 as u32)]
        );
        assert_eq!(one(Builtin::Modf, -2.75), [float(-0.75), float(-2.0)]);
        // In half precision: 2.75 as 0x4180.
        assert_eq!(
            ask(Builtin::Modf.call(), Scalar::F16, &[0x4180], 2),
            [0x3a00, 0x4000]
        );
    }

    #[test]
    fn overflow_is_told_for_both_signs_and_all_widths() {
        let check = |call: BuiltinCall, scalar: Scalar, a: u64, b: u64| {
            let answer = ask(call, scalar, &[a, b], 2);
            (answer[0], answer[1] == 1)
        };
        let (add, mul) = (Builtin::AddOverflow, Builtin::MulOverflow);
        assert_eq!(check(add.signed(), Scalar::I8, 0x7f, 1), (0x80, true));
        assert_eq!(check(add.unsigned(), Scalar::I8, 0x7f, 1), (0x80, false));
        assert_eq!(
            check(Builtin::SubOverflow.unsigned(), Scalar::I32, 0, 1),
            (0xffff_ffff, true)
        );
        assert_eq!(
            check(Builtin::SubOverflow.signed(), Scalar::I32, 0, 1),
            (0xffff_ffff, false)
        );
        let all = u64::MAX;
        assert_eq!(check(mul.unsigned(), Scalar::I64, all, all), (1, true));
        assert_eq!(check(mul.signed(), Scalar::I64, all, all), (1, false));
        assert_eq!(
            check(mul.signed(), Scalar::I64, 1 << 63, all),
            (1 << 63, true)
        );
    }

    #[test]
    fn classes_comparisons_and_powers() {
        let normal = |scalar, bits| ask(Builtin::IsNormal.call(), scalar, &[bits], 1)[0];
        assert_eq!(
            (normal(Scalar::F16, 0x0400), normal(Scalar::F16, 0x0001)),
            (1, 0)
        );
        assert_eq!(
            (normal(Scalar::BF16, 0x0080), normal(Scalar::BF16, 0x0001)),
            (1, 0)
        );
        let nan = ask(
            Builtin::IsClass.call(),
            Scalar::F32,
            &[float(f32::NAN), 3],
            1,
        );
        assert_eq!(nan, [1]);
        let three = |call, a, b| ask(call, Scalar::I16, &[a, b], 1)[0] as i64;
        assert_eq!(three(Builtin::Compare3.signed(), 0xffff, 1), -1);
        assert_eq!(three(Builtin::Compare3.unsigned(), 0xffff, 1), 1);
        let power = ask(Builtin::Powi.call(), Scalar::F32, &[float(1.5), 3], 1);
        assert_eq!(power, [float(3.375)]);
    }

    #[test]
    fn colours_survive_packing() {
        let white = [0x3c00u16, 0x3c00, 0x3c00, 0x3c00].map(u64::from);
        for (there, back, scalar) in [
            (Builtin::PackUnorm565, Builtin::UnpackUnorm565, 3),
            (Builtin::PackUnorm10A2, Builtin::UnpackUnorm10A2, 4),
            (Builtin::PackUnorm4x8Srgb, Builtin::UnpackUnorm4x8Srgb, 4),
        ] {
            let word = ask(there.call(), Scalar::F16, &white[..scalar], 1);
            assert_eq!(
                ask(back.call(), Scalar::F16, &word, scalar),
                white[..scalar]
            );
        }
    }
}
