//! Walking over an instruction's operands and targets, and what an instruction does to the world.

use crate::function::{Function, ValueDef};
use crate::id::IdMap;
use crate::inst::{Block, BlockCall, Callee, Inst, InstData, Value};

/// What an instruction does besides making its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct InstEffects {
    /// Reads memory.
    pub reads: bool,
    /// Writes memory, or makes writes of other threads visible.
    pub writes: bool,
    /// Involves other threads: may not be made to depend on other control flow.
    pub convergent: bool,
    /// Ends the block.
    pub terminator: bool,
}

impl InstEffects {
    /// Whether the instruction must stay even if nobody uses its result.
    pub const fn must_stay(self) -> bool {
        self.writes || self.terminator
    }

    /// Whether it only computes: it may be moved, merged with an equal one and dropped.
    pub const fn is_pure(self) -> bool {
        !(self.reads || self.writes || self.convergent || self.terminator)
    }
}

impl Function {
    /// Calls `visit` with every value an instruction uses, branch arguments included, in the order of the text form.
    #[inline]
    pub fn for_each_operand(&self, inst: Inst, mut visit: impl FnMut(Value)) {
        match *self.inst(inst) {
            InstData::Unary { arg, .. } | InstData::Cast { arg, .. } => visit(arg),
            InstData::Binary { args, .. }
            | InstData::IntCompare { args, .. }
            | InstData::FloatCompare { args, .. }
            | InstData::Shuffle { args, .. } => args.into_iter().for_each(visit),
            InstData::Ternary { args, .. } => args.into_iter().for_each(visit),
            InstData::Select { cond, args, .. } => {
                visit(cond);
                args.into_iter().for_each(visit);
            }
            InstData::Extract { vector, index } => [vector, index].into_iter().for_each(visit),
            InstData::Insert {
                vector,
                element,
                index,
            } => {
                [vector, element, index].into_iter().for_each(visit);
            }
            InstData::Construct { args } | InstData::Call { args, .. } => {
                self.list_values(args).iter().copied().for_each(visit);
            }
            InstData::ExtractValue { aggregate, .. } => visit(aggregate),
            InstData::InsertValue {
                aggregate, element, ..
            } => {
                [aggregate, element].into_iter().for_each(visit);
            }
            InstData::Alloca { .. } | InstData::Unreachable => {}
            InstData::Load { ptr, .. } => visit(ptr),
            InstData::Store { ptr, value, .. } | InstData::AtomicRmw { ptr, value, .. } => {
                [ptr, value].into_iter().for_each(visit);
            }
            InstData::MemCopy { dst, src, size, .. } => {
                [dst, src, size].into_iter().for_each(visit)
            }
            InstData::MemSet {
                dst, byte, size, ..
            } => [dst, byte, size].into_iter().for_each(visit),
            InstData::PtrAdd { base, index, .. } => {
                visit(base);
                index.into_iter().for_each(visit);
            }
            InstData::AtomicCompareExchange {
                ptr,
                expected,
                desired,
                ..
            } => {
                [ptr, expected, desired].into_iter().for_each(visit);
            }
            InstData::Return { value } => value.into_iter().for_each(visit),
            InstData::Jump { target } => {
                self.list_values(target.args)
                    .iter()
                    .copied()
                    .for_each(visit);
            }
            InstData::Branch {
                cond,
                then,
                otherwise,
            } => {
                visit(cond);
                for call in [then, otherwise] {
                    self.list_values(call.args)
                        .iter()
                        .copied()
                        .for_each(&mut visit);
                }
            }
            InstData::Switch {
                value,
                default,
                cases,
            } => {
                visit(value);
                self.list_values(default.args)
                    .iter()
                    .copied()
                    .for_each(&mut visit);
                for (_, call) in self.switch_cases(cases) {
                    self.list_values(call.args)
                        .iter()
                        .copied()
                        .for_each(&mut visit);
                }
            }
        }
    }

    /// Replaces every value an instruction uses by what `map` gives for it.
    pub fn map_operands(&mut self, inst: Inst, mut map: impl FnMut(Value) -> Value) {
        let mut data = *self.inst(inst);
        match &mut data {
            InstData::Unary { arg, .. } | InstData::Cast { arg, .. } => *arg = map(*arg),
            InstData::Binary { args, .. }
            | InstData::IntCompare { args, .. }
            | InstData::FloatCompare { args, .. }
            | InstData::Shuffle { args, .. } => args.iter_mut().for_each(|arg| *arg = map(*arg)),
            InstData::Ternary { args, .. } => args.iter_mut().for_each(|arg| *arg = map(*arg)),
            InstData::Select { cond, args, .. } => {
                *cond = map(*cond);
                args.iter_mut().for_each(|arg| *arg = map(*arg));
            }
            InstData::Extract { vector, index } => {
                *vector = map(*vector);
                *index = map(*index);
            }
            InstData::Insert {
                vector,
                element,
                index,
            } => {
                *vector = map(*vector);
                *element = map(*element);
                *index = map(*index);
            }
            InstData::Construct { args } | InstData::Call { args, .. } => {
                self.map_list(*args, &mut map);
            }
            InstData::ExtractValue { aggregate, .. } => *aggregate = map(*aggregate),
            InstData::InsertValue {
                aggregate, element, ..
            } => {
                *aggregate = map(*aggregate);
                *element = map(*element);
            }
            InstData::Alloca { .. } | InstData::Unreachable => {}
            InstData::Load { ptr, .. } => *ptr = map(*ptr),
            InstData::Store { ptr, value, .. } | InstData::AtomicRmw { ptr, value, .. } => {
                *ptr = map(*ptr);
                *value = map(*value);
            }
            InstData::MemCopy { dst, src, size, .. } => {
                *dst = map(*dst);
                *src = map(*src);
                *size = map(*size);
            }
            InstData::MemSet {
                dst, byte, size, ..
            } => {
                *dst = map(*dst);
                *byte = map(*byte);
                *size = map(*size);
            }
            InstData::PtrAdd { base, index, .. } => {
                *base = map(*base);
                if let Some(index) = index {
                    *index = map(*index);
                }
            }
            InstData::AtomicCompareExchange {
                ptr,
                expected,
                desired,
                ..
            } => {
                *ptr = map(*ptr);
                *expected = map(*expected);
                *desired = map(*desired);
            }
            InstData::Return { value } => {
                if let Some(value) = value {
                    *value = map(*value);
                }
            }
            InstData::Jump { target } => self.map_list(target.args, &mut map),
            InstData::Branch {
                cond,
                then,
                otherwise,
            } => {
                *cond = map(*cond);
                self.map_list(then.args, &mut map);
                self.map_list(otherwise.args, &mut map);
            }
            InstData::Switch {
                value,
                default,
                cases,
            } => {
                *value = map(*value);
                self.map_list(default.args, &mut map);
                for index in 0..self.switch_cases(*cases).len() {
                    let args = self.switch_cases(*cases)[index].1.args;
                    self.map_list(args, &mut map);
                }
            }
        }
        *self.inst_mut(inst) = data;
    }

    /// Replaces the operand at one position (in the order of [`for_each_operand`](Self::for_each_operand)).
    pub fn set_operand(&mut self, inst: Inst, position: usize, value: Value) {
        let mut at = 0;
        self.map_operands(inst, |old| {
            at += 1;
            if at == position + 1 { value } else { old }
        });
    }

    fn map_list(&mut self, list: crate::ValueList, map: &mut impl FnMut(Value) -> Value) {
        for value in self.list_values_mut(list) {
            *value = map(*value);
        }
    }

    /// Replaces values everywhere in the function: each value by what the map says, if it says something.
    /// Chains in the map are followed.
    pub fn replace_values(&mut self, replacement: &IdMap<Value, Option<Value>>) {
        let resolve = |value: Value| {
            let mut current = value;
            while let Some(next) = replacement[current] {
                current = next;
            }
            current
        };
        for position in 0..self.blocks().len() {
            let block = self.blocks()[position];
            for index in 0..self.insts(block).len() {
                let inst = self.insts(block)[index];
                self.map_operands(inst, resolve);
            }
        }
    }

    /// Calls `visit` with every target of an instruction, in the order of the text form.
    #[inline]
    pub fn for_each_target(&self, inst: Inst, mut visit: impl FnMut(BlockCall)) {
        match *self.inst(inst) {
            InstData::Jump { target } => visit(target),
            InstData::Branch {
                then, otherwise, ..
            } => {
                visit(then);
                visit(otherwise);
            }
            InstData::Switch { default, cases, .. } => {
                visit(default);
                for (_, call) in self.switch_cases(cases) {
                    visit(*call);
                }
            }
            _ => {}
        }
    }

    /// Replaces every target of a terminator by what `map` gives for it.
    pub fn map_targets(
        &mut self,
        inst: Inst,
        mut map: impl FnMut(&mut Self, BlockCall) -> BlockCall,
    ) {
        let mut data = *self.inst(inst);
        match &mut data {
            InstData::Jump { target } => *target = map(self, *target),
            InstData::Branch {
                then, otherwise, ..
            } => {
                *then = map(self, *then);
                *otherwise = map(self, *otherwise);
            }
            InstData::Switch { default, cases, .. } => {
                *default = map(self, *default);
                for index in 0..self.switch_cases(*cases).len() {
                    let call = self.switch_cases(*cases)[index].1;
                    let mapped = map(self, call);
                    self.switch_cases_mut(*cases)[index].1 = mapped;
                }
            }
            _ => {}
        }
        *self.inst_mut(inst) = data;
    }

    /// Calls `visit` with every successor of a block, once for each edge.
    #[inline]
    pub fn for_each_successor(&self, block: Block, mut visit: impl FnMut(Block)) {
        if let Some(last) = self.insts(block).last() {
            self.for_each_target(*last, |call| visit(call.block));
        }
    }

    /// What an instruction does besides making its result. A call of a function of the module or of something
    /// unknown is taken to do everything.
    pub fn effects(&self, inst: Inst) -> InstEffects {
        let none = InstEffects::default();
        match *self.inst(inst) {
            InstData::Load { access, .. } => InstEffects {
                reads: true,
                writes: access.volatile || access.is_atomic(),
                ..none
            },
            InstData::Store { .. } | InstData::MemSet { .. } => InstEffects {
                writes: true,
                ..none
            },
            InstData::MemCopy { .. }
            | InstData::AtomicRmw { .. }
            | InstData::AtomicCompareExchange { .. } => InstEffects {
                reads: true,
                writes: true,
                ..none
            },
            // Two allocas are never the same memory, so they are not merged; an unused one may go.
            InstData::Alloca { .. } => InstEffects {
                reads: true,
                ..none
            },
            InstData::Call {
                callee: Callee::Builtin(call),
                ..
            } => {
                let info = call.info();
                InstEffects {
                    reads: info.effects.reads(),
                    writes: info.effects.writes(),
                    convergent: info.convergent,
                    terminator: false,
                }
            }
            InstData::Call { .. } => InstEffects {
                reads: true,
                writes: true,
                convergent: true,
                terminator: false,
            },
            ref data if data.is_terminator() => InstEffects {
                terminator: true,
                ..none
            },
            _ => none,
        }
    }

    /// The block an instruction or parameter value is defined in, given the block of every instruction
    /// ([`inst_blocks`](Self::inst_blocks)); constants have none.
    pub fn def_block(
        &self,
        value: Value,
        inst_blocks: &IdMap<Inst, Option<Block>>,
    ) -> Option<Block> {
        match self.def(value) {
            ValueDef::Result(inst) => inst_blocks[inst],
            ValueDef::Param(block, _) => Some(block),
            _ => None,
        }
    }

    /// The block of every instruction that is in one.
    pub fn inst_blocks(&self) -> IdMap<Inst, Option<Block>> {
        let mut blocks = IdMap::with_len(None, self.num_insts());
        for &block in self.blocks() {
            for &inst in self.insts(block) {
                blocks.set(inst, Some(block));
            }
        }
        blocks
    }

    /// How often each value is used by instructions in blocks.
    pub fn use_counts(&self) -> IdMap<Value, u32> {
        let mut counts = IdMap::with_len(0u32, self.num_values());
        for &block in self.blocks() {
            for &inst in self.insts(block) {
                self.for_each_operand(inst, |value| counts[value] += 1);
            }
        }
        counts
    }
}
