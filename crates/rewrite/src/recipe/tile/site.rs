//! The loop a kernel is about, the guards around it, and what its values depend on.

use super::super::counted::{self, Counted};
use super::super::reduction::Reduction;
use super::super::{Candidate, Refusal, RefusalKind, independent, jam, positions};
use assay_opt::control::{Item, Region};
use assay_opt::structurize::structurize;
use assay_ssa::{BinaryOp, Builtin, Function, InstData, IntCond, Space, Value, ValueDef};
use std::cell::RefCell;
use std::collections::HashMap;

/// What a value can depend on: the position along x or y, the round of the loop, or something else that changes.
pub(in super::super) const X: u8 = 1;
/// See [`X`].
pub(in super::super) const Y: u8 = 2;
/// See [`X`].
pub(in super::super) const ROUND: u8 = 4;
const OTHER: u8 = 8;

/// A condition that holds where the loop runs.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Guard {
    /// A comparison, or a condition that is the same for all threads of a threadgroup.
    pub(in super::super) cond: Value,
    /// The loop runs where it holds, or where it does not.
    pub(in super::super) holds: bool,
    /// What it depends on: [`X`], [`Y`] or nothing.
    pub(in super::super) on: u8,
}

/// A kernel around one loop.
pub(in super::super) struct Site {
    /// Its function, positions within threadgroups expressed by those in the grid.
    pub(in super::super) function: Function,
    /// The loop, of one block.
    pub(in super::super) counted: Counted,
    /// What it reduces.
    pub(in super::super) reductions: Vec<Reduction>,
    /// The guards around it.
    pub(in super::super) guards: Vec<Guard>,
    depends: RefCell<HashMap<Value, u8>>,
}

impl Site {
    /// The loop of a kernel whose threads are independent, or why there is none.
    pub(in super::super) fn of(candidate: &Candidate) -> Result<Site, Refusal> {
        let function = independent::counting_threads(candidate)?;
        let refuse = |kind, why: &str| Err(Refusal::new(kind, why));
        if positions::used_as_vector(&function) {
            return refuse(RefusalKind::Positions, "a position is used as a vector");
        }
        let loops = counted::innermost(&function);
        let [counted] = loops.as_slice() else {
            let why = "the program is not one counted loop with code around it";
            return refuse(RefusalKind::NothingToDo, why);
        };
        let counted = counted.clone();
        if counted.found.blocks.len() != 1 || counted.found.depth != 1 {
            return refuse(
                RefusalKind::Control,
                "the loop branches, or is inside another",
            );
        }
        let site = Site {
            counted,
            reductions: Vec::new(),
            guards: Vec::new(),
            depends: RefCell::new(HashMap::new()),
            function,
        };
        site.completed()
    }

    fn completed(mut self) -> Result<Site, Refusal> {
        let refuse = |kind, why: &str| Err(Refusal::new(kind, why));
        let function = &self.function;
        let header = self.counted.found.header;
        let mut reductions = Vec::new();
        for &param in function.params(header) {
            if self.counted.inductions.iter().any(|i| i.param == param) {
                continue;
            }
            let Some(found) = Reduction::of(function, &self.counted, param) else {
                let why = "the loop carries a value that is no sum";
                return refuse(RefusalKind::Control, why);
            };
            reductions.push(found);
        }
        for &inst in function.insts(header) {
            if function.effects(inst).writes {
                return refuse(RefusalKind::Access, "the loop writes memory");
            }
        }
        for &block in function.blocks() {
            for &inst in function.insts(block) {
                if matches!(function.inst(inst), InstData::Alloca { .. }) {
                    return refuse(RefusalKind::Access, "the program has arrays of the thread");
                }
            }
        }
        self.leaving(&reductions)?;
        self.reductions = reductions;
        self.guards = self.find_guards()?;
        Ok(self)
    }

    /// Only what is reduced may be used behind the loop.
    fn leaving(&self, reductions: &[Reduction]) -> Result<(), Refusal> {
        let counted = &self.counted;
        let header = counted.found.header;
        let allowed = |value: Value| {
            let mut all = reductions.iter();
            all.any(|reduction| reduction.leaves_as(counted) == value)
        };
        let mut fine = true;
        for &block in self.function.blocks() {
            for &inst in self.function.insts(block) {
                if block != header {
                    self.function.for_each_operand(inst, |value| {
                        fine &= !counted.makes(&self.function, value) || allowed(value);
                    });
                }
            }
        }
        if let Some(terminator) = self.function.terminator(header) {
            self.function.for_each_target(terminator, |call| {
                if call.block == counted.exit {
                    for &arg in self.function.list_values(call.args) {
                        fine &= !counted.makes(&self.function, arg) || allowed(arg);
                    }
                }
            });
        }
        if fine {
            return Ok(());
        }
        let why = "something besides the sum leaves the loop";
        Err(Refusal::new(RefusalKind::Control, why))
    }

    /// What a value depends on.
    pub(in super::super) fn depends(&self, value: Value) -> u8 {
        self.depends_within(value, 200)
    }

    fn depends_within(&self, value: Value, depth: u32) -> u8 {
        if let Some(&known) = self.depends.borrow().get(&value) {
            return known;
        }
        let found = self.find_dependence(value, depth);
        self.depends.borrow_mut().insert(value, found);
        found
    }

    fn find_dependence(&self, value: Value, depth: u32) -> u8 {
        if depth == 0 {
            return OTHER;
        }
        let function = &self.function;
        if let Some((builtin, axis)) = positions::position(function, value) {
            return match (builtin, axis) {
                (Builtin::ThreadPositionInGrid, 0) => X,
                (Builtin::ThreadPositionInGrid, 1) => Y,
                _ => 0,
            };
        }
        match function.def(value) {
            ValueDef::Param(block, _) if Some(block) == function.entry() => 0,
            ValueDef::Param(block, _) => {
                let induction = self.counted.inductions.iter().find(|i| i.param == value);
                match induction {
                    Some(induction) if block == self.counted.found.header => {
                        ROUND | self.depends_within(induction.init, depth - 1)
                    }
                    _ => OTHER,
                }
            }
            ValueDef::Result(inst) => {
                let effects = function.effects(inst);
                if effects.writes || effects.convergent {
                    return OTHER;
                }
                let mut all = 0;
                function.for_each_operand(inst, |operand| {
                    all |= self.depends_within(operand, depth - 1);
                });
                all
            }
            _ => 0,
        }
    }

    /// The conditions under which the loop runs.
    fn find_guards(&self) -> Result<Vec<Guard>, Refusal> {
        let control = |why: &str| Refusal::new(RefusalKind::Control, why);
        let tree = structurize(&self.function).map_err(|error| control(&error.to_string()))?;
        let body = jam::normalise(tree.body);
        let mut path = Vec::new();
        if !self.way_to(&body, &mut path)? {
            return Err(control("the loop is not where control comes by"));
        }
        let mut guards = Vec::new();
        for (cond, holds) in path {
            self.split(cond, holds, &mut guards)?;
        }
        Ok(guards)
    }

    /// The branches on the way to the loop.
    fn way_to(&self, region: &Region, path: &mut Vec<(Value, bool)>) -> Result<bool, Refusal> {
        for item in region {
            match item {
                Item::Loop { label, .. } if label.0 == self.counted.found.header => {
                    return Ok(true);
                }
                Item::If {
                    cond,
                    then,
                    otherwise,
                } => {
                    for (arm, holds) in [(then, true), (otherwise, false)] {
                        path.push((*cond, holds));
                        if self.way_to(arm, path)? {
                            return Ok(true);
                        }
                        path.pop();
                    }
                    if jumps(then) || jumps(otherwise) {
                        let why = "control jumps past the loop";
                        return Err(Refusal::new(RefusalKind::Control, why));
                    }
                }
                Item::Scope { body, .. } if self.way_to(body, path)? => return Ok(true),
                Item::Scope { .. } | Item::Loop { .. } | Item::Run(_) | Item::Pass { .. } => {}
                Item::Leave(_) | Item::Repeat(_) | Item::Return(_) | Item::Unreachable => {}
            }
        }
        Ok(false)
    }

    /// A condition as comparisons that all hold.
    fn split(&self, cond: Value, holds: bool, guards: &mut Vec<Guard>) -> Result<(), Refusal> {
        let on = self.depends(cond);
        if on == 0 {
            guards.push(Guard { cond, holds, on });
            return Ok(());
        }
        let function = &self.function;
        let bits = |value: Value| function.const_bits(value);
        match function.def_data(cond) {
            Some(&InstData::Binary {
                op: BinaryOp::And,
                args: [a, b],
                ..
            }) if holds => {
                self.split(a, true, guards)?;
                return self.split(b, true, guards);
            }
            Some(&InstData::Binary {
                op: BinaryOp::Or,
                args: [a, b],
                ..
            }) if !holds => {
                self.split(a, false, guards)?;
                return self.split(b, false, guards);
            }
            Some(&InstData::Binary {
                op: BinaryOp::Xor,
                args: [a, b],
                ..
            }) if bits(b) == Some(1) => return self.split(a, !holds, guards),
            Some(&InstData::Select {
                cond: a,
                args: [b, no],
                ..
            }) if holds && bits(no) == Some(0) => {
                self.split(a, true, guards)?;
                return self.split(b, true, guards);
            }
            Some(&InstData::Select {
                cond: a,
                args: [yes, b],
                ..
            }) if !holds && bits(yes) == Some(1) => {
                self.split(a, false, guards)?;
                return self.split(b, false, guards);
            }
            Some(&InstData::IntCompare {
                cond: compared,
                args: [a, b],
                ..
            }) if on == X || on == Y => {
                let compared = if holds { compared } else { compared.inverse() };
                let below = match compared {
                    IntCond::Ult | IntCond::Slt | IntCond::Ule | IntCond::Sle => {
                        self.rises(a) && self.depends(b) == 0
                    }
                    IntCond::Ugt | IntCond::Sgt | IntCond::Uge | IntCond::Sge => {
                        self.rises(b) && self.depends(a) == 0
                    }
                    _ => false,
                };
                if below {
                    guards.push(Guard { cond, holds, on });
                    return Ok(());
                }
            }
            _ => {}
        }
        let why = "the loop is behind a guard that is no bound of a position";
        Err(Refusal::new(RefusalKind::Control, why))
    }

    /// Returns true if a value is a position, or a multiple of one with something added.
    fn rises(&self, value: Value) -> bool {
        let function = &self.function;
        if matches!(
            positions::position(function, value),
            Some((Builtin::ThreadPositionInGrid, _))
        ) {
            return true;
        }
        let positive = |value: Value| function.const_int(value).is_some_and(|n| n > 0);
        match function.def_data(value) {
            Some(&InstData::Binary {
                op: BinaryOp::Mul | BinaryOp::Shl | BinaryOp::Add,
                args: [a, b],
                ..
            }) => positive(b) && self.rises(a),
            _ => false,
        }
    }

    /// The loads of the loop that are not from constant memory.
    pub(in super::super) fn loads(&self) -> Vec<Value> {
        let header = self.counted.found.header;
        let insts = self.function.insts(header).iter();
        let loads = insts.filter(|&&inst| match *self.function.inst(inst) {
            InstData::Load { ptr, .. } => self.function.ty(ptr).space() != Some(Space::Constant),
            _ => false,
        });
        loads
            .filter_map(|&inst| self.function.result(inst))
            .collect()
    }

    /// The address a load reads.
    pub(in super::super) fn pointer(&self, load: Value) -> Option<Value> {
        match self.function.def_data(load)? {
            InstData::Load { ptr, .. } => Some(*ptr),
            _ => None,
        }
    }

    /// What a sum starts with.
    pub(in super::super) fn initial(&self, reduction: &Reduction) -> Result<Value, Refusal> {
        let header = self.counted.found.header;
        let params = self.function.params(header);
        let place = params.iter().position(|&param| param == reduction.param);
        let given = self.counted.passed(&self.function, self.counted.preheader);
        let start = place.and_then(|place| given.get(place).copied());
        start.ok_or_else(|| Refusal::new(RefusalKind::Program, "the sum starts with nothing"))
    }
}

/// Returns true if a region has jumps out of it.
fn jumps(region: &Region) -> bool {
    region.iter().any(|item| match item {
        Item::Leave(_) | Item::Repeat(_) | Item::Return(_) => true,
        Item::If {
            then, otherwise, ..
        } => jumps(then) || jumps(otherwise),
        Item::Scope { body, .. } | Item::Loop { body, .. } => jumps(body),
        _ => false,
    })
}
