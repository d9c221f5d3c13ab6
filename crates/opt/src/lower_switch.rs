//! Turns switches into branches: the hardware has no jump tables, and the control tree
//! knows only two ways to go.
//!
//! The cases are sorted and halved by unsigned comparisons until few are left, which are
//! then compared one by one. Every target keeps the arguments it was passed.

use assay_ssa::{
    Block, BlockCall, Builder, Function, Inst, InstData, IntCond, Module, Type, Value,
};

/// Up to this many cases are compared one after the other.
const FEW: usize = 3;

/// Replaces every switch.
pub fn lower_switch(_: &Module, function: &mut Function) -> bool {
    let mut changed = false;
    for block in function.blocks().to_vec() {
        let Some(terminator) = function.terminator(block) else {
            continue;
        };
        if let InstData::Switch {
            value,
            default,
            cases,
        } = *function.inst(terminator)
        {
            let mut cases: Vec<(u64, BlockCall)> = function.switch_cases(cases).to_vec();
            cases.sort_by_key(|&(number, _)| number);
            cases.dedup_by_key(|&mut (number, _)| number);
            replace(function, block, terminator, value, default, &cases);
            changed = true;
        }
    }
    changed
}

fn replace(
    function: &mut Function,
    block: Block,
    switch: Inst,
    value: Value,
    default: BlockCall,
    cases: &[(u64, BlockCall)],
) {
    let mut insts = function.take_insts(block);
    insts.pop();
    function.set_insts(block, insts);
    let loc = function.loc(switch);
    let mut order = function.blocks().to_vec();
    let at = order
        .iter()
        .position(|&other| other == block)
        .map_or(order.len(), |at| at + 1);
    let before = order.len();
    let mut builder = Builder::new(function);
    builder.set_loc(loc);
    builder.switch_to(block);
    let mut chooser = Chooser {
        builder,
        value,
        default,
    };
    chooser.choose(cases);
    // New blocks were added at the end; they belong right behind the one that had the switch.
    let made = function.blocks()[before..].to_vec();
    order.splice(at..at, made);
    function.set_block_order(order);
}

struct Chooser<'a> {
    builder: Builder<'a>,
    value: Value,
    default: BlockCall,
}

impl Chooser<'_> {
    /// Ends the current block so that control goes where the cases say.
    fn choose(&mut self, cases: &[(u64, BlockCall)]) {
        if cases.len() > FEW {
            let (low, high) = cases.split_at(cases.len() / 2);
            let (yes, no) = (self.builder.block(&[]), self.builder.block(&[]));
            let pivot = self.number(high[0].0);
            let cond = self.builder.icmp(IntCond::Ult, self.value, pivot);
            self.builder.branch(cond, (yes, &[]), (no, &[]));
            self.builder.switch_to(yes);
            self.choose(low);
            self.builder.switch_to(no);
            return self.choose(high);
        }
        let Some((&(number, call), rest)) = cases.split_first() else {
            let args = self.arguments(self.default);
            self.builder.jump(self.default.block, &args);
            return;
        };
        let number = self.number(number);
        let cond = self.builder.icmp(IntCond::Eq, self.value, number);
        let args = self.arguments(call);
        if rest.is_empty() {
            let otherwise = self.arguments(self.default);
            let default = self.default.block;
            self.builder
                .branch(cond, (call.block, &args), (default, &otherwise));
            return;
        }
        let next = self.builder.block(&[]);
        self.builder.branch(cond, (call.block, &args), (next, &[]));
        self.builder.switch_to(next);
        self.choose(rest);
    }

    fn number(&mut self, number: u64) -> Value {
        let ty: Type = self.builder.function().ty(self.value);
        self.builder.constant(ty, number)
    }

    fn arguments(&mut self, call: BlockCall) -> Vec<Value> {
        self.builder.function().list_values(call.args).to_vec()
    }
}
