//! Vectors and aggregates: mostly new names for the registers of their elements.

use super::{Compiler, Done};
use crate::arithmetic;
use crate::code::Op;
use crate::lanes::Rule;
use assay_ssa::{InstData, IntCond, Scalar, Type, Value};

/// Stands for an index past all elements: an undefined element of a shuffle.
const UNDEF_LANE: u32 = assay_ssa::UNDEF_LANE;

impl Compiler<'_> {
    /// An instruction that makes a value of the elements of others.
    pub(super) fn aggregate(&mut self, data: InstData, result: Value) -> Done {
        match data {
            InstData::Shuffle { args, mask } => {
                let mut all = self.regs(args[0])?;
                all.extend(self.regs(args[1])?);
                let mut regs = Vec::new();
                for &index in self.function.indices(mask) {
                    let known = all
                        .get(index as usize)
                        .copied()
                        .filter(|_| index != UNDEF_LANE);
                    regs.push(match (known, all.first()) {
                        (Some(reg), _) => reg,
                        (None, Some(first)) => self.constant(first.wide, 0),
                        (None, None) => return self.malformed("a shuffle of nothing"),
                    });
                }
                self.name(result, &regs);
                Ok(())
            }
            InstData::Construct { args } => {
                let mut regs = Vec::new();
                for &arg in self.function.list_values(args) {
                    regs.extend(self.regs(arg)?);
                }
                self.name(result, &regs);
                Ok(())
            }
            InstData::ExtractValue { aggregate, path } => {
                let (start, len) = self.field(self.function.ty(aggregate), path)?;
                let regs = self.regs(aggregate)?;
                match regs.get(start..start + len) {
                    Some(part) => self.name(result, part),
                    None => return self.malformed("a field outside its aggregate"),
                }
                Ok(())
            }
            InstData::InsertValue {
                aggregate,
                element,
                path,
            } => {
                let (start, len) = self.field(self.function.ty(aggregate), path)?;
                let (mut regs, part) = (self.regs(aggregate)?, self.regs(element)?);
                match regs.get_mut(start..start + len) {
                    Some(slot) if slot.len() == part.len() => slot.copy_from_slice(&part),
                    _ => return self.malformed("a field outside its aggregate"),
                }
                self.name(result, &regs);
                Ok(())
            }
            _ => self.unsupported("this instruction"),
        }
    }

    pub(super) fn extract(&mut self, vector: Value, index: Value, result: Value) -> Done {
        let regs = self.regs(vector)?;
        if let Some(known) = self.function.const_bits(index) {
            let reg = match (regs.get(known as usize), regs.first()) {
                (Some(&reg), _) => reg,
                (None, Some(first)) => self.constant(first.wide, 0),
                (None, None) => return self.malformed("an element of nothing"),
            };
            self.name(result, &[reg]);
            return Ok(());
        }
        let index = self.reg(index)?;
        let list = self.list(&regs);
        let d = self.define(result)?[0];
        self.emit(Op::Pick { d, list, index });
        Ok(())
    }

    pub(super) fn insert(
        &mut self,
        vector: Value,
        element: Value,
        index: Value,
        result: Value,
    ) -> Done {
        let mut regs = self.regs(vector)?;
        let element = self.reg(element)?;
        if let Some(known) = self.function.const_bits(index) {
            if let Some(slot) = regs.get_mut(known as usize) {
                *slot = element;
            }
            self.name(result, &regs);
            return Ok(());
        }
        let index_type = self.element(self.function.ty(index)).unwrap_or(Scalar::I32);
        let index = self.reg(index)?;
        let equal = arithmetic::int_compare(IntCond::Eq, index_type);
        let results = self.define(result)?;
        for (place, (d, old)) in results.into_iter().zip(regs).enumerate() {
            let number = self.constant(index.wide, place as u64);
            let here = self.register(false);
            match equal {
                Some(f) => self.apply(f, Rule::Other, here, &[index, number])?,
                None => return self.malformed("an index that is no integer"),
            }
            self.choose(d, here, element, old);
        }
        Ok(())
    }

    /// Where the registers of a field lie among those of its aggregate.
    fn field(&mut self, ty: Type, path: assay_ssa::IndexList) -> Done<(usize, usize)> {
        let (mut ty, mut start) = (ty, 0);
        for &index in self.function.indices(path) {
            for before in 0..index {
                let Some((sibling, _)) = self.module.types.element_at(ty, before) else {
                    return self.malformed("a field outside its aggregate");
                };
                start += self.leaves(sibling)?.len();
            }
            match self.module.types.element_at(ty, index) {
                Some((inner, _)) => ty = inner,
                None => return self.malformed("a field outside its aggregate"),
            }
        }
        Ok((start, self.leaves(ty)?.len()))
    }
}
