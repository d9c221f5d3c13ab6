//! What a run did, as text and as JSON.

use assay_agx::{Instruction, Program};
use assay_emu::{Counts, Launch, TraceEntry};
use assay_report::blocks::View;
use assay_report::table::{Column, Table};
use serde::Serialize;
use std::fmt::Write as _;

/// What a run did.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// Name of the program.
    program: String,
    /// Threads in the grid.
    grid: [u32; 3],
    /// Threads in a threadgroup.
    threadgroup: [u32; 3],
    /// Instructions executed by simdgroups.
    instructions: u64,
    /// Instructions executed by threads.
    lane_instructions: u64,
    /// Instructions executed by the constant program.
    constant_instructions: u64,
    /// Whether threadgroups ran one after another because order matters.
    in_order: bool,
    /// Executions per instruction, if they were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<Vec<CountRow>>,
    /// What the followed thread did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    trace: Vec<TraceRow>,
}

/// Executions of one instruction.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct CountRow {
    /// Byte offset.
    offset: u32,
    /// By simdgroups.
    executions: u64,
    /// By threads.
    lanes: u64,
    /// Executions with some thread inactive.
    divergent: u64,
    /// 128-byte lines of device memory touched.
    lines: u64,
    /// The instruction.
    text: String,
}

/// One instruction of the followed thread.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct TraceRow {
    /// Byte offset.
    offset: u32,
    /// Whether the thread was active.
    active: bool,
    /// The instruction.
    text: String,
    /// Registers written, as `r5=0x…`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    written: Vec<String>,
}

impl Report {
    /// What a run of a program did.
    pub fn new(program: &Program, launch: &Launch, outcome: &assay_emu::Outcome) -> Report {
        Report {
            program: program.name.clone(),
            grid: launch.grid,
            threadgroup: launch.threadgroup,
            instructions: outcome.instructions,
            lane_instructions: outcome.lane_instructions,
            constant_instructions: outcome.constant_instructions,
            in_order: outcome.in_order,
            counts: outcome
                .counts
                .as_ref()
                .map(|counts| count_rows(program, counts)),
            trace: outcome
                .trace
                .iter()
                .map(|entry| trace_row(program, entry))
                .collect(),
        }
    }

    /// For people.
    pub fn text(&self, view: &View) -> String {
        let mut text = String::new();
        for row in &self.trace {
            let mark = if row.active { ' ' } else { '-' };
            let _ = writeln!(
                text,
                "{:>6x}:{mark} {:<56} {}",
                row.offset,
                row.text,
                row.written.join(" ")
            );
        }
        if let Some(counts) = &self.counts {
            text += &self.count_table(counts, view);
        }
        let _ = writeln!(
            text,
            "{} instructions by simdgroups, {} by threads{}{}",
            self.instructions,
            self.lane_instructions,
            match self.constant_instructions {
                0 => String::new(),
                count => format!(", {count} by the constant program"),
            },
            if self.in_order {
                "; threadgroups ran in order"
            } else {
                ""
            }
        );
        text
    }

    fn count_table(&self, counts: &[CountRow], view: &View) -> String {
        let mut table = Table::new([
            Column::right("offset"),
            Column::right("executions"),
            Column::right("lanes"),
            Column::right("active"),
            Column::right("divergent"),
            Column::right("lines"),
            Column::left("instruction").shrink(),
        ])
        .painter(view.painter);
        for row in counts {
            let active = row.lanes as f64 / (row.executions.max(1) as f64 * 32.0);
            table.row([
                format!("{:x}", row.offset),
                row.executions.to_string(),
                row.lanes.to_string(),
                format!("{:.0} %", active * 100.0),
                row.divergent.to_string(),
                if row.lines == 0 {
                    String::new()
                } else {
                    row.lines.to_string()
                },
                row.text.clone(),
            ]);
        }
        table.render(view.width) + "\n"
    }
}

fn words(program: &Program, offset: u32) -> String {
    let rest = program.code.get(offset as usize..).unwrap_or_default();
    match Instruction::decode(program.isa, rest) {
        Ok(instruction) => instruction.words(u64::from(offset)).to_string(),
        Err(_) => String::new(),
    }
}

fn count_rows(program: &Program, counts: &Counts) -> Vec<CountRow> {
    let rows = counts.instructions.iter();
    rows.map(|(offset, count)| CountRow {
        offset: *offset,
        executions: count.executions,
        lanes: count.lanes,
        divergent: count.divergent,
        lines: count.lines,
        text: words(program, *offset),
    })
    .collect()
}

fn trace_row(program: &Program, entry: &TraceEntry) -> TraceRow {
    let written = entry.written.iter().map(|written| {
        let part = match (written.halves, written.half % 2) {
            (2, _) => "",
            (_, 0) => "l",
            _ => "h",
        };
        format!("r{}{part}={:#x}", written.half / 2, written.value)
    });
    TraceRow {
        offset: entry.offset,
        active: entry.active,
        text: words(program, entry.offset),
        written: written.collect(),
    }
}
