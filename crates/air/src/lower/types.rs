//! Types.

use super::wide::HELD;
use super::{Dialect, LowerError, Lowered, Lowering};
use crate::llvm::{self, TypeId};
use assay_ssa::{Aggregate, Field, MAX_VECTOR_LANES, Scalar, Space, Type};

/// Elements of a simdgroup matrix as Apple's compiler spells it.
pub(crate) const MATRIX_LANES: u32 = 64;

/// Nested deeper than this, a type is taken for damage.
const MAX_NESTING: u32 = 64;

impl Lowering<'_, '_> {
    /// The form's type for an LLVM type.
    pub(crate) fn ty(&mut self, id: TypeId) -> Lowered<Type> {
        if let Some(Some(known)) = self.type_cache.get(id.0 as usize) {
            return Ok(*known);
        }
        self.type_at(id, 0)
    }

    fn type_at(&mut self, id: TypeId, depth: u32) -> Lowered<Type> {
        if depth > MAX_NESTING {
            return Err(LowerError::new("a type nested too deep"));
        }
        let source = self.source;
        let ty = match source.types.get(id) {
            Some(llvm::Type::Void) => Type::VOID,
            Some(llvm::Type::Pointer(space)) => Type::pointer(self.space(*space)),
            Some(llvm::Type::Vector(lanes, element)) => {
                let lanes = *lanes;
                let scalar = self.scalar(*element)?;
                if lanes == MATRIX_LANES && self.dialect == Dialect::Apple {
                    Type::matrix(scalar)
                } else if lanes <= u32::from(MAX_VECTOR_LANES) {
                    Type::vector(scalar, lanes as u8)
                } else {
                    return Err(self.no_such_type(id));
                }
            }
            Some(llvm::Type::Array(count, element)) => {
                let element = self.type_at(*element, depth + 1)?;
                let stride = self.target.types.stride(element);
                let len = u32::try_from(*count);
                let len = len.map_err(|_| LowerError::new("an array of 2³² elements or more"))?;
                self.target.types.intern(Aggregate::Array {
                    element,
                    len,
                    stride,
                })
            }
            Some(llvm::Type::Struct { fields, .. }) => self.structure(id, fields, depth)?,
            _ if self.is_wide(id) => HELD,
            _ => Type::scalar(self.scalar(id)?),
        };
        if let Some(slot) = self.type_cache.get_mut(id.0 as usize) {
            *slot = Some(ty);
        }
        Ok(ty)
    }

    fn structure(&mut self, id: TypeId, fields: &[TypeId], depth: u32) -> Lowered<Type> {
        let layout = self.source.types.layout(id);
        let layout = layout.ok_or_else(|| self.no_such_type(id))?;
        let mut lowered = Vec::with_capacity(fields.len());
        for (index, &field) in fields.iter().enumerate() {
            let offset = self.source.types.field_offset(id, index);
            let offset = offset.and_then(|offset| u32::try_from(offset).ok());
            lowered.push(Field {
                ty: self.type_at(field, depth + 1)?,
                offset: offset.ok_or_else(|| self.no_such_type(id))?,
            });
        }
        Ok(self.target.types.intern(Aggregate::Struct {
            fields: lowered,
            size: u32::try_from(layout.size).map_err(|_| self.no_such_type(id))?,
            align: layout.align.min(1 << 20) as u32,
        }))
    }

    /// The scalar a number is held in: integers of odd widths take the next larger one, upper bits zero.
    fn scalar(&self, id: TypeId) -> Lowered<Scalar> {
        Ok(match self.source.types.get(id) {
            Some(llvm::Type::Int(1)) => Scalar::I1,
            Some(llvm::Type::Int(2..=8)) => Scalar::I8,
            Some(llvm::Type::Int(9..=16)) => Scalar::I16,
            Some(llvm::Type::Int(17..=32)) => Scalar::I32,
            Some(llvm::Type::Int(33..=64)) => Scalar::I64,
            Some(llvm::Type::Half) => Scalar::F16,
            Some(llvm::Type::BFloat) => Scalar::BF16,
            Some(llvm::Type::Float) => Scalar::F32,
            _ => return Err(self.no_such_type(id)),
        })
    }

    #[cold]
    pub(crate) fn no_such_type(&self, id: TypeId) -> LowerError {
        let spelling = self.source.types.display(id);
        LowerError::new(format!("values of type {spelling} do not exist in Metal"))
    }

    /// The width of an integer that fills no type of the form, or of its elements.
    pub(crate) fn odd_width(&self, id: TypeId) -> Option<u32> {
        match self.source.types.get(self.source.types.scalar(id)) {
            Some(llvm::Type::Int(1 | 8 | 16 | 32 | 64 | 128)) => None,
            Some(llvm::Type::Int(bits)) => Some(*bits),
            _ => None,
        }
    }

    fn space(&self, number: u32) -> Space {
        match (self.dialect, number) {
            (_, 1) => Space::Device,
            (_, 2) => Space::Constant,
            (_, 3) => Space::Threadgroup,
            (Dialect::Apple, 0) => Space::Thread,
            _ => Space::Generic,
        }
    }
}
