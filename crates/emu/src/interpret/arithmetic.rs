//! Arithmetic that is rare enough not to be in the loop.

use super::mask::holds;
use crate::host::vectorised;
use crate::op::{Dest, Extend, LANES, MatrixSource, MicroOp, Operation, Part, Row, WideSource};
use crate::ops::integer::{Product, WideRow};
use crate::ops::{compare, float, integer, lanes, packed, special};
use crate::simdgroup::{Simdgroup, fill};
use assay_agx::Scope;

vectorised! {
    /// Arithmetic that is rare enough not to be in the loop.
    pub(super) fn rare_arithmetic<>(simdgroup: &Simdgroup, op: &MicroOp) = rare_arithmetic_body;
}

#[inline(always)]
fn rare_arithmetic_body<const VECTOR: bool>(simdgroup: &Simdgroup, op: &MicroOp) {
    let get = |source| simdgroup.read(source);
    match op.operation {
        Operation::Special { to, register } => {
            let result = special::read(simdgroup, register);
            simdgroup.write(to, &result);
        }
        Operation::AddWide {
            to,
            a,
            b,
            shift,
            negate,
            clamp,
        } => {
            let (a, b) = (wide(simdgroup, a), wide(simdgroup, b));
            let (low, high) = integer::wide(Product::Term(&a), &b, shift, negate, clamp, to);
            simdgroup.write_wide(to, &low, &high);
        }
        Operation::MulAddWide {
            to,
            a,
            b,
            c,
            shift,
            negate,
            clamp,
        } => {
            let (a, b) = (wide(simdgroup, a), wide(simdgroup, b));
            let c = wide(simdgroup, c);
            let (low, high) = integer::wide(Product::Of(&a, &b), &c, shift, negate, clamp, to);
            simdgroup.write_wide(to, &low, &high);
        }
        Operation::Field {
            op,
            to,
            a,
            b,
            c,
            mask,
        } => {
            let result = integer::fields(op, &get(a), &get(b), &get(c), mask);
            simdgroup.write(to, &result);
        }
        Operation::ShiftRight { to, a, b, high } => {
            let result = integer::shift_right(&get(a), &get(b), high);
            simdgroup.write(to, &result);
        }
        Operation::Bits { op, to, a } => {
            let result = integer::bits(op, &get(a));
            simdgroup.write(to, &result);
        }
        Operation::Interleave { to, a, b } => {
            let result = integer::interleave(&get(a), &get(b));
            simdgroup.write(to, &result);
        }
        Operation::Unary {
            op,
            to,
            a,
            saturate,
        } => {
            float::unary::<VECTOR>(simdgroup, op, to, a, saturate);
        }
        Operation::ToFloat {
            to,
            a,
            bits,
            signed,
            nearest,
        } => {
            let result = float::from_int(&get(a), bits, signed, nearest, to);
            simdgroup.write(to, &result);
        }
        Operation::FromFloat {
            to,
            a,
            bits,
            signed,
            nearest,
        } => {
            let result = float::to_int(&float::single(simdgroup, a), bits, signed, nearest);
            simdgroup.write(to, &result);
        }
        Operation::Pack { to, a, b, format } => {
            let values = [a, b].map(|source| float::single(simdgroup, source));
            simdgroup.write(to, &packed::pack(format, &values));
        }
        Operation::Unpack {
            to,
            a,
            format,
            both,
        } => {
            let [first, second] = packed::unpack(format, &get(a), to.part == Part::Whole);
            simdgroup.write(to, &first);
            if both {
                simdgroup.write(to.next(), &second);
            }
        }
        Operation::Ballot {
            to,
            condition,
            compared,
            scope,
        } => {
            let holds = holds::<VECTOR>(simdgroup, condition, compared);
            let bits = compare::to_bits(&holds) & simdgroup.exec;
            let mut result = Row::splat(bits);
            if scope == Scope::Quad {
                for (lane, value) in result.0.iter_mut().enumerate() {
                    *value = bits >> (lane & !3) & 0xf;
                }
            }
            simdgroup.write(to, &result);
        }
        Operation::Reduce {
            to,
            a,
            op,
            scope,
            prefix,
        } => {
            let widths = lanes::Widths {
                half_source: a.part != Part::Whole,
                half_result: to.part != Part::Whole,
            };
            let result = lanes::reduce(&get(a), simdgroup.exec, op, scope, prefix, widths);
            simdgroup.write(to, &result);
        }
        Operation::Matrix { to, a, b, c } => matrix::<VECTOR>(simdgroup, to, a, b, c),
        _ => {}
    }
}

/// A source on 64 bits.
#[inline(always)]
fn wide(simdgroup: &Simdgroup, from: WideSource) -> WideRow {
    let low = simdgroup.read(from.source);
    match from.extend {
        Extend::Zero => low.0.map(i64::from),
        Extend::Sign => low.0.map(|word| i64::from(word as i32)),
        Extend::Pair | Extend::With(_) => {
            let high = match from.extend {
                Extend::With(row) => simdgroup.row(row),
                _ => simdgroup.row(from.source.row + 1),
            };
            let mut out = [0; LANES];
            for (lane, place) in out.iter_mut().enumerate() {
                *place = (u64::from(high.0[lane]) << 32 | u64::from(low.0[lane])) as i64;
            }
            out
        }
    }
}

#[inline(always)]
fn matrix<const VECTOR: bool>(
    simdgroup: &Simdgroup,
    to: Dest,
    a: MatrixSource,
    b: MatrixSource,
    c: MatrixSource,
) {
    let is_half = |source: MatrixSource| source.first.source.part != Part::Whole;
    let all_half = to.part != Part::Whole && is_half(a) && is_half(b) && is_half(c);
    let pair = |source: MatrixSource| {
        [source.first, source.second].map(|element| match all_half {
            true => float::half(simdgroup, element).0,
            false => float::single(simdgroup, element).0,
        })
    };
    let (a, b, c) = (pair(a), pair(b), pair(c));
    let [first, second] = match all_half {
        true => lanes::multiply_half(&a, &b, &c),
        false => lanes::multiply(&a, &b, &c),
    };
    let write = |to: Dest, value: [u32; LANES]| match all_half {
        true => simdgroup.write(to, &Row(value)),
        false => {
            fill(simdgroup.outcome(), &Row(value));
            float::finish::<VECTOR>(simdgroup, to, false);
        }
    };
    let next = to.next();
    write(to, first);
    write(next, second);
}
