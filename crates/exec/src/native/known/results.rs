//! What is known of an operation's result, from what is known of its operands.

use super::{Analysis, BITS, Known, Registers, is_reduced_here, position_of};
use crate::code::{Index, Op, Reg};
use crate::collective::{Combine, What};
use crate::native::meaning::Meaning;
use crate::native::memory::Root;
use assay_ssa::builtin::Builtin;
use assay_ssa::{BinaryOp, CastOp, Scalar};

impl Analysis<'_> {
    pub(super) fn result(
        &self,
        registers: &Registers,
        position: usize,
        op: &Op,
        reads: &[(Reg, Known)],
        threadgroup: [u32; 3],
    ) -> Known {
        let operand = |at: usize| reads.get(at).map_or(Known::NOTHING, |(_, known)| *known);
        let uniform = reads.iter().all(|(_, known)| known.is_uniform());
        let if_uniform = if uniform {
            Known::UNIFORM
        } else {
            Known::NOTHING
        };
        let number = |at: usize| reads.get(at).and_then(|(reg, _)| registers.constant(*reg));
        match *op {
            Op::Position { which, axis, .. } => position_of(threadgroup, which, axis),
            Op::Load { transfer } => {
                // Thread memory has another number for each lane at one address.
                let transfer = self.program.transfers.get(transfer as usize);
                let root = transfer.and_then(|t| self.roots.get(&t.base).copied().flatten());
                match root {
                    Some(Root::Pointer(_)) => if_uniform,
                    _ => Known::NOTHING,
                }
            }
            Op::Collective { index } => {
                let Some(collective) = self.program.collectives.get(index as usize) else {
                    return Known::NOTHING;
                };
                match collective.what {
                    What::Reduce { group: 32, .. }
                    | What::First { group: 32 }
                    | What::Ballot { group: 32 }
                    | What::All { group: 32 }
                    | What::Any { group: 32 }
                    | What::VoteAll { group: 32 }
                    | What::VoteAny { group: 32 }
                    | What::ActiveMask { group: 32 }
                    | What::IsUniform => Known {
                        raw: is_reduced_here(collective)
                            && (matches!(
                                collective.what,
                                What::Reduce {
                                    op: Combine::Sum,
                                    ..
                                }
                            ) || operand(0).raw),
                        ..Known::UNIFORM
                    },
                    What::Shuffle { group: 32, .. } => Known {
                        raw: operand(0).raw,
                        ..Known::NOTHING
                    },
                    _ => Known::NOTHING,
                }
            }
            Op::PtrAdd { kind, scale, .. } => {
                let base = operand(0);
                let index = match kind {
                    Index::None => Known::constant(0),
                    _ => operand(1),
                };
                let keeps = match kind {
                    Index::Narrow { signed: false, .. } => index.in_order,
                    Index::Narrow { .. } => false,
                    _ => true,
                };
                let scaled = index.strides.map(|stride| match stride {
                    Some(0) => Some(0),
                    stride => stride
                        .filter(|_| keeps)
                        .map(|s| s.wrapping_mul(scale.into())),
                });
                base.with(sum(base.strides, scaled, |a, b| a.wrapping_add(b)))
            }
            Op::SelectNarrow { .. } | Op::SelectWide { .. } => {
                let (cond, yes, no) = (operand(0), operand(1), operand(2));
                let whole = cond.is_uniform();
                let raw = yes.raw && no.raw;
                let strides = std::array::from_fn(|bit| {
                    let same = yes.strides[bit] == no.strides[bit];
                    let cond = cond.strides[bit] == Some(0);
                    yes.strides[bit].filter(|&s| cond && same && (s == 0 || whole))
                });
                Known {
                    raw,
                    ..yes.with(strides)
                }
            }
            Op::N1 { .. }
            | Op::N2 { .. }
            | Op::N3 { .. }
            | Op::W1 { .. }
            | Op::W2 { .. }
            | Op::Widen { .. }
            | Op::Narrowing { .. }
            | Op::Compare { .. } => {
                let meaning = self.source.meanings.get(position);
                let meaning = meaning.copied().unwrap_or(Meaning::Function);
                lane_function(
                    meaning,
                    [operand(0), operand(1)],
                    number(1),
                    number(0),
                    reads,
                )
            }
            Op::Matrix { index } => Known {
                raw: crate::native::collectives::product_here(self.program, index).is_some(),
                ..Known::NOTHING
            },
            Op::PerLane { .. } | Op::Pick { .. } | Op::Repack { .. } => if_uniform,
            _ => Known::NOTHING,
        }
    }
}

fn sum(
    a: [Option<i64>; BITS],
    b: [Option<i64>; BITS],
    f: impl Fn(i64, i64) -> i64,
) -> [Option<i64>; BITS] {
    std::array::from_fn(|bit| Some(f(a[bit]?, b[bit]?)))
}

/// A function of each lane's operands.
fn lane_function(
    meaning: Meaning,
    [a, b]: [Known; 2],
    second: Option<u64>,
    first: Option<u64>,
    reads: &[(Reg, Known)],
) -> Known {
    // Lanes that only differ in a bit in which no operand differs get the same.
    let mut strides = [Some(0); BITS];
    for (_, known) in reads {
        for (slot, stride) in strides.iter_mut().zip(known.strides) {
            *slot = slot.filter(|_| stride == Some(0));
        }
    }
    let mut result = a.with(strides);
    result.raw = match meaning {
        Meaning::Binary(op, Scalar::F32) => op.is_float() && op != BinaryOp::FRem,
        Meaning::MultiplyAdd(Scalar::F32) => true,
        Meaning::Builtin(call, Scalar::F32) => match call.builtin {
            Builtin::Fmin | Builtin::Fmax | Builtin::Fclamp | Builtin::Fabs => {
                reads.iter().all(|(_, known)| known.raw)
            }
            _ => false,
        },
        _ => false,
    };
    let full = |scalar| matches!(scalar, Scalar::I32 | Scalar::I64);
    let wrap = |scalar: Scalar, stride: i64| match scalar {
        Scalar::I64 => stride,
        _ => i64::from(stride as i32),
    };
    let each = |known: Known, f: &dyn Fn(i64) -> i64| known.strides.map(|s| s.map(f));
    match meaning {
        Meaning::Binary(op, scalar) if full(scalar) => {
            let low = match op {
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Or | BinaryOp::Xor => a.low.min(b.low),
                BinaryOp::And => a.low.max(b.low),
                BinaryOp::Mul => (a.low + b.low).min(31),
                BinaryOp::Shl => second
                    .map_or(a.low, |k| a.low + (k as u32 & (scalar.bits() - 1)))
                    .min(31),
                BinaryOp::LShr => {
                    second.map_or(0, |k| a.low.saturating_sub(k as u32 & (scalar.bits() - 1)))
                }
                _ => 0,
            };
            let bits = u64::from(scalar.bits()) - 1;
            let strides = match (op, second, first) {
                (BinaryOp::Add, ..) => {
                    sum(a.strides, b.strides, |x, y| wrap(scalar, x.wrapping_add(y)))
                }
                (BinaryOp::Sub, ..) => {
                    sum(a.strides, b.strides, |x, y| wrap(scalar, x.wrapping_sub(y)))
                }
                (BinaryOp::Mul, Some(k), _) => each(a, &|s| wrap(scalar, s.wrapping_mul(k as i64))),
                (BinaryOp::Mul, _, Some(k)) => each(b, &|s| wrap(scalar, s.wrapping_mul(k as i64))),
                (BinaryOp::Shl, Some(k), _) => {
                    each(a, &|s| wrap(scalar, s.wrapping_shl((k & bits) as u32)))
                }
                (BinaryOp::And, Some(k), _) if a.disjoint().is_some() => {
                    each(a, &|s| s & wrap(Scalar::I64, k as i64))
                }
                (BinaryOp::LShr, Some(k), _) if a.disjoint().is_some() => {
                    each(a, &|s| ((s as u64) >> (k & bits)) as i64)
                }
                (BinaryOp::Or | BinaryOp::Xor, Some(k), _)
                    if a.disjoint()
                        .is_some_and(|s| s.iter().all(|s| s & k as i64 == 0)) =>
                {
                    a.strides
                }
                _ => result.strides,
            };
            let in_order = match op {
                BinaryOp::And | BinaryOp::LShr => a.in_order,
                _ => strides == [Some(0); BITS],
            };
            Known {
                strides,
                low,
                in_order,
                ..result
            }
        }
        Meaning::Cast(CastOp::ZExt, from, Scalar::I64) if from != Scalar::I64 && a.in_order => {
            Known {
                strides: a.strides,
                low: a.low,
                in_order: true,
                raw: false,
            }
        }
        Meaning::Cast(CastOp::Trunc, Scalar::I64, Scalar::I32) => Known {
            strides: each(a, &|s| i64::from(s as i32)),
            low: a.low.min(31),
            in_order: false,
            raw: false,
        },
        _ => result,
    }
}
