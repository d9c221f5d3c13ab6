//! Instructions of G15 and newer as micro-operations.
//!
//! Most are G13's with other operands, and become the same micro-operations. What is new:
//! an instruction may wait for slots first, a brain float is widened before and narrowed after
//! single-precision arithmetic, special registers arrive in a slot, comparisons write
//! predicates and predicates decide the execution mask.

use super::alu::{self, condition, half_dest, is_plain, narrow, sum_or_product, unary};
use super::memory::base;
use super::operand::{self, Lowered, Operands, Problem, STRANGE, register, with_mods};
use crate::op::{
    ATOMIC, Access, Atomic, Base, BitField, BitUnary, COUNTERS, Choice, Compared, Dest,
    FloatSource, Index, MatrixSource, NOWHERE, Operation, PREDICATES, Part, Source, WIDENED,
};
use crate::touch::{Touch, Touches};
use assay_agx::{
    Compare, Condition, ConvertMode, Field, Format, Instruction, MiniFloat, Modifiers, Op, Operand,
    Order, Predicate, Reg, Width,
};

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
        if matches!(operation, Operation::DeviceAtomic { .. }) {
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

    /// A float source; a brain float is widened to a row of its own first.
    fn float(&mut self, operand: Option<Operand>) -> Lowered<FloatSource> {
        let (from, mods) = match operand {
            Some(Operand::Reg(reg)) if reg.mods.bfloat => (register(reg, false)?, reg.mods),
            Some(Operand::Uniform(uniform)) if uniform.mods.bfloat => {
                let value = self.operands.uniform(uniform)? as u32;
                let source = self.operands.constant(value << 16)?;
                return Ok(with_mods(source, uniform.mods));
            }
            _ => return self.operands.float(operand),
        };
        let row = WIDENED + self.widened;
        self.widened += 1;
        self.before.push(Operation::Widen { row, from });
        let source = Source {
            row: u16::from(row),
            part: Part::Whole,
        };
        Ok(with_mods(source, mods))
    }

    /// The destination of single-precision arithmetic; a brain float is narrowed afterwards.
    fn float_dest(&mut self) -> Lowered<Dest> {
        let to = self.to()?;
        match self.get(Field::Dest) {
            Some(Operand::Reg(reg)) if reg.mods.bfloat => {
                let row = WIDENED + self.widened;
                self.widened += 1;
                self.after.push(Operation::Narrow { to, row });
                Ok(Dest {
                    row,
                    part: Part::Whole,
                    pair: false,
                })
            }
            _ => Ok(to),
        }
    }

    fn single(&mut self) -> Lowered<Operation> {
        let saturate = self.insn.saturate();
        let a = self.float(self.get(Field::A))?;
        if self.insn.op() != Op::Fmadd32 {
            let b = self.float(self.get(Field::B))?;
            let to = self.float_dest()?;
            return Ok(Operation::Float {
                op: sum_or_product(self.insn.op()),
                to,
                a,
                b,
                saturate,
                plain: is_plain(to, &[a, b], saturate),
            });
        }
        let [b, c] = self.product_and_sum();
        let (b, c) = (self.float(b)?, self.float(c)?);
        let to = self.float_dest()?;
        Ok(Operation::Fma {
            to,
            a,
            b,
            c,
            saturate,
            plain: is_plain(to, &[a, b, c], saturate),
        })
    }

    fn half(&mut self) -> Lowered<Operation> {
        let saturate = self.insn.saturate();
        let to = half_dest(self.to()?)?;
        let a = self.operands.half(self.get(Field::A))?;
        if self.insn.op() != Op::Fmadd16 {
            return Ok(Operation::Half {
                op: sum_or_product(self.insn.op()),
                to,
                a,
                b: self.operands.half(self.get(Field::B))?,
                saturate,
            });
        }
        let [b, c] = self.product_and_sum();
        Ok(Operation::HalfFma {
            to,
            a,
            b: self.operands.half(b)?,
            c: self.operands.half(c)?,
            saturate,
        })
    }

    /// The second factor and the addend: in the short forms one of them is the destination.
    fn product_and_sum(&self) -> [Option<Operand>; 2] {
        let dest = || self.get(Field::Dest).map(without_hint);
        [Field::B, Field::C].map(|field| self.get(field).or_else(dest))
    }

    fn convert(&mut self) -> Lowered<Operation> {
        let to = self.to()?;
        match self.insn.convert_mode() {
            Some(ConvertMode::ToFloat { bits, signed }) => Ok(Operation::ToFloat {
                to,
                a: self.int(Field::A)?,
                bits,
                signed,
                nearest: self.insn.rounds_to_nearest().unwrap_or(true),
            }),
            Some(ConvertMode::FromFloat { bits, signed }) => Ok(Operation::FromFloat {
                to,
                a: self.float(self.get(Field::A))?,
                bits,
                signed,
                // Conversions to integers cut off the fraction.
                nearest: false,
            }),
            _ => match self.insn.op() {
                Op::Convert => Err(Problem::Unsupported("this conversion is not understood")),
                _ => Err(STRANGE),
            },
        }
    }

    fn select(&mut self) -> Lowered<Operation> {
        let to = self.to()?;
        let condition = condition(self.insn)?;
        let (a, b) = (self.get(Field::A), self.get(Field::B));
        let compared = match condition.compare {
            Compare::Float(_) => Compared::Float(self.float(a)?, self.float(b)?),
            _ => Compared::Int(self.operands.extended(a)?, self.operands.extended(b)?),
        };
        let dest = self.get(Field::Dest);
        if let Some(Operand::Predicate(Predicate {
            from_value: false, ..
        })) = dest
        {
            let (x, y) = (self.operands.constant(1)?, self.operands.constant(0)?);
            return Ok(Operation::Select {
                to,
                condition,
                compared,
                x,
                y,
            });
        }
        let wide = to.part == Part::Whole && !matches!(dest, Some(Operand::Predicate(_)));
        let (x, y) = match self.insn.op() {
            Op::Minmax => (a, b),
            Op::Cmov => (self.get(Field::X), dest.map(without_hint)),
            _ => (self.get(Field::X), self.get(Field::Y)),
        };
        let (x, y) = (self.choice(x, wide)?, self.choice(y, wide)?);
        let plain = |choice: Choice| choice.keep == u32::MAX && choice.flip == 0;
        if plain(x) && plain(y) {
            return Ok(Operation::Select {
                to,
                condition,
                compared,
                x: x.source,
                y: y.source,
            });
        }
        Ok(Operation::Choose {
            to,
            condition,
            compared,
            x,
            y,
        })
    }

    /// A selected value: its bits, and what modifiers do to them.
    fn choice(&mut self, operand: Option<Operand>, wide: bool) -> Lowered<Choice> {
        let sign = if wide { 1 << 31 } else { 1 << 15 };
        let (source, mods) = match operand {
            Some(Operand::Reg(reg)) if (reg.width == Width::W32) != wide => {
                return Err(Problem::Unsupported(
                    "it selects values of another width than its destination's",
                ));
            }
            Some(Operand::Reg(reg)) => (register(reg, false)?, reg.mods),
            Some(Operand::Uniform(uniform)) => {
                let value = self.operands.uniform(uniform)? as u32;
                (self.operands.constant(value)?, uniform.mods)
            }
            Some(Operand::Float(mini, mods)) => {
                (self.operands.constant(bits_of(mini, wide))?, mods)
            }
            Some(Operand::Imm(value)) => (self.operands.constant(value as u32)?, Modifiers::NONE),
            _ => return Err(STRANGE),
        };
        Ok(Choice {
            source,
            keep: if mods.abs { !sign } else { u32::MAX },
            flip: if mods.neg { sign } else { 0 },
        })
    }

    /// Two of the ballot's conditions are seen: equal, and one that holds of 1 and 0 negated.
    fn ballot(&mut self) -> Lowered<Operation> {
        let code = self.insn.get_int(Field::Mode).unwrap_or(0);
        let (a, b) = (self.get(Field::A), self.get(Field::B));
        let both = (a, b) == (Some(Operand::Imm(1)), Some(Operand::Imm(0)));
        let (condition, compared) = match code {
            0b1100 if both => {
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

    fn memory(&mut self) -> Lowered<Operation> {
        let slot = self.insn.slot().unwrap_or(0);
        match self.insn.op() {
            Op::DeviceLoad => Ok(Operation::DeviceLoad {
                access: self.access()?,
                slot,
            }),
            Op::DeviceStore => Ok(Operation::DeviceStore {
                access: self.access()?,
            }),
            Op::ThreadgroupLoad => Ok(Operation::GroupLoad {
                access: self.access()?,
                slot: Some(slot),
            }),
            Op::ThreadgroupStore => Ok(Operation::GroupStore {
                access: self.access()?,
            }),
            Op::Atomic => Ok(Operation::DeviceAtomic {
                atomic: self.atomic()?,
                slot: ATOMIC_SLOT,
            }),
            _ => Ok(Operation::MoveLater {
                to: self.to()?,
                a: Source {
                    row: u16::from(ATOMIC),
                    part: Part::Whole,
                },
                slot,
            }),
        }
    }

    fn access(&mut self) -> Lowered<Access> {
        let insn = self.insn;
        let Some(Operand::Reg(data)) = insn.get(Field::Data) else {
            return Err(STRANGE);
        };
        let mask = insn.mask().unwrap_or(0);
        let (format, mask) = match (insn.format(), mask) {
            // Bytes that share a half register are loaded as that half.
            (Some(Format::I8), 0b0001) => (Format::I8, 1),
            (Some(Format::I8), 0b0011) => (Format::I16, 1),
            (Some(Format::I8), 0b1111) => (Format::I16, 0b11),
            (Some(format @ (Format::I16 | Format::I32)), mask) => (format, mask),
            _ => return Err(Problem::Unsupported("this memory format is not understood")),
        };
        let wide = data.width == Width::W32;
        if data.half + data.halves() > 256 || wide && data.half % 2 != 0 {
            return Err(Problem::Unsupported(
                "its data registers are outside the register file",
            ));
        }
        Ok(Access {
            base: self.base()?,
            index: self.index()?,
            scale: 1 << insn.get_int(Field::Shift).unwrap_or(0).clamp(0, 31),
            offset: insn.get_int(Field::Offset).unwrap_or(0) as i32,
            format,
            mask,
            half: data.half as u8,
            wide,
        })
    }

    fn base(&self) -> Lowered<Base> {
        match self.get(Field::Base) {
            Some(operand) => base(operand, self.operands),
            None => Ok(Base::Fixed(0)),
        }
    }

    fn index(&self) -> Lowered<Index> {
        match self.get(Field::Index) {
            Some(Operand::Imm(value)) => Ok(Index::Fixed(value as i32)),
            Some(Operand::Uniform(uniform)) => {
                let value = self.operands.uniform(uniform)? as u32;
                Ok(Index::Fixed(match (uniform.width, uniform.mods.sx) {
                    (Width::W16, true) => i32::from(value as u16 as i16),
                    _ => value as i32,
                }))
            }
            Some(Operand::Reg(reg)) => {
                let source = register(Reg { count: 1, ..reg }, reg.mods.sx)?;
                Ok(match reg.mods.sx {
                    true => Index::Signed(source),
                    false => Index::Unsigned(source),
                })
            }
            _ => Err(Problem::Unsupported("its index is not understood")),
        }
    }

    fn atomic(&mut self) -> Lowered<Atomic> {
        let op = self
            .insn
            .atomic_op()
            .filter(|op| {
                use assay_agx::AtomicOp::{CompareExchange, Unknown};
                !matches!(op, CompareExchange | Unknown(_))
            })
            .ok_or(Problem::Unsupported("this atomic is not understood"))?;
        let Some(Operand::Reg(value)) = self.get(Field::Value) else {
            return Err(STRANGE);
        };
        let offset = self.insn.get_int(Field::Offset).unwrap_or(0);
        let base = match self.base()? {
            Base::Fixed(address) => Base::Fixed(address.wrapping_add_signed(offset)),
            base if offset == 0 => base,
            _ => return Err(STRANGE),
        };
        Ok(Atomic {
            base,
            index: self.index()?,
            op,
            value: register(value, false)?.row as u8,
            result: Some(ATOMIC),
        })
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
    let Some(Operand::Special(number)) = operand else {
        return Err(STRANGE);
    };
    Ok(match number {
        2 => 52,
        5 => 53,
        21 => 58,
        24..=26 => number - 24 + 4,
        28..=30 => number - 28,
        32..=34 => number - 32 + 80,
        36..=38 => number - 36 + 48,
        39 => 51,
        _ => {
            return Err(Problem::Unsupported(
                "what this special register holds is not known",
            ));
        }
    })
}
