//! Counted loops: one induction variable, one exit, a bound that does not change.

use super::{Refusal, RefusalKind};
use assay_ssa::analysis::{Cfg, Dominators, ExitTest, Induction, Loop, Loops, Trips};
use assay_ssa::{
    BinaryOp, Block, BlockCall, Builder, CastOp, Flags, Function, InstData, IntCond, Value,
    ValueDef,
};

/// A loop that counts.
#[derive(Clone, Debug)]
pub(super) struct Counted {
    /// The loop.
    pub(super) found: Loop,
    /// Where it is entered from.
    pub(super) preheader: Block,
    /// The only jump back.
    pub(super) latch: Block,
    /// The test that ends it.
    pub(super) test: ExitTest,
    /// All variables that grow by a constant each time round.
    pub(super) inductions: Vec<Induction>,
    /// The test comes after the body, not before it.
    pub(super) tested_behind: bool,
    /// The block behind the loop.
    pub(super) exit: Block,
}

/// The innermost loops of a function that count upwards.
pub(super) fn innermost(function: &Function) -> Vec<Counted> {
    let mut found = countable(function);
    found.retain(|counted| {
        let upwards = match counted.test.cond {
            IntCond::Ne => counted.test.induction.step == 1,
            IntCond::Ult | IntCond::Slt => true,
            _ => false,
        };
        upwards && counted.ahead() == 0
    });
    found
}

/// The innermost loops of a function whose rounds can be counted before they begin: upwards or downwards, up to a bound or
/// with it, tested ahead of the variable or not.
pub(super) fn countable(function: &Function) -> Vec<Counted> {
    let cfg = Cfg::new(function);
    let dominators = Dominators::new(&cfg, function);
    let loops = Loops::new(&cfg, &dominators, function);
    let counted = loops.iter().filter_map(|(id, found)| {
        if loops.iter().any(|(_, other)| other.parent == Some(id)) {
            return None;
        }
        let trips = Trips::new(function, &loops, &dominators, id);
        let (&[test], &[latch], &[(from, exit)]) = (
            trips.tests.as_slice(),
            found.latches.as_slice(),
            found.exits.as_slice(),
        ) else {
            return None;
        };
        let tested_behind = from == latch;
        let step = test.induction.step;
        let fits = match test.cond {
            IntCond::Ne => step == 1 || step == -1,
            IntCond::Ult | IntCond::Slt | IntCond::Ule | IntCond::Sle => step > 0,
            IntCond::Ugt | IntCond::Sgt | IntCond::Uge | IntCond::Sge => step < 0,
            IntCond::Eq => false,
        };
        let fits = fits && step.unsigned_abs() < 1 << 16 && test.offset.unsigned_abs() < 1 << 16;
        // A loop of one block tests behind its body, whatever else is in it.
        let placed = tested_behind || from == found.header;
        (fits && placed && test.block == from).then_some(Counted {
            found: found.clone(),
            preheader: found.preheader?,
            latch,
            test,
            inductions: trips.inductions,
            tested_behind,
            exit,
        })
    });
    counted.collect()
}

impl Counted {
    /// Returns true if a value is made inside the loop.
    pub(super) fn makes(&self, function: &Function, value: Value) -> bool {
        match function.def(value) {
            ValueDef::Result(inst) => {
                let mut blocks = self.found.blocks.iter();
                blocks.any(|&block| function.insts(block).contains(&inst))
            }
            ValueDef::Param(block, _) => self.found.blocks.contains(&block),
            _ => false,
        }
    }

    /// A variable that counts, as it is used behind the loop.
    pub(super) fn leaves_as(&self, induction: &Induction) -> Value {
        if self.tested_behind {
            induction.next
        } else {
            induction.param
        }
    }

    /// What the test adds to the variable besides the step of a test behind the body.
    fn ahead(&self) -> i64 {
        let usual = if self.tested_behind {
            self.test.induction.step
        } else {
            0
        };
        self.test.offset - usual
    }

    /// How often the body runs, as a value computed at the end of what a block has. The body of a loop that tests behind
    /// it runs at least once.
    pub(super) fn rounds(&self, function: &mut Function, block: Block) -> Value {
        let Induction { init, step, .. } = self.test.induction;
        let ty = function.ty(init);
        let mut builder = Builder::new(function);
        builder.switch_to(block);
        let bound = self.test.bound;
        let mut start = init;
        if self.ahead() != 0 {
            let ahead = builder.constant(ty, self.ahead() as u64);
            start = builder.binary(BinaryOp::Add, init, ahead, Flags::NONE);
        }
        let mut distance = if step > 0 {
            builder.binary(BinaryOp::Sub, bound, start, Flags::NONE)
        } else {
            builder.binary(BinaryOp::Sub, start, bound, Flags::NONE)
        };
        if self.test.cond == IntCond::Ne {
            return distance;
        }
        let with_bound = matches!(
            self.test.cond,
            IntCond::Ule | IntCond::Sle | IntCond::Uge | IntCond::Sge
        );
        if with_bound {
            let one = builder.constant(ty, 1);
            distance = builder.binary(BinaryOp::Add, distance, one, Flags::NONE);
        }
        let size = step.unsigned_abs();
        let rounds = if size == 1 {
            distance
        } else {
            let less = builder.constant(ty, size - 1);
            let up = builder.binary(BinaryOp::Add, distance, less, Flags::NONE);
            let size = builder.constant(ty, size);
            builder.binary(BinaryOp::UDiv, up, size, Flags::NONE)
        };
        let (first, least) = if self.tested_behind {
            let step = builder.constant(ty, step as u64);
            let next = builder.binary(BinaryOp::Add, start, step, Flags::NONE);
            (next, 1)
        } else {
            (start, 0)
        };
        let more = builder.icmp(self.test.cond, first, bound);
        let least = builder.constant(ty, least);
        builder.select(more, rounds, least, Flags::NONE)
    }

    /// The values the loop's header is entered with, or jumped back to with.
    pub(super) fn passed(&self, function: &Function, from: Block) -> Vec<Value> {
        let mut args = Vec::new();
        if let Some(terminator) = function.terminator(from) {
            function.for_each_target(terminator, |call: BlockCall| {
                if call.block == self.found.header {
                    args = function.list_values(call.args).to_vec();
                }
            });
        }
        args
    }
}

/// By how many bytes an address grows when a value grows by one, if that is a constant. Values of which nothing is known
/// must not change: `varies` says which do.
pub(super) fn stride(
    function: &Function,
    pointer: Value,
    of: Value,
    varies: &dyn Fn(Value) -> bool,
) -> Option<i64> {
    if !varies(pointer) {
        return Some(0);
    }
    match *function.def_data(pointer)? {
        InstData::PtrAdd {
            base, index, scale, ..
        } => {
            let below = stride(function, base, of, varies)?;
            let own = match index {
                Some(index) => coefficient(function, index, of, varies)?,
                None => 0,
            };
            own.checked_mul(i64::from(scale))?.checked_add(below)
        }
        _ => None,
    }
}

/// By how much an index grows when a value grows by one.
pub(super) fn coefficient(
    function: &Function,
    index: Value,
    of: Value,
    varies: &dyn Fn(Value) -> bool,
) -> Option<i64> {
    if index == of {
        return Some(1);
    }
    if !varies(index) {
        return Some(0);
    }
    let next = |value: Value| coefficient(function, value, of, varies);
    match *function.def_data(index)? {
        InstData::Binary {
            op,
            args: [a, b],
            flags,
        } => match op {
            BinaryOp::Add => next(a)?.checked_add(next(b)?),
            BinaryOp::Or if flags.has(Flags::DISJOINT) => next(a)?.checked_add(next(b)?),
            BinaryOp::Sub => next(a)?.checked_sub(next(b)?),
            BinaryOp::Mul => match (function.const_int(a), function.const_int(b)) {
                (_, Some(factor)) => next(a)?.checked_mul(factor),
                (Some(factor), _) => next(b)?.checked_mul(factor),
                _ => None,
            },
            BinaryOp::Shl => {
                let shift = u32::try_from(function.const_int(b)?).ok()?;
                next(a)?.checked_mul(1i64.checked_shl(shift)?)
            }
            _ => None,
        },
        InstData::Cast {
            op: CastOp::ZExt | CastOp::SExt,
            arg,
            ..
        } => next(arg),
        _ => None,
    }
}

/// Refuses with a reason about loops.
pub(super) fn refuse<T>(why: &str) -> Result<T, Refusal> {
    Err(Refusal::new(RefusalKind::NothingToDo, why))
}
