//! The type table.

use super::module::ModuleReader;
use super::operands::Operands;
use super::record_text;
use crate::bitstream::Entry;
use crate::error::Error;
use crate::llvm::types::{Type, TypeId};

/// More lanes than any vector of a kernel has; Apple's matrices have 64.
const MAX_LANES: u64 = 1 << 16;

impl ModuleReader<'_> {
    pub(super) fn read_types(&mut self) -> Result<(), Error> {
        self.reader.enter()?;
        let mut name = String::new();
        loop {
            match self.reader.next(&mut self.record)? {
                Entry::End => return Ok(()),
                Entry::Block(_) => self.reader.skip(),
                Entry::Record => self.read_type(&mut name)?,
            }
        }
    }

    fn read_type(&mut self, name: &mut String) -> Result<(), Error> {
        let types = &mut self.module.types;
        let mut operands = Operands::new(&self.record, "type");
        let ids = |list: &[u64]| list.iter().map(|&id| TypeId(id as u32)).collect::<Vec<_>>();
        let ty = match self.record.code {
            1 => return Ok(()),
            2 => Type::Void,
            3 => Type::Float,
            4 => Type::Double,
            5 => Type::Label,
            6 => Type::Opaque,
            7 => Type::Int(operands.next_u32()?),
            8 => {
                let pointee = TypeId(operands.next_u32()?);
                let id = types.push(Type::Pointer(operands.next_or_zero() as u32));
                types.push_pointee(id, pointee);
                return Ok(());
            }
            10 => Type::Half,
            11 => {
                let count = operands.next()?;
                Type::Array(count, TypeId(operands.next_u32()?))
            }
            12 => {
                let count = operands.next()?;
                if count == 0 || count > MAX_LANES {
                    return Err(operands.error("a vector has no or too many elements"));
                }
                Type::Vector(count as u32, TypeId(operands.next_u32()?))
            }
            16 => Type::Metadata,
            18 | 20 => {
                let packed = operands.next()? != 0;
                Type::Struct {
                    fields: ids(operands.rest()),
                    packed,
                }
            }
            19 => {
                *name = record_text(operands.rest());
                return Ok(());
            }
            21 => {
                let variadic = operands.next()? != 0;
                let result = TypeId(operands.next_u32()?);
                Type::Function {
                    result,
                    params: ids(operands.rest()),
                    variadic,
                }
            }
            22 => Type::Token,
            23 => Type::BFloat,
            25 => Type::Pointer(operands.next_or_zero() as u32),
            code => Type::Other(code),
        };
        let id = types.push(ty);
        if matches!(self.record.code, 6 | 20 | 26) && !name.is_empty() {
            types.push_name(id, std::mem::take(name));
        }
        Ok(())
    }
}
