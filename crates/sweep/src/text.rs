//! What was found, for people.

use crate::report::{Figures, Reference, Report, Row, Time};
use crate::score::Target;
use crate::table;
use assay_report::blocks::View;
use assay_report::number;
use assay_report::style::Role;
use assay_report::wrap::wrap;
use std::fmt::Write as _;

impl Report {
    /// For people.
    pub fn text(&self, view: &View) -> String {
        let first = self.kernels.first().map(|row| row.name.as_str());
        let one = self
            .kernels
            .iter()
            .all(|row| Some(row.name.as_str()) == first || !row.references.is_empty());
        let mut page = Page {
            report: self,
            view,
            text: String::new(),
        };
        match one {
            true => page.each(),
            false => page.text += &table::table(&self.kernels, view),
        }
        page.remarks(!one);
        page.end();
        page.text
    }
}

struct Page<'a> {
    report: &'a Report,
    view: &'a View,
    text: String,
}

/// Columns of the words before figures.
const KEY: usize = 13;

impl Page<'_> {
    fn paint(&self, role: Role, text: &str) -> String {
        self.view.painter.paint(role, text)
    }

    /// A line, broken between words.
    fn line(&mut self, text: &str) {
        let pieces = wrap(text, self.view.width, 0);
        let _ = writeln!(self.text, "{}", pieces.join("\n      "));
    }

    fn fact(&mut self, key: &str, value: &str) {
        self.line(&format!("  {key:KEY$} {value}"));
    }

    /// Kernels one below the other, with everything about each.
    fn each(&mut self) {
        for (place, row) in self.report.kernels.iter().enumerate() {
            if place > 0 {
                self.text.push('\n');
            }
            let (word, role) = verdict(row);
            let name = self.paint(Role::Name, &format!("{} {}", row.name, row.dtype));
            let word = self.paint(role, word);
            self.line(&format!("{}  {word}", name.trim_end()));
            self.source(row);
            self.correctness(row);
            if let Some(time) = &row.time {
                self.times(time);
                self.first_launch(row);
                self.scores(time);
            }
            for reference in &row.references {
                self.reference(reference, true);
            }
            self.modelled(row);
            self.board(row);
            self.profile(row);
        }
    }

    fn source(&mut self, row: &Row) {
        let environment = &self.report.environment;
        let device = match environment.device.as_str() {
            "cpu" => format!(
                "CPU, {} threads of {}",
                environment.cpu_threads,
                environment.cpu.as_deref().unwrap_or("this machine")
            ),
            _ => environment.device_name.clone(),
        };
        self.fact("device", &device);
        if let Some(short) = row.source_hash.get(..12) {
            self.fact("source", &format!("{} ({short})", row.source));
        }
    }

    fn correctness(&mut self, row: &Row) {
        if let (true, Some(worst)) = (row.right, &row.worst) {
            let text = format!(
                "right in {} comparisons; half within {} ulp, 99.9 % within {}; largest relative error {:.1e} ({} sizes)",
                row.comparisons, worst.ulps_half, worst.ulps_most, worst.max_relative, worst.sizes
            );
            self.fact("correctness", &text);
        }
    }

    fn times(&mut self, time: &Time) {
        let figures = &time.figures;
        let runs = match time.batch {
            1 => String::new(),
            runs => format!(" of {runs} runs each"),
        };
        let kernel = format!(
            "{} ({}; least {}, mean {}, {} samples{runs}, outliers: {})",
            self.paint(Role::Figure, &median(figures)),
            time.origin,
            milliseconds(figures.least_ms),
            milliseconds(figures.mean_ms),
            figures.samples_ms.len(),
            figures.outliers,
        );
        self.fact("kernel", &kernel);
        let warm_up = match time.warm_up_stable {
            Some(true) => ", until times were stable",
            Some(false) => ", and times still fell",
            None => "",
        };
        let cache = match time.cache.as_str() {
            "cold" => "caches emptied before every sample".to_owned(),
            _ => format!("{} sets of buffers in turn", time.buffer_sets),
        };
        let stop = match time.stop.as_str() {
            "precise" => "the median is precise",
            "samples" => "these are all the samples allowed",
            _ => "the time was over",
        };
        let compared = match time.coverage {
            part if part >= 0.0005 => format!("{:.3} %", part * 100.0),
            part => format!("{part:.0e}"),
        };
        let text = format!(
            "{} sizes; {} runs to warm up{warm_up}; {cache}; {compared} of the timed results compared, all of them \
             written; stopped: {stop}",
            time.sizes, time.warm_up
        );
        self.fact("measured", &text);
        for reference in &time.references {
            self.reference(reference, false);
        }
    }

    /// What a program waits for that uses the kernel once.
    fn first_launch(&mut self, row: &Row) {
        if let Some(first) = row.first_launch_ms {
            let text = format!("{} (host), with making the pipeline", milliseconds(first));
            self.fact("first launch", &text);
        }
    }

    /// Old and new time when a record changes hands.
    fn board(&mut self, row: &Row) {
        let Some(board) = &row.board else { return };
        if let (Some(old), Some(new)) = (board.old_ms, board.new_ms) {
            let text = format!(
                "a new record: {} in turns with the old holder's {}",
                milliseconds(new),
                milliseconds(old)
            );
            self.fact("board", &text);
        }
    }

    fn reference(&mut self, reference: &Reference, alone: bool) {
        let name = self.paint(Role::Name, &reference.name);
        let text = match (&reference.failure, &reference.figures) {
            (Some(failure), _) => failure.clone(),
            (None, Some(figures)) => {
                let compared = match (reference.speedup, &reference.verdict) {
                    (Some(speedup), Some(verdict)) => {
                        format!(": {}", self.compared(reference, speedup, verdict))
                    }
                    _ if alone => format!(", {} samples", figures.samples_ms.len()),
                    _ => ": another clock, so not compared".to_owned(),
                };
                let wrong = match (reference.right, reference.max_relative) {
                    (Some(false), Some(error)) => {
                        format!("; its results are off by up to {error:.0e}")
                    }
                    _ => String::new(),
                };
                let clock = &reference.clock;
                format!("{name} {} ({clock}){compared}{wrong}", median(figures))
            }
            (None, None) => format!("{name}: no time"),
        };
        self.fact("reference", &text);
    }

    fn compared(&self, reference: &Reference, speedup: f64, verdict: &str) -> String {
        let (word, role) = match verdict {
            "faster" => ("the kernel is faster", Role::Good),
            "slower" => ("the kernel is slower", Role::Warn),
            _ => ("a tie", Role::Dim),
        };
        let (low, high) = (reference.speedup_low, reference.speedup_high);
        let (low, high) = (low.unwrap_or(speedup), high.unwrap_or(speedup));
        let word = self.paint(role, word);
        format!(
            "{} [{} to {}], {word}",
            times(speedup),
            times(low),
            times(high)
        )
    }

    fn scores(&mut self, time: &Time) {
        let scores = &time.scores;
        let intensity = match scores.intensity {
            Some(intensity) => format!(", {} operations per byte", short(intensity)),
            None => String::new(),
        };
        let rates = format!(
            "{} Gflop/s, {} GB/s{intensity} ({})",
            short(scores.gflops),
            short(scores.gbps),
            time.origin
        );
        self.fact("rates", &rates);
        if let (Some(roofline), Some(bound)) = (scores.roofline, &scores.bound) {
            let text = format!(
                "{:.0} % of what {} can do at most; {bound} is the bound",
                roofline * 100.0,
                self.report.environment.device_name
            );
            self.fact("roofline", &text);
        }
        let target = Target::named(&self.report.target);
        let over = match &scores.speedup_over {
            Some(name) => format!(" over {name}"),
            None => String::new(),
        };
        let scores = Target::ALL.map(|one| {
            let value = scores.of(one).map_or("–".to_owned(), short);
            let over = match one {
                Target::Speed => over.as_str(),
                _ => "",
            };
            let text = format!("{} {value}{over}", one.name());
            match one == target {
                true => self.paint(Role::Figure, &format!("[{text}]")),
                false => text,
            }
        });
        self.fact("scores", &scores.join(", "));
    }

    fn modelled(&mut self, row: &Row) {
        for one in &row.modelled {
            let text = match (&one.time, &one.refused) {
                (Some(time), _) => {
                    let show = assay_predict::render::time;
                    let stand_in = if time.stand_in { ", stand-in code" } else { "" };
                    format!(
                        "{}: {} ({} to {}), limited by {} (modelled{stand_in})",
                        one.chip,
                        show(time.time_us),
                        show(time.low_us),
                        show(time.high_us),
                        time.limited_by
                    )
                }
                (None, Some(why)) => format!("{}: no prediction: {why}", one.chip),
                (None, None) => continue,
            };
            self.fact("predicted", &text);
        }
    }

    fn profile(&mut self, row: &Row) {
        for pass in &row.profile {
            let text = match (&pass.figures, &pass.refused) {
                (Some(figures), _) => {
                    let findings = match figures.findings.is_empty() {
                        true => String::new(),
                        false => format!("; look at {}", figures.findings.join(", ")),
                    };
                    format!(
                        "{}: {} instructions, {} half registers, {} threads per core, bound by {}{findings} (modelled, {})",
                        pass.function,
                        figures.instructions,
                        figures.half_registers,
                        figures.threads_per_core,
                        figures.verdict.as_deref().unwrap_or("nothing known"),
                        pass.chip,
                    )
                }
                (None, Some(why)) => why.clone(),
                (None, None) => format!("{}: no code", pass.function),
            };
            self.fact("profile", &text);
        }
    }

    /// What is wrong, and what speaks against times.
    fn remarks(&mut self, named: bool) {
        for row in &self.report.kernels {
            let refused = row.refused.iter().map(|why| (Role::Bad, why));
            let findings = row.findings.iter().map(|finding| (Role::Bad, finding));
            let time = row.time.iter();
            let remarks = time.flat_map(|time| time.remarks.iter().map(|one| (Role::Warn, one)));
            let record = named.then(|| new_record(row)).flatten();
            let record = record.iter().map(|one| (Role::Good, one));
            for (role, remark) in refused.chain(findings).chain(remarks).chain(record) {
                let name = match named || role == Role::Bad {
                    true => format!("{} {}", row.name, row.dtype),
                    false => "note".to_owned(),
                };
                let name = self.paint(role, name.trim_end());
                self.text.push('\n');
                // Messages of compilers have lines of their own.
                for (place, line) in remark.lines().enumerate() {
                    match place {
                        0 => self.line(&format!("{name}: {line}")),
                        _ => self.line(&format!("      {line}")),
                    }
                }
            }
        }
    }

    fn end(&mut self) {
        self.text.push('\n');
        let (verdict, seed) = (self.report.verdict(), self.report.seed);
        self.line(&format!("{verdict}; seed {seed}"));
        if let Some(overall) = &self.report.overall {
            let fast = overall
                .fast
                .iter()
                .map(|fast| format!("{:.0} % more than {}× as fast", fast.part * 100.0, fast.p));
            let mean = overall.mean_speedup.map_or(String::new(), |mean| {
                format!("; geometric mean {}", times(mean))
            });
            let fast: Vec<String> = fast.collect();
            let count = overall.rows;
            if self.report.kernels.len() > 1 {
                self.line(&format!(
                    "Of {count} against {}: {}{mean}",
                    overall.over.join(", "),
                    fast.join(", ")
                ));
            }
        }
        let time = self.report.kernels.iter().find_map(|row| row.time.as_ref());
        if let Some(time) = time.filter(|time| time.origin == "host") {
            let sizes = &time.sizes;
            self.line(&format!(
                "Times are this CPU's, at {sizes} sizes. They say nothing about a GPU."
            ));
        }
        if let Some(saved) = &self.report.saved {
            self.line(saved);
        }
    }
}

/// What there is to say about a record that changed hands.
fn new_record(row: &Row) -> Option<String> {
    let board = row.board.as_ref()?;
    let (old, new) = (board.old_ms?, board.new_ms?);
    Some(format!(
        "a new record: {}, where {} held it, in turns",
        milliseconds(new),
        milliseconds(old)
    ))
}

pub(crate) fn verdict(row: &Row) -> (&'static str, Role) {
    match (&row.refused, row.right) {
        (Some(_), _) => ("cannot be examined", Role::Bad),
        (None, true) => ("right", Role::Good),
        (None, false) => ("WRONG", Role::Bad),
    }
}

pub(crate) fn milliseconds(value: f64) -> String {
    number::nanoseconds(value * 1e6)
}

pub(crate) fn median(figures: &Figures) -> String {
    let median = milliseconds(figures.median_ms);
    format!("{median} ± {}", figures.uncertainty())
}

pub(crate) fn times(ratio: f64) -> String {
    format!("{}×", short(ratio))
}

/// Three digits that count.
pub(crate) fn short(value: f64) -> String {
    let digits = match value.abs() {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        value if value >= 0.1 || value == 0.0 => 2,
        value if value >= 0.001 => 4,
        _ => return format!("{value:.1e}"),
    };
    format!("{value:.digits$}")
}
