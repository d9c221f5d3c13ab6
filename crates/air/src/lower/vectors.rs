//! Elements of vectors and matrices.
//!
//! Apple's compiler spells a simdgroup matrix `<64 x T>`, of which a thread holds elements 0 and 1; the other
//! 62 are padding that shuffles and insertions carry along. Here the padding disappears.

use super::function::FunctionLowering;
use super::{LowerError, Lowered};
use crate::llvm::{self, Constant, TypeId, ValueId};
use assay_ssa::{BinaryOp, CastOp, Flags, Scalar, Type, TypeKind, UNDEF_LANE, Value};

/// Elements of a matrix a thread holds.
const HELD: u64 = 2;

/// Vectors of truth values longer than this exist only to have one bit taken out of a number.
const MAX_TRUTHS: u32 = 16;

impl FunctionLowering<'_, '_, '_> {
    /// Whether a type is a vector of so many single bits that it has no form here.
    fn is_bits(&self, ty: TypeId) -> bool {
        let types = &self.lowering.source.types;
        match types.get(ty) {
            Some(llvm::Type::Vector(lanes, element)) => {
                *lanes > MAX_TRUTHS && matches!(types.get(*element), Some(llvm::Type::Int(1)))
            }
            _ => false,
        }
    }

    /// `bitcast <4 x i8> to <32 x i1>`, which clang makes to read one component of a `bool4`: the value itself, for
    /// [`Self::extract_element`] to take bits of.
    pub(super) fn bit_view(
        &mut self,
        op: llvm::CastOp,
        operand: ValueId,
        to: TypeId,
    ) -> Lowered<Option<Value>> {
        if op != llvm::CastOp::Bitcast || !self.is_bits(to) {
            return Ok(None);
        }
        let value = self.value(operand)?;
        let ty = self.function.ty(value);
        let whole = matches!(ty.kind(), TypeKind::Scalar(_) | TypeKind::Vector(..)) && ty.is_int();
        match whole {
            true => Ok(Some(value)),
            false => Err(LowerError::new(format!("the bits of {ty}"))),
        }
    }

    /// One bit of a number or vector of numbers.
    fn extract_bit(&mut self, value: Value, index: ValueId) -> Lowered<Value> {
        let (_, number) = self.constant_index(index)?;
        let number = number.ok_or_else(|| LowerError::new("a bit chosen while running"))?;
        let ty = self.function.ty(value);
        let width = ty.element().map_or(1, |element| u64::from(element.bits()));
        let holder = match ty.kind() {
            TypeKind::Vector(..) => {
                let lane = self.function.i32((number / width) as i32);
                self.builder().extract(value, lane)
            }
            _ => value,
        };
        let scalar = self.function.ty(holder);
        let by = self.function.constant(scalar, number % width);
        let shifted = self
            .builder()
            .binary(BinaryOp::LShr, holder, by, Flags::NONE);
        let truth = Type::scalar(Scalar::I1);
        Ok(self
            .builder()
            .cast(CastOp::Trunc, shifted, truth, Flags::NONE))
    }

    fn constant_index(&mut self, index: ValueId) -> Lowered<(Value, Option<u64>)> {
        let index = self.value(index)?;
        Ok((index, self.function.const_bits(index)))
    }

    pub(super) fn extract_element(&mut self, vector: ValueId, index: ValueId) -> Lowered<Value> {
        let bits = self.is_bits(self.llvm_value(vector)?.ty);
        let vector = self.value(vector)?;
        if bits {
            return self.extract_bit(vector, index);
        }
        let (index, number) = self.constant_index(index)?;
        let ty = self.function.ty(vector);
        match (ty.kind(), number) {
            // A vector of one element is that element.
            (TypeKind::Scalar(_), _) => Ok(vector),
            (TypeKind::Matrix(scalar), Some(HELD..)) => {
                Ok(self.function.undef(Type::scalar(scalar)))
            }
            (TypeKind::Matrix(_) | TypeKind::Vector(..), _) => {
                Ok(self.builder().extract(vector, index))
            }
            _ => Err(LowerError::new(format!("an element of {ty}"))),
        }
    }

    pub(super) fn insert_element(
        &mut self,
        vector: ValueId,
        element: ValueId,
        index: ValueId,
    ) -> Lowered<Value> {
        let (vector, element) = (self.value(vector)?, self.value(element)?);
        let (index, number) = self.constant_index(index)?;
        let ty = self.function.ty(vector);
        match (ty.kind(), number) {
            (TypeKind::Scalar(_), _) => Ok(element),
            (TypeKind::Matrix(_), Some(HELD..)) => Ok(vector),
            (TypeKind::Matrix(_) | TypeKind::Vector(..), _) => {
                Ok(self.builder().insert(vector, element, index))
            }
            _ => Err(LowerError::new(format!("an element put into {ty}"))),
        }
    }

    pub(super) fn shuffle(
        &mut self,
        operands: [ValueId; 2],
        mask: ValueId,
        to: TypeId,
    ) -> Lowered<Value> {
        let source_lanes = self.lanes_of(operands[0])?;
        let mask = self.shuffle_mask(mask)?;
        let to = self.lowering.ty(to)?;
        let [a, b] = [self.value(operands[0])?, self.value(operands[1])?];
        let from = self.function.ty(a);
        if !from.is_matrix() && !to.is_matrix() && from.is_vector() && to.is_vector() {
            return Ok(self.builder().shuffle(a, b, &mask));
        }
        let wanted = mask.get(..usize::from(to.lanes())).unwrap_or(&mask);
        if let Some(value) = self.whole_operand(a, b, source_lanes, wanted, to) {
            return Ok(value);
        }
        let mut elements = Vec::with_capacity(wanted.len());
        for &lane in wanted {
            elements.push(self.shuffled_element(a, b, source_lanes, lane)?);
        }
        Ok(self.construct(to, &elements))
    }

    /// A shuffle that takes the elements of one operand in order, as a matrix or out of one.
    fn whole_operand(
        &mut self,
        a: Value,
        b: Value,
        source_lanes: u32,
        mask: &[u32],
        to: Type,
    ) -> Option<Value> {
        let in_order = |first: u32| {
            let expected = (first..).zip(mask);
            expected.clone().all(|(lane, &wanted)| lane == wanted)
        };
        let operand = if in_order(0) {
            a
        } else if in_order(source_lanes) {
            b
        } else {
            return None;
        };
        let from = self.function.ty(operand);
        if from == to {
            return Some(operand);
        }
        let pair = |ty: Type| matches!(ty.kind(), TypeKind::Vector(_, 2) | TypeKind::Matrix(_));
        if pair(from) && pair(to) && from.element() == to.element() {
            return Some(
                self.builder()
                    .cast(CastOp::Bitcast, operand, to, Flags::NONE),
            );
        }
        None
    }

    fn shuffled_element(&mut self, a: Value, b: Value, lanes: u32, lane: u32) -> Lowered<Value> {
        let (operand, lane) = match lane {
            UNDEF_LANE => (a, UNDEF_LANE),
            lane if lane < lanes => (a, lane),
            lane => (b, lane - lanes),
        };
        let ty = self.function.ty(operand);
        let Some(scalar) = ty.element() else {
            return Err(LowerError::new(format!("a shuffle of {ty}")));
        };
        if lane >= u32::from(ty.lanes()) {
            return Ok(self.function.undef(Type::scalar(scalar)));
        }
        if matches!(ty.kind(), TypeKind::Scalar(_)) {
            return Ok(operand);
        }
        Ok(self.builder().extract_lane(operand, lane))
    }

    fn lanes_of(&self, id: ValueId) -> Lowered<u32> {
        let ty = self.llvm_value(id)?.ty;
        match self.lowering.source.types.get(ty) {
            Some(crate::llvm::Type::Vector(lanes, _)) => Ok(*lanes),
            _ => Err(LowerError::new("a shuffle of something that is no vector")),
        }
    }

    /// The numbers of a shuffle's mask, undefined ones as [`UNDEF_LANE`].
    fn shuffle_mask(&self, mask: ValueId) -> Lowered<Vec<u32>> {
        let lanes = self.lanes_of(mask)?;
        let source = self.lowering.source;
        let unknown = || LowerError::new("a shuffle whose mask is no constant");
        let (constant, pool) = self.body.constant(source, mask).ok_or_else(unknown)?;
        Ok(match *constant {
            Constant::Null => vec![0; lanes as usize],
            Constant::Undef | Constant::Poison => vec![UNDEF_LANE; lanes as usize],
            Constant::Data(span) => pool.data(span).iter().map(|&lane| lane as u32).collect(),
            Constant::Aggregate(span) => {
                let lane = |&id: &ValueId| match self.body.constant(source, id) {
                    Some((Constant::Int(number), _)) => *number as u32,
                    Some((Constant::Null, _)) => 0,
                    _ => UNDEF_LANE,
                };
                pool.operands(span).iter().map(lane).collect()
            }
            _ => return Err(unknown()),
        })
    }
}
