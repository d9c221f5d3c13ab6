//! Counting what programs hold, one by one and in thousands.

use crate::{Form, Kernel, OpenConstants, Program, Request};
use assay_report::style::{Painter, Role};
use assay_report::table::{Column, Table};
use assay_ssa::builtin::Family;
use assay_ssa::{Callee, InstData, Module};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

#[cfg(feature = "schema")]
use schemars::JsonSchema;

/// How many of what a program holds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub(super) struct Counts {
    pub(super) functions: usize,
    pub(super) blocks: usize,
    pub(super) instructions: usize,
    /// Instructions that know a line of the user's source.
    pub(super) with_source_line: usize,
    pub(super) loads: usize,
    pub(super) stores: usize,
    pub(super) atomics: usize,
    pub(super) float_operations: usize,
    pub(super) integer_operations: usize,
    pub(super) branches: usize,
    pub(super) barriers: usize,
    /// Simdgroup and quadgroup operations.
    pub(super) group_operations: usize,
    pub(super) matrix_operations: usize,
    /// Arrays and structs in thread memory.
    pub(super) allocations: usize,
}

impl Counts {
    pub(super) fn of(module: &Module) -> Self {
        let mut counts = Counts::default();
        for (_, function) in module.functions.iter() {
            counts.functions += 1;
            for &block in function.blocks() {
                counts.blocks += 1;
                for &inst in function.insts(block) {
                    counts.instructions += 1;
                    let line = function.loc(inst);
                    let user = |file: &str| !assay_msl::is_own_header(file);
                    let line = line.and_then(|loc| module.locations.resolve(loc, user));
                    counts.with_source_line += usize::from(line.is_some());
                    counts.add(function.inst(inst));
                }
            }
        }
        counts
    }

    fn add(&mut self, data: &InstData) {
        let counter = match data {
            InstData::Load { .. } => &mut self.loads,
            InstData::Store { .. } | InstData::MemCopy { .. } | InstData::MemSet { .. } => {
                &mut self.stores
            }
            InstData::AtomicRmw { .. } | InstData::AtomicCompareExchange { .. } => {
                &mut self.atomics
            }
            InstData::Ternary { .. } | InstData::FloatCompare { .. } => &mut self.float_operations,
            InstData::Binary { op, .. } if op.is_float() => &mut self.float_operations,
            InstData::Binary { .. } | InstData::IntCompare { .. } | InstData::PtrAdd { .. } => {
                &mut self.integer_operations
            }
            InstData::Branch { .. } | InstData::Switch { .. } => &mut self.branches,
            InstData::Alloca { .. } => &mut self.allocations,
            InstData::Call {
                callee: Callee::Builtin(call),
                ..
            } => match call.info().family {
                Family::Barrier => &mut self.barriers,
                // Not hints such as `is_uniform`, which Apple's compiler leaves for its own use.
                Family::Simd | Family::Quad if call.info().convergent => &mut self.group_operations,
                Family::Matrix => &mut self.matrix_operations,
                Family::Math | Family::Geometric => &mut self.float_operations,
                Family::Integer => &mut self.integer_operations,
                _ => return,
            },
            _ => return,
        };
        *counter += 1;
    }

    fn rows(&self) -> [(&'static str, usize); 14] {
        [
            ("functions", self.functions),
            ("blocks", self.blocks),
            ("instructions", self.instructions),
            ("  with source line", self.with_source_line),
            ("loads", self.loads),
            ("stores", self.stores),
            ("atomics", self.atomics),
            ("float operations", self.float_operations),
            ("integer operations", self.integer_operations),
            ("branches", self.branches),
            ("barriers", self.barriers),
            ("group operations", self.group_operations),
            ("matrix operations", self.matrix_operations),
            ("allocations", self.allocations),
        ]
    }
}

/// How many kernels have arrays or structs in thread memory, in themselves or in what they call.
fn with_thread_memory(module: &Module) -> usize {
    let has = |function: &assay_ssa::Function| {
        let mut insts = function.all_insts();
        insts.any(|inst| matches!(function.inst(inst), InstData::Alloca { .. }))
    };
    match module.kernels.as_slice() {
        [_] => usize::from(module.functions.as_slice().iter().any(has)),
        kernels => {
            let functions = kernels
                .iter()
                .filter_map(|kernel| module.functions.get(kernel.function));
            functions.filter(|function| has(function)).count()
        }
    }
}

/// The counts of a few kernels, side by side.
pub fn render(programs: &[Program], width: usize) -> String {
    let mut columns = vec![Column::left("")];
    let counts: Vec<Counts> = programs
        .iter()
        .map(|program| Counts::of(&program.module))
        .collect();
    for program in programs {
        let name = program
            .module
            .kernels
            .first()
            .map_or("", |kernel| kernel.name.as_str());
        columns.push(Column::right(name).shrink());
    }
    let mut table = Table::new(columns);
    for (index, (name, _)) in Counts::default().rows().iter().enumerate() {
        let mut row = vec![(*name).to_owned()];
        row.extend(
            counts
                .iter()
                .map(|counts| counts.rows()[index].1.to_string()),
        );
        table.row(row);
    }
    table.render(width)
}

/// What is wanted of a file's kernels.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// Programs as they were read.
    pub no_opt: bool,
    /// What each kernel holds, too.
    pub each: bool,
}

/// How a whole file of kernels was read.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Summary {
    file: String,
    kernels: usize,
    /// Kernels read, lowered and verified.
    verified: usize,
    optimised: bool,
    instructions: usize,
    /// Instructions that know a line of the user's source.
    with_source_line: usize,
    matrix_operations: usize,
    /// Kernels with arrays or structs in thread memory.
    with_thread_memory: usize,
    /// Callees nobody knows, and in how many kernels each occurs.
    unknown_builtins: BTreeMap<String, usize>,
    /// Time on this machine's processor.
    host_seconds: f64,
    /// What each kernel holds, if that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    each: Vec<Cooperation>,
    /// Kernels that could not be read, and why.
    failures: Vec<FailureEntry>,
}

/// What a kernel does together with other threads, functions it calls counted at each call.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
struct Cooperation {
    kernel: String,
    barriers: usize,
    /// Simdgroup and quadgroup operations.
    group_operations: usize,
    matrix_operations: usize,
}

/// Calls deeper than this are not followed; recursion ends here too.
const DEEPEST_CALL: usize = 32;

impl Cooperation {
    fn of(module: &Module, kernel: &assay_ssa::Kernel) -> Self {
        let mut found = Cooperation {
            kernel: kernel.name.clone(),
            ..Cooperation::default()
        };
        found.add(module, kernel.function, DEEPEST_CALL);
        found
    }

    fn add(&mut self, module: &Module, id: assay_ssa::FunctionId, depth: usize) {
        let Some(function) = module.functions.get(id).filter(|_| depth > 0) else {
            return;
        };
        for inst in function.all_insts() {
            let InstData::Call { callee, .. } = *function.inst(inst) else {
                continue;
            };
            match callee {
                Callee::Function(callee) => self.add(module, callee, depth - 1),
                Callee::Builtin(call) => match call.info().family {
                    Family::Barrier => self.barriers += 1,
                    Family::Simd | Family::Quad if call.info().convergent => {
                        self.group_operations += 1;
                    }
                    Family::Matrix => self.matrix_operations += 1,
                    _ => {}
                },
                Callee::Unknown(_) => {}
            }
        }
    }
}

/// A kernel that could not be read.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
struct FailureEntry {
    kernel: String,
    message: String,
}

/// Progress is told after so many kernels.
const SHOWN_EVERY: usize = 256;

/// This many failures are listed.
const MOST_LISTED: usize = 20;

impl Summary {
    /// Reads all kernels of a file, in parallel. `progress` hears now and then how many are done.
    pub fn of(path: &str, kernels: &[Kernel], how: How, progress: &(dyn Fn(usize) + Sync)) -> Self {
        let start = Instant::now();
        let done = AtomicUsize::new(0);
        let parts = kernels.par_iter().map(|kernel| {
            let summary = Summary::of_one(kernel, how);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if done.is_multiple_of(SHOWN_EVERY) {
                progress(done);
            }
            summary
        });
        let mut summary = parts.reduce(Summary::default, Summary::join);
        summary.file = path.to_owned();
        summary.host_seconds = start.elapsed().as_secs_f64();
        summary
    }

    fn of_one(kernel: &Kernel, how: How) -> Self {
        let mut summary = Summary {
            kernels: kernel.count(),
            ..Summary::default()
        };
        let request = Request {
            constants: &[],
            open: OpenConstants::Keep,
            form: if how.no_opt {
                Form::AsRead
            } else {
                Form::Optimised
            },
        };
        match kernel.program_as(&request) {
            Ok(program) => {
                let counts = Counts::of(&program.module);
                summary.verified = program.module.kernels.len();
                summary.optimised = program.optimised;
                summary.instructions = counts.instructions;
                summary.with_source_line = counts.with_source_line;
                summary.matrix_operations = counts.matrix_operations;
                summary.with_thread_memory = with_thread_memory(&program.module);
                if how.each {
                    let kernels = program.module.kernels.iter();
                    let each = kernels.map(|kernel| Cooperation::of(&program.module, kernel));
                    summary.each.extend(each);
                }
                let names = program.module.symbols.as_slice().iter();
                summary
                    .unknown_builtins
                    .extend(names.map(|name| (name.clone(), 1)));
            }
            Err(error) => summary.failures.push(FailureEntry {
                kernel: kernel.name.clone(),
                message: error.to_string(),
            }),
        }
        summary
    }

    fn join(mut self, other: Self) -> Self {
        self.kernels += other.kernels;
        self.verified += other.verified;
        self.optimised |= other.optimised;
        self.instructions += other.instructions;
        self.with_source_line += other.with_source_line;
        self.each.extend(other.each);
        self.matrix_operations += other.matrix_operations;
        self.with_thread_memory += other.with_thread_memory;
        for (name, count) in other.unknown_builtins {
            *self.unknown_builtins.entry(name).or_default() += count;
        }
        self.failures.extend(other.failures);
        self
    }

    /// Returns true if a kernel could not be read.
    pub fn has_failures(&self) -> bool {
        !self.failures.is_empty()
    }

    /// As text.
    pub fn render(&self, painter: Painter) -> String {
        let mut text = String::new();
        if !self.each.is_empty() {
            text.push_str("kernel\tbarriers\tgroup operations\tmatrix operations\n");
        }
        for one in &self.each {
            let (barriers, groups) = (one.barriers, one.group_operations);
            let matrices = one.matrix_operations;
            let _ = writeln!(text, "{}\t{barriers}\t{groups}\t{matrices}", one.kernel);
        }
        if self.each.is_empty() {
            self.render_totals(&mut text);
        }
        self.render_failures(&mut text, painter);
        text
    }

    fn render_totals(&self, text: &mut String) {
        // Apple's metallibs carry no lines; that is no shortcoming to be shown.
        let lines = match self.with_source_line {
            0 => "none".to_owned(),
            some => format!("{:.1} %", 100.0 * some as f64 / self.instructions as f64),
        };
        let rows = [
            ("kernels", self.kernels.to_string()),
            ("verified", self.verified.to_string()),
            ("instructions", self.instructions.to_string()),
            ("with source line", lines),
            ("matrix operations", self.matrix_operations.to_string()),
            ("with thread memory", self.with_thread_memory.to_string()),
            ("unknown builtins", self.unknown_builtins.len().to_string()),
            ("host time", format!("{:.2} s", self.host_seconds)),
        ];
        for (name, value) in rows {
            let _ = writeln!(text, "{name:<20}{value:>12}");
        }
        for (name, count) in &self.unknown_builtins {
            let _ = writeln!(text, "  {count:>6}  {name}");
        }
    }

    fn render_failures(&self, text: &mut String, painter: Painter) {
        for failure in self.failures.iter().take(MOST_LISTED) {
            let _ = writeln!(
                text,
                "{} {}",
                painter.paint(Role::Bad, "failed:"),
                failure.message
            );
        }
        if let Some(more) = self
            .failures
            .len()
            .checked_sub(MOST_LISTED)
            .filter(|&more| more > 0)
        {
            let _ = writeln!(text, "and {more} more");
        }
    }
}
