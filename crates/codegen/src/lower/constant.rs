//! The constant program: what the main program found in uniforms.

use super::operand::{choice, imm, used};
use super::select::{Code, Done, Lowerer, Stored};
use crate::mir::{Inst, Memory, Slice};
use assay_agx::{Field, List, Op, Width};
use assay_ssa::Value;
use std::collections::HashMap;

impl Lowerer<'_> {
    /// Selects the constant program: what the main program found in uniforms. `last` comes
    /// after everything else.
    pub(super) fn constant_program(&mut self, last: Vec<Code>) -> Done<Vec<Code>> {
        let mut stores: HashMap<Value, Vec<Stored>> = HashMap::new();
        for stored in self.stored.clone() {
            stores.entry(stored.value).or_default().push(stored);
        }
        let cfg = assay_ssa::analysis::Cfg::new(self.function);
        let mut reversed = last;
        reversed.reverse();
        for &block in cfg.order().iter().rev() {
            for &inst in self.function.insts(block).iter().rev() {
                let Some(result) = self.function.result(inst) else {
                    continue;
                };
                self.loc = self.function.loc(inst);
                if let Some(list) = stores.remove(&result) {
                    for stored in list {
                        self.store_uniform(stored)?;
                    }
                    let code = std::mem::take(&mut self.out);
                    reversed.extend(code.into_iter().rev());
                }
                if self.slots[result].is_some() {
                    self.instruction(inst)?;
                    let code = std::mem::take(&mut self.out);
                    reversed.extend(code.into_iter().rev());
                }
            }
        }
        reversed.reverse();
        Ok(reversed)
    }

    fn store_uniform(&mut self, stored: Stored) -> Done {
        let src = self.src(stored.value, stored.lane)?;
        let slice = self.reg(src);
        self.store_halves(slice, stored.half);
        Ok(())
    }

    /// Leaves registers in uniforms from a half on.
    pub(super) fn store_halves(&mut self, slice: Slice, half: u16) {
        let halves = Slice {
            width: Width::W16,
            count: slice.halves(),
            ..slice
        };
        let mut inst = Inst::new(Op::UniformStore)
            .with(Field::Format, choice(List::Format, 1))
            .with(Field::Data, used(halves))
            .with(Field::Index, imm(i64::from(half)));
        inst.memory = Some(Memory {
            alias: Some(super::memory::access::UNIFORMS),
            ..Memory::default()
        });
        self.push(inst);
    }
}
