//! The report for people.

use super::listing::listing;
use super::{Section, Style, View};
use crate::cost::{Costs, number};
use crate::part::{LoopReport, Part};
use crate::profile::{Profile, TensorOperation, UnknownOperation, stand_in};
use assay_chip::Unit;
use assay_report::bar::bar;
use assay_report::style::{Painter, Role};
use assay_report::table::{Cell, Column, Table};
use assay_report::wrap::wrap;

/// Every section but the listing.
pub fn text(profile: &Profile, style: &Style<'_>) -> String {
    let all = Section::ALL.into_iter();
    let all: Vec<Section> = all.filter(|section| *section != Section::Asm).collect();
    sections(profile, style, &all)
}

/// Some sections, in the order of the report.
pub fn sections(profile: &Profile, style: &Style<'_>, asked: &[Section]) -> String {
    let mut report = Report {
        out: String::new(),
        style: *style,
        painter: style.painter,
    };
    report.banner(profile);
    for section in Section::ALL {
        if asked.contains(&section) {
            report.section(profile, section);
        }
    }
    report.trouble(&profile.main);
    report.out
}

/// How far the model can be trusted.
const MODEL_ERROR: &str = "known error of the model: arithmetic a few per cent, latencies 10 to \
     70 %; what caches do cannot be seen in code";

pub(super) struct Report<'a> {
    pub(super) out: String,
    pub(super) style: Style<'a>,
    pub(super) painter: Painter,
}

impl Report<'_> {
    fn section(&mut self, profile: &Profile, section: Section) {
        match section {
            Section::Registers => self.registers(profile),
            Section::Units => self.cycles(profile),
            Section::Loops => self.loops(&profile.main),
            Section::Work => self.work(&profile.main),
            Section::Waits => self.waits(profile),
            Section::Bounds => self.bounds(profile),
            Section::Lines => match self.style.view {
                View::Line => self.lines(profile),
                View::Function => self.functions(profile),
                View::Chain => self.chains(profile),
            },
            Section::Blocks => self.blocks(&profile.main),
            Section::Mix => {
                self.mix(&profile.main);
                if let Some(constant) = &profile.constant_program {
                    self.constant_program(constant);
                }
            }
            Section::Findings => self.findings(profile),
            Section::Asm => self.asm(profile),
        }
    }

    fn asm(&mut self, profile: &Profile) {
        self.heading("Annotated listing");
        self.out += &listing(&profile.main, &self.style);
        if let Some(constant) = &profile.constant_program {
            self.heading("Constant program");
            self.out += &listing(constant, &self.style);
        }
    }

    pub(super) fn heading(&mut self, text: &str) {
        self.out.push('\n');
        self.out += &self.painter.paint(Role::Heading, text);
        self.out.push('\n');
    }

    /// A line, indented; what does not fit goes on below.
    pub(super) fn line(&mut self, text: &str) {
        for (index, piece) in wrap(text, self.style.width, 2).iter().enumerate() {
            self.out += if index == 0 { "  " } else { "      " };
            self.out += piece;
            self.out.push('\n');
        }
    }

    /// Columns left beside `others`, at most `most`.
    pub(super) fn room(&self, others: usize, most: usize) -> usize {
        self.style.width.saturating_sub(others).clamp(8, most)
    }

    pub(super) fn table(&mut self, table: Table) {
        self.out += &table
            .painter(self.painter)
            .indent(2)
            .render(self.style.width);
    }

    fn banner(&mut self, profile: &Profile) {
        let name = match profile.name.as_str() {
            "" => "(unnamed)",
            name => name,
        };
        let name = self.painter.paint(Role::Name, name);
        let mut first = format!(
            "{name}  {} code, costs {} on {}; all cycles are modelled, per simdgroup of 32 threads",
            profile.isa, profile.cost_model, profile.chip
        );
        if let Some(estimate) = stand_in(profile.chip) {
            first += &format!("; {estimate}");
        }
        self.out += &wrap(&first, self.style.width, 0).join("\n    ");
        self.out.push('\n');
        let main = &profile.main;
        let mut line = format!(
            "{} instructions, {} bytes, {} blocks, {} loop{}",
            main.instructions,
            main.code_bytes,
            main.blocks.len(),
            main.loops.len(),
            if main.loops.len() == 1 { "" } else { "s" }
        );
        if main.functions.len() > 1 {
            line += &format!(", {} helper functions", main.functions.len() - 1);
        }
        if let Some(constant) = &profile.constant_program {
            line += &format!("; constant program {} instructions", constant.instructions);
        }
        self.line(&line);
        if let Some(sentence) = profile.origin.sentence() {
            self.line(sentence);
        }
        for text in remarks(profile) {
            self.line(&self.painter.paint(Role::Warn, &text));
        }
        self.line(&self.painter.paint(Role::Dim, MODEL_ERROR));
    }

    fn registers(&mut self, profile: &Profile) {
        self.heading("Registers and occupancy");
        let (main, occupancy) = (&profile.main, &profile.occupancy);
        let exact = if main.registers_exact {
            ""
        } else {
            "at least "
        };
        self.line(&format!(
            "half-registers    {} of 256{}; {exact}{} live at once{}",
            occupancy.half_registers,
            match occupancy.half_registers_stated {
                true => " (stated by the file)",
                false => "",
            },
            main.peak_half_registers,
            main.peak_offset
                .map_or(String::new(), |offset| format!(", at {offset:#x}"))
        ));
        self.line(&format!(
            "half-uniforms     {} read of 512",
            main.half_uniforms_read
        ));
        if let Some(bytes) = profile.scratch_bytes.filter(|&bytes| bytes > 0) {
            self.line(&format!("scratch           {bytes} bytes per thread"));
        }
        self.threadgroup_memory(profile);
        let (role, word) = match occupancy.share {
            share if share >= 0.75 => (Role::Good, "good"),
            share if share >= 0.5 => (Role::Warn, "ok"),
            _ => (Role::Bad, "LOW"),
        };
        let drawn = bar(occupancy.share, self.room(48, 40));
        let drawn = self.painter.paint(role, &format!("{drawn}│"));
        self.line(&format!(
            "threads per core  {} of 1024 ({:.0} %) {drawn} {word}",
            occupancy.threads,
            occupancy.share * 100.0
        ));
        if let Some(most) = profile.max_resident_threads.filter(|&most| most > 1024.0) {
            let text = format!(
                "                  1024 is where published register steps end; the core holds up to {}",
                number(most)
            );
            self.line(&self.painter.paint(Role::Dim, &text));
        }
        let assumed = match occupancy.threadgroup_assumed {
            true => " (assumed: the largest; --threadgroup says another)",
            false => "",
        };
        self.line(&format!(
            "for threadgroups  of {} threads{assumed}",
            occupancy.threadgroup_threads
        ));
        self.line(&format!("limited by        {}", occupancy.limit));
        self.line(&format!(
            "largest group     {} threads per threadgroup (maxTotalThreadsPerThreadgroup)",
            profile.max_threads_per_threadgroup
        ));
        if let Some(step) = &occupancy.next {
            let mut how = Vec::new();
            if let Some(free) = step.free_half_registers {
                how.push(format!("free {free} half-registers"));
            }
            if let Some(free) = step.free_threadgroup_bytes {
                how.push(format!("free {free} bytes of threadgroup memory"));
            }
            if let Some(threads) = step.threadgroup_threads {
                how.push(format!("use threadgroups of {threads} threads"));
            }
            let places: Vec<String> = step
                .where_live
                .iter()
                .take(4)
                .map(|(start, end)| format!("{start:#x}..{end:#x}"))
                .collect();
            let more = step.where_live.len().saturating_sub(places.len());
            let at = match (places.is_empty(), more) {
                (true, _) => String::new(),
                (false, 0) => format!(" at {}", places.join(", ")),
                (false, more) => format!(" at {} and {more} more", places.join(", ")),
            };
            self.line(&format!(
                "next step         {} threads: {}{at}",
                step.threads,
                how.join(", ")
            ));
        }
    }

    fn threadgroup_memory(&mut self, profile: &Profile) {
        let bytes = profile.threadgroup_bytes.filter(|&bytes| bytes > 0);
        let missing = match profile.unsized_threadgroup_arguments {
            0 => String::new(),
            1 => "that of an argument, whose size is not known: give it with --tgmem".to_owned(),
            count => format!(
                "that of {count} arguments, whose sizes are not known: give them with --tgmem"
            ),
        };
        let text = match (bytes, missing.as_str()) {
            (None, "") => return,
            (Some(bytes), "") => format!("{bytes} bytes"),
            (Some(bytes), missing) => format!("{bytes} bytes and {missing}"),
            (None, missing) => missing.to_owned(),
        };
        self.line(&format!("threadgroup       {text}"));
    }

    fn cycles(&mut self, profile: &Profile) {
        self.heading("Cycles by unit (modelled)");
        let main = &profile.main;
        let mut table = Table::new([
            Column::left(""),
            Column::right("F32"),
            Column::right("F16"),
            Column::right("SCIB"),
            Column::right("IC"),
            Column::right("memory"),
            Column::right("control"),
            Column::right("issue"),
            Column::right("total"),
            Column::left("bound"),
        ]);
        let mut row = |name: &str, costs: &Costs| {
            let mut cells: Vec<Cell> = vec![name.into()];
            cells.extend(Unit::ALL.map(|unit| Cell::from(costs.unit(unit).to_string())));
            cells.push(costs.issue.to_string().into());
            cells.push(Cell::new(
                costs.issue.max(costs.ic).max(costs.memory).to_string(),
                Role::Figure,
            ));
            cells.push(costs.bound().into());
            table.row(cells);
        };
        row("each instruction", &main.once);
        row("shortest path", &main.paths.shortest);
        row("longest path", &main.paths.longest);
        for report in &main.loops {
            row(&loop_name(report), &report.costs);
        }
        self.table(table);
        let unknown = main.loops.iter().filter(|r| r.trips.is_none()).count();
        if unknown > 0 {
            self.line(&self.painter.paint(
                Role::Dim,
                &format!("paths count {unknown} of the loops once: how often they run is unknown"),
            ));
        }
        self.line(&self.painter.paint(
            Role::Dim,
            "issue: slots of the scheduler; IC and memory run beside it, so total is the largest",
        ));
    }

    fn blocks(&mut self, part: &Part) {
        const MOST: usize = 40;
        if part.blocks.len() < 2 {
            return;
        }
        self.heading("Blocks (modelled)");
        let mut table = Table::new([
            Column::left("block"),
            Column::left("range"),
            Column::right("loops"),
            Column::right("insns"),
            Column::right("issue"),
            Column::right("IC"),
            Column::right("memory"),
            Column::right("critical path"),
            Column::right("live"),
            Column::left("to"),
        ]);
        for block in part.blocks.iter().take(MOST) {
            let to: Vec<String> = block.to.iter().map(|id| format!("b{}", id.0)).collect();
            table.row([
                format!("b{}", block.id.0),
                format!("{:#x}..{:#x}", block.start, block.end),
                block.loop_depth.to_string(),
                number(block.costs.instructions),
                block.costs.issue.to_string(),
                block.costs.ic.to_string(),
                block.costs.memory.to_string(),
                number(block.critical_path.cycles),
                block.pressure.to_string(),
                to.join(" "),
            ]);
        }
        self.table(table);
        if part.blocks.len() > MOST {
            self.line(&format!("and {} more", part.blocks.len() - MOST));
        }
    }
}

/// `L0`, or `·L1` inside it.
pub(crate) fn loop_name(report: &LoopReport) -> String {
    let inner = "·".repeat(report.depth.saturating_sub(1).min(8) as usize);
    format!("{inner}L{}", report.id.0)
}

/// What to know before any figure is believed.
pub(super) fn remarks(profile: &Profile) -> Vec<String> {
    let mut remarks = Vec::new();
    if !profile.assumed_constants.is_empty() {
        let names = profile.assumed_constants.join(", ");
        remarks.push(format!(
            "function constants without a value, taken for 0 or false: {names}"
        ));
    }
    if !profile.tensor_operations.is_empty() {
        remarks.push(tensors(&profile.tensor_operations));
    }
    if !profile.unknown_operations.is_empty() {
        remarks.push(unknown_operations(&profile.unknown_operations));
    }
    remarks
}

/// What stands for tensor operations, and what that says about them.
fn tensors(operations: &[TensorOperation]) -> String {
    let named: Vec<String> = operations
        .iter()
        .take(MOST_OPERATIONS)
        .map(|operation| {
            let inner = operation.inner.map_or("K".to_owned(), |k| k.to_string());
            let sums = match operation.multiply_adds {
                Some(sums) => format!("{sums} multiply-adds"),
                None => format!(
                    "{} multiply-adds for each of K",
                    u64::from(operation.rows) * u64::from(operation.columns)
                ),
            };
            format!(
                "{} {} × {} × {inner} at {} ({sums})",
                operation.operation, operation.rows, operation.columns, operation.place
            )
        })
        .collect();
    let more = operations.len().saturating_sub(MOST_OPERATIONS);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!(
        "tensor operations: {}{more}. M1 and M2 have no tensor units, A19 and M5 are the first that do: this is Assay's own code \
         of simdgroup matrices, and the cost of the operation on a tensor unit is unknown",
        named.join(", ")
    )
}

/// Operations without a known encoding, and what that means for the figures.
pub(super) fn unknown_operations(operations: &[UnknownOperation]) -> String {
    let named: Vec<String> = operations
        .iter()
        .take(MOST_OPERATIONS)
        .map(|operation| {
            let place = match &operation.place {
                Some(place) => place.clone(),
                None => format!("{:#x}", operation.offset),
            };
            let bytes = match operation.bytes_per_thread {
                Some(bytes) => format!("{bytes} bytes a thread"),
                None => "bytes unknown".to_owned(),
            };
            format!("{} at {place} ({bytes})", operation.operation)
        })
        .collect();
    let more = operations.len().saturating_sub(MOST_OPERATIONS);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!(
        "unknown operations: {}{more}. Their encoding is not publicly known: each counts as an access of memory whose cost is \
         unknown, and totals are lower bounds",
        named.join(", ")
    )
}

/// Operations that are named.
const MOST_OPERATIONS: usize = 4;
