//! Constants as values of a function.

use super::function::FunctionLowering;
use super::{LowerError, Lowered};
use crate::llvm::{self, CastOp, Constant, ConstantPool, TypeId, ValueId, ValueKind};
use assay_ssa::{CastOp as To, Flags, Type, TypeKind, Value};

/// Parts of constants a function may have: more than any kernel, fewer than a hostile one could ask for.
pub(super) const MAX_PARTS: u32 = 1 << 20;

/// Constant expressions nested deeper than this are taken for damage.
const MAX_NESTING: u32 = 64;

impl FunctionLowering<'_, '_, '_> {
    /// The value of an LLVM value, made on the spot for constants.
    #[inline]
    pub(super) fn value(&mut self, id: ValueId) -> Lowered<Value> {
        if let Some(value) = self.known_value(id) {
            return Ok(value);
        }
        self.value_at(id, 0)
    }

    pub(super) fn value_at(&mut self, id: ValueId, depth: u32) -> Lowered<Value> {
        if depth > MAX_NESTING {
            return Err(LowerError::new("a constant nested too deep"));
        }
        if let Some(value) = self.known_value(id) {
            return Ok(value);
        }
        self.constant_budget = match self.constant_budget.checked_sub(1) {
            Some(left) => left,
            None => return Err(LowerError::new("constants made of too many parts")),
        };
        let value = *self.llvm_value(id)?;
        let (pool, index): (&ConstantPool, u32) = match value.kind {
            ValueKind::Global(index) => return self.global_address(value.ty, index),
            ValueKind::ModuleConstant(index) => (&self.lowering.source.constants, index),
            ValueKind::LocalConstant(index) => (&self.body.constants, index),
            ValueKind::Alias(index) => {
                let alias = self.lowering.source.aliases.get(index as usize);
                let target = alias.map(|alias| alias.target);
                let target = target.ok_or_else(|| LowerError::new("an alias of nothing"))?;
                return self.value_at(target, depth + 1);
            }
            ValueKind::Function(_) => {
                // The address of a function: only unknown callees take one.
                let ty = self.lowering.ty(value.ty)?;
                return Ok(self.function.undef(ty));
            }
            ValueKind::Parameter(_) | ValueKind::Instruction(_) => {
                return Err(LowerError::new(format!(
                    "value {} is used before it exists",
                    id.0
                )));
            }
        };
        let Some(constant) = pool.get(index) else {
            return Err(LowerError::new("a constant that does not exist"));
        };
        let lowered = self.constant(value.ty, *constant, pool, depth)?;
        // What took instructions to make is good for this place only.
        if self.function.is_constant(lowered) {
            self.set_value(id, lowered);
        }
        Ok(lowered)
    }

    pub(super) fn llvm_value(&self, id: ValueId) -> Lowered<&llvm::Value> {
        let value = self.body.value(self.lowering.source, id);
        value.ok_or_else(|| LowerError::new(format!("value {} does not exist", id.0)))
    }

    fn constant(
        &mut self,
        type_id: TypeId,
        constant: Constant,
        pool: &ConstantPool,
        depth: u32,
    ) -> Lowered<Value> {
        let ty = self.lowering.ty(type_id)?;
        match constant {
            Constant::Null => Ok(self.function.zero(ty)),
            Constant::Undef | Constant::Poison => Ok(self.function.undef(ty)),
            Constant::WideInt(words) if self.lowering.is_wide(type_id) => {
                Ok(self.wide_constant(pool.data(words)))
            }
            Constant::Int(number) => {
                let mask = match self.lowering.odd_width(type_id) {
                    Some(width) => u64::MAX >> (64 - width.min(64)),
                    None => u64::MAX,
                };
                Ok(self.function.constant(ty, number as u64 & mask))
            }
            Constant::Float(bits) => Ok(self.function.constant(ty, bits)),
            Constant::Data(span) => {
                let elements = pool.data(span);
                self.elements_constant(ty, elements)
            }
            Constant::String(span) => self.elements_constant(ty, pool.data(span)),
            Constant::Aggregate(span) => {
                let mut parts = Vec::with_capacity(span.len as usize);
                for &part in pool.operands(span) {
                    parts.push(self.value_at(part, depth + 1)?);
                }
                Ok(self.construct(ty, &parts))
            }
            Constant::Gep {
                source,
                flags,
                operands,
            } => {
                let operands: Vec<u32> = pool.operands(operands).iter().map(|id| id.0).collect();
                self.address(source, flags as u8, &operands)
            }
            Constant::Cast { opcode, operand } => {
                let op = CastOp::from_code(u64::from(opcode));
                let op =
                    op.ok_or_else(|| LowerError::new("an unknown conversion of a constant"))?;
                self.value_at(operand, depth + 1)?;
                self.cast(op, 0, operand, type_id)
            }
            Constant::Select {
                operands: [condition, a, b],
            } => {
                let condition = self.value_at(condition, depth + 1)?;
                let (a, b) = (self.value_at(a, depth + 1)?, self.value_at(b, depth + 1)?);
                Ok(self.builder().select(condition, a, b, Flags::NONE))
            }
            Constant::Binary { opcode, operands } => {
                let float = self.lowering.source.types.is_float(type_id);
                let op = llvm::BinaryOp::from_code(u64::from(opcode), float);
                let op = op.ok_or_else(|| LowerError::new("an unknown operation on constants"))?;
                for operand in operands {
                    self.value_at(operand, depth + 1)?;
                }
                self.binary(op, 0, operands)
            }
            Constant::Compare {
                predicate,
                operands,
            } => {
                for operand in operands {
                    self.value_at(operand, depth + 1)?;
                }
                self.compare(predicate as u8, 0, operands)
            }
            Constant::WideInt(_) => Err(LowerError::new("an integer of more than 64 bits")),
            Constant::Other(code) => Err(LowerError::new(format!(
                "a constant of kind {code}, which no kernel has"
            ))),
        }
    }

    /// A vector, matrix or array of numbers.
    fn elements_constant(&mut self, ty: Type, elements: &[u64]) -> Lowered<Value> {
        match ty.kind() {
            TypeKind::Vector(..) | TypeKind::Scalar(_) => {
                Ok(self.function.constant_vector(ty, elements))
            }
            TypeKind::Matrix(scalar) => {
                let first = |index: usize| elements.get(index).copied().unwrap_or(0);
                let pair = [first(0), first(1)];
                let pair = pair.map(|bits| self.function.constant(Type::scalar(scalar), bits));
                Ok(self.builder().construct(ty, &pair))
            }
            _ => {
                let element = self.lowering.target.types.element_at(ty, 0);
                let Some((element, _)) = element else {
                    return Ok(self.function.zero(ty));
                };
                let parts: Vec<Value> = elements
                    .iter()
                    .map(|&bits| self.function.constant(element, bits))
                    .collect();
                Ok(self.construct(ty, &parts))
            }
        }
    }

    /// A vector, matrix or aggregate of its elements; of constants, a constant where there is one.
    pub(super) fn construct(&mut self, ty: Type, parts: &[Value]) -> Value {
        let all = |test: &dyn Fn(Value) -> bool| parts.iter().all(|&part| test(part));
        if all(&|part| matches!(self.function.def(part), assay_ssa::ValueDef::Undef)) {
            return self.function.undef(ty);
        }
        match ty.kind() {
            TypeKind::Scalar(_) => parts
                .first()
                .copied()
                .unwrap_or_else(|| self.function.zero(ty)),
            TypeKind::Matrix(_) => {
                let pair = parts.get(..2).unwrap_or(parts).to_vec();
                self.builder().construct(ty, &pair)
            }
            TypeKind::Vector(..) if all(&|part| self.known_bits(part).is_some()) => {
                let bits: Vec<u64> = parts
                    .iter()
                    .filter_map(|&part| self.known_bits(part))
                    .collect();
                self.function.constant_vector(ty, &bits)
            }
            _ => self.builder().construct(ty, parts),
        }
    }

    /// The bits of a constant element; an undefined one is taken as zero.
    fn known_bits(&self, value: Value) -> Option<u64> {
        match self.function.def(value) {
            assay_ssa::ValueDef::Const(bits) => Some(bits),
            assay_ssa::ValueDef::Undef => Some(0),
            _ => None,
        }
    }

    /// The address of a global, seen as the pointer type LLVM gives it.
    fn global_address(&mut self, type_id: TypeId, index: u32) -> Lowered<Value> {
        let copy = match self.program_input(index)? {
            Some(copy) => Some(copy),
            None => self.function_constant_copy(index)?,
        };
        let address = match copy {
            Some(copy) => copy,
            None => {
                let space = self.lowering.global_space(index);
                let id = self.lowering.global(index)?;
                self.function.global(Type::pointer(space), id)
            }
        };
        let wanted = self.lowering.ty(type_id)?;
        if self.function.ty(address) == wanted {
            return Ok(address);
        }
        Ok(self
            .builder()
            .cast(To::SpaceCast, address, wanted, Flags::NONE))
    }
}
