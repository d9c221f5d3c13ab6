//! A function's body: blocks, instructions, source locations.

mod compute;
mod memory;

use super::module::ModuleReader;
use super::operands::Operands;
use super::{block, decode_signed};
use crate::bitstream::Entry;
use crate::error::Error;
use crate::llvm::instruction::{BlockId, FastMath, Instruction, NO_LOCATION, Op};
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
