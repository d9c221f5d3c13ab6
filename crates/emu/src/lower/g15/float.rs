//! Float arithmetic, conversions and selections of G15.

use super::{G15, bits_of, without_hint};
use crate::lower::alu::{condition, half_dest, is_plain, sum_or_product};
use crate::lower::operand::{Lowered, Problem, STRANGE, register, with_mods};
use crate::op::{Choice, Compared, Dest, FloatSource, Operation, Part, Source, WIDENED};
use assay_agx::{
    Compare, ConvertMode, Field, Format, Modifiers, Op, Operand, Predicate, Reg, Width,
};

impl G15<'_, '_> {
    /// A float source; a brain float is widened to a row of its own first.
    pub(super) fn float(&mut self, operand: Option<Operand>) -> Lowered<FloatSource> {
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
    pub(super) fn float_dest(&mut self) -> Lowered<Dest> {
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

    pub(super) fn single(&mut self) -> Lowered<Operation> {
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

    pub(super) fn half(&mut self) -> Lowered<Operation> {
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
    pub(super) fn product_and_sum(&self) -> [Option<Operand>; 2] {
        let dest = || self.get(Field::Dest).map(without_hint);
        [Field::B, Field::C].map(|field| self.get(field).or_else(dest))
    }

    pub(super) fn convert(&mut self) -> Lowered<Operation> {
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

    /// The format of the two integers that are packed.
    fn packed_format(&self) -> Lowered<Format> {
        match self.insn.get_int(Field::Mode) {
            Some(2) => Ok(Format::S16Norm),
            Some(3) => Ok(Format::S8Norm),
            Some(4) => Ok(Format::U16Norm),
            Some(6) => Ok(Format::U8Norm),
            _ => Err(Problem::Unsupported("this packed format is not understood")),
        }
    }

    /// The place of two integers that are packed: a register for 16 bits each, half of one for 8.
    fn packed(&self, field: Field) -> Lowered<Source> {
        let wide = matches!(self.packed_format()?, Format::S16Norm | Format::U16Norm);
        match self.get(field) {
            Some(Operand::Reg(reg)) if reg.count == if wide { 2 } else { 1 } => Ok(Source {
                row: reg.half / 2,
                part: match (wide, reg.half % 2) {
                    (true, _) => Part::Whole,
                    (_, 0) => Part::Low,
                    _ => Part::High,
                },
            }),
            _ => Err(Problem::Unsupported(
                "one packed integer of 16 bits is not understood",
            )),
        }
    }

    pub(super) fn pack(&mut self) -> Lowered<Operation> {
        let to = self.packed(Field::Dest)?;
        Ok(Operation::Pack {
            to: Dest {
                row: to.row as u8,
                part: to.part,
                pair: false,
            },
            a: self.float(self.get(Field::A))?,
            b: self.float(self.get(Field::B))?,
            format: self.packed_format()?,
        })
    }

    pub(super) fn unpack(&mut self) -> Lowered<Operation> {
        let Some(Operand::Reg(to)) = self.get(Field::Dest) else {
            return Err(STRANGE);
        };
        let first = register(Reg { count: 1, ..to }, false)?;
        Ok(Operation::Unpack {
            to: Dest {
                row: first.row as u8,
                part: first.part,
                pair: false,
            },
            a: self.packed(Field::A)?,
            format: self.packed_format()?,
            both: to.count == 2,
        })
    }

    pub(super) fn select(&mut self) -> Lowered<Operation> {
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
    pub(super) fn choice(&mut self, operand: Option<Operand>, wide: bool) -> Lowered<Choice> {
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
}
