//! How often a loop runs, where the code says so.
//!
//! The pattern compilers leave: a counter starts at a constant, one `iadd` per
//! iteration adds a constant, and the only `while_icmp` of the loop compares it with a
//! constant. Constants are immediates, `mov_imm`, or uniforms the driver preloads.
//! Anything else is unknown, not guessed.

use crate::cfg::{Cfg, End};
use crate::code::Code;
use crate::dominators::Dominators;
use crate::loops::{Loop, Loops};
use crate::{BlockId, InsnId, LoopId};
use assay_agx::{
    Compare, ExecEffect, Field, Instruction, Op, Operand, Order, Program, Reg, RegSet,
    UniformConstants, Width,
};

/// A counted loop that runs longer is no longer simulated.
const MOST: u64 = 1 << 22;

/// Looks for the trip count of every loop.
pub fn trip_counts(
    code: &Code,
    cfg: &Cfg,
    dominators: &Dominators,
    loops: &Loops,
    program: &Program,
) -> Vec<Option<u64>> {
    loops
        .all()
        .iter()
        .enumerate()
        .map(|(index, found)| {
            Search {
                code,
                cfg,
                dominators,
                loops,
                id: LoopId::new(index),
                found,
                constants: &program.constants,
            }
            .run()
        })
        .collect()
}

struct Search<'a> {
    code: &'a Code,
    cfg: &'a Cfg,
    dominators: &'a Dominators,
    loops: &'a Loops,
    id: LoopId,
    found: &'a Loop,
    constants: &'a [UniformConstants],
}

impl Search<'_> {
    fn run(&self) -> Option<u64> {
        // Long bodies are not counted loops worth searching.
        let [latch] = self.found.latches[..] else {
            return None;
        };
        let (test_at, test) = self.only_test()?;
        let test_block = self.cfg.block_of(test_at)?;
        if !self.dominators.dominates(test_block, latch)
            || self.loops.innermost(test_block) != Some(self.id)
        {
            return None;
        }
        let mut sources = test.sources();
        let (a, b) = (sources.next()?, sources.next()?);
        let (counter, counter_first) = match (a, b) {
            (Operand::Reg(reg), other) if self.writes_of(reg).count() == 1 => {
                self.constant(other, self.found.header)?;
                (reg, true)
            }
            (other, Operand::Reg(reg)) => {
                self.constant(other, self.found.header)?;
                (reg, false)
            }
            _ => return None,
        };
        let limit = self.constant(if counter_first { b } else { a }, self.found.header)?;
        let mut writes = self.writes_of(counter);
        let step_at = writes.next()?;
        if writes.next().is_some() {
            return None;
        }
        let step_block = self.cfg.block_of(step_at)?;
        if !self.dominators.dominates(step_block, latch)
            || self.loops.innermost(step_block) != Some(self.id)
        {
            return None;
        }
        let step = self.step(step_at, counter)?;
        let start = self.start(counter)?;
        let trips = count(&Counted {
            start,
            step,
            limit,
            test,
            counter_first,
            test_before_step: test_at < step_at,
            width: counter.width,
        })?;
        // Tested at its start but left only at its end, the body is issued once more
        // with every lane switched off.
        let extra = test_at < step_at && self.leaves_only_at(latch);
        Some(trips + u64::from(extra))
    }

    fn leaves_only_at(&self, latch: BlockId) -> bool {
        self.found.blocks.iter().all(|&id| {
            let mut edges = self
                .cfg
                .block(id)
                .into_iter()
                .flat_map(|block| block.edges());
            id == latch || edges.all(|edge| self.loops.contains(self.id, edge.to))
        })
    }

    fn insns(&self) -> impl Iterator<Item = (InsnId, &Instruction)> {
        self.found
            .blocks
            .iter()
            .filter_map(|&id| self.cfg.block(id))
            .flat_map(|block| block.ids())
            .filter_map(|id| Some((id, self.code.get(id)?.known()?)))
    }

    /// The one conditional `while` of the loop itself.
    fn only_test(&self) -> Option<(InsnId, &Instruction)> {
        let mut tests = self.insns().filter(|(id, insn)| {
            matches!(insn.exec_effect(), ExecEffect::While(_))
                && crate::lanes::constant_condition(insn).is_none()
                && self.cfg.block_of(*id).and_then(|b| self.loops.innermost(b)) == Some(self.id)
        });
        let test = tests.next()?;
        let exits_elsewhere = self.found.blocks.iter().any(|&id| {
            self.cfg.block(id).is_some_and(|block| {
                matches!(block.end, End::Stop | End::Return | End::JumpUnknown)
            })
        });
        (tests.next().is_none() && !exits_elsewhere && test.1.op() == Op::WhileIcmp).then_some(test)
    }

    fn writes_of(&self, reg: Reg) -> impl Iterator<Item = InsnId> {
        let halves = reg.half_range();
        self.insns()
            .filter(move |(id, _)| {
                let writes = self
                    .code
                    .get(*id)
                    .map_or(RegSet::EMPTY, |entry| entry.writes);
                halves.clone().any(|half| writes.contains(half))
            })
            .map(|(id, _)| id)
    }

    /// What `iadd`/`isub` adds to the counter.
    fn step(&self, at: InsnId, counter: Reg) -> Option<i64> {
        let insn = self.code.get(at)?.known()?;
        let same = |operand: Operand| {
            operand
                .reg()
                .is_some_and(|reg| reg.half == counter.half && reg.width == counter.width)
        };
        if !same(insn.dest()?) || insn.get_int(Field::Shift).is_some_and(|shift| shift != 0) {
            return None;
        }
        let (a, b) = (insn.source(0)?, insn.source(1)?);
        match insn.op() {
            Op::Iadd if same(a) => self.constant(b, self.found.header),
            Op::Iadd if same(b) => self.constant(a, self.found.header),
            Op::Isub if same(a) => self.constant(b, self.found.header).map(|value| -value),
            _ => None,
        }
    }

    /// The counter's value on entry: set once, in a block above the header.
    fn start(&self, counter: Reg) -> Option<i64> {
        self.value_before(counter, self.found.header)
    }

    /// The last write of a register above a block, up the dominator tree, when it is a
    /// `mov_imm` outside the loop.
    fn value_before(&self, reg: Reg, block: BlockId) -> Option<i64> {
        let mut at = self.dominators.parent(block);
        let mut outside = self.cfg.predecessors(block).iter();
        if !outside.all(|&from| Some(from) == at || self.loops.contains(self.id, from)) {
            return None;
        }
        let mut steps = 0;
        while let Some(id) = at {
            steps += 1;
            if steps > 64 || self.loops.contains(self.id, id) {
                return None;
            }
            let above = self.cfg.block(id)?;
            // Above a `pop_exec` or an `else`, only some lanes may have written.
            if matches!(
                above.end,
                End::Mask(ExecEffect::Pop(_) | ExecEffect::Else(_)) | End::Call(_)
            ) {
                return None;
            }
            for insn_id in above.ids().rev() {
                let entry = self.code.get(insn_id)?;
                let (insn, writes) = (entry.known()?, entry.writes);
                if reg.half_range().any(|half| writes.contains(half)) {
                    let whole = insn.dest()?.reg()?.half == reg.half
                        && insn.dest()?.reg()?.width == reg.width;
                    return (insn.op() == Op::MovImm && whole)
                        .then(|| insn.get_int(Field::Imm))
                        .flatten();
                }
            }
            // Only a straight way up is safe: a side path may write the register.
            let [_] = self.cfg.predecessors(id) else {
                return None;
            };
            at = self.dominators.parent(id);
        }
        None
    }

    fn constant(&self, operand: Operand, block: BlockId) -> Option<i64> {
        match operand {
            Operand::Imm(value) => Some(value),
            Operand::Uniform(uniform) if uniform.width != Width::W64 => {
                let mut value = 0_i64;
                for (shift, half) in uniform.half_range().enumerate() {
                    value |= i64::from(preloaded(self.constants, half)?) << (16 * shift);
                }
                Some(value)
            }
            Operand::Reg(reg) if self.writes_of(reg).next().is_none() => {
                self.value_before(reg, block)
            }
            _ => None,
        }
    }
}

fn preloaded(constants: &[UniformConstants], half: u16) -> Option<u16> {
    constants.iter().find_map(|run| {
        let at = half.checked_sub(run.first_half)?;
        run.values.get(usize::from(at)).copied()
    })
}

struct Counted<'a> {
    start: i64,
    step: i64,
    limit: i64,
    test: &'a Instruction,
    counter_first: bool,
    test_before_step: bool,
    width: Width,
}

/// Runs the counter until the test fails.
fn count(loop_: &Counted<'_>) -> Option<u64> {
    let condition = loop_.test.condition()?;
    let mask = match loop_.width {
        Width::W16 => 0xffff,
        Width::W32 => 0xffff_ffff,
        Width::W64 => return None,
    };
    let bits = loop_.width.bits();
    let extend = |value: i64, signed: bool| {
        let value = value & mask;
        match signed && value >> (bits - 1) & 1 != 0 {
            true => value - (mask + 1),
            false => value,
        }
    };
    let passes = |counter: i64| {
        let (signed, order) = match condition.compare {
            Compare::Unsigned(order) => (false, order),
            Compare::Signed(order) => (true, order),
            _ => return None,
        };
        let (counter, limit) = (extend(counter, signed), extend(loop_.limit, signed));
        let (a, b) = match loop_.counter_first {
            true => (counter, limit),
            false => (limit, counter),
        };
        let outcome = match order {
            Order::Equal => a == b,
            Order::Less => a < b,
            Order::Greater => a > b,
        };
        Some(outcome != condition.negate)
    };
    let mut counter = loop_.start;
    let mut trips = 0_u64;
    while trips < MOST {
        if loop_.test_before_step {
            // The body before the test runs once more than the body after it.
            if !passes(counter)? {
                return Some(trips);
            }
            counter = counter.wrapping_add(loop_.step) & mask;
            trips += 1;
        } else {
            counter = counter.wrapping_add(loop_.step) & mask;
            trips += 1;
            if !passes(counter)? {
                return Some(trips);
            }
        }
    }
    None
}
