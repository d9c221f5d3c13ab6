//! A recorded program on a modelled GPU: the first screen, and the section of the whole report.

use super::page::Page;
use super::screen::findings;
use crate::analysis::document::*;
use crate::render::{part_of_chip, percent};
use assay_report::blocks::{Answer, Bar, Block, Figure, Headline};
use assay_report::number::{bytes, grouped, nanoseconds};
use assay_report::style::Role;
use assay_report::table::{Column, fitted};

/// Kernels and chips of the first screen.
const KERNELS: usize = 6;
const CHIPS: usize = 6;

fn ms(value: f64) -> String {
    nanoseconds(value * 1e6)
}

fn us(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |us| nanoseconds(us * 1e3))
}

/// The blocks of the first screen.
pub(super) fn screen(analysis: &Analysis, program: &Program) -> Answer {
    let mut answer = Answer::default();
    let target = &analysis.recording.target;
    answer.push(Headline {
        name: target
            .name
            .clone()
            .unwrap_or_else(|| "(unknown program)".to_owned()),
        place: format!("on {}", program.chip),
        value: ms(program.gpu_ms),
        note: format!(
            "{} to {}, modelled",
            ms(program.low_ms),
            ms(program.high_ms)
        ),
        role: None,
    });
    let mut figures = summary(program);
    let busy = format!("{:.0} %", 100.0 * analysis.gpu.utilization);
    let busy = Figure::new("GPU busy", busy)
        .note("if the host takes no time; gaps within encoders count as busy");
    figures.insert(1, busy);
    answer.push(figures);
    let kernels = program.kernels.iter().take(KERNELS).map(|kernel| {
        let far = kernel.of_roof.map_or(String::new(), |part| {
            format!(", {} of roof", part_of_chip(Some(part)))
        });
        Bar {
            note: format!("{}×{far}", grouped(kernel.dispatches)),
            ..Bar::new(
                fitted(&kernel.kernel, 36),
                ms(kernel.total_ms),
                kernel.share,
            )
        }
    });
    let title = format!("GPU time by kernel, {} in all", program.kernels.len());
    answer.push(Block::bars(title, kernels.collect()));
    findings(&mut answer, &analysis.findings);
    let hint = "more: --full, --step N, --chip m2,m4-max, --format html -o page.html";
    answer.push(Block::noted(hint, Role::Dim));
    answer
}

fn summary(program: &Program) -> Vec<Figure> {
    let mut figures = vec![
        Figure::new("dispatches", grouped(program.dispatches)).note(format!(
            "{} different launches; kernels {}, gaps {}, copies {}",
            grouped(program.launches),
            ms(program.kernels_ms),
            ms(program.overhead_ms),
            ms(program.copies_ms)
        )),
        Figure::new("the host", host(&program.host)),
    ];
    if let Some(steps) = &program.steps {
        figures.push(Figure::new("a step", ms(steps.mean_ms)).note(format!(
            "{} to {}; {:.1} a second; {} steps by {}",
            ms(steps.low_ms),
            ms(steps.high_ms),
            steps.per_second,
            grouped(steps.count),
            steps.by
        )));
    }
    if program.chips.len() > 1 {
        let all = program.chips.iter().take(CHIPS).map(|chip| {
            let stand_in = if chip.stand_in { "~" } else { "" };
            format!("{} {stand_in}{}", chip.chip, ms(chip.gpu_ms))
        });
        let note = match program.chips.iter().any(|chip| chip.stand_in) {
            true => "~ stand-in code",
            false => "",
        };
        figures.push(Figure::new("chips", all.collect::<Vec<_>>().join(" · ")).note(note));
    }
    figures
}

/// What the host must reach, in a sentence.
pub(in crate::render) fn host(host: &HostPace) -> String {
    let needed = us(host.needed_us);
    let here = match host.encoded_us {
        Some(_) => format!("; this one took {} (host)", us(host.encoded_us)),
        None => String::new(),
    };
    let waits = match host.waits {
        0 => String::new(),
        waits => format!("; {} waits are not in the time", grouped(waits)),
    };
    format!("must encode a dispatch in under {needed}{here}{waits}")
}

impl Page {
    pub(super) fn program(&mut self, a: &Analysis) {
        let Some(program) = &a.program else { return };
        self.heading(&format!("The program on {} (modelled)", program.chip));
        let band = format!(
            "{} ({} to {})",
            ms(program.gpu_ms),
            ms(program.low_ms),
            ms(program.high_ms)
        );
        self.wrapped("  - ", &format!("GPU time: {band}"));
        let (read, written) = (bytes(program.read_bytes), bytes(program.written_bytes));
        let text = format!("bytes: {read} read, {written} written, each once within a dispatch");
        self.wrapped("  - ", &text);
        for figure in summary(program) {
            let text = format!("{}: {}  {}", figure.label, figure.value, figure.note);
            self.wrapped("  - ", text.trim_end());
        }
        if program.chips.len() > 1 {
            self.chips(&program.chips);
        }
        self.program_kernels(program);
        self.groups(program);
        if !program.unpredicted.is_empty() {
            self.heading("Kernels without a predicted time");
            for one in &program.unpredicted {
                self.wrapped(
                    "  - ",
                    &format!(
                        "{} ({} dispatches): {}",
                        one.kernel, one.dispatches, one.reason
                    ),
                );
            }
        }
    }

    fn chips(&mut self, chips: &[ChipTime]) {
        self.heading("Chips (modelled)");
        let mut table = self.table([
            Column::left("chip"),
            Column::right("GPU time"),
            Column::right("low"),
            Column::right("high"),
            Column::right("a step"),
            Column::right("host, per dispatch"),
            Column::left("").shrink(),
        ]);
        for chip in chips {
            table.row([
                chip.chip.clone(),
                ms(chip.gpu_ms),
                ms(chip.low_ms),
                ms(chip.high_ms),
                chip.step_ms.map_or("–".to_owned(), ms),
                us(chip.host_us),
                if chip.stand_in { "stand-in code" } else { "" }.to_owned(),
            ]);
        }
        self.show(&table);
    }

    fn program_kernels(&mut self, program: &Program) {
        self.heading("Kernels (modelled); gain: the program with this kernel at its roof");
        let mut table = self.table([
            Column::right("share"),
            Column::right("total"),
            Column::right("count"),
            Column::right("mean"),
            Column::right("of roof"),
            Column::right("gain"),
            Column::left("limited by"),
            Column::left("kernel").shrink(),
        ]);
        for kernel in program.kernels.iter().take(self.style.top) {
            table.row([
                percent(kernel.share),
                ms(kernel.total_ms),
                grouped(kernel.dispatches),
                us(Some(kernel.mean_us)),
                part_of_chip(kernel.of_roof),
                part_of_chip(kernel.program_gain),
                kernel.limited_by.clone(),
                kernel.kernel.clone(),
            ]);
        }
        self.show(&table);
        if let Some(more) = program
            .kernels
            .len()
            .checked_sub(self.style.top)
            .filter(|more| *more > 0)
        {
            let note = self.paint(Role::Dim, &format!("  and {more} more (--top shows them)"));
            self.line(&note);
        }
    }

    fn groups(&mut self, program: &Program) {
        if program.groups.is_empty() {
            return;
        }
        self.heading("GPU time by label and debug group (modelled)");
        let mut table = self.table([
            Column::right("share"),
            Column::right("total"),
            Column::right("dispatches"),
            Column::left("label").shrink(),
        ]);
        for group in program.groups.iter().take(self.style.top) {
            table.row([
                percent(group.share),
                ms(group.total_ms),
                grouped(group.dispatches),
                group.label.clone(),
            ]);
        }
        self.show(&table);
    }
}
