//! Addresses as sums, to tell neighbours.

use assay_ssa::{BinaryOp, CastOp, Flags, Function, InstData, Type, Value};
use std::collections::BTreeMap;

/// An address as a sum: pointer, terms with their factors, and a constant, in bytes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Sum {
    root: Value,
    terms: BTreeMap<(Value, bool), i64>,
    /// The constant.
    pub(super) constant: i64,
}

impl Sum {
    /// The sum that a pointer is.
    pub(super) fn of(function: &Function, pointer: Value) -> Option<Sum> {
        let mut sum = Sum {
            root: pointer,
            terms: BTreeMap::new(),
            constant: 0,
        };
        for _ in 0..16 {
            let Some(&InstData::PtrAdd {
                base,
                index,
                scale,
                offset,
                extend,
                ..
            }) = function.def_data(sum.root)
            else {
                break;
            };
            sum.constant = sum.constant.checked_add(offset)?;
            if let Some(index) = index {
                let signed = extend == assay_ssa::IndexExtend::Sign;
                sum.add(function, index, i64::from(scale), signed, 16)?;
            }
            sum.root = base;
        }
        sum.terms.retain(|_, factor| *factor != 0);
        Some(sum)
    }

    /// Adds an index. Indices are numbers below the size of a buffer: none wraps around.
    fn add(
        &mut self,
        function: &Function,
        index: Value,
        factor: i64,
        signed: bool,
        depth: u32,
    ) -> Option<()> {
        if let Some(number) = function.const_int(index) {
            self.constant = self.constant.checked_add(number.checked_mul(factor)?)?;
            return Some(());
        }
        match function.def_data(index) {
            Some(&InstData::Binary {
                op,
                args: [a, b],
                flags,
            }) if depth > 0 => {
                let next = depth - 1;
                let disjoint = op == BinaryOp::Or && flags.has(Flags::DISJOINT);
                if op == BinaryOp::Add || disjoint {
                    self.add(function, a, factor, signed, next)?;
                    return self.add(function, b, factor, signed, next);
                }
                let constant = function.const_int(b);
                if let (BinaryOp::Mul, Some(number)) = (op, constant) {
                    return self.add(function, a, factor.checked_mul(number)?, signed, next);
                }
                if let (BinaryOp::Shl, Some(shift @ 0..=31)) = (op, constant) {
                    return self.add(function, a, factor.checked_mul(1 << shift)?, signed, next);
                }
            }
            Some(&InstData::Cast {
                op: CastOp::ZExt | CastOp::SExt,
                arg,
                ..
            }) if depth > 0 && function.ty(arg) == Type::I32 => {
                return self.add(function, arg, factor, signed, depth - 1);
            }
            _ => {}
        }
        let place = self.terms.entry((index, signed)).or_insert(0);
        *place = place.checked_add(factor)?;
        Some(())
    }

    /// The address without its constant.
    pub(super) fn place(&self) -> (Value, Vec<(Value, bool, i64)>) {
        let terms = self.terms.iter();
        (self.root, terms.map(|(&(v, s), &f)| (v, s, f)).collect())
    }
}
