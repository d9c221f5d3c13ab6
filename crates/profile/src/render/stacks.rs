//! The cost of the source by function and by chain of calls.
//!
//! Code inlined from a helper keeps the chain of calls that brought it there. [`Stacks`] is the tree of those chains: the
//! kernel is its root, calls of the same function from the same function are one frame, and a line is charged to the
//! frame that holds it.

use super::lines::{LineCost, lines_by_call};
use super::text::Report;
use crate::cost::number;
use crate::profile::Profile;
use assay_report::style::Role;
use assay_report::table::{Cell, Column, Table};
use std::collections::{BTreeMap, HashMap};

/// A function, reached by one chain of calls.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Its name; the kernel's for the root.
    pub function: String,
    /// The frame that calls it; none for the kernel.
    pub caller: Option<usize>,
    /// File and line of the first of its calls.
    pub called_at: Option<(u32, u32)>,
    /// Its own lines.
    pub lines: Vec<LineCost>,
    /// Issue slots and stalls of its own lines.
    pub own: f64,
    /// The same with all it calls.
    pub total: f64,
    /// Its calls, the dearest first.
    pub calls: Vec<usize>,
}

/// The frames of a program, callers before what they call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stacks {
    /// The frames; the first is the kernel.
    pub frames: Vec<Frame>,
}

/// What a function costs, wherever it was called from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FunctionCost {
    /// Its name.
    pub function: String,
    /// Instructions of its own lines.
    pub instructions: u32,
    /// Issue slots and stalls of its own lines.
    pub own: f64,
    /// The same with all it calls, each once.
    pub total: f64,
    /// From how many places it is called.
    pub chains: usize,
}

impl Stacks {
    /// The chains of a profile's main program; empty without source lines.
    pub fn of(profile: &Profile) -> Stacks {
        let lines = lines_by_call(profile);
        if lines.is_empty() {
            return Stacks::default();
        }
        let root = Frame {
            function: profile.name.clone(),
            ..Frame::default()
        };
        let mut stacks = Stacks { frames: vec![root] };
        let places = stacks.enter(&profile.main.calls);
        let mut sums: BTreeMap<(usize, u32, u32), LineCost> = BTreeMap::new();
        for (call, cost) in lines {
            let at = call.and_then(|call| places.get(call as usize).copied());
            let key = (at.unwrap_or(0), cost.file, cost.line);
            sums.entry(key).or_default().add(&cost);
        }
        for ((at, ..), cost) in sums {
            if let Some(frame) = stacks.frames.get_mut(at) {
                frame.own += cost.time();
                frame.lines.push(cost);
            }
        }
        stacks.sum();
        stacks
    }

    /// A frame for every call; calls of one function from one frame share theirs.
    fn enter(&mut self, calls: &[assay_agx::Call]) -> Vec<usize> {
        let mut known: HashMap<(usize, &str), usize> = HashMap::new();
        let mut places: Vec<usize> = Vec::with_capacity(calls.len());
        for call in calls {
            let caller = call
                .caller
                .and_then(|caller| places.get(caller as usize).copied());
            let caller = caller.unwrap_or(0);
            let place = *known
                .entry((caller, call.function.as_str()))
                .or_insert_with(|| {
                    self.frames.push(Frame {
                        function: match call.function.as_str() {
                            "" => format!("(called at line {})", call.line),
                            name => name.to_owned(),
                        },
                        caller: Some(caller),
                        called_at: Some((call.file, call.line)),
                        ..Frame::default()
                    });
                    self.frames.len() - 1
                });
            places.push(place);
        }
        places
    }

    /// Totals from the leaves up: a caller stands before what it calls.
    fn sum(&mut self) {
        for at in (0..self.frames.len()).rev() {
            let Some(frame) = self.frames.get_mut(at) else {
                continue;
            };
            frame.total += frame.own;
            let (total, caller) = (frame.total, frame.caller);
            if let Some(caller) = caller.and_then(|caller| self.frames.get_mut(caller)) {
                caller.total += total;
                if total > 0.0 {
                    caller.calls.push(at);
                }
            }
        }
        let totals: Vec<f64> = self.frames.iter().map(|frame| frame.total).collect();
        for frame in &mut self.frames {
            frame
                .calls
                .sort_by(|&a, &b| totals[b].total_cmp(&totals[a]).then(a.cmp(&b)));
        }
    }

    /// Returns true if `frame` or a caller of it has this name, `frame` itself left out.
    fn is_below(&self, frame: &Frame, name: &str) -> bool {
        let mut next = frame.caller.and_then(|caller| self.frames.get(caller));
        while let Some(frame) = next {
            if frame.function == name {
                return true;
            }
            next = frame.caller.and_then(|caller| self.frames.get(caller));
        }
        false
    }

    /// The functions, the dearest in themselves first.
    pub fn functions(&self) -> Vec<FunctionCost> {
        let mut found: BTreeMap<&str, FunctionCost> = BTreeMap::new();
        for frame in &self.frames {
            let cost = found.entry(&frame.function).or_default();
            cost.own += frame.own;
            cost.instructions += frame
                .lines
                .iter()
                .map(|line| line.instructions)
                .sum::<u32>();
            cost.chains += usize::from(!frame.lines.is_empty());
            if !self.is_below(frame, &frame.function) {
                cost.total += frame.total;
            }
        }
        let named = found.into_iter().map(|(name, cost)| FunctionCost {
            function: name.to_owned(),
            ..cost
        });
        let mut functions: Vec<FunctionCost> = named.collect();
        functions.sort_by(|a, b| b.own.total_cmp(&a.own));
        functions
    }
}

/// Rows of a table of functions or chains.
const MOST: usize = 24;

impl Report<'_> {
    /// The dearest functions.
    pub(super) fn functions(&mut self, profile: &Profile) {
        let functions = Stacks::of(profile).functions();
        let total: f64 = functions.iter().map(|cost| cost.own).sum();
        if functions.is_empty() {
            return;
        }
        self.heading("Functions (modelled, one simdgroup alone)");
        let mut table = Table::new([
            Column::right("own"),
            Column::right("with calls"),
            Column::right("insns"),
            Column::right("cycles"),
            Column::right("chains"),
            Column::left("function").shrink(),
        ]);
        for cost in functions.iter().take(MOST) {
            table.row([
                self.share(cost.own, total),
                self.share(cost.total, total),
                cost.instructions.to_string().into(),
                number(cost.own).into(),
                cost.chains.to_string().into(),
                cost.function.as_str().into(),
            ]);
        }
        self.table(table);
        self.rest(functions.len(), "functions");
    }

    /// The chains of calls as a tree.
    pub(super) fn chains(&mut self, profile: &Profile) {
        let stacks = Stacks::of(profile);
        let Some(root) = stacks.frames.first() else {
            return;
        };
        let total = root.total;
        self.heading("Calls (modelled, one simdgroup alone)");
        let mut table = Table::new([
            Column::right("with calls"),
            Column::right("own"),
            Column::left("function, and the line that calls it").shrink(),
        ]);
        let mut waiting = vec![(0, 0)];
        let mut shown = 0;
        while let Some((at, depth)) = waiting.pop() {
            let Some(frame) = stacks.frames.get(at) else {
                continue;
            };
            waiting.extend(frame.calls.iter().rev().map(|&call| (call, depth + 1)));
            shown += 1;
            if shown > MOST {
                continue;
            }
            let place = frame.called_at.map_or(String::new(), |(file, line)| {
                let file = profile
                    .main
                    .files
                    .get(file as usize)
                    .map_or("?", String::as_str);
                format!("  {}:{line}", file.rsplit('/').next().unwrap_or(file))
            });
            table.row([
                self.share(frame.total, total),
                self.share(frame.own, total),
                Cell::from(format!("{}{}{place}", "  ".repeat(depth), frame.function)),
            ]);
        }
        self.table(table);
        self.rest(shown, "calls");
    }

    fn share(&self, cost: f64, total: f64) -> Cell {
        let share = cost / total.max(1e-9);
        let role = match share {
            share if share >= 0.25 => Role::Bad,
            _ => Role::Figure,
        };
        Cell::new(format!("{:.0} %", share * 100.0), role)
    }

    fn rest(&mut self, all: usize, what: &str) {
        if all > MOST {
            self.line(&format!("and {} more {what}", all - MOST));
        }
    }
}
