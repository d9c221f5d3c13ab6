//! Constants of a module or a function.

use super::decode_signed;
use super::module::ModuleReader;
use super::operands::Operands;
use crate::bitstream::Entry;
use crate::error::Error;
use crate::llvm::types::{Type, TypeId};
use crate::llvm::value::{Constant, ConstantPool, Span, Value, ValueId, ValueKind};

/// Appends to a pool and says where.
fn append<T>(pool: &mut Vec<T>, items: impl Iterator<Item = T>) -> Span {
    let start = pool.len();
    pool.extend(items);
    Span {
        start: start as u32,
        len: (pool.len() - start) as u32,
    }
}

impl ModuleReader<'_> {
    /// Reads a block of constants into a pool, appending their values. `make` says whose they are.
    pub(super) fn read_constants(
        &mut self,
        pool: &mut ConstantPool,
        values: &mut Vec<Value>,
        make: fn(u32) -> ValueKind,
    ) -> Result<(), Error> {
        self.reader.enter()?;
        let mut ty = TypeId(0);
        loop {
            match self.reader.next(&mut self.record)? {
                Entry::End => return Ok(()),
                Entry::Block(_) => self.reader.skip(),
                Entry::Record if self.record.code == 1 => {
                    let mut operands = Operands::new(&self.record, "constants");
                    ty = TypeId(operands.next_u32()?);
                    if self.module.types.get(ty).is_none() {
                        return Err(operands.dangling("type", u64::from(ty.0)));
                    }
                }
                Entry::Record => {
                    let constant = self.read_constant(ty, pool)?;
                    let kind = make(pool.constants.len() as u32);
                    pool.constants.push(constant);
                    values.push(Value { ty, kind });
                }
            }
        }
    }

    fn read_constant(&self, ty: TypeId, pool: &mut ConstantPool) -> Result<Constant, Error> {
        let mut operands = Operands::new(&self.record, "constants");
        let value = |operands: &mut Operands<'_>| operands.next_u32().map(ValueId);
        Ok(match self.record.code {
            2 => Constant::Null,
            3 => Constant::Undef,
            26 => Constant::Poison,
            4 => Constant::Int(decode_signed(operands.next()?)),
            5 => {
                let words = operands
                    .rest()
                    .iter()
                    .map(|&word| decode_signed(word) as u64);
                Constant::WideInt(append(&mut pool.data, words))
            }
            6 => Constant::Float(operands.next()?),
            7 => {
                let ids = operands.rest().iter().map(|&id| ValueId(id as u32));
                Constant::Aggregate(append(&mut pool.operands, ids))
            }
            8 => Constant::String(append(&mut pool.data, operands.rest().iter().copied())),
            9 => {
                let characters = operands.rest().iter().copied().chain([0]);
                Constant::String(append(&mut pool.data, characters))
            }
            22 => Constant::Data(append(&mut pool.data, operands.rest().iter().copied())),
            10 => {
                let opcode = operands.next_u32()?;
                let operands = [value(&mut operands)?, value(&mut operands)?];
                Constant::Binary { opcode, operands }
            }
            11 => {
                let opcode = operands.next_u32()?;
                operands.next()?;
                let operand = value(&mut operands)?;
                Constant::Cast { opcode, operand }
            }
            code @ (12 | 20 | 24 | 31 | 32) => self.read_constant_gep(code, ty, operands, pool)?,
            13 => {
                let condition = value(&mut operands)?;
                let operands = [condition, value(&mut operands)?, value(&mut operands)?];
                Constant::Select { operands }
            }
            17 => {
                operands.next()?;
                let pair = [value(&mut operands)?, value(&mut operands)?];
                let predicate = operands.next_u32()?;
                Constant::Compare {
                    predicate,
                    operands: pair,
                }
            }
            code => Constant::Other(code),
        })
    }

    /// `getelementptr` on constants. Its record changed four times; what differs is what comes before
    /// the pairs of type and value.
    fn read_constant_gep(
        &self,
        code: u32,
        ty: TypeId,
        mut operands: Operands<'_>,
        pool: &mut ConstantPool,
    ) -> Result<Constant, Error> {
        const INBOUNDS_GEP: u32 = 20;
        const GEP_WITH_INRANGE_INDEX: u32 = 24;
        const GEP_WITH_INRANGE: u32 = 31;
        const GEP: u32 = 32;
        let has_source = !matches!(code, 12 | INBOUNDS_GEP) || operands.len() % 2 == 1;
        let mut source = match has_source {
            true => Some(TypeId(operands.next_u32()?)),
            false => None,
        };
        let flags = match code {
            INBOUNDS_GEP => 1,
            GEP_WITH_INRANGE_INDEX => (operands.next()? & 1) as u32,
            GEP => operands.next_u32()?,
            GEP_WITH_INRANGE => {
                let flags = operands.next_u32()?;
                // The range: a width and, up to 64 bits, two numbers.
                if operands.next()? > 64 {
                    return Err(operands.error("a range of more than 64 bits"));
                }
                operands.next()?;
                operands.next()?;
                flags
            }
            _ => 0,
        };
        let start = pool.operands.len();
        while !operands.is_empty() {
            let operand_type = TypeId(operands.next_u32()?);
            source = source.or_else(|| self.module.types.pointee(operand_type));
            pool.operands.push(ValueId(operands.next_u32()?));
        }
        let span = Span {
            start: start as u32,
            len: (pool.operands.len() - start) as u32,
        };
        if span.len == 0 || !matches!(self.module.types.get(ty), Some(Type::Pointer(_))) {
            return Ok(Constant::Other(code));
        }
        let source = source.ok_or_else(|| operands.error("it does not say what it indexes"))?;
        Ok(Constant::Gep {
            source,
            flags,
            operands: span,
        })
    }
}
