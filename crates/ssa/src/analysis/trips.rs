//! How often loops run: induction variables, exit tests, trip counts.
//!
//! The count is that of *jumps back to the header*: a loop that tests at its top runs its body that often, one that
//! tests at its bottom once more.

use super::dominators::Dominators;
use super::loops::{Loop, LoopId, Loops};
use crate::function::{Function, ValueDef};
use crate::inst::{Block, BlockCall, InstData, Value};
use crate::ops::{BinaryOp, CastOp, IntCond};
use crate::ty::Scalar;

/// A header parameter that grows by a constant each time round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Induction {
    /// The parameter.
    pub param: Value,
    /// Its value when the loop is entered.
    pub init: Value,
    /// What is added each time round (wrapping at the type's width).
    pub step: i64,
    /// The value passed back to the header.
    pub next: Value,
}

/// A way out of a loop that is tried once each time round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExitTest {
    /// The block with the test.
    pub block: Block,
    /// The induction variable tested.
    pub induction: Induction,
    /// What is added to the variable before it is compared.
    pub offset: i64,
    /// The loop goes on while `variable + offset cond bound`.
    pub cond: IntCond,
    /// The other side of the comparison; the same every time round.
    pub bound: Value,
    /// How often the loop goes back before this test ends it, if both ends are constants.
    pub count: Option<u64>,
}

/// What is known about how often a loop runs.
#[derive(Clone, Debug, Default)]
pub struct Trips {
    /// Its induction variables.
    pub inductions: Vec<Induction>,
    /// Those of its exits that are understood.
    pub tests: Vec<ExitTest>,
    /// The exact number of jumps back, if every exit is understood and constant.
    pub exact: Option<u64>,
    /// An upper bound of it.
    pub at_most: Option<u64>,
}

impl Trips {
    /// Examines a loop.
    pub fn new(function: &Function, loops: &Loops, dominators: &Dominators, id: LoopId) -> Self {
        let the_loop = loops.get(id);
        let &[latch] = the_loop.latches.as_slice() else {
            return Self::default();
        };
        let invariant = Invariant::new(function, loops, id);
        let inductions = inductions(function, the_loop, latch);
        let mut tests: Vec<ExitTest> = Vec::new();
        let mut all_understood = true;
        let mut exiting: Vec<Block> = the_loop.exits.iter().map(|(from, _)| *from).collect();
        exiting.dedup();
        for block in exiting {
            let test = if dominators.dominates(block, latch) {
                exit_test(function, loops, id, block, &inductions, &invariant)
            } else {
                None
            };
            match test {
                Some(test) => tests.push(test),
                None => all_understood = false,
            }
        }
        let at_most = tests.iter().filter_map(|test| test.count).min();
        let exact =
            at_most.filter(|_| all_understood && tests.iter().all(|test| test.count.is_some()));
        Self {
            inductions,
            tests,
            exact,
            at_most,
        }
    }
}

/// Which values do not change inside a loop.
struct Invariant {
    inside: crate::id::IdSet<crate::inst::Inst>,
    header_blocks: crate::id::IdSet<Block>,
}

impl Invariant {
    fn new(function: &Function, loops: &Loops, id: LoopId) -> Self {
        let blocks = &loops.get(id).blocks;
        let inside = blocks
            .iter()
            .flat_map(|&block| function.insts(block).iter().copied())
            .collect();
        Self {
            inside,
            header_blocks: blocks.iter().copied().collect(),
        }
    }

    fn holds(&self, function: &Function, value: Value) -> bool {
        match function.def(value) {
            ValueDef::Result(inst) => !self.inside.contains(inst),
            ValueDef::Param(block, _) => !self.header_blocks.contains(block),
            _ => true,
        }
    }
}

fn inductions(function: &Function, the_loop: &Loop, latch: Block) -> Vec<Induction> {
    let mut found = Vec::new();
    let header = the_loop.header;
    let entering = match &the_loop.preheader {
        Some(preheader) => std::slice::from_ref(preheader),
        None => &the_loop.entering,
    };
    for (index, &param) in function.params(header).iter().enumerate() {
        let Some(next) = passed(function, latch, header, index) else {
            continue;
        };
        let Some((base, step)) = sum(function, next) else {
            continue;
        };
        if base != param || step == 0 || function.int_type(param).is_none() {
            continue;
        }
        if let Some(init) = initial(function, entering, header, index) {
            found.push(Induction {
                param,
                init,
                step,
                next,
            });
        }
    }
    found
}

/// The value a block passes as a parameter of another, if it passes only one.
fn passed(function: &Function, from: Block, to: Block, index: usize) -> Option<Value> {
    let mut value = None;
    let mut several = false;
    function.for_each_target(function.terminator(from)?, |call: BlockCall| {
        if call.block == to {
            let arg = function.list_values(call.args).get(index).copied();
            several |= value.is_some() && value != arg;
            value = arg;
        }
    });
    value.filter(|_| !several)
}

/// The value all entering blocks pass as a parameter, if it is one.
fn initial(function: &Function, entering: &[Block], header: Block, index: usize) -> Option<Value> {
    let (&first, others) = entering.split_first()?;
    let value = passed(function, first, header, index)?;
    let same = |&block: &Block| passed(function, block, header, index) == Some(value);
    others.iter().all(same).then_some(value)
}

/// A value as another plus a constant.
fn sum(function: &Function, value: Value) -> Option<(Value, i64)> {
    match *function.def_data(value)? {
        InstData::Binary {
            op: BinaryOp::Add,
            args: [a, b],
            ..
        } => match function.const_int(b) {
            Some(step) => Some((a, step)),
            None => function.const_int(a).map(|step| (b, step)),
        },
        InstData::Binary {
            op: BinaryOp::Sub,
            args: [a, b],
            ..
        } => function.const_int(b).map(|step| (a, step.wrapping_neg())),
        _ => None,
    }
}

fn exit_test(
    function: &Function,
    loops: &Loops,
    id: LoopId,
    block: Block,
    inductions: &[Induction],
    invariant: &Invariant,
) -> Option<ExitTest> {
    let InstData::Branch {
        cond,
        then,
        otherwise,
    } = *function.inst(function.terminator(block)?)
    else {
        return None;
    };
    let stays = |call: BlockCall| loops.contains(id, call.block);
    let goes_on_when_true = match (stays(then), stays(otherwise)) {
        (true, false) => true,
        (false, true) => false,
        _ => return None,
    };
    let InstData::IntCompare { cond, args, .. } = *function.def_data(cond)? else {
        return None;
    };
    let mut cond = if goes_on_when_true {
        cond
    } else {
        cond.inverse()
    };
    let [mut left, mut right] = args;
    if invariant.holds(function, left) {
        (left, right, cond) = (right, left, cond.swapped());
    }
    if !invariant.holds(function, right) {
        return None;
    }
    let (base, offset) = match sum(function, left) {
        Some((base, offset)) if inductions.iter().any(|i| i.param == base) => (base, offset),
        _ => (left, 0),
    };
    let induction = *inductions
        .iter()
        .find(|induction| induction.param == base)?;
    let mut test = ExitTest {
        block,
        induction,
        offset,
        cond,
        bound: right,
        count: None,
    };
    test.count = count(function, &test);
    Some(test)
}

/// The first time round at which a test fails, both ends being constants.
fn count(function: &Function, test: &ExitTest) -> Option<u64> {
    let scalar = function.int_type(test.induction.param)?;
    let init = constant(function, test.induction.init)?;
    let bound = constant(function, test.bound)?;
    let signed = test.cond.is_signed() || matches!(test.cond, IntCond::Eq | IntCond::Ne);
    let read = |bits: i128| reduce(bits, scalar, signed);
    let (start, bound) = (read(init + i128::from(test.offset)), read(bound));
    let step = i128::from(test.induction.step);
    let holds = |value: i128| match test.cond {
        IntCond::Eq => value == bound,
        IntCond::Ne => value != bound,
        IntCond::Ult | IntCond::Slt => value < bound,
        IntCond::Ule | IntCond::Sle => value <= bound,
        IntCond::Ugt | IntCond::Sgt => value > bound,
        IntCond::Uge | IntCond::Sge => value >= bound,
    };
    if !holds(start) {
        return Some(0);
    }
    let distance = bound - start;
    let rounds = match test.cond {
        IntCond::Eq => 1,
        IntCond::Ne if distance % step == 0 && distance / step > 0 => distance / step,
        IntCond::Ult | IntCond::Slt if step > 0 => (distance + step - 1) / step,
        IntCond::Ule | IntCond::Sle if step > 0 => distance / step + 1,
        IntCond::Ugt | IntCond::Sgt if step < 0 => (-distance + -step - 1) / -step,
        IntCond::Uge | IntCond::Sge if step < 0 => -distance / -step + 1,
        _ => return None,
    };
    // The variable must get there without wrapping, or the test may never fail.
    let end = start + rounds * step;
    if read(end) != end || holds(end) {
        return None;
    }
    u64::try_from(rounds).ok()
}

/// A constant, seen through widening of one.
fn constant(function: &Function, value: Value) -> Option<i128> {
    if let Some(number) = function.const_int(value) {
        return Some(i128::from(number));
    }
    match *function.def_data(value)? {
        InstData::Cast {
            op: CastOp::SExt,
            arg,
            ..
        } => function.const_int(arg).map(i128::from),
        InstData::Cast {
            op: CastOp::ZExt,
            arg,
            ..
        } => function.const_bits(arg).map(i128::from),
        _ => None,
    }
}

fn reduce(value: i128, scalar: Scalar, signed: bool) -> i128 {
    let width = scalar.bits();
    let low = value & i128::from(scalar.mask());
    if signed && low >> (width - 1) & 1 == 1 {
        low - (1i128 << width)
    } else {
        low
    }
}
