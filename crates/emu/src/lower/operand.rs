//! Operands of instructions as sources and destinations of micro-operations.

use crate::op::{Dest, Extend, FloatSource, MatrixSource, POOL, Part, Row, Source, WideSource};
use crate::touch::{Touch, Touches};
use crate::uniforms::Uniforms;
use assay_agx::{Hint, Instruction, MiniFloat, Modifiers, Operand, Reg, Role, Uniform, Width};
use std::collections::HashMap;

/// Why an operand cannot be lowered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// A uniform without value.
    Unset(u16),
    /// Something no decoder understands, or that the emulator does not do.
    Unsupported(&'static str),
}

pub(super) type Lowered<T> = Result<T, Problem>;

pub(super) const STRANGE: Problem =
    Problem::Unsupported("it has an operand whose encoding is not understood");

/// Rows of constants, each value once.
#[derive(Debug, Default)]
pub(super) struct Pool {
    pub(super) rows: Vec<Row>,
    index: HashMap<u32, u16>,
}

impl Pool {
    fn row(&mut self, value: u32) -> Lowered<u16> {
        if let Some(&row) = self.index.get(&value) {
            return Ok(row);
        }
        let next = self.rows.len() as u64 + u64::from(POOL);
        let row = u16::try_from(next)
            .map_err(|_| Problem::Unsupported("the program has more than 65408 constants"))?;
        self.rows.push(Row::splat(value));
        self.index.insert(value, row);
        Ok(row)
    }
}

/// What is needed to resolve operands.
#[derive(Debug)]
pub(super) struct Operands<'u> {
    pub(super) uniforms: &'u Uniforms,
    /// Read uniforms that have no value as zero.
    pub(super) lenient: bool,
    pub(super) pool: Pool,
}

impl Operands<'_> {
    /// The value of a uniform operand.
    pub(super) fn uniform(&self, uniform: Uniform) -> Lowered<u64> {
        match self.uniforms.read(uniform.half, uniform.width.halves()) {
            Ok(value) => Ok(value),
            Err(_) if self.lenient => Ok(0),
            Err(half) => Err(Problem::Unset(half)),
        }
    }

    /// A constant.
    pub(super) fn constant(&mut self, value: u32) -> Lowered<Source> {
        Ok(Source {
            row: self.pool.row(value)?,
            part: Part::Whole,
        })
    }

    /// An integer source; halves are sign-extended when `signed`.
    pub(super) fn int(&mut self, operand: Option<Operand>, signed: bool) -> Lowered<Source> {
        match operand {
            Some(Operand::Reg(reg)) if reg.count == 1 => register(reg, signed),
            Some(Operand::Uniform(uniform)) => {
                let value = self.uniform(uniform)? as u32;
                let extended = match uniform.width {
                    Width::W16 if signed => value as u16 as i16 as u32,
                    _ => value,
                };
                self.constant(extended)
            }
            // Eight-bit immediates count as unsigned 16-bit ones: no sign to extend.
            Some(Operand::Imm(value)) => self.constant(value as u32),
            _ => Err(STRANGE),
        }
    }

    /// A source of an addition or multiplication, sign-extended if it says so itself.
    pub(super) fn extended(&mut self, operand: Option<Operand>) -> Lowered<Source> {
        self.int(operand, sign_extends(operand))
    }

    /// The same on 64 bits.
    pub(super) fn wide(&mut self, operand: Option<Operand>) -> Lowered<WideSource> {
        if let Some(Operand::Reg(reg)) = operand
            && reg.width == Width::W64
        {
            return Ok(WideSource {
                source: whole(reg)?,
                extend: Extend::Pair,
            });
        }
        if let Some(Operand::Uniform(uniform)) = operand
            && uniform.width == Width::W64
        {
            let value = self.uniform(uniform)?;
            return Ok(WideSource {
                source: self.constant(value as u32)?,
                extend: Extend::With(self.pool.row((value >> 32) as u32)?),
            });
        }
        // A sign-extended half is already right in 32 bits; so is its sign.
        let extend = match (sign_extends(operand), operand) {
            (true, Some(Operand::Reg(_) | Operand::Uniform(_))) => Extend::Sign,
            _ => Extend::Zero,
        };
        Ok(WideSource {
            source: self.extended(operand)?,
            extend,
        })
    }

    /// A float source of a single-precision operation.
    pub(super) fn float(&mut self, operand: Option<Operand>) -> Lowered<FloatSource> {
        let (source, mods) = match operand {
            Some(Operand::Reg(reg)) if reg.count == 1 => (register(reg, false)?, reg.mods),
            Some(Operand::Uniform(uniform)) => {
                let bits = self.uniform(uniform)? as u32;
                let single = match uniform.width {
                    Width::W16 => crate::arith::f16_to_f32(bits as u16).to_bits(),
                    _ => bits,
                };
                (self.constant(single)?, uniform.mods)
            }
            Some(Operand::Float(mini, mods)) => (self.mini(mini)?, mods),
            _ => return Err(STRANGE),
        };
        Ok(with_mods(source, mods))
    }

    /// A float source of a half-precision operation: half-precision bits.
    pub(super) fn half(&mut self, operand: Option<Operand>) -> Lowered<FloatSource> {
        let (source, mods) = match operand {
            Some(Operand::Reg(reg)) if reg.count == 1 && reg.width == Width::W16 => {
                (register(reg, false)?, reg.mods)
            }
            Some(Operand::Uniform(uniform)) if uniform.width == Width::W16 => {
                let bits = self.uniform(uniform)? as u32;
                (self.constant(bits)?, uniform.mods)
            }
            // Every eight-bit float is exact in half precision.
            Some(Operand::Float(mini, mods)) => {
                let bits = crate::arith::f32_to_f16(mini.to_f32());
                (self.constant(u32::from(bits))?, mods)
            }
            _ => return Err(STRANGE),
        };
        Ok(with_mods(source, mods))
    }

    fn mini(&mut self, mini: MiniFloat) -> Lowered<Source> {
        self.constant(mini.to_f32().to_bits())
    }
}

/// A matrix operand: two registers in a row.
pub(super) fn matrix(operand: Option<Operand>) -> Lowered<MatrixSource> {
    let Some(Operand::Reg(reg)) = operand else {
        return Err(Problem::Unsupported(
            "matrix operands other than registers are not understood",
        ));
    };
    let one = |index: u16| {
        let single = Reg {
            half: reg.half + index * reg.width.halves(),
            count: 1,
            ..reg
        };
        Ok(with_mods(register(single, false)?, reg.mods))
    };
    Ok(MatrixSource {
        first: one(0)?,
        second: one(1)?,
    })
}

pub(super) fn with_mods(source: Source, mods: Modifiers) -> FloatSource {
    FloatSource {
        source,
        abs: mods.abs,
        neg: mods.neg,
    }
}

fn sign_extends(operand: Option<Operand>) -> bool {
    match operand {
        Some(Operand::Reg(reg)) => reg.mods.sx,
        Some(Operand::Uniform(uniform)) => uniform.mods.sx,
        _ => false,
    }
}

/// A register as a source.
pub(super) fn register(reg: Reg, signed: bool) -> Lowered<Source> {
    if reg.width != Width::W16 {
        return whole(reg);
    }
    Ok(Source {
        row: row_of(reg)?,
        part: match (reg.half % 2, signed) {
            (0, false) => Part::Low,
            (0, true) => Part::LowSigned,
            (_, false) => Part::High,
            (_, true) => Part::HighSigned,
        },
    })
}

fn whole(reg: Reg) -> Lowered<Source> {
    if !reg.half.is_multiple_of(2) {
        return Err(Problem::Unsupported(
            "a 32-bit register that starts in the middle of a register is not defined",
        ));
    }
    if reg.width == Width::W64 && reg.half >= 254 {
        return Err(Problem::Unsupported("there is no register after r127"));
    }
    Ok(Source {
        row: row_of(reg)?,
        part: Part::Whole,
    })
}

fn row_of(reg: Reg) -> Lowered<u16> {
    match reg.half / 2 {
        row @ 0..=127 => Ok(row),
        _ => Err(Problem::Unsupported("there is no register after r127")),
    }
}

/// A destination.
pub(super) fn dest(operand: Option<Operand>) -> Lowered<Dest> {
    let Some(Operand::Reg(reg)) = operand else {
        return Err(STRANGE);
    };
    let source = register(Reg { count: 1, ..reg }, false)?;
    Ok(Dest {
        row: source.row as u8,
        part: source.part,
        pair: reg.width == Width::W64,
    })
}

/// The registers an instruction reads and writes.
pub(super) fn touches(instruction: &Instruction) -> Touches {
    let mut touches = Touches::default();
    for role in [Role::Source, Role::Both] {
        for argument in instruction.arguments().filter(|found| found.role == role) {
            let discards = argument
                .operand
                .reg()
                .is_some_and(|reg| reg.hint == Hint::Discard);
            each_row(argument.operand, |row, halves| {
                let halves = halves | if discards { 4 } else { 0 };
                touches.read(Touch { row, halves });
            });
        }
    }
    for role in [Role::Dest, Role::Both] {
        for argument in instruction.arguments().filter(|found| found.role == role) {
            each_row(argument.operand, |row, halves| {
                touches.write(Touch { row, halves });
            });
        }
    }
    touches
}

/// Calls `f` with every row of an operand and the halves of it: bit 0 low, bit 1 high.
fn each_row(operand: Operand, mut f: impl FnMut(u8, u8)) {
    let range = operand.half_range();
    let mut half = range.start;
    while half < range.end {
        let row = (half / 2) as u8;
        if half.is_multiple_of(2) && half + 1 < range.end {
            f(row, 0b11);
            half += 2;
        } else {
            f(row, 1 << (half % 2));
            half += 1;
        }
    }
}
