//! The arithmetic that loops are made of, inlined into the interpreter's loop.

use crate::arith;
use crate::op::{Arith, BitField, Dest, FloatSource, MicroOp, Operation};
use crate::ops::float::{write_halves, write_singles};
use crate::ops::integer;
use crate::simdgroup::{Simdgroup, write_lanes};

/// Executes an operation if it is one of the common ones; says whether it was.
#[inline(always)]
pub(super) fn hot_arithmetic<const VECTOR: bool>(simdgroup: &Simdgroup, op: &MicroOp) -> bool {
    match op.operation {
        Operation::Fma {
            to,
            a,
            b,
            c,
            saturate,
            plain,
        } => {
            write_singles!(simdgroup, to, [a, b, c], (plain, saturate), |a, b, c| {
                arith::fma(a, b, c)
            });
        }
        Operation::Float {
            op,
            to,
            a,
            b,
            saturate,
            plain,
        } => match op {
            Arith::Add => {
                write_singles!(simdgroup, to, [a, b, b], (plain, saturate), |a, b, _c| {
                    arith::add(a, b)
                });
            }
            Arith::Mul => {
                write_singles!(simdgroup, to, [a, b, b], (plain, saturate), |a, b, _c| {
                    arith::mul(a, b)
                });
            }
        },
        Operation::Half {
            op,
            to,
            a,
            b,
            saturate,
        } => half::<VECTOR>(simdgroup, Some(op), to, [a, b, b], saturate),
        Operation::HalfFma {
            to,
            a,
            b,
            c,
            saturate,
        } => half::<VECTOR>(simdgroup, None, to, [a, b, c], saturate),
        Operation::Move { to, a } => {
            let a = simdgroup.operand(a, 0);
            write_lanes!(simdgroup, to, [a, a, a], |a, _b, _c| a);
        }
        Operation::Add {
            to,
            a,
            b,
            shift,
            negate,
        } => {
            let (a, b) = (simdgroup.operand(a, 0), simdgroup.operand(b, 1));
            if shift == 0 && !negate {
                write_lanes!(simdgroup, to, [a, b, b], |a, b, _c| a.wrapping_add(b));
            } else {
                write_lanes!(simdgroup, to, [a, b, b], |a, b, _c| {
                    a.wrapping_add(integer::term(b, shift, negate))
                });
            }
        }
        Operation::MulAdd {
            to,
            a,
            b,
            c,
            shift,
            negate,
        } => {
            let (a, b) = (simdgroup.operand(a, 0), simdgroup.operand(b, 1));
            let c = simdgroup.operand(c, 2);
            if shift == 0 && !negate {
                write_lanes!(simdgroup, to, [a, b, c], |a, b, c| a
                    .wrapping_mul(b)
                    .wrapping_add(c));
            } else {
                write_lanes!(simdgroup, to, [a, b, c], |a, b, c| {
                    a.wrapping_mul(b)
                        .wrapping_add(integer::term(c, shift, negate))
                });
            }
        }
        Operation::Bitwise { to, a, b, table } => {
            let (a, b) = (simdgroup.operand(a, 0), simdgroup.operand(b, 1));
            match table {
                integer::AND => write_lanes!(simdgroup, to, [a, b, b], |a, b, _c| a & b),
                integer::OR => write_lanes!(simdgroup, to, [a, b, b], |a, b, _c| a | b),
                integer::XOR => write_lanes!(simdgroup, to, [a, b, b], |a, b, _c| a ^ b),
                table => {
                    let masks = integer::truth_masks(table);
                    write_lanes!(simdgroup, to, [a, b, b], |a, b, _c| {
                        integer::bitwise(masks, a, b)
                    });
                }
            }
        }
        Operation::Field {
            op: BitField::Insert,
            to,
            a,
            b,
            c,
            mask,
        } => {
            let (a, b) = (simdgroup.operand(a, 0), simdgroup.operand(b, 1));
            let c = simdgroup.operand(c, 2);
            write_lanes!(simdgroup, to, [a, b, c], |a, b, c| {
                integer::field(BitField::Insert, a, b, c & 0x7f, mask)
            });
        }
        Operation::Field {
            op: BitField::Extract,
            to,
            a,
            b,
            c,
            mask,
        } => {
            let (a, b) = (simdgroup.operand(a, 0), simdgroup.operand(b, 1));
            let c = simdgroup.operand(c, 2);
            write_lanes!(simdgroup, to, [a, b, c], |a, b, c| {
                integer::field(BitField::Extract, a, b, c & 0x7f, mask)
            });
        }
        _ => return false,
    }
    true
}

/// Half-precision arithmetic; without an operation of two sources, multiply and add.
#[inline(always)]
fn half<const VECTOR: bool>(
    simdgroup: &Simdgroup,
    op: Option<Arith>,
    to: Dest,
    [a, b, c]: [FloatSource; 3],
    saturate: bool,
) {
    #[cfg(target_arch = "x86_64")]
    if VECTOR {
        use crate::ops::half::{HalfOp, arithmetic};
        let op = op.map_or(HalfOp::Fma, HalfOp::Two);
        // SAFETY: `VECTOR` is true only where `has_vectors` was.
        unsafe { arithmetic(simdgroup, op, to, [a, b, c], saturate) };
        return;
    }
    match op {
        Some(Arith::Add) => write_halves!(simdgroup, to, [a, b, b], saturate, |a, b, _c| {
            arith::half_add(a, b)
        }),
        Some(Arith::Mul) => write_halves!(simdgroup, to, [a, b, b], saturate, |a, b, _c| {
            arith::half_mul(a, b)
        }),
        None => write_halves!(simdgroup, to, [a, b, c], saturate, |a, b, c| {
            arith::half_fma(a, b, c)
        }),
    }
}
