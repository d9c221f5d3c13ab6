//! A function's body: blocks, instructions, source locations.

use super::module::ModuleReader;
use super::operands::Operands;
use super::{block, decode_align, decode_signed};
use crate::bitstream::Entry;
use crate::error::Error;
use crate::llvm::instruction::{BinaryOp, BlockId, CastOp, FastMath, Instruction, NO_LOCATION, Op};
use crate::llvm::metadata::{DebugLocation, MetadataId};
use crate::llvm::module::{Body, Module};
use crate::llvm::types::{Type, TypeId};
use crate::llvm::value::{Span, Value, ValueId, ValueKind};

mod code {
    pub(super) const DECLAREBLOCKS: u32 = 1;
    pub(super) const BINOP: u32 = 2;
    pub(super) const CAST: u32 = 3;
    pub(super) const EXTRACTELT: u32 = 6;
    pub(super) const INSERTELT: u32 = 7;
    pub(super) const SHUFFLEVEC: u32 = 8;
    pub(super) const CMP: u32 = 9;
    pub(super) const RET: u32 = 10;
    pub(super) const BR: u32 = 11;
    pub(super) const SWITCH: u32 = 12;
    pub(super) const UNREACHABLE: u32 = 15;
    pub(super) const PHI: u32 = 16;
    pub(super) const ALLOCA: u32 = 19;
    pub(super) const LOAD: u32 = 20;
    pub(super) const EXTRACTVAL: u32 = 26;
    pub(super) const INSERTVAL: u32 = 27;
    pub(super) const CMP2: u32 = 28;
    pub(super) const VSELECT: u32 = 29;
    pub(super) const DEBUG_LOC_AGAIN: u32 = 33;
    pub(super) const CALL: u32 = 34;
    pub(super) const DEBUG_LOC: u32 = 35;
    pub(super) const FENCE: u32 = 36;
    pub(super) const ATOMICRMW_OLD: u32 = 38;
    pub(super) const LOADATOMIC: u32 = 41;
    pub(super) const GEP: u32 = 43;
    pub(super) const STORE: u32 = 44;
    pub(super) const STOREATOMIC: u32 = 45;
    pub(super) const CMPXCHG: u32 = 46;
    pub(super) const OPERAND_BUNDLE: u32 = 55;
    pub(super) const UNOP: u32 = 56;
    pub(super) const FREEZE: u32 = 58;
    pub(super) const ATOMICRMW: u32 = 59;
    pub(super) const BLOCKADDR_USERS: u32 = 60;
    /// Debug records, 61 to 69: what variables hold, which nobody here asks.
    pub(super) const DEBUG_RECORD_FIRST: u32 = 61;
    pub(super) const DEBUG_RECORD_LAST: u32 = 69;
}

/// A body while it is read.
struct BodyReader<'r, 'a> {
    module: &'r mut Module<'a>,
    body: &'r mut Body<'a>,
    bool_type: &'r mut Option<TypeId>,
    /// Whether value numbers count back from the instruction at hand.
    relative: bool,
    /// Where the block at hand starts.
    block_start: u32,
    declared_blocks: usize,
}

impl<'a> ModuleReader<'a> {
    pub(super) fn read_body(&mut self, function: u32) -> Result<Body<'a>, Error> {
        self.reader.enter()?;
        let mut body = Body {
            function,
            first_local: self.module.values.len() as u32,
            first_metadata: self.module.metadata.len() as u32,
            ..Body::default()
        };
        let ty = self
            .module
            .functions
            .get(function as usize)
            .map(|function| function.ty);
        if let Some(Type::Function { params, .. }) = ty.and_then(|ty| self.module.types.get(ty)) {
            let parameters = params.iter().enumerate();
            body.values.extend(parameters.map(|(index, &ty)| Value {
                ty,
                kind: ValueKind::Parameter(index as u32),
            }));
        }
        let (mut block_start, mut declared_blocks) = (0, 0);
        loop {
            match self.reader.next(&mut self.record)? {
                Entry::End => break,
                Entry::Block(block::CONSTANTS) => {
                    let mut pool = std::mem::take(&mut body.constants);
                    self.read_constants(&mut pool, &mut body.values, ValueKind::LocalConstant)?;
                    body.constants = pool;
                }
                Entry::Block(block::METADATA) => self.read_metadata(&mut body.metadata)?,
                Entry::Block(block::METADATA_ATTACHMENT) => {
                    self.read_attachments(&mut body.attachments)?;
                }
                Entry::Block(_) => self.reader.skip(),
                Entry::Record => {
                    let mut reader = BodyReader {
                        module: &mut self.module,
                        body: &mut body,
                        bool_type: &mut self.bool_type,
                        relative: self.version >= 1,
                        block_start,
                        declared_blocks,
                    };
                    reader
                        .read_record(Operands::new(&self.record, "function"), self.record.code)?;
                    (block_start, declared_blocks) = (reader.block_start, reader.declared_blocks);
                }
            }
        }
        let complete = block_start as usize == body.instructions.len();
        if !complete || body.blocks.len() != declared_blocks || declared_blocks == 0 {
            let what = "a body whose blocks are not those it declared";
            return Err(self.reader.error(crate::Problem::Stream(what)));
        }
        Ok(body)
    }
}

impl BodyReader<'_, '_> {
    fn next_value(&self) -> u32 {
        self.body
            .first_local
            .wrapping_add(self.body.values.len() as u32)
    }

    fn read_record(&mut self, mut operands: Operands<'_>, code: u32) -> Result<(), Error> {
        match code {
            code::DECLAREBLOCKS => {
                self.declared_blocks = operands.next_u32()? as usize;
                return Ok(());
            }
            code::DEBUG_LOC => return self.read_location(operands),
            code::DEBUG_LOC_AGAIN => {
                let last = self.body.locations.len().checked_sub(1);
                let last = last.ok_or_else(|| operands.error("there is no location to repeat"))?;
                if let Some(instruction) = self.body.instructions.last_mut() {
                    instruction.location = last as u32;
                }
                return Ok(());
            }
            code::OPERAND_BUNDLE | code::BLOCKADDR_USERS => return Ok(()),
            code::DEBUG_RECORD_FIRST..=code::DEBUG_RECORD_LAST => return Ok(()),
            _ => {}
        }
        let (op, result) = self.read_instruction(code, &mut operands)?;
        self.push(op, result);
        if op.is_terminator() {
            let end = self.body.instructions.len() as u32;
            let start = std::mem::replace(&mut self.block_start, end);
            if self.body.blocks.len() >= self.declared_blocks {
                return Err(operands.error("it is behind the last block"));
            }
            self.body.blocks.push(Span {
                start,
                len: end - start,
            });
        }
        Ok(())
    }

    fn push(&mut self, op: Op, result: Option<TypeId>) {
        let index = self.body.instructions.len() as u32;
        let result = result.map(|ty| {
            let id = ValueId(self.next_value());
            let kind = ValueKind::Instruction(index);
            self.body.values.push(Value { ty, kind });
            id
        });
        self.body.instructions.push(Instruction {
            op,
            result,
            location: NO_LOCATION,
        });
    }

    fn read_location(&mut self, mut operands: Operands<'_>) -> Result<(), Error> {
        let optional = |id: u64| id.checked_sub(1).map(|id| MetadataId(id as u32));
        let location = DebugLocation {
            line: operands.next_u32()?,
            column: operands.next_u32()?,
            scope: optional(operands.next()?),
            inlined_at: optional(operands.next()?),
        };
        let Some(instruction) = self.body.instructions.last_mut() else {
            return Err(operands.error("there is no instruction it belongs to"));
        };
        instruction.location = self.body.locations.len() as u32;
        self.body.locations.push(location);
        Ok(())
    }

    /// An absolute value number from one as recorded.
    #[inline]
    fn absolute(&self, number: u64) -> ValueId {
        match self.relative {
            true => ValueId(self.next_value().wrapping_sub(number as u32)),
            false => ValueId(number as u32),
        }
    }

    /// A value whose type is known to the reader.
    #[inline]
    fn value(&self, operands: &mut Operands<'_>) -> Result<ValueId, Error> {
        Ok(self.absolute(operands.next()?))
    }

    /// A value, followed by its type if it is defined further on.
    #[inline]
    fn typed(&self, operands: &mut Operands<'_>) -> Result<(ValueId, TypeId), Error> {
        let id = self.absolute(operands.next()?);
        if id.0 < self.next_value() {
            let value = self.body.value(self.module, id);
            let value = value.ok_or_else(|| operands.dangling("value", u64::from(id.0)))?;
            return Ok((id, value.ty));
        }
        let ty = TypeId(operands.next_u32()?);
        if self.module.types.get(ty).is_none() {
            return Err(operands.dangling("type", u64::from(ty.0)));
        }
        Ok((id, ty))
    }

    fn type_id(&self, operands: &mut Operands<'_>) -> Result<TypeId, Error> {
        let ty = TypeId(operands.next_u32()?);
        match self.module.types.get(ty) {
            Some(_) => Ok(ty),
            None => Err(operands.dangling("type", u64::from(ty.0))),
        }
    }

    fn block(&self, operands: &mut Operands<'_>) -> Result<BlockId, Error> {
        let number = operands.next()?;
        if number >= self.declared_blocks as u64 {
            return Err(operands.dangling("block", number));
        }
        Ok(BlockId(number as u32))
    }

    /// `i1`, or a vector of it with as many lanes as `like`.
    fn bool_like(&mut self, like: TypeId) -> TypeId {
        let types = &mut self.module.types;
        let bit = *self
            .bool_type
            .get_or_insert_with(|| types.intern(Type::Int(1)));
        match types.get(like) {
            Some(&Type::Vector(lanes, _)) => types.intern(Type::Vector(lanes, bit)),
            _ => bit,
        }
    }

    fn read_instruction(
        &mut self,
        code: u32,
        operands: &mut Operands<'_>,
    ) -> Result<(Op, Option<TypeId>), Error> {
        match code {
            code::LOAD | code::LOADATOMIC | code::STORE | code::STOREATOMIC => {
                self.read_access(code, operands)
            }
            code::CMPXCHG | code::ATOMICRMW | code::ATOMICRMW_OLD | code::FENCE => {
                self.read_atomic(code, operands)
            }
            code::RET | code::BR | code::SWITCH | code::UNREACHABLE => {
                Ok((self.read_terminator(code, operands)?, None))
            }
            code::EXTRACTELT | code::INSERTELT | code::SHUFFLEVEC => {
                self.read_vector(code, operands)
            }
            code::EXTRACTVAL | code::INSERTVAL => self.read_aggregate(code, operands),
            code::GEP => self.read_gep(operands),
            code::CALL => self.read_call(operands),
            code::PHI => self.read_phi(operands),
            code::ALLOCA => self.read_alloca(operands),
            _ => self.read_arithmetic(code, operands),
        }
    }

    fn read_arithmetic(
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

    fn read_vector(
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

    fn read_aggregate(
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

    fn read_gep(&mut self, operands: &mut Operands<'_>) -> Result<(Op, Option<TypeId>), Error> {
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

    fn read_phi(&mut self, operands: &mut Operands<'_>) -> Result<(Op, Option<TypeId>), Error> {
        let ty = self.type_id(operands)?;
        let start = self.body.operands.len() as u32;
        // Fast-math flags make the number of operands odd.
        while operands.len() >= 2 {
            let number = operands.next()?;
            let value = match self.relative {
                true => self.next_value().wrapping_sub(decode_signed(number) as u32),
                false => number as u32,
            };
            let block = self.block(operands)?;
            self.body.operands.extend([value, block.0]);
        }
        let incoming = Span {
            start,
            len: self.body.operands.len() as u32 - start,
        };
        let flags = FastMath(operands.next_or_zero() as u8);
        Ok((Op::Phi { flags, incoming }, Some(ty)))
    }

    fn read_alloca(&mut self, operands: &mut Operands<'_>) -> Result<(Op, Option<TypeId>), Error> {
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

    fn read_access(
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

    fn read_atomic(
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

    fn read_terminator(&mut self, code: u32, operands: &mut Operands<'_>) -> Result<Op, Error> {
        Ok(match code {
            code::RET if operands.is_empty() => Op::Return { value: None },
            code::RET => Op::Return {
                value: Some(self.typed(operands)?.0),
            },
            code::BR => {
                let then = self.block(operands)?;
                if operands.is_empty() {
                    return Ok(Op::Jump { target: then });
                }
                let otherwise = self.block(operands)?;
                let condition = self.value(operands)?;
                Op::Branch {
                    condition,
                    then,
                    otherwise,
                }
            }
            code::SWITCH => {
                self.type_id(operands)?;
                let value = self.value(operands)?;
                let default = self.block(operands)?;
                let start = self.body.operands.len() as u32;
                while !operands.is_empty() {
                    // Case values are absolute, unlike all others.
                    let case = operands.next_u32()?;
                    let block = self.block(operands)?;
                    self.body.operands.extend([case, block.0]);
                }
                let cases = Span {
                    start,
                    len: self.body.operands.len() as u32 - start,
                };
                Op::Switch {
                    value,
                    default,
                    cases,
                }
            }
            _ => Op::Unreachable,
        })
    }

    fn read_call(&mut self, operands: &mut Operands<'_>) -> Result<(Op, Option<TypeId>), Error> {
        const EXPLICIT_TYPE: u64 = 1 << 15;
        const FAST_MATH: u64 = 1 << 17;
        let attributes = operands.next_u32()?;
        let how = operands.next()?;
        let flags = match how & FAST_MATH {
            0 => FastMath::default(),
            _ => FastMath(operands.next()? as u8),
        };
        let explicit = match how & EXPLICIT_TYPE {
            0 => None,
            _ => Some(self.type_id(operands)?),
        };
        let (callee, callee_type) = self.typed(operands)?;
        let function_type = explicit.or_else(|| self.module.types.pointee(callee_type));
        let function_type =
            function_type.ok_or_else(|| operands.error("it does not say what it calls"))?;
        let Some(Type::Function { result, params, .. }) = self.module.types.get(function_type)
        else {
            return Err(operands.error("it calls something that is no function"));
        };
        let (result, fixed) = (*result, params.len());
        let start = self.body.operands.len() as u32;
        for index in 0.. {
            if index >= fixed && operands.is_empty() {
                break;
            }
            let argument = match index < fixed {
                true => self.value(operands)?,
                false => self.typed(operands)?.0,
            };
            self.body.operands.push(argument.0);
        }
        let arguments = Span {
            start,
            len: self.body.operands.len() as u32 - start,
        };
        let void = matches!(self.module.types.get(result), Some(Type::Void));
        let call = Op::Call {
            callee,
            function_type,
            arguments,
            attributes,
            flags,
        };
        Ok((call, (!void).then_some(result)))
    }
}
