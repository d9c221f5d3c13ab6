//! Instructions that reach memory, and the addresses they use.

use super::super::decode_align;
use super::super::operands::Operands;
use super::{BodyReader, code};
use crate::error::Error;
use crate::llvm::instruction::Op;
use crate::llvm::types::{Type, TypeId};
use crate::llvm::value::{Span, ValueId};

impl BodyReader<'_, '_> {
    pub(super) fn read_gep(
        &mut self,
        operands: &mut Operands<'_>,
    ) -> Result<(Op, Option<TypeId>), Error> {
        let flags = operands.next()? as u8;
        let source = self.type_id(operands)?;
        let start = self.body.operands.len() as u32;
        let mut result = None;
        let mut lanes = None;
        while !operands.is_empty() {
            let (value, ty) = self.typed(operands)?;
            result = result.or(Some(ty));
            if let Some(&Type::Vector(count, _)) = self.module.types.get(ty) {
                lanes = Some(count);
            }
            self.body.operands.push(value.0);
        }
        let base = result.ok_or_else(|| operands.error("it has no base"))?;
        let result = match (lanes, self.module.types.get(base)) {
            (Some(lanes), Some(Type::Pointer(_))) => {
                self.module.types.intern(Type::Vector(lanes, base))
            }
            _ => base,
        };
        let operands = Span {
            start,
            len: self.body.operands.len() as u32 - start,
        };
        Ok((
            Op::Gep {
                flags,
                source,
                operands,
            },
            Some(result),
        ))
    }

    pub(super) fn read_alloca(
        &mut self,
        operands: &mut Operands<'_>,
    ) -> Result<(Op, Option<TypeId>), Error> {
        const EXPLICIT_TYPE: u64 = 1 << 6;
        let mut ty = self.type_id(operands)?;
        operands.next()?;
        let count = ValueId(operands.next_u32()?);
        let how = operands.next()?;
        let space = operands.next_or_zero() as u32;
        if how & EXPLICIT_TYPE == 0 {
            let pointee = self.module.types.pointee(ty);
            ty = pointee.ok_or_else(|| operands.error("its type is no pointer"))?;
        }
        let align = decode_align((how & 0x1f) | (how >> 8 & 7) << 5);
        let result = self.module.types.intern(Type::Pointer(space));
        Ok((Op::Alloca { ty, count, align }, Some(result)))
    }

    pub(super) fn read_access(
        &mut self,
        code: u32,
        operands: &mut Operands<'_>,
    ) -> Result<(Op, Option<TypeId>), Error> {
        let (pointer, pointer_type) = self.typed(operands)?;
        let load = matches!(code, code::LOAD | code::LOADATOMIC);
        let atomic = matches!(code, code::LOADATOMIC | code::STOREATOMIC);
        let behind = if atomic { 4 } else { 2 };
        let ty = match (load, operands.len() > behind) {
            (true, true) => Some(self.type_id(operands)?),
            (true, false) => self.module.types.pointee(pointer_type),
            (false, _) => None,
        };
        let value = match load {
            true => None,
            false => Some(self.typed(operands)?.0),
        };
        let align = decode_align(operands.next()?);
        let volatile = operands.next()? != 0;
        let (ordering, scope) = match atomic {
            true => (operands.next()? as u8, operands.next()? as u8),
            false => (0, 0),
        };
        match value {
            Some(value) => Ok((
                Op::Store {
                    pointer,
                    value,
                    align,
                    volatile,
                    ordering,
                    scope,
                },
                None,
            )),
            None => {
                let ty = ty.ok_or_else(|| operands.error("it does not say what it loads"))?;
                Ok((
                    Op::Load {
                        ty,
                        pointer,
                        align,
                        volatile,
                        ordering,
                        scope,
                    },
                    Some(ty),
                ))
            }
        }
    }

    pub(super) fn read_atomic(
        &mut self,
        code: u32,
        operands: &mut Operands<'_>,
    ) -> Result<(Op, Option<TypeId>), Error> {
        if code == code::FENCE {
            let ordering = operands.next()? as u8;
            let scope = operands.next()? as u8;
            return Ok((Op::Fence { ordering, scope }, None));
        }
        let (pointer, pointer_type) = self.typed(operands)?;
        let (value, ty) = match code {
            code::ATOMICRMW_OLD => {
                let ty = self.module.types.pointee(pointer_type);
                let ty = ty.ok_or_else(|| operands.error("its operand is no typed pointer"))?;
                (self.value(operands)?, ty)
            }
            _ => self.typed(operands)?,
        };
        if code == code::CMPXCHG {
            let new = self.value(operands)?;
            let volatile = operands.next()? != 0;
            let ordering = operands.next()? as u8;
            let scope = operands.next()? as u8;
            let bit = self.bool_like(TypeId(u32::MAX));
            let result = self.module.types.intern(Type::Struct {
                fields: vec![ty, bit],
                packed: false,
            });
            let operands = [pointer, value, new];
            let exchange = Op::CompareExchange {
                operands,
                volatile,
                ordering,
                scope,
            };
            return Ok((exchange, Some(result)));
        }
        let operation = operands.next()? as u8;
        let volatile = operands.next()? != 0;
        let ordering = operands.next()? as u8;
        let scope = operands.next()? as u8;
        let rmw = Op::AtomicRmw {
            operation,
            pointer,
            value,
            volatile,
            ordering,
            scope,
        };
        Ok((rmw, Some(ty)))
    }
}
