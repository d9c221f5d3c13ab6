//! Elements of vectors and matrices.
//!
//! Apple's compiler spells a simdgroup matrix `<64 x T>`, of which a thread holds elements 0 and 1; the other
//! 62 are padding that shuffles and insertions carry along. Here the padding disappears.

use super::function::FunctionLowering;
use super::{LowerError, Lowered};
use crate::llvm::{Constant, TypeId, ValueId};
use assay_ssa::{CastOp, Flags, Type, TypeKind, UNDEF_LANE, Value};

/// Elements of a matrix a thread holds.
const HELD: u64 = 2;

impl FunctionLowering<'_, '_, '_> {
    fn constant_index(&mut self, index: ValueId) -> Lowered<(Value, Option<u64>)> {
        let index = self.value(index)?;
        Ok((index, self.function.const_bits(index)))
    }

    pub(super) fn extract_element(&mut self, vector: ValueId, index: ValueId) -> Lowered<Value> {
        let vector = self.value(vector)?;
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
