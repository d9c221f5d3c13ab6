//! `assay profile --all`: a row for every kernel, however many there are.
//!
//! Kernels are worked on in parallel, a batch at a time, and written in their order, so
//! memory stays bounded and the result does not depend on the number of threads.

use super::{Args, Format};
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use crate::generate::Refused;
use crate::load::{self, Place};
use crate::output::Output;
use crate::phases;
use crate::source;
use assay_codegen::back::Frame;
use assay_front::Kernel;
use assay_profile::{Options, Origin, Profile, number};
use assay_report::envelope::Envelope;
use assay_report::style::{Painter, Role};
use assay_report::table::fitted;
use assay_report::wrap::{fold, hanging};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::time::Instant;

#[cfg(test)]
use schemars::JsonSchema;

/// Kernels worked on between two writes.
const BATCH: usize = 256;

/// One kernel: what it costs, or why that is not known.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Row {
    /// The kernel.
    kernel: String,
    /// What it costs; absent when there is no code to look at.
    #[serde(skip_serializing_if = "Option::is_none")]
    costs: Option<Costs>,
    /// Why there is no code.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<Refusal>,
    /// Function constants that were given no value and count as 0 or false.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    assumed_constants: Vec<String>,
}

/// Figures of a kernel; cycles are modelled.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct Costs {
    instructions: u32,
    half_registers: u32,
    /// Threads per core.
    threads: u32,
    max_threads_per_threadgroup: u32,
    threadgroup_bytes: Option<u32>,
    /// Bytes per thread of registers kept in memory.
    spilled_bytes: u32,
    /// Bytes per thread of arrays that stayed in memory.
    array_bytes: u32,
    loops: usize,
    /// Issue slots, by known trip counts.
    issue: f64,
    /// Cycles of a simdgroup alone, by known trip counts.
    cycles: f64,
    /// Whether more is needed that the model has no figure for, or how often a loop runs
    /// is unknown: figures are lower bounds then.
    at_least: bool,
    /// What limits the hottest loop, or the program when it has none.
    verdict: Option<&'static str>,
    findings: usize,
}

/// Why there is no code.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct Refusal {
    /// What kernels are grouped by.
    reason: String,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

/// The last line of `--format jsonl`, every line before it being one kernel; with `--format json` the whole document.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Summary {
    file: String,
    chip: String,
    cost_model: String,
    /// Who made the code.
    origin: Origin,
    kernels: usize,
    profiled: usize,
    /// Kernels without code, by reason.
    refused: BTreeMap<String, usize>,
    /// Kernels with registers kept in memory.
    spilling: usize,
    /// Kernels with arrays in memory.
    with_arrays: usize,
    /// Kernels by what limits them.
    verdicts: BTreeMap<String, usize>,
    /// Kernels with function constants that count as 0 or false.
    with_assumed_constants: usize,
    /// Time on this machine's processor.
    host_seconds: f64,
    /// With `--format json`: every kernel, in the order of the file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rows: Vec<Row>,
}

impl Row {
    fn new(name: &str, profile: &Profile, frame: Frame, assumed: Vec<String>) -> Row {
        let main = &profile.main;
        let (bounds, _) = profile.verdict();
        let weighted = &main.weighted.issue;
        let unknown_trips = main.loops.iter().any(|report| report.trips.is_none());
        Row {
            kernel: name.to_owned(),
            costs: Some(Costs {
                instructions: main.instructions,
                half_registers: profile.occupancy.half_registers,
                threads: profile.occupancy.threads,
                max_threads_per_threadgroup: profile.max_threads_per_threadgroup,
                threadgroup_bytes: profile.threadgroup_bytes,
                spilled_bytes: frame.spilled_bytes,
                array_bytes: frame.array_bytes,
                loops: main.loops.len(),
                issue: weighted.known,
                cycles: main.bounds.alone.known,
                at_least: unknown_trips || weighted.exact().is_none(),
                verdict: bounds.verdict.map(|kind| kind.name()),
                findings: profile.findings.len(),
            }),
            refused: None,
            assumed_constants: assumed,
        }
    }

    fn refused(name: &str, refused: Refused) -> Row {
        let (file, line) = refused.place.unzip();
        Row {
            kernel: name.to_owned(),
            refused: Some(Refusal {
                reason: refused.reason,
                message: refused.message,
                file,
                line,
            }),
            ..Row::default()
        }
    }

    fn failed(name: &str, failure: Failure) -> Row {
        let refused = Refused {
            reason: "not profiled".to_owned(),
            message: failure.message,
            place: None,
        };
        Row::refused(name, refused)
    }

    /// One line of text: figures first, so that a long name harms nobody.
    fn text(&self, width: usize, painter: Painter) -> String {
        let Some(costs) = &self.costs else {
            let reason = self.refused.as_ref().map_or("", |refused| &refused.reason);
            let line = format!("{:>6} {:>56}  {}", "–", fitted(reason, 56), self.kernel);
            return fitted(&line, width);
        };
        let figures = format!(
            "{:>6} {:>4} {:>7} {:>7} {:>6} {:>8}  ",
            costs.instructions,
            costs.half_registers,
            costs.threads,
            costs.spilled_bytes,
            costs.array_bytes,
            format!(
                "{}{}",
                if costs.at_least { "≥ " } else { "" },
                number(costs.cycles)
            ),
        );
        let verdict = costs.verdict.unwrap_or("no verdict");
        // What stands behind a comma is a condition, which the summary has.
        let verdict = verdict.split(',').next().unwrap_or(verdict);
        let verdict = format!("{verdict:<17}  ");
        let left = width.saturating_sub(figures.chars().count() + verdict.chars().count());
        let role = match costs.spilled_bytes {
            0 => Role::Figure,
            _ => Role::Bad,
        };
        format!(
            "{}{verdict}{}",
            painter.paint(role, &figures),
            fitted(&self.kernel, left.max(16))
        )
    }
}

const HEADING: &str = " insns regs threads spilled arrays   cycles  limited by         kernel";

impl Summary {
    fn add(&mut self, row: &Row) {
        self.kernels += 1;
        self.with_assumed_constants += usize::from(!row.assumed_constants.is_empty());
        if let Some(refused) = &row.refused {
            *self.refused.entry(refused.reason.clone()).or_default() += 1;
        }
        if let Some(costs) = &row.costs {
            self.profiled += 1;
            self.spilling += usize::from(costs.spilled_bytes > 0);
            self.with_arrays += usize::from(costs.array_bytes > 0);
            let verdict = costs.verdict.unwrap_or("no verdict");
            *self.verdicts.entry(verdict.to_owned()).or_default() += 1;
        }
    }

    fn text(&self, width: usize) -> String {
        let heading = format!(
            "{} of {} kernels profiled for {}, costs {}; cycles are modelled, of one simdgroup alone",
            self.profiled, self.kernels, self.chip, self.cost_model
        );
        let mut text = fold(&format!("\n{heading}\n"), width);
        if let Some(sentence) = self.origin.sentence() {
            text += &fold(&format!("{sentence}\n"), width);
        }
        let mut line = |count: usize, words: &str| {
            if count > 0 {
                let words = hanging(words, width, 9, 9).join("\n         ");
                text += &format!("{count:>7}  {words}\n");
            }
        };
        line(
            self.spilling,
            "keep registers in memory (spilled: bytes per thread)",
        );
        line(
            self.with_arrays,
            "keep arrays in memory (arrays: bytes per thread)",
        );
        line(
            self.with_assumed_constants,
            "have function constants without a value: taken as 0 or false",
        );
        for (verdict, &count) in &self.verdicts {
            line(count, &format!("limited by {verdict}"));
        }
        let mut refused: Vec<(&String, &usize)> = self.refused.iter().collect();
        refused.sort_by_key(|(reason, count)| (std::cmp::Reverse(**count), reason.as_str()));
        for (reason, &count) in refused {
            line(count, &format!("not generated: {reason}"));
        }
        text + &format!("{:>7.1}  s on this host\n", self.host_seconds)
    }
}

/// Writes rows as they come.
struct Sheet<'a> {
    output: Output,
    format: Format,
    context: &'a Context,
    summary: Summary,
    /// Whether kernels without code are no failure.
    keep_going: bool,
    /// Whether text has a row for every kernel, not for the dearest alone.
    full: bool,
    start: Instant,
}

impl Sheet<'_> {
    fn batch(&mut self, rows: Vec<Row>, total: usize) -> Result<(), Failure> {
        for row in rows {
            self.summary.add(&row);
            let line = match self.format {
                Format::Json => {
                    self.summary.rows.push(row);
                    continue;
                }
                Format::Jsonl => serde_json::to_string(&row)
                    .map_err(|error| Failure::input(error.to_string()))?,
                _ if self.full => row.text(self.context.width, self.context.painter),
                _ => {
                    self.summary.rows.push(row);
                    continue;
                }
            };
            writeln!(self.output, "{line}")?;
        }
        self.output.flush()?;
        if self.context.progress {
            anstream::eprint!("\r{} of {total} kernels\x1b[K", self.summary.kernels);
        }
        Ok(())
    }

    fn finish(mut self) -> CommandResult {
        if self.context.progress {
            anstream::eprint!("\r\x1b[K");
        }
        self.summary.host_seconds = self.start.elapsed().as_secs_f64();
        let (profiled, kernels) = (self.summary.profiled, self.summary.kernels);
        match self.format {
            Format::Jsonl => {
                let last = Envelope::new("assay.profile-all", 1, self.summary);
                writeln!(self.output, "{}", last.to_json_line())?;
            }
            Format::Json => {
                let document = Envelope::new("assay.profile-all", 1, self.summary);
                writeln!(self.output, "{}", document.to_json())?;
            }
            _ => {
                self.dearest()?;
                write!(self.output, "{}", self.summary.text(self.context.width))?;
            }
        }
        self.output.finish()?;
        match profiled {
            0 => Err(Failure::input("no kernel could be profiled")),
            _ if profiled < kernels && !self.keep_going => Ok(Outcome::Failed),
            _ => Ok(Outcome::Fine),
        }
    }
}

impl Sheet<'_> {
    /// The rows with most cycles, and how many others there are.
    fn dearest(&mut self) -> Result<(), Failure> {
        let mut rows = std::mem::take(&mut self.summary.rows);
        let cycles = |row: &Row| row.costs.as_ref().map_or(-1.0, |costs| costs.cycles);
        rows.sort_by(|a, b| cycles(b).total_cmp(&cycles(a)));
        for row in rows.iter().take(DEAREST) {
            let line = row.text(self.context.width, self.context.painter);
            writeln!(self.output, "{line}")?;
        }
        if rows.len() > DEAREST {
            let left = rows.len() - DEAREST;
            writeln!(self.output, "and {left} more: --full")?;
        }
        Ok(())
    }
}

/// Rows of a first screen.
const DEAREST: usize = 8;

pub(super) fn run(
    place: Place<'_>,
    args: &Args,
    options: &Options,
    context: &Context,
) -> CommandResult {
    if !matches!(args.format, Format::Text | Format::Json | Format::Jsonl) {
        return Err(Failure::usage("--all is shown as text, json or jsonl"));
    }
    let path = place.path();
    let shown = path.display().to_string();
    let mut sheet = Sheet {
        output: context.output()?,
        format: args.format,
        context,
        summary: Summary {
            file: shown.clone(),
            chip: options.chip.name.to_owned(),
            cost_model: options.costs.name().to_owned(),
            ..Summary::default()
        },
        keep_going: args.keep_going,
        full: args.full,
        start: Instant::now(),
    };
    let mut phases = phases::told();
    let bytes = place.open()?;
    let file = load::open(path, &bytes)?;
    if !file.needs_code() {
        let loaded = load::of_file(path, &file, &args.model, &mut phases, context)?;
        sheet.summary.origin = loaded.first().map_or(Origin::Unknown, |one| one.origin);
        heading(&mut sheet)?;
        for one in &loaded {
            let name = &one.program.name;
            let row = match one.profile(options) {
                Ok(profile) => {
                    // What others' scratch holds is not said.
                    let frame = Frame {
                        spilled_bytes: profile.scratch_bytes.unwrap_or(0),
                        ..Frame::default()
                    };
                    Row::new(name, &profile, frame, Vec::new())
                }
                Err(failure) => Row::failed(name, failure),
            };
            sheet.batch(vec![row], loaded.len())?;
        }
        return sheet.finish();
    }
    sheet.summary.origin = Origin::Assay;
    let library = source::library(path, &file, &args.model.code.source)?;
    let kernels = library.kernels();
    heading(&mut sheet)?;
    for batch in kernels.chunks(BATCH) {
        let rows: Vec<Row> = batch
            .par_iter()
            .map(|one| row(one, args, options))
            .collect();
        sheet.batch(rows, kernels.len())?;
    }
    sheet.finish()
}

fn heading(sheet: &mut Sheet<'_>) -> Result<(), Failure> {
    if sheet.format == Format::Text {
        let heading = sheet.context.painter.paint(Role::Dim, HEADING);
        writeln!(sheet.output, "{heading}")?;
    }
    Ok(())
}

/// Generates and profiles one kernel.
fn row(kernel: &Kernel, args: &Args, options: &Options) -> Row {
    let generator = match args.model.generator() {
        Ok(generator) => generator,
        Err(failure) => return Row::failed(&kernel.name, failure),
    };
    let made = match generator.generate(kernel, &mut phases::told()) {
        Ok(made) => made,
        Err(refused) => return Row::refused(&kernel.name, refused),
    };
    match Profile::new(&made.program, options) {
        Ok(profile) => Row::new(&kernel.name, &profile, made.frame, made.assumed),
        Err(error) => Row::failed(&kernel.name, Failure::input(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_current() {
        crate::schema::check::<super::Summary>("assay.profile-all", 1);
    }
}
