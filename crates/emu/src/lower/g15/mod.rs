//! Instructions of G15 and newer as micro-operations.
//!
//! Most are G13's with other operands, and become the same micro-operations. What is new:
//! an instruction may wait for slots first, a brain float is widened before and narrowed after
//! single-precision arithmetic, special registers arrive in a slot, comparisons write
//! predicates and predicates decide the execution mask.

use crate::lower::alu::{self, narrow, unary};
use crate::lower::operand::{self, Lowered, Operands, Problem, STRANGE, with_mods};
use crate::op::{
    ATOMIC, BitField, BitUnary, COUNTERS, Compared, Dest, MatrixSource, NOWHERE, Operation,
    PREDICATES, Part, Source,
};
use crate::touch::{Touch, Touches};
use assay_agx::{
    Compare, Condition, Family, Field, Instruction, MiniFloat, Modifiers, Op, Operand, Order,
    Predicate,
};

mod float;
mod memory;

type Steps = Vec<(Operation, Touches)>;

/// The micro-operations of an instruction at byte `offset`, in order.
pub(super) fn lower(insn: &Instruction, offset: u32, operands: &mut Operands<'_>) -> Steps {
    let mut lowering = G15 {
        insn,
        operands,
        before: Vec::new(),
        after: Vec::new(),
        widened: 0,
    };
    let mut touches = operand::touches(insn);
    let operation = lowering.operation(offset).unwrap_or_else(|problem| {
        lowering.before.clear();
        lowering.after.clear();
        match problem {
            Problem::Unset(half) => Operation::UnsetUniform { half },
            Problem::Unsupported(why) => Operation::Unsupported { why },
        }
    });
    lowering.touch_state(&operation, &mut touches);
    touches.checks_itself = operation.checks_itself();
    let mut steps: Steps = Vec::with_capacity(2);
    let plain = |operation| (operation, Touches::default());
    if insn.waits() != 0 {
        steps.push(plain(Operation::Await { mask: insn.waits() }));
    }
    steps.extend(lowering.before.into_iter().map(plain));
    // A wait of its own, or a no-operation, is done.
    if insn.op() == Op::Wait && insn.waits() != 0 {
        steps.clear();
        steps.push(plain(Operation::Await { mask: insn.waits() }));
    }
    steps.push((operation, touches));
    steps.extend(lowering.after.into_iter().map(plain));
    steps
}

struct G15<'a, 'u> {
    insn: &'a Instruction,
    operands: &'a mut Operands<'u>,
    before: Vec<Operation>,
    after: Vec<Operation>,
    /// Rows in use for brain floats.
    widened: u8,
}

const ALWAYS: Condition = Condition {
    compare: Compare::Unsigned(Order::Equal),
    negate: false,
};

impl G15<'_, '_> {
    fn get(&self, field: Field) -> Option<Operand> {
        self.insn.get(field)
    }

    fn operation(&mut self, offset: u32) -> Lowered<Operation> {
        let insn = self.insn;
        match insn.op() {
            Op::MovImm => Ok(Operation::Move {
                to: self.to()?,
                a: self.int(Field::Imm)?,
            }),
            Op::GetSr => Ok(Operation::SpecialLater {
                to: self.to()?,
                register: special(self.get(Field::SpecialRegister))?,
                slot: insn.slot().unwrap_or(0),
            }),
            Op::Iadd | Op::Isub => alu::add(insn, self.operands),
            Op::Imadd | Op::Imsub => alu::multiply_add(insn, self.operands),
            Op::Bfi => self.bit_field(BitField::Insert),
            Op::Bfeil => self.bit_field(BitField::Extract),
            Op::Extr => self.bit_field(BitField::Funnel),
            Op::Shlhi => self.bit_field(BitField::LeftHigh),
            Op::Shrhi => self.bit_field(BitField::RightHigh),
            Op::Asr | Op::Asrh => Ok(Operation::ShiftRight {
                to: self.to()?,
                a: self.operands.int(self.get(Field::A), true)?,
                b: self.int(Field::B)?,
                high: insn.op() == Op::Asrh,
            }),
            Op::Bitop | Op::BitopUnary => self.bitwise(),
            Op::Bitrev => alu::bits(BitUnary::Reverse, insn, self.operands),
            Op::Popcount => alu::bits(BitUnary::Count, insn, self.operands),
            Op::Ffs => alu::bits(BitUnary::FindHighest, insn, self.operands),
            Op::Fadd32 | Op::Fmul32 | Op::Fmadd32 => self.single(),
            Op::Fadd16 | Op::Fmul16 | Op::Fmadd16 => self.half(),
            Op::Convert => self.convert(),
            Op::Pack => self.pack(),
            Op::Unpack => self.unpack(),
            Op::Cmpsel | Op::Cmov | Op::Minmax => self.select(),
            Op::Ballot => self.ballot(),
            Op::Shuffle => Ok(Operation::Shuffle {
                to: self.to()?,
                a: self.operands.int(narrow(self.get(Field::A))?, false)?,
                b: self.operands.int(narrow(self.get(Field::B))?, false)?,
                shuffle: insn.shuffle().ok_or(STRANGE)?,
            }),
            Op::Reduce => {
                let reduction = insn.reduction().ok_or(STRANGE)?;
                Ok(Operation::Reduce {
                    to: self.to()?,
                    a: self.operands.int(narrow(self.get(Field::A))?, false)?,
                    op: reduction.op,
                    scope: reduction.scope,
                    prefix: reduction.prefix,
                })
            }
            Op::SimdMatrixFmadd32 | Op::SimdMatrixFmadd16 => Ok(Operation::Matrix {
                to: operand::dest(self.get(Field::Dest))?,
                a: operand::matrix(self.get(Field::A))?,
                b: operand::matrix(self.get(Field::B))?,
                c: self.matrix_addend()?,
            }),
            Op::DeviceLoad
            | Op::DeviceStore
            | Op::ThreadgroupLoad
            | Op::ThreadgroupStore
            | Op::ThreadgroupAtomic
            | Op::Atomic
            | Op::AtomicResult => self.memory(),
            _ => self.control(offset),
        }
    }

    /// Registers that are no operand: counters and predicates.
    fn touch_state(&self, operation: &Operation, touches: &mut Touches) {
        if matches!(
            operation,
            Operation::If { .. } | Operation::Else { .. } | Operation::While { .. }
        ) {
            touches.read(Touch {
                row: COUNTERS,
                halves: 1,
            });
            if let Some(Operand::Predicate(predicate)) = self.get(Field::Predicate)
                && predicate.number != Predicate::ALWAYS
            {
                touches.read(Touch {
                    row: PREDICATES + predicate.number,
                    halves: 0b11,
                });
            }
        }
        if let Some(Operand::Predicate(predicate)) = self.get(Field::Dest) {
            touches.write(Touch {
                row: PREDICATES + predicate.number,
                halves: 0b11,
            });
        }
        if matches!(operation, Operation::DeviceAtomic { atomic, .. } if atomic.result.is_some()) {
            touches.write(Touch {
                row: ATOMIC,
                halves: 0b11,
            });
        }
    }

    fn to(&self) -> Lowered<Dest> {
        match self.get(Field::Dest) {
            Some(Operand::Predicate(predicate)) => Ok(Dest {
                row: PREDICATES + predicate.number,
                part: Part::Whole,
                pair: false,
            }),
            Some(Operand::Uniform(_)) => Err(Problem::Unsupported(
                "destinations in uniforms are not emulated",
            )),
            operand => operand::dest(operand),
        }
    }

    fn int(&mut self, field: Field) -> Lowered<Source> {
        self.operands.extended(self.get(field))
    }

    fn bit_field(&mut self, op: BitField) -> Lowered<Operation> {
        Ok(Operation::Field {
            op,
            to: self.to()?,
            a: self.int(Field::A)?,
            b: self.int(Field::B)?,
            c: self.int(Field::C)?,
            mask: self.insn.bit_mask().unwrap_or(u32::MAX),
        })
    }

    fn bitwise(&mut self) -> Lowered<Operation> {
        let to = self.to()?;
        let table = match self.insn.mnemonic() {
            "zero" => {
                let a = self.operands.constant(0)?;
                return Ok(Operation::Move { to, a });
            }
            "mov" | "mov5" => {
                let a = self.int(Field::A)?;
                return Ok(Operation::Move { to, a });
            }
            "not" => 0b0101,
            "and" => 0b1000,
            "xor" => 0b0110,
            "or" => 0b1110,
            _ => self.insn.truth_table().ok_or(STRANGE)?,
        };
        let a = self.int(Field::A)?;
        let b = match self.get(Field::B) {
            None => self.operands.constant(0)?,
            _ => self.int(Field::B)?,
        };
        Ok(Operation::Bitwise { to, a, b, table })
    }

    /// Of the ballot's conditions these are seen: equal, one that holds of 1 and 1, and its opposite, which holds of 1 and 0.
    fn ballot(&mut self) -> Lowered<Operation> {
        let code = self.insn.get_int(Field::Mode).unwrap_or(0);
        let (a, b) = (self.get(Field::A), self.get(Field::B));
        let are = |x, y| (a, b) == (Some(Operand::Imm(x)), Some(Operand::Imm(y)));
        let always = code == 0b1100 && are(1, 0) || code == 0b0100 && are(1, 1);
        let (condition, compared) = match code {
            _ if always => {
                let zero = self.operands.constant(0)?;
                (ALWAYS, Compared::Int(zero, zero))
            }
            0b0001 | 0b1001 => (
                Condition {
                    negate: code & 8 != 0,
                    ..ALWAYS
                },
                Compared::Int(self.operands.extended(a)?, self.operands.extended(b)?),
            ),
            _ => {
                return Err(Problem::Unsupported(
                    "this condition of a ballot is not understood",
                ));
            }
        };
        Ok(Operation::Ballot {
            to: self.to()?,
            condition,
            compared,
            scope: assay_agx::Scope::Simd,
        })
    }

    fn matrix_addend(&mut self) -> Lowered<MatrixSource> {
        match self.get(Field::C) {
            Some(Operand::Imm(0)) => {
                let zero = with_mods(self.operands.constant(0)?, Modifiers::NONE);
                Ok(MatrixSource {
                    first: zero,
                    second: zero,
                })
            }
            operand => operand::matrix(operand),
        }
    }

    fn control(&mut self, offset: u32) -> Lowered<Operation> {
        let insn = self.insn;
        let levels = insn.nest().unwrap_or(0);
        let to = i64::from(offset) + i64::from(insn.branch_distance().unwrap_or(0));
        let target = NOWHERE;
        Ok(match insn.op() {
            Op::IfPredicate => {
                let (condition, compared) = self.predicate()?;
                Operation::If {
                    condition,
                    compared,
                    levels,
                }
            }
            Op::ElsePredicate => {
                let (condition, compared) = self.predicate()?;
                Operation::Else {
                    condition,
                    compared,
                    levels,
                }
            }
            Op::WhilePredicate => {
                let (condition, compared) = self.predicate()?;
                Operation::While {
                    condition,
                    compared,
                    levels,
                }
            }
            Op::PopExec => Operation::Pop { levels },
            Op::JmpExecAny => Operation::JumpIfAny { target, to },
            Op::JmpExecNone => Operation::JumpIfNone { target, to },
            Op::Stop => Operation::Stop,
            Op::Wait | Op::ClearResult => Operation::Nothing,
            Op::ThreadgroupBarrier => Operation::Barrier,
            Op::Call | Op::Ret => {
                return Err(Problem::Unsupported("calls of this set are not emulated"));
            }
            op => match unary(op) {
                Some(op) => {
                    let a = self.float(self.get(Field::A))?;
                    Operation::Unary {
                        op,
                        to: self.float_dest()?,
                        a,
                        saturate: false,
                    }
                }
                None => {
                    return Err(Problem::Unsupported(
                        "what it does is not known well enough to emulate it",
                    ));
                }
            },
        })
    }

    fn predicate(&mut self) -> Lowered<(Condition, Compared)> {
        let Some(Operand::Predicate(predicate)) = self.get(Field::Predicate) else {
            return Err(STRANGE);
        };
        let zero = self.operands.constant(0)?;
        if predicate.number == Predicate::ALWAYS {
            if predicate.inverted {
                return Err(STRANGE);
            }
            return Ok((ALWAYS, Compared::Int(zero, zero)));
        }
        let row = Source {
            row: u16::from(PREDICATES + predicate.number),
            part: Part::Whole,
        };
        let condition = Condition {
            // Set is not equal to zero.
            negate: !predicate.inverted,
            ..ALWAYS
        };
        Ok((condition, Compared::Int(row, zero)))
    }
}

/// The value an atomic found waits in a slot no instruction names.
const ATOMIC_SLOT: u8 = 7;

/// The destination read as a source.
fn without_hint(operand: Operand) -> Operand {
    match operand {
        Operand::Reg(reg) => Operand::Reg(reg.hint(assay_agx::Hint::None)),
        other => other,
    }
}

fn bits_of(mini: MiniFloat, wide: bool) -> u32 {
    match wide {
        true => mini.to_f32().to_bits(),
        false => u32::from(crate::arith::f32_to_f16(mini.to_f32())),
    }
}

/// The number G13 has for what a special register holds.
fn special(operand: Option<Operand>) -> Lowered<u8> {
    let Some(Operand::Special(register)) = operand else {
        return Err(STRANGE);
    };
    let same = register.in_family(Family::G13);
    same.map(|same| same.number).ok_or(Problem::Unsupported(
        "what this special register holds is not known",
    ))
}
