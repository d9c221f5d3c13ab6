//! Arithmetic, bit fields, selects and cross-lane instructions.

use super::operand::{Lowered, Operands, Problem, dest, matrix};
use crate::op::{
    Arith, BitField, BitUnary, Clamp, Compared, Dest, FloatSource, FloatUnary, Operation, Part,
};
use assay_agx::{
    Compare, Condition, ConvertMode, Field, Instruction, Op, Operand, Scope, SpecialRegister, Width,
};

/// The micro-operation of an arithmetic instruction; `None` for other classes.
pub(super) fn lower(insn: &Instruction, operands: &mut Operands<'_>) -> Lowered<Option<Operation>> {
    let a = insn.get(Field::A);
    let b = insn.get(Field::B);
    let c = insn.get(Field::C);
    let to = || dest(insn.get(Field::Dest));
    let saturate = insn.saturate();
    Ok(Some(match insn.op() {
        Op::MovImm => Operation::Move {
            to: to()?,
            a: operands.int(insn.get(Field::Imm), false)?,
        },
        Op::GetSr => Operation::Special {
            to: to()?,
            register: special(insn)?,
        },
        Op::Iadd | Op::Isub => add(insn, operands)?,
        Op::Imadd | Op::Imsub => multiply_add(insn, operands)?,
        Op::Bfi => field(BitField::Insert, insn, operands)?,
        Op::Bfeil => field(BitField::Extract, insn, operands)?,
        Op::Extr => field(BitField::Funnel, insn, operands)?,
        Op::Shlhi => field(BitField::LeftHigh, insn, operands)?,
        Op::Shrhi => field(BitField::RightHigh, insn, operands)?,
        Op::Asr | Op::Asrh => Operation::ShiftRight {
            to: to()?,
            a: operands.int(a, true)?,
            b: operands.int(b, false)?,
            high: insn.op() == Op::Asrh,
        },
        Op::Bitop => bitwise(insn, operands)?,
        Op::Bitrev => bits(BitUnary::Reverse, insn, operands)?,
        Op::Popcount => bits(BitUnary::Count, insn, operands)?,
        Op::Ffs => bits(BitUnary::FindHighest, insn, operands)?,
        Op::Intl => Operation::Interleave {
            to: to()?,
            a: operands.int(a, false)?,
            b: operands.int(b, false)?,
        },
        Op::Fmadd32 => {
            let (to, a, b) = (to()?, operands.float(a)?, operands.float(b)?);
            let c = operands.float(c)?;
            let plain = is_plain(to, &[a, b, c], saturate);
            Operation::Fma {
                to,
                a,
                b,
                c,
                saturate,
                plain,
            }
        }
        Op::Fadd32 | Op::Fmul32 => {
            let (to, a, b) = (to()?, operands.float(a)?, operands.float(b)?);
            let plain = is_plain(to, &[a, b], saturate);
            Operation::Float {
                op: sum_or_product(insn.op()),
                to,
                a,
                b,
                saturate,
                plain,
            }
        }
        Op::Fmadd16 => Operation::HalfFma {
            to: half_dest(to()?)?,
            a: operands.half(a)?,
            b: operands.half(b)?,
            c: operands.half(c)?,
            saturate,
        },
        Op::Fadd16 | Op::Fmul16 => Operation::Half {
            op: sum_or_product(insn.op()),
            to: half_dest(to()?)?,
            a: operands.half(a)?,
            b: operands.half(b)?,
            saturate,
        },
        Op::Convert => convert(insn, operands)?,
        Op::Icmpsel | Op::Fcmpsel => Operation::Select {
            to: to()?,
            condition: condition(insn)?,
            compared: compared(insn, operands)?,
            x: operands.int(insn.get(Field::X), false)?,
            y: operands.int(insn.get(Field::Y), false)?,
        },
        Op::IcmpBallot | Op::FcmpBallot | Op::IcmpQuadBallot | Op::FcmpQuadBallot => {
            Operation::Ballot {
                to: to()?,
                condition: condition(insn)?,
                compared: compared(insn, operands)?,
                scope: match insn.op() {
                    Op::IcmpBallot | Op::FcmpBallot => Scope::Simd,
                    _ => Scope::Quad,
                },
            }
        }
        Op::Shuffle => Operation::Shuffle {
            to: to()?,
            a: operands.int(narrow(a)?, false)?,
            b: operands.int(narrow(b)?, false)?,
            shuffle: insn
                .shuffle()
                .filter(|shuffle| shuffle.scope.is_some())
                .ok_or(Problem::Unsupported(
                    "this kind of shuffle is not understood",
                ))?,
        },
        Op::Reduce => {
            let reduction = insn.reduction().ok_or(Problem::Unsupported(
                "this kind of reduction is not understood",
            ))?;
            Operation::Reduce {
                to: to()?,
                a: operands.int(narrow(a)?, false)?,
                op: reduction.op,
                scope: reduction.scope,
                prefix: reduction.prefix,
            }
        }
        Op::SimdMatrixFmadd32 | Op::SimdMatrixFmadd16 => Operation::Matrix {
            to: to()?,
            a: matrix(a)?,
            b: matrix(b)?,
            c: matrix(c)?,
        },
        op => match unary(op) {
            Some(op) => Operation::Unary {
                op,
                to: to()?,
                a: operands.float(a)?,
                saturate,
            },
            None => return Ok(None),
        },
    }))
}

pub(super) fn unary(op: Op) -> Option<FloatUnary> {
    Some(match op {
        Op::Floor => FloatUnary::Floor,
        Op::Ceil => FloatUnary::Ceil,
        Op::Trunc => FloatUnary::Trunc,
        Op::Rint => FloatUnary::Rint,
        Op::Rcp => FloatUnary::Rcp,
        Op::Rsqrt => FloatUnary::Rsqrt,
        Op::RsqrtSpecial => FloatUnary::RsqrtSpecial,
        Op::SinPt1 => FloatUnary::SinPt1,
        Op::SinPt2 => FloatUnary::SinPt2,
        Op::Log2 => FloatUnary::Log2,
        Op::Exp2 => FloatUnary::Exp2,
        _ => return None,
    })
}

pub(super) fn sum_or_product(op: Op) -> Arith {
    match op {
        Op::Fadd32 | Op::Fadd16 => Arith::Add,
        _ => Arith::Mul,
    }
}

/// Whether sources have no modifiers and the result goes to a whole register as it is.
pub(super) fn is_plain(to: Dest, sources: &[FloatSource], saturate: bool) -> bool {
    let modified = sources.iter().any(|source| source.abs || source.neg);
    to.part == Part::Whole && !saturate && !modified
}

pub(super) fn half_dest(to: Dest) -> Lowered<Dest> {
    match to.part {
        Part::Whole => Err(Problem::Unsupported(
            "a half-precision operation with a 32-bit destination is not understood",
        )),
        _ => Ok(to),
    }
}

pub(super) fn narrow(operand: Option<Operand>) -> Lowered<Option<Operand>> {
    match operand {
        Some(Operand::Reg(reg)) if reg.width == Width::W64 => Err(Problem::Unsupported(
            "64-bit shuffles and reductions are not understood",
        )),
        operand => Ok(operand),
    }
}

/// The special registers the emulator can answer.
fn special(insn: &Instruction) -> Lowered<u8> {
    match insn.get(Field::SpecialRegister) {
        Some(Operand::Special(SpecialRegister {
            number: number @ (0..=2 | 4..=6 | 8..=10 | 48..=53 | 56..=59 | 63 | 80..=82),
            ..
        })) => Ok(number),
        _ => Err(Problem::Unsupported(
            "what this special register holds in a compute kernel is not known",
        )),
    }
}

pub(super) fn add(insn: &Instruction, operands: &mut Operands<'_>) -> Lowered<Operation> {
    let (a, b) = (insn.get(Field::A), insn.get(Field::B));
    let to = dest(insn.get(Field::Dest))?;
    let shift = insn.get_int(Field::Shift).unwrap_or(0) as u8;
    let negate = insn.op() == Op::Isub;
    let saturate = insn.saturate() && shift == 0 && !to.pair && !is_wide(a) && !is_wide(b);
    if saturate || to.pair {
        let signed = is_signed(a) || is_signed(b);
        return Ok(Operation::AddWide {
            to,
            a: operands.wide(a)?,
            b: operands.wide(b)?,
            shift,
            negate,
            clamp: clamp(saturate, signed),
        });
    }
    // The low 32 bits of a sum need only the low 32 bits of its terms.
    Ok(Operation::Add {
        to,
        a: operands.wide(a)?.source,
        b: operands.wide(b)?.source,
        shift,
        negate,
    })
}

pub(super) fn multiply_add(insn: &Instruction, operands: &mut Operands<'_>) -> Lowered<Operation> {
    let (a, b, c) = (insn.get(Field::A), insn.get(Field::B), insn.get(Field::C));
    let to = dest(insn.get(Field::Dest))?;
    let shift = insn.get_int(Field::Shift).unwrap_or(0) as u8;
    let negate = insn.op() == Op::Imsub;
    let saturate = insn.saturate() && shift == 0 && !to.pair && !is_wide(c);
    if saturate || to.pair {
        let signed = is_signed(a) || is_signed(b) || is_signed(c);
        return Ok(Operation::MulAddWide {
            to,
            a: operands.wide(a)?,
            b: operands.wide(b)?,
            c: operands.wide(c)?,
            shift,
            negate,
            clamp: clamp(saturate, signed),
        });
    }
    Ok(Operation::MulAdd {
        to,
        a: operands.wide(a)?.source,
        b: operands.wide(b)?.source,
        c: operands.wide(c)?.source,
        shift,
        negate,
    })
}

fn is_wide(operand: Option<Operand>) -> bool {
    matches!(operand, Some(Operand::Reg(reg)) if reg.width == Width::W64)
}

fn is_signed(operand: Option<Operand>) -> bool {
    match operand {
        Some(Operand::Reg(reg)) => reg.mods.sx,
        Some(Operand::Uniform(uniform)) => uniform.mods.sx,
        _ => false,
    }
}

fn clamp(saturate: bool, signed: bool) -> Clamp {
    match (saturate, signed) {
        (false, _) => Clamp::None,
        (true, true) => Clamp::Signed,
        (true, false) => Clamp::Unsigned,
    }
}

pub(super) fn field(
    op: BitField,
    insn: &Instruction,
    operands: &mut Operands<'_>,
) -> Lowered<Operation> {
    Ok(Operation::Field {
        op,
        to: dest(insn.get(Field::Dest))?,
        a: operands.int(insn.get(Field::A), false)?,
        b: operands.int(insn.get(Field::B), false)?,
        c: operands.int(insn.get(Field::C), false)?,
        mask: insn.bit_mask().unwrap_or(u32::MAX),
    })
}

pub(super) fn bits(
    op: BitUnary,
    insn: &Instruction,
    operands: &mut Operands<'_>,
) -> Lowered<Operation> {
    Ok(Operation::Bits {
        op,
        to: dest(insn.get(Field::Dest))?,
        a: operands.int(insn.get(Field::A), false)?,
    })
}

/// Copies are their own operation: they are the commonest of all.
fn bitwise(insn: &Instruction, operands: &mut Operands<'_>) -> Lowered<Operation> {
    const FIRST: u8 = 0b1010;
    // Functions of the second source alone are not what the table says: a test on
    // hardware found the first source unchanged; Mesa's names agree for one of the two.
    const FIRST_TOO: u8 = 0b0011;
    const DISPUTED: u8 = 0b1100;
    let to = dest(insn.get(Field::Dest))?;
    let a = operands.int(insn.get(Field::A), false)?;
    let b = operands.int(insn.get(Field::B), false)?;
    match insn.truth_table() {
        Some(FIRST | FIRST_TOO) => Ok(Operation::Move { to, a }),
        Some(DISPUTED) => Err(Problem::Unsupported(
            "what this truth table does is disputed (the first source, or its complement)",
        )),
        Some(table) => Ok(Operation::Bitwise { to, a, b, table }),
        None => Err(Problem::Unsupported("it has no truth table")),
    }
}

fn convert(insn: &Instruction, operands: &mut Operands<'_>) -> Lowered<Operation> {
    let to = dest(insn.get(Field::Dest))?;
    let a = insn.get(Field::A);
    let nearest = insn.rounds_to_nearest().ok_or(Problem::Unsupported(
        "the rounding mode of this conversion is not understood",
    ))?;
    match insn.convert_mode() {
        Some(ConvertMode::ToFloat { bits, signed }) => Ok(Operation::ToFloat {
            to,
            a: operands.int(a, false)?,
            bits,
            signed,
            nearest,
        }),
        Some(ConvertMode::FromFloat { bits, signed }) => Ok(Operation::FromFloat {
            to,
            a: operands.float(a)?,
            bits,
            signed,
            nearest,
        }),
        _ => Err(Problem::Unsupported("this conversion is not understood")),
    }
}

/// The comparison of a select, ballot or mask instruction.
pub(super) fn condition(insn: &Instruction) -> Lowered<Condition> {
    insn.condition()
        .filter(|condition| !matches!(condition.compare, Compare::Unknown(_)))
        .ok_or(Problem::Unsupported("this condition is not understood"))
}

/// What it compares.
pub(super) fn compared(insn: &Instruction, operands: &mut Operands<'_>) -> Lowered<Compared> {
    let (a, b) = (insn.get(Field::A), insn.get(Field::B));
    Ok(match condition(insn)?.compare {
        Compare::Float(_) => Compared::Float(operands.float(a)?, operands.float(b)?),
        Compare::Signed(_) => Compared::Int(operands.int(a, true)?, operands.int(b, true)?),
        _ => Compared::Int(operands.int(a, false)?, operands.int(b, false)?),
    })
}
