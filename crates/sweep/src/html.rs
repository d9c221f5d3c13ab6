//! The report as one page: how many are right, a row for each kernel with its ratio to the reference, what is wrong.

use crate::report::{Reference, Report, Row};
use crate::text::{median, milliseconds, short, times, verdict};
use assay_report::blocks::{Advice, Answer, Block, Figure, Headline, STYLE};
use assay_report::html::page;
use assay_report::style::Role;
use assay_report::table::{Cell, Column, Table};
use std::collections::BTreeSet;

impl Report {
    /// The report as a page.
    pub fn html(&self) -> String {
        let mut answer = Answer::default();
        answer.push(self.headline());
        answer.push(self.facts());
        answer.push(Block::Heading("Kernels".to_owned()));
        answer.push(self.table());
        answer.push(Block::noted(
            "host: by this machine's clock, it says nothing about a GPU · measured: by a GPU's clock · modelled: predicted, no \
             clock told it, four of five kernels of a class lie in the band, * with code for M1 and M2 as a stand-in · ratio: the \
             reference's median divided by the kernel's, with an interval at 95 % · error: the largest, relative to what goes into \
             the element",
            Role::Dim,
        ));
        self.wrong(&mut answer);
        self.remarks(&mut answer);
        page("bench – assay", STYLE, &answer.html(), "")
    }

    fn headline(&self) -> Headline {
        let role = match self.wrong + self.refused {
            0 => Role::Good,
            _ => Role::Bad,
        };
        Headline {
            name: "bench".to_owned(),
            place: format!("on {}", self.environment.device_name),
            value: self.verdict(),
            note: format!(
                "every element compared with a double-precision oracle; seed {}",
                self.seed
            ),
            role: Some(role),
        }
    }

    fn facts(&self) -> Vec<Figure> {
        let mut facts = Vec::new();
        if let Some(cpu) = &self.environment.cpu {
            facts.push(
                Figure::new("CPU", cpu).note(format!("{} threads", self.environment.cpu_threads)),
            );
        }
        let timed = self.kernels.iter().find_map(|row| row.time.as_ref());
        if let Some(time) = timed {
            facts.push(
                Figure::new("times", time.origin.clone()).note(format!("at {} sizes", time.sizes)),
            );
        }
        if let Some(overall) = &self.overall {
            let mean = overall.mean_speedup.map_or("–".to_owned(), times);
            let over = format!(
                "geometric mean of {} rows over {}",
                overall.rows,
                overall.over.join(", ")
            );
            facts.push(Figure::new("ratio", mean).note(over));
        }
        facts
    }

    fn table(&self) -> Table {
        let chips: BTreeSet<&str> = self
            .kernels
            .iter()
            .flat_map(|row| row.modelled.iter().map(|one| one.chip.as_str()))
            .collect();
        let has_time = self.kernels.iter().any(|row| row.time.is_some());
        let has_reference = self
            .kernels
            .iter()
            .any(|row| references(row).next().is_some());
        let mut columns = vec![
            Column::left("kernel"),
            Column::left("type"),
            Column::left("result"),
            Column::right("error"),
        ];
        if has_time {
            columns.push(Column::right("time"));
        }
        if has_reference {
            columns.extend([
                Column::left("reference"),
                Column::right("its time"),
                Column::right("ratio"),
                Column::left("kernel is"),
            ]);
        }
        for chip in &chips {
            columns.push(Column::right(format!("{chip} (modelled)")));
        }
        let mut table = Table::new(columns);
        for row in &self.kernels {
            let (word, role) = verdict(row);
            let worst = row.worst.as_ref().filter(|_| row.right);
            let mut cells = vec![
                Cell::from(row.name.clone()),
                row.dtype.clone().into(),
                Cell::new(word, role),
                worst
                    .map_or(String::new(), |worst| error(worst.max_relative))
                    .into(),
            ];
            if has_time {
                let time = row.time.as_ref();
                let text = time.map(|time| format!("{} ({})", median(&time.figures), time.origin));
                cells.push(text.unwrap_or_default().into());
            }
            let origin = row.time.as_ref().map_or("", |time| time.origin.as_str());
            if has_reference {
                cells.extend(match references(row).next() {
                    Some(reference) => of_reference(reference, origin),
                    None => std::array::from_fn(|_| Cell::from("")),
                });
            }
            for chip in &chips {
                cells.push(modelled(row, chip));
            }
            table.row(cells);
        }
        table
    }

    /// What is wrong, and what could not be examined.
    fn wrong(&self, answer: &mut Answer) {
        let told = |row: &Row, text: &str, weight: &str| Advice {
            rule: row.name.clone(),
            weight: weight.to_owned(),
            place: format!("{} {}", row.dtype, row.source).trim().to_owned(),
            text: text.to_owned(),
            role: Some(Role::Bad),
            ..Advice::default()
        };
        let mut all = Vec::new();
        for row in &self.kernels {
            all.extend(row.refused.iter().map(|why| told(row, why, "not examined")));
            all.extend(row.findings.iter().map(|why| told(row, why, "wrong")));
        }
        if !all.is_empty() {
            answer.push(Block::Heading("What is wrong".to_owned()));
            answer.blocks.extend(all.into_iter().map(Block::from));
        }
    }

    /// What speaks against times, and references that have none.
    fn remarks(&self, answer: &mut Answer) {
        for row in &self.kernels {
            let of_time = row
                .time
                .iter()
                .flat_map(|time| time.remarks.iter().cloned());
            let failed = references(row).filter_map(|reference| {
                let why = reference.failure.as_deref()?;
                Some(format!("{}: {why}", reference.name))
            });
            for remark in of_time.chain(failed) {
                let text = format!("{} {}: {remark}", row.name, row.dtype);
                answer.push(Block::noted(text, Role::Warn));
            }
        }
        if let Some(saved) = &self.saved {
            answer.push(Block::noted(saved.clone(), Role::Dim));
        }
    }
}

/// References beside a kernel, or those that were timed alone; the first is what ratios are over.
fn references(row: &Row) -> impl Iterator<Item = &Reference> {
    let beside = row.time.iter().flat_map(|time| &time.references);
    beside.chain(&row.references)
}

fn error(relative: f64) -> String {
    match relative {
        0.0 => "0".to_owned(),
        relative => format!("{relative:.1e}"),
    }
}

/// Cells of a reference, beside a kernel whose times have an origin; the clock is named once where both have it.
fn of_reference(reference: &Reference, origin: &str) -> [Cell; 4] {
    let figures = reference.figures.as_ref();
    let clock = match reference.clock == origin {
        true => String::new(),
        false => format!(" ({})", reference.clock),
    };
    let time = figures.map_or(String::new(), |figures| {
        format!("{}{clock}", milliseconds(figures.median_ms))
    });
    let ratio = reference.speedup.map_or(String::new(), |ratio| {
        let low = reference.speedup_low.unwrap_or(ratio);
        let high = reference.speedup_high.unwrap_or(ratio);
        format!("{} [{}–{}]", times(ratio), short(low), short(high))
    });
    let verdict = reference.verdict.clone().unwrap_or_default();
    let role = match verdict.as_str() {
        "faster" => Role::Good,
        "slower" => Role::Warn,
        _ => Role::Dim,
    };
    [
        Cell::from(reference.name.clone()),
        time.into(),
        Cell::new(ratio, role),
        Cell::new(verdict, role),
    ]
}

fn modelled(row: &Row, chip: &str) -> Cell {
    let Some(one) = row.modelled.iter().find(|one| one.chip == chip) else {
        return Cell::from("");
    };
    match &one.time {
        Some(time) => {
            let mark = if time.stand_in { " *" } else { "" };
            let text = assay_predict::render::time(time.time_us);
            let band = assay_predict::render::between(time.low_us, time.high_us);
            // The unit once, where both have it.
            let unit = text.rsplit_once(' ').map_or("", |(_, unit)| unit);
            let band = band.strip_suffix(&format!(" {unit}")).unwrap_or(&band);
            Cell::from(format!("{text} ({band}){mark}"))
        }
        None => Cell::new("no prediction", Role::Dim),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Environment;
    use crate::modelled::{Modelled, ModelledTime};
    use crate::report::Figures;

    fn figures(median_ms: f64) -> Figures {
        Figures {
            median_ms,
            median_low_ms: 0.99 * median_ms,
            median_high_ms: 1.01 * median_ms,
            least_ms: median_ms,
            mean_ms: median_ms,
            deviation_ms: 0.0,
            outliers: 0,
            samples_ms: vec![median_ms; 9],
        }
    }

    fn reference() -> Reference {
        Reference {
            name: "oracle".to_owned(),
            clock: "host".to_owned(),
            failure: None,
            figures: Some(figures(3.0)),
            speedup: Some(3.0),
            speedup_low: Some(2.9),
            speedup_high: Some(3.1),
            verdict: Some("faster".to_owned()),
            right: Some(true),
            max_relative: None,
        }
    }

    fn predicted() -> Modelled {
        Modelled {
            chip: "m2".to_owned(),
            basis: "modelled".to_owned(),
            model: "core-2".to_owned(),
            time: Some(ModelledTime {
                time_us: 56.5,
                low_us: 38.4,
                high_us: 83.1,
                limited_by: "memory latency".to_owned(),
                stand_in: false,
            }),
            refused: None,
        }
    }

    #[test]
    fn rows_have_the_ratio_to_the_reference_and_say_whose_times_they_are() {
        let right = Row {
            name: "soft<max>".to_owned(),
            dtype: "f32".to_owned(),
            right: true,
            references: vec![reference()],
            modelled: vec![predicted()],
            ..Row::default()
        };
        let wrong = Row {
            name: "relu".to_owned(),
            findings: vec!["y[3] is 0, not 1".to_owned()],
            ..Row::default()
        };
        let rows = vec![right, wrong];
        let page = Report::new(7, Environment::unknown(), "speed", rows, None).html();
        for part in [
            "<b class=bad>1 right, 1 wrong</b>",
            "<td>soft&lt;max&gt;</td><td data-h=\"type\">f32</td><td class=good data-h=\"result\">right</td>",
            "<td data-h=\"reference\">oracle</td><td class=n data-h=\"its time\">3 ms (host)</td>",
            "<td class=\"n good\" data-h=\"ratio\">3.00× [2.90–3.10]</td><td class=good data-h=\"kernel is\">faster</td>",
            "<th class=n>m2 (modelled)</th>",
            "<td class=n data-h=\"m2 (modelled)\">56.5 µs (38.4–83.1)</td>",
            "y[3] is 0, not 1",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
    }
}
