//! Finds values that are always one constant, branches taken into account.
//!
//! Everything is taken for constant and every block for unreached until something says
//! otherwise. A value that only depends on itself and on constants, such as a flag that a
//! loop never changes, or what is set in a block that is never entered, is found that way;
//! looking at one instruction at a time never finds it.
//!
//! The function is swept in an order in which most definitions come before their uses, until
//! nothing changes: two sweeps, or three with loops.

use crate::evaluate;
use assay_ssa::analysis::Cfg;
use assay_ssa::{
    Block, BlockCall, Function, IdMap, IdSet, Inst, InstData, Module, TypeKind, Value, ValueDef,
};

/// Sweeps after which we give up; each lowers something, so this bounds the time alone.
const MOST_SWEEPS: usize = 32;

/// Replaces values that are always the same constant.
pub fn propagate_constants(_: &Module, function: &mut Function) -> bool {
    if function.blocks().len() < 2 {
        return false;
    }
    let cfg = Cfg::new(function);
    let mut facts = Facts {
        known: IdMap::with_len(Known::Unseen, function.num_values()),
        reached: IdSet::new(),
        changed: true,
    };
    if let Some(entry) = function.entry() {
        facts.reached.insert(entry);
        for &param in function.params(entry) {
            facts.known[param] = Known::Varies;
        }
    }
    for _ in 0..MOST_SWEEPS {
        if !std::mem::take(&mut facts.changed) {
            return facts.apply(function, &cfg);
        }
        for &block in cfg.order() {
            if facts.reached.contains(block) {
                facts.visit(function, block);
            }
        }
    }
    false
}

/// What is known of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// Nothing has reached it yet.
    Unseen,
    /// It is these bits.
    Constant(u64),
    /// It is not always the same.
    Varies,
}

struct Facts {
    known: IdMap<Value, Known>,
    reached: IdSet<Block>,
    changed: bool,
}

impl Facts {
    fn of(&self, function: &Function, value: Value) -> Known {
        match function.def(value) {
            ValueDef::Const(bits) if is_scalar(function, value) => Known::Constant(bits),
            ValueDef::Result(_) | ValueDef::Param(..) => self.known[value],
            _ => Known::Varies,
        }
    }

    fn lower(&mut self, value: Value, found: Known) {
        let old = self.known[value];
        let new = match (old, found) {
            (Known::Unseen, found) => found,
            (old, Known::Unseen) => old,
            (old, found) if old == found => old,
            _ => Known::Varies,
        };
        if new != old {
            self.known[value] = new;
            self.changed = true;
        }
    }

    fn visit(&mut self, function: &Function, block: Block) {
        for &inst in function.insts(block) {
            if let Some(result) = function.result(inst) {
                if self.known[result] != Known::Varies {
                    let found = self.evaluate(function, inst, result);
                    self.lower(result, found);
                }
                continue;
            }
            match *function.inst(inst) {
                InstData::Branch {
                    cond,
                    then,
                    otherwise,
                } => match self.of(function, cond) {
                    Known::Unseen => {}
                    Known::Constant(bits) => {
                        self.go(function, if bits & 1 == 1 { then } else { otherwise });
                    }
                    Known::Varies => {
                        self.go(function, then);
                        self.go(function, otherwise);
                    }
                },
                InstData::Switch {
                    value,
                    default,
                    cases,
                } => match self.of(function, value) {
                    Known::Unseen => {}
                    Known::Constant(bits) => {
                        let cases = function.switch_cases(cases);
                        let case = cases.iter().find(|(number, _)| *number == bits);
                        self.go(function, case.map_or(default, |&(_, call)| call));
                    }
                    Known::Varies => {
                        self.go(function, default);
                        for &(_, call) in function.switch_cases(cases) {
                            self.go(function, call);
                        }
                    }
                },
                InstData::Jump { target } => self.go(function, target),
                _ => {}
            }
        }
    }

    /// Control takes this way.
    fn go(&mut self, function: &Function, call: BlockCall) {
        self.changed |= self.reached.insert(call.block);
        let args = function.list_values(call.args);
        for (&arg, &param) in args.iter().zip(function.params(call.block)) {
            let found = self.of(function, arg);
            self.lower(param, found);
        }
    }

    fn evaluate(&self, function: &Function, inst: Inst, result: Value) -> Known {
        if !is_scalar(function, result) || !function.effects(inst).is_pure() {
            return Known::Varies;
        }
        let mut unseen = false;
        let mut varies = false;
        let bits = evaluate::instruction(function, inst, |value| match self.of(function, value) {
            Known::Constant(bits) => Some(bits),
            Known::Unseen => {
                unseen = true;
                None
            }
            Known::Varies => {
                varies = true;
                None
            }
        });
        match bits {
            Some(bits) => Known::Constant(bits),
            None if unseen && !varies => Known::Unseen,
            None => Known::Varies,
        }
    }

    fn apply(&self, function: &mut Function, cfg: &Cfg) -> bool {
        let mut replacement: IdMap<Value, Option<Value>> = IdMap::new(None);
        let mut any = false;
        for &block in cfg.order() {
            if !self.reached.contains(block) {
                continue;
            }
            for at in 0..function.params(block).len() {
                let param = function.params(block)[at];
                any |= self.replace(function, param, &mut replacement);
            }
            for at in 0..function.insts(block).len() {
                let result = function.result(function.insts(block)[at]);
                if let Some(result) = result {
                    any |= self.replace(function, result, &mut replacement);
                }
            }
        }
        if any {
            function.replace_values(&replacement);
        }
        any
    }

    fn replace(
        &self,
        function: &mut Function,
        value: Value,
        replacement: &mut IdMap<Value, Option<Value>>,
    ) -> bool {
        let Known::Constant(bits) = self.known[value] else {
            return false;
        };
        let constant = function.constant(function.ty(value), bits);
        replacement[value] = Some(constant);
        true
    }
}

fn is_scalar(function: &Function, value: Value) -> bool {
    matches!(function.ty(value).kind(), TypeKind::Scalar(_))
}
