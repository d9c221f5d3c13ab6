//! What a kernel did, in numbers, as text and as JSON.

use assay_device::Counts;
use assay_report::blocks::View;
use assay_report::style::Role;
use assay_report::table::{Column, Table};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What simdgroups did, summed over the threadgroups that were run. Exact, unless said.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counted {
    /// Threadgroups of the grid.
    threadgroups: u64,
    /// Threadgroups that were run; all numbers are theirs.
    sampled: u64,
    simdgroups: u64,
    threads: u64,
    /// Instructions run by simdgroups, by kind.
    instructions: Vec<Kind>,
    /// Instructions of the simdgroup that ran fewest, and most.
    fewest_instructions: u64,
    most_instructions: u64,
    /// Part of the lanes that were active, over all instructions.
    active_lanes: f64,
    /// Floating-point operations of active lanes: a multiply-add is two, a function, comparison or step of a reduction one.
    flops: u64,
    device: Device,
    threadgroup: Threadgroup,
    /// Thread memory: arrays that did not fit registers.
    thread: Moved,
    /// Texels that were read and written. How a GPU lays them out in memory is its own: there are no lines.
    texture: Moved,
    /// The longest chain of loads in which each address depends on the one before.
    load_depth: u32,
    /// Source lines, the most instructions first.
    lines: Vec<Line>,
    /// The same by the chain of inlined calls: functions with ` > ` between them, the kernel first.
    chains: Vec<Line>,
    /// What the text has a table of.
    #[serde(skip)]
    by: By,
}

/// Instructions of one kind.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Kind {
    kind: &'static str,
    count: u64,
}

/// Operations and bytes.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Moved {
    loads: u64,
    stores: u64,
    atomics: u64,
    bytes_loaded: u64,
    bytes_stored: u64,
}

/// Device memory.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Device {
    #[serde(flatten)]
    moved: Moved,
    /// 128-byte lines, summed over accesses.
    lines: u64,
    /// 32-byte sectors, summed over accesses.
    sectors: u64,
    /// Modelled: lines loaded that a first-level cache had.
    modelled_cache_hits: u64,
    /// Modelled: lines loaded that it had not.
    modelled_cache_misses: u64,
    /// Distinct lines of all that was run.
    distinct_lines: u64,
}

/// Threadgroup memory.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Threadgroup {
    #[serde(flatten)]
    moved: Moved,
    accesses: u64,
    /// Modelled passes over the banks; as many as accesses without conflicts.
    modelled_bank_passes: u64,
}

/// One source line.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Line {
    place: String,
    instructions: u64,
    memory_operations: u64,
    bytes: u64,
    lines: u64,
}

fn moved(traffic: &assay_exec::Traffic) -> Moved {
    Moved {
        loads: traffic.loads,
        stores: traffic.stores,
        atomics: traffic.atomics,
        bytes_loaded: traffic.bytes_loaded,
        bytes_stored: traffic.bytes_stored,
    }
}

/// What a table of counts has a row for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// Source lines, of inlined code those of the function it came from
    #[default]
    Line,
    /// Functions
    Function,
    /// Chains of calls
    Chain,
}

fn lines(counts: &[assay_exec::LineCounts]) -> Vec<Line> {
    let lines = counts.iter().map(|line| Line {
        place: line.place.clone(),
        instructions: line.instructions,
        memory_operations: line.memory_operations,
        bytes: line.bytes,
        lines: line.lines,
    });
    lines.collect()
}

/// Source lines shown as text.
const SHOWN: usize = 10;

impl Counted {
    /// What a device counted.
    pub fn new(counts: &Counts, by: By) -> Counted {
        let gpu = |(class, _): &&(assay_exec::Class, u64)| *class != assay_exec::Class::Bookkeeping;
        let kinds = counts.instructions.iter().filter(gpu);
        let kinds: Vec<Kind> = kinds
            .map(|&(class, count)| Kind {
                kind: class.name(),
                count,
            })
            .collect();
        let total: u64 = kinds.iter().map(|kind| kind.count).sum();
        let device = &counts.device;
        Counted {
            threadgroups: counts.threadgroups,
            sampled: counts.sampled,
            simdgroups: counts.simdgroups,
            threads: counts.threads,
            fewest_instructions: counts.fewest,
            most_instructions: counts.most,
            active_lanes: counts.active_lanes as f64 / (total.max(1) * 32) as f64,
            flops: counts.flops,
            device: Device {
                moved: moved(&device.traffic),
                lines: device.lines,
                sectors: device.sectors,
                modelled_cache_hits: device.cache_hits,
                modelled_cache_misses: device.cache_misses,
                distinct_lines: device.dispatch_lines,
            },
            threadgroup: Threadgroup {
                moved: moved(&counts.threadgroup.traffic),
                accesses: counts.threadgroup.accesses,
                modelled_bank_passes: counts.threadgroup.bank_passes,
            },
            thread: moved(&counts.thread_memory),
            texture: moved(&counts.texture),
            load_depth: counts.load_depth,
            instructions: kinds,
            lines: lines(&counts.lines),
            chains: lines(&counts.chains),
            by,
        }
    }

    /// The chains of calls summed by the function at their end.
    fn functions(&self) -> Vec<Line> {
        let mut sums: BTreeMap<&str, Line> = BTreeMap::new();
        for chain in &self.chains {
            let name = chain.place.rsplit(" > ").next().unwrap_or(&chain.place);
            let sum = sums.entry(name).or_insert_with(|| Line {
                place: name.to_owned(),
                ..Line::default()
            });
            sum.instructions += chain.instructions;
            sum.memory_operations += chain.memory_operations;
            sum.bytes += chain.bytes;
            sum.lines += chain.lines;
        }
        let mut functions: Vec<Line> = sums.into_values().collect();
        functions.sort_by_key(|function| std::cmp::Reverse(function.instructions));
        functions
    }

    pub(crate) fn text(&self, view: &View) -> String {
        let mut text = String::new();
        let heading = |words: &str| view.painter.paint(Role::Heading, words);
        let (sampled, all) = (self.sampled, self.threadgroups);
        let _ = writeln!(
            text,
            "{} of {sampled} of {all} threadgroups, {} simdgroups",
            heading("Counts"),
            self.simdgroups
        );
        for kind in self.instructions.iter().filter(|kind| kind.count > 0) {
            let _ = writeln!(text, "  {:<12} {:>14}", kind.kind, kind.count);
        }
        let _ = writeln!(
            text,
            "  {} to {} instructions a simdgroup, {:.1} % of lanes active, chains of {} loads",
            self.fewest_instructions,
            self.most_instructions,
            self.active_lanes * 100.0,
            self.load_depth
        );
        for (name, moved) in [
            ("device", &self.device.moved),
            ("threadgroup", &self.threadgroup.moved),
            ("thread", &self.thread),
            ("texture", &self.texture),
        ] {
            if moved.loads + moved.stores + moved.atomics > 0 {
                let _ = writeln!(
                    text,
                    "  {name} memory: {} loads of {} bytes, {} stores of {} bytes, {} atomics",
                    moved.loads,
                    moved.bytes_loaded,
                    moved.stores,
                    moved.bytes_stored,
                    moved.atomics
                );
            }
        }
        let device = &self.device;
        let _ = writeln!(
            text,
            "  {} lines of 128 bytes touched, {} distinct; cache, modelled: {} hits, {} misses",
            device.lines,
            device.distinct_lines,
            device.modelled_cache_hits,
            device.modelled_cache_misses
        );
        if self.threadgroup.accesses > 0 {
            let _ = writeln!(
                text,
                "  {} accesses of threadgroup memory in {} passes, modelled",
                self.threadgroup.accesses, self.threadgroup.modelled_bank_passes
            );
        }
        if !self.lines.is_empty() {
            text += &match self.by {
                By::Line => line_table("line", &self.lines, view),
                By::Function => line_table("function", &self.functions(), view),
                By::Chain => line_table("calls", &self.chains, view),
            };
        }
        text
    }
}

fn line_table(heading: &str, lines: &[Line], view: &View) -> String {
    let mut table = Table::new([
        Column::left(heading).shrink(),
        Column::right("instructions"),
        Column::right("memory"),
        Column::right("bytes"),
    ])
    .painter(view.painter);
    for line in lines.iter().take(SHOWN) {
        table.row([
            match line.place.is_empty() {
                true => "(no line)".to_owned(),
                false => line.place.clone(),
            },
            line.instructions.to_string(),
            line.memory_operations.to_string(),
            line.bytes.to_string(),
        ]);
    }
    table.render(view.width)
}
