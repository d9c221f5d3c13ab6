//! Finds out whether a dispatch can be streamed, and how.
//!
//! The program is run once, for all threads of the grid together: a register is an affine [`Form`] over positions, or the [`Value`] that
//! a step computes. Operations on forms leave nothing to do; every other becomes a [`Step`]. What cannot be described
//! so (a branch that threads take differently, a gather, an atomic) ends the attempt, and the dispatch is interpreted.
//!
//! At the end every access of every thread is known, so it can be proven that no thread accesses what another writes.

use super::form::Form;
use super::steps::{Action, Argument, Step, Stream, Value};
use crate::code::{Cell, Index, Op, Program, Transfer};
use crate::dispatch::Job;
use crate::interpret::decide;
use crate::lanes::{Lanes, Narrow, Rule, Wide};
use crate::memory::{self, View};
use assay_ssa::builtin::Builtin;

/// Most steps of a plan. A program with more of them computes, and does not wait for memory.
const MOST_STEPS: usize = 128;
/// Most operations looked at: loops are unrolled.
const MOST_OPERATIONS: u64 = 4096;

/// What a register holds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Held {
    Form(Form),
    Value(Value),
    /// Nothing that has been written.
    Nothing,
}

/// What became of the program: its steps and the memory they access.
pub(super) struct Found {
    pub(super) steps: Vec<Step>,
    pub(super) streams: Vec<Stream>,
    /// How many values the steps compute.
    pub(super) values: u32,
}

/// The steps of a dispatch, if it can be streamed.
pub(super) fn find(job: &Job<'_>, view: View<'_>) -> Option<Found> {
    let program = job.program;
    if program.in_order || program.in_turn || program.guarded.is_some() {
        return None;
    }
    let mut finder = Finder {
        program,
        view,
        last: job.grid.threads.map(|extent| extent.saturating_sub(1)),
        job,
        narrow: vec![Held::Nothing; program.narrow as usize],
        wide: vec![Held::Nothing; program.wide as usize],
        waiting: vec![false; program.slots as usize + 1],
        active: true,
        counted: program.ops.len() as u64,
        reads: Vec::new(),
        found: Found {
            steps: Vec::new(),
            streams: Vec::new(),
            values: 0,
        },
    };
    for &(reg, bits) in &program.constants {
        let file = if reg.wide {
            &mut finder.wide
        } else {
            &mut finder.narrow
        };
        *file.get_mut(reg.index as usize)? = Held::Form(Form::uniform(bits as i64));
    }
    for &(reg, address) in &job.pointers {
        *finder.wide.get_mut(reg as usize)? = Held::Form(Form::uniform(address as i64));
    }
    finder.run()?;
    finder.is_race_free().then_some(finder.found)
}

struct Finder<'a> {
    program: &'a Program,
    job: &'a Job<'a>,
    view: View<'a>,
    /// The position of the last thread.
    last: [u32; 3],
    narrow: Vec<Held>,
    wide: Vec<Held>,
    /// For each slot of the control stack: true if the threads wait there.
    waiting: Vec<bool>,
    /// True if the threads run the current operation.
    active: bool,
    /// Operations run, counted when a loop starts over.
    counted: u64,
    /// Memory that was read to find the plan: host addresses from and to.
    reads: Vec<(usize, usize)>,
    found: Found,
}

impl Finder<'_> {
    /// Runs the program to its end.
    fn run(&mut self) -> Option<()> {
        let mut next = 0;
        for _ in 0..MOST_OPERATIONS {
            let Some(op) = self.program.ops.get(next) else {
                return Some(());
            };
            if matches!(op, Op::End) {
                return Some(());
            }
            next = if op.is_control() {
                self.control(op, next)?
            } else {
                if self.active {
                    self.operation(op)?;
                }
                next + 1
            };
            if self.found.steps.len() > MOST_STEPS {
                return None;
            }
        }
        None
    }

    /// A control operation: all threads do the same, so that each slot and the mask are one bit.
    fn control(&mut self, op: &Op, at: usize) -> Option<usize> {
        match *op {
            Op::If {
                cond,
                wanted,
                slot,
                target,
            } => {
                let holds = !self.active || self.truth(cond)? == wanted;
                *self.waiting.get_mut(slot as usize)? = self.active && !holds;
                self.active &= holds;
                if !self.active {
                    return Some(target as usize);
                }
            }
            Op::Else { slot, target } => {
                if !*self.waiting.get(slot as usize)? {
                    return Some(target as usize + 1);
                }
                *self.waiting.get_mut(slot as usize + 1)? = self.active;
                self.active = true;
            }
            Op::EndIf { slot } => self.active |= *self.waiting.get(slot as usize + 1)?,
            Op::EndThen { slot } | Op::ScopeEnd { slot } => {
                self.active |= *self.waiting.get(slot as usize)?;
            }
            Op::ScopeBegin { slot } => *self.waiting.get_mut(slot as usize)? = false,
            Op::Leave { slot } => {
                *self.waiting.get_mut(slot as usize)? |= self.active;
                self.active = false;
            }
            Op::LoopEnd { slot, target } => {
                let waiting = self.waiting.get_mut(slot as usize)?;
                self.active |= std::mem::take(waiting);
                if self.active {
                    // Counted as the interpreter counts them.
                    self.counted += (at - target as usize) as u64 + 1;
                    if self.counted > self.job.limits.max_steps {
                        return None;
                    }
                    return Some(target as usize);
                }
            }
            Op::SkipIfNone { target } => {
                if !self.active {
                    return Some(target as usize);
                }
            }
            Op::Return => self.active = false,
            _ => return None,
        }
        Some(at + 1)
    }

    /// A truth value that all threads share.
    fn truth(&self, cond: u32) -> Option<bool> {
        match self.held(cond)? {
            Held::Form(form) if form.is_uniform() => Some(form.base & 1 != 0),
            _ => None,
        }
    }

    fn operation(&mut self, op: &Op) -> Option<()> {
        match *op {
            Op::N1 { f, d, a } => self.narrow_step(Action::N1(f), d, [a]),
            Op::N2 { f, rule, d, a, b } => {
                if let (Held::Form(first), Held::Form(second)) = (self.held(a)?, self.held(b)?)
                    && let Some(form) = self.combine(rule, first, second)
                {
                    return self.set(d, Held::Form(form));
                }
                self.narrow_step(Action::N2(f), d, [a, b])
            }
            Op::N3 { f, d, a, b, c } => self.narrow_step(Action::N3(f), d, [a, b, c]),
            Op::SelectNarrow { d, cond, yes, no } => match self.truth(cond) {
                Some(holds) => self.set(d, self.held(if holds { yes } else { no })?),
                None => self.narrow_step(Action::Select, d, [cond, yes, no]),
            },
            Op::SelectWide { d, cond, yes, no } => {
                let chosen = if self.truth(cond)? { yes } else { no };
                self.set_wide(d, self.wide_form(chosen)?)
            }
            Op::MoveNarrow { d, a } => self.set(d, self.held(a)?),
            Op::MoveWide { d, a } => self.set_wide(d, self.wide_form(a)?),
            Op::Moves { list, wide } => {
                for pair in self.program.list(list).chunks_exact(2) {
                    let (d, a) = (pair[0].index, pair[1].index);
                    if wide {
                        self.set_wide(d, self.wide_form(a)?)?;
                    } else {
                        self.set(d, self.held(a)?)?;
                    }
                }
                Some(())
            }
            Op::Position { which, axis, d } if !d.wide => {
                let form = self.position(which, axis.into())?;
                self.set(d.index, Held::Form(form))
            }
            Op::Load { transfer } => self.load(self.program.transfers.get(transfer as usize)?),
            Op::Store { transfer } => self.store(self.program.transfers.get(transfer as usize)?),
            Op::Order { .. } => Some(()),
            _ => self.wide_operation(op),
        }
    }

    /// An operation whose result or operands are wide: forms only.
    fn wide_operation(&mut self, op: &Op) -> Option<()> {
        match *op {
            Op::W1 { f, d, a } => {
                let a = splat_wide(self.wide_form(a)?)?;
                // SAFETY: one simdgroup of registers, and functions for the program's level.
                self.evaluate_wide(d, |result| unsafe { f(result, Lanes::same(&a), 1) })
            }
            Op::W2 { f, rule, d, a, b } => {
                let (first, second) = (self.wide_form(a)?, self.wide_form(b)?);
                if let Some(form) = combine_any(rule, first, second) {
                    return self.set_wide(d, form);
                }
                let (a, b) = (splat_wide(first)?, splat_wide(second)?);
                // SAFETY: as above.
                self.evaluate_wide(d, |result| unsafe {
                    f(result, Lanes::same(&a), Lanes::same(&b), 1);
                })
            }
            Op::Widen { f, rule, d, a } => {
                let Held::Form(form) = self.held(a)? else {
                    return None;
                };
                if form.is_uniform() {
                    let a = [form.base as u32; 32];
                    // SAFETY: as above.
                    return self
                        .evaluate_wide(d, |result| unsafe { f(result, Lanes::same(&a), 1) });
                }
                let signed = match rule {
                    Rule::ZeroExtend => false,
                    Rule::SignExtend => true,
                    _ => return None,
                };
                self.set_wide(d, form.as_32(signed, self.last)?)
            }
            Op::Narrowing { f, rule, d, a } => {
                let form = self.wide_form(a)?;
                if rule == Rule::Truncate {
                    return self.set(d, Held::Form(form));
                }
                let a = splat_wide(form)?;
                // SAFETY: as above.
                self.evaluate_narrow(d, |result| unsafe { f(result, Lanes::same(&a), 1) })
            }
            Op::Compare { f, d, a, b, .. } => {
                let (a, b) = (
                    splat_wide(self.wide_form(a)?)?,
                    splat_wide(self.wide_form(b)?)?,
                );
                // SAFETY: as above.
                self.evaluate_narrow(d, |result| unsafe {
                    f(result, Lanes::same(&a), Lanes::same(&b), 1);
                })
            }
            Op::PtrAdd {
                d,
                base,
                index,
                kind,
                scale,
                offset,
            } => {
                let start = self.wide_form(base)?.plus(Form::uniform(offset))?;
                let index = match kind {
                    Index::None => return self.set_wide(d, start),
                    Index::Wide => self.wide_form(index)?,
                    Index::Narrow { bits, signed } if bits == 32 || !signed => {
                        self.number(index, signed)?
                    }
                    Index::Narrow { .. } => return None,
                };
                self.set_wide(d, start.plus(index.times(scale.into())?)?)
            }
            _ => None,
        }
    }

    // ---- registers ----

    fn held(&self, reg: u32) -> Option<Held> {
        self.narrow.get(reg as usize).copied()
    }

    fn set(&mut self, reg: u32, held: Held) -> Option<()> {
        *self.narrow.get_mut(reg as usize)? = held;
        Some(())
    }

    fn wide_form(&self, reg: u32) -> Option<Form> {
        match self.wide.get(reg as usize)? {
            Held::Form(form) => Some(*form),
            _ => None,
        }
    }

    fn set_wide(&mut self, reg: u32, form: Form) -> Option<()> {
        *self.wide.get_mut(reg as usize)? = Held::Form(form);
        Some(())
    }

    /// The form of a narrow register's numbers.
    fn number(&self, reg: u32, signed: bool) -> Option<Form> {
        match self.held(reg)? {
            Held::Form(form) => form.as_32(signed, self.last),
            _ => None,
        }
    }

    /// Runs a lane function whose operands are the same in all threads.
    fn evaluate_narrow(&mut self, d: u32, run: impl FnOnce(*mut Narrow)) -> Option<()> {
        let mut result = [0; 32];
        run(&raw mut result);
        self.set(d, Held::Form(Form::uniform(result[0].into())))
    }

    fn evaluate_wide(&mut self, d: u32, run: impl FnOnce(*mut Wide)) -> Option<()> {
        let mut result = [0u64; 32];
        run(&raw mut result);
        self.set_wide(d, Form::uniform(result[0] as i64))
    }

    /// What a position or size is.
    fn position(&self, which: Builtin, axis: usize) -> Option<Form> {
        let grid = self.job.grid;
        let axis = axis.min(2);
        Some(match which {
            Builtin::ThreadPositionInGrid => Form::position(axis),
            Builtin::ThreadsPerGrid | Builtin::GridSize => Form::uniform(grid.threads[axis].into()),
            Builtin::ThreadgroupsPerGrid => Form::uniform(grid.group_counts()[axis].into()),
            Builtin::DispatchThreadsPerThreadgroup => Form::uniform(grid.threadgroup[axis].into()),
            Builtin::GridOrigin => Form::uniform(0),
            _ => return None,
        })
    }

    /// What an integer operation makes of the forms of two narrow registers.
    fn combine(&self, rule: Rule, a: Form, b: Form) -> Option<Form> {
        if let Rule::Compare(cond) = rule {
            let number = |form: Form| form.as_32(cond.is_signed(), self.last)?.bounds(self.last);
            let holds = decide(cond, number(a), number(b))?;
            return Some(Form::uniform(holds.into()));
        }
        combine_any(rule, a, b)
    }

    /// An operation on lanes: evaluated now if all threads have the same operands, else a step.
    fn narrow_step<const N: usize>(
        &mut self,
        action: Action,
        d: u32,
        registers: [u32; N],
    ) -> Option<()> {
        let mut arguments = [Argument::Uniform(0); 3];
        for (to, &reg) in arguments.iter_mut().zip(&registers) {
            *to = self.argument(reg)?;
        }
        let [a, b, c] = arguments;
        if let (Argument::Uniform(a), Argument::Uniform(b), Argument::Uniform(c)) = (a, b, c) {
            let (a, b, c) = ([a; 32], [b; 32], [c; 32]);
            let (a, b, c) = (Lanes::same(&a), Lanes::same(&b), Lanes::same(&c));
            // SAFETY: one simdgroup of registers, and functions for the program's level.
            return self.evaluate_narrow(d, |result| unsafe {
                match action {
                    Action::N1(f) => f(result, a, 1),
                    Action::N2(f) => f(result, a, b, 1),
                    Action::N3(f) => f(result, a, b, c, 1),
                    _ => {}
                }
            });
        }
        let value = self.step(action, arguments);
        self.set(d, Held::Value(value))
    }

    /// A register as an operand of a step. The lanes of a form are computed by a step of their own.
    fn argument(&mut self, reg: u32) -> Option<Argument> {
        Some(match self.held(reg)? {
            Held::Form(form) if form.is_uniform() => Argument::Uniform(form.base as u32),
            Held::Form(form) => {
                let value = self.step(Action::Positions(form), [Argument::Uniform(0); 3]);
                self.set(reg, Held::Value(value))?;
                Argument::Value(value)
            }
            Held::Value(value) => Argument::Value(value),
            Held::Nothing => return None,
        })
    }

    fn step(&mut self, action: Action, arguments: [Argument; 3]) -> Value {
        let value = Value(self.found.values);
        self.found.values += 1;
        self.found.steps.push(Step {
            action,
            result: Some(value),
            arguments,
        });
        value
    }

    // ---- memory ----

    /// The addresses of a transfer.
    fn address(&self, t: &Transfer) -> Option<Form> {
        let base = self
            .wide_form(t.base)?
            .plus(Form::uniform(t.offset as i64))?;
        match t.index {
            None => Some(base),
            Some(scaled) => {
                let index = self.number(scaled.reg, scaled.signed)?;
                base.plus(index.times(scaled.scale.into())?)
            }
        }
    }

    fn load(&mut self, t: &Transfer) -> Option<()> {
        let &[reg] = self.program.list(t.regs) else {
            return None;
        };
        let form = self.address(t)?;
        if form.is_uniform() {
            let address = form.base as u64;
            let range = self
                .view
                .check_range(address, address, t.size(), memory::Action::Read)?;
            if t.atomic {
                return None;
            }
            let start = range.at(address) as usize;
            self.reads.push((start, start + t.size() as usize));
            // SAFETY: the range was checked, with the transfer's size. No thread writes there (`is_race_free`).
            let bits = unsafe { range.place(address, t.size()) }.read(t.cell);
            let uniform = Form::uniform(bits as i64);
            return if reg.wide {
                self.set_wide(reg.index, uniform)
            } else {
                self.set(reg.index, Held::Form(uniform))
            };
        }
        let stream = self.stream(t, form, memory::Action::Read)?;
        let value = self.step(Action::Load(stream), [Argument::Uniform(0); 3]);
        self.set(reg.index, Held::Value(value))
    }

    fn store(&mut self, t: &Transfer) -> Option<()> {
        let &[reg] = self.program.list(t.regs) else {
            return None;
        };
        let form = self.address(t)?;
        let stream = self.stream(t, form, memory::Action::Write)?;
        if reg.wide {
            return None;
        }
        let argument = self.argument(reg.index)?;
        self.found.streams.get_mut(stream)?.written = true;
        self.found.steps.push(Step {
            action: Action::Store(stream),
            result: None,
            arguments: [argument, Argument::Uniform(0), Argument::Uniform(0)],
        });
        Some(())
    }

    /// The stream of numbers that threads access one after the other along x.
    fn stream(&mut self, t: &Transfer, form: Form, action: memory::Action) -> Option<usize> {
        let bytes = i64::from(t.cell.bytes());
        let aligned = |number: i64| number % bytes == 0;
        if t.atomic
            || t.cell == Cell::Long
            || form.step[0] != bytes
            || !form.step.iter().all(|&step| aligned(step))
        {
            return None;
        }
        let (least, greatest) = form.bounds(self.last)?;
        let (least, greatest) = (u64::try_from(least).ok()?, u64::try_from(greatest).ok()?);
        let range = self.view.check_range(least, greatest, t.size(), action)?;
        let lowest = range.at(least) as usize;
        if !lowest.is_multiple_of(bytes as usize) {
            return None;
        }
        // The same form at host addresses: the region's own start cancels out.
        let start = range
            .at(least)
            .wrapping_offset(form.base.wrapping_sub(least as i64) as isize);
        let found = Stream {
            start,
            step: form.step,
            cell: t.cell,
            lowest,
            end: lowest + (greatest - least) as usize + bytes as usize,
            written: false,
        };
        let known = self.found.streams.iter().position(|known| {
            (known.start, known.step, known.cell) == (found.start, found.step, found.cell)
        });
        if known.is_none() {
            self.found.streams.push(found);
        }
        Some(known.unwrap_or(self.found.streams.len() - 1))
    }

    /// Returns true if no thread accesses memory that another thread writes.
    fn is_race_free(&self) -> bool {
        let streams = &self.found.streams;
        let mut written = streams.iter().enumerate().filter(|(_, s)| s.written);
        written.all(|(at, stream)| {
            let apart =
                |&(start, end): &(usize, usize)| end <= stream.lowest || stream.end <= start;
            let others = streams.iter().enumerate().filter(|(other, _)| *other != at);
            let form = Form {
                base: 0,
                step: stream.step,
            };
            form.is_injective(stream.cell.bytes().into(), self.last)
                && self.reads.iter().all(apart)
                && others
                    .map(|(_, s)| (s.lowest, s.end))
                    .all(|range| apart(&range))
        })
    }
}

/// What an integer operation makes of two forms, modulo the size of its registers.
fn combine_any(rule: Rule, a: Form, b: Form) -> Option<Form> {
    match rule {
        Rule::Add => a.plus(b),
        Rule::Sub => a.plus(b.times(-1)?),
        Rule::Mul => a.product(b),
        Rule::Shl if b.is_uniform() && (0..32).contains(&b.base) => a.times(1 << b.base),
        _ => None,
    }
}

/// A uniform form in all lanes of a simdgroup.
fn splat_wide(form: Form) -> Option<Wide> {
    form.is_uniform().then_some([form.base as u64; 32])
}
