//! Instructions that compute a value from values.

use super::super::operands::Operands;
use super::{BodyReader, code};
use crate::error::Error;
use crate::llvm::instruction::{BinaryOp, CastOp, FastMath, Op};
use crate::llvm::types::{Type, TypeId};
use crate::llvm::value::Span;

impl BodyReader<'_, '_> {
    pub(super) fn read_arithmetic(
        &mut self,
        code: u32,
        operands: &mut Operands<'_>,
    ) -> Result<(Op, Option<TypeId>), Error> {
        let (first, ty) = match code {
            code::BINOP
            | code::CAST
            | code::CMP
            | code::CMP2
            | code::VSELECT
            | code::UNOP
            | code::FREEZE => self.typed(operands)?,
            _ => return Err(operands.unknown()),
        };
        Ok(match code {
            code::BINOP => {
                let second = self.value(operands)?;
                let float = self.module.types.is_float(ty);
                let op = BinaryOp::from_code(operands.next()?, float);
                let op = op.ok_or_else(|| operands.error("an unknown operation"))?;
                let flags = operands.next_or_zero() as u8;
                let operands = [first, second];
                (
                    Op::Binary {
                        op,
                        flags,
                        operands,
                    },
                    Some(ty),
                )
            }
            code::CAST => {
                let to = self.type_id(operands)?;
                let op = CastOp::from_code(operands.next()?);
                let op = op.ok_or_else(|| operands.error("an unknown conversion"))?;
                let flags = operands.next_or_zero() as u8;
                let operand = first;
                (Op::Cast { op, flags, operand }, Some(to))
            }
            code::CMP | code::CMP2 => {
                let second = self.value(operands)?;
                let predicate = operands.next()?;
                if !matches!(predicate, 0..=15 | 32..=41) {
                    return Err(operands.error("an unknown comparison"));
                }
                let compare = Op::Compare {
                    predicate: predicate as u8,
                    flags: operands.next_or_zero() as u8,
                    operands: [first, second],
                };
                (compare, Some(self.bool_like(ty)))
            }
            code::VSELECT => {
                let second = self.value(operands)?;
                let (condition, _) = self.typed(operands)?;
                let select = Op::Select {
                    flags: FastMath(operands.next_or_zero() as u8),
                    condition,
                    operands: [first, second],
                };
                (select, Some(ty))
            }
            code::UNOP => {
                if operands.next()? != 0 {
                    return Err(operands.error("an unknown operation"));
                }
                let flags = FastMath(operands.next_or_zero() as u8);
                (
                    Op::FNeg {
                        flags,
                        operand: first,
                    },
                    Some(ty),
                )
            }
            _ => (Op::Freeze { operand: first }, Some(ty)),
        })
    }

    pub(super) fn read_vector(
        &mut self,
        code: u32,
        operands: &mut Operands<'_>,
    ) -> Result<(Op, Option<TypeId>), Error> {
        let (vector, ty) = self.typed(operands)?;
        let Some(&Type::Vector(_, element_type)) = self.module.types.get(ty) else {
            return Err(operands.error("its operand is no vector"));
        };
        match code {
            code::EXTRACTELT => {
                let (index, _) = self.typed(operands)?;
                Ok((Op::ExtractElement { vector, index }, Some(element_type)))
            }
            code::INSERTELT => {
                let element = self.value(operands)?;
                let (index, _) = self.typed(operands)?;
                let insert = Op::InsertElement {
                    vector,
                    element,
                    index,
                };
                Ok((insert, Some(ty)))
            }
            _ => {
                let second = self.value(operands)?;
                let (mask, mask_type) = self.typed(operands)?;
                let Some(&Type::Vector(lanes, _)) = self.module.types.get(mask_type) else {
                    return Err(operands.error("its mask is no vector"));
                };
                let result = match self.module.types.get(ty) {
                    Some(&Type::Vector(same, _)) if same == lanes => ty,
                    _ => self.module.types.intern(Type::Vector(lanes, element_type)),
                };
                let operands = [vector, second];
                Ok((Op::ShuffleVector { operands, mask }, Some(result)))
            }
        }
    }

    pub(super) fn read_aggregate(
        &mut self,
        code: u32,
        operands: &mut Operands<'_>,
    ) -> Result<(Op, Option<TypeId>), Error> {
        let (aggregate, ty) = self.typed(operands)?;
        let element = match code {
            code::INSERTVAL => Some(self.typed(operands)?.0),
            _ => None,
        };
        let start = self.body.indices.len() as u32;
        let mut part = ty;
        for &index in operands.rest() {
            let inner = self.module.types.element(part, index);
            part = inner.ok_or_else(|| operands.error("it names a part that does not exist"))?;
            self.body.indices.push(index as u32);
        }
        let path = Span {
            start,
            len: operands.len() as u32,
        };
        Ok(match element {
            Some(element) => (
                Op::InsertValue {
                    aggregate,
                    element,
                    path,
                },
                Some(ty),
            ),
            None => (Op::ExtractValue { aggregate, path }, Some(part)),
        })
    }
}
