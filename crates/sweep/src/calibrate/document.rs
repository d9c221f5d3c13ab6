//! A calibration as data, as text and as a chip file.

use super::registry::RegistryRow;
use assay_chip::{Chip, Parameter};
use assay_predict::MODEL;
use assay_predict::Target;
use assay_predict::calibrate::{ChipFile, How, Measured, Row, Solved};
use assay_predict::render::time;
use assay_report::blocks::View;
use assay_report::style::Role;
use assay_report::table::{Cell, Column, Table};
use serde::Serialize;

/// What a calibration found.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document {
    /// The chip.
    chip: String,
    /// GPU cores.
    cores: f64,
    /// Version of the model whose constants these are.
    model: &'static str,
    /// Date and protocol, or that times were simulated.
    protocol: String,
    /// The file that predictions use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chip_file: Option<String>,
    /// Constants and figures.
    constants: Vec<Constant>,
    /// Times of the microbenchmarks.
    probes: Vec<ProbeTime>,
    /// Kernels of the registry, predicted with these constants and measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub registry: Vec<RegistryRow>,
}

/// A constant.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Constant {
    name: String,
    /// What the tables say.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<f64>,
    /// The value.
    value: f64,
    /// Where it lies, by the spread of the runs.
    low: f64,
    /// See `low`.
    high: f64,
    /// `measured`, `undetermined` (the value of the tables stays) or `at-the-edge` (no sensible value fits).
    how: &'static str,
    /// The microbenchmarks it follows from.
    probes: Vec<String>,
}

/// A microbenchmark.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ProbeTime {
    name: String,
    /// Measured microseconds.
    time_us: f64,
    /// Half the distance of the runs' quartiles, as a share of the time.
    spread: f64,
}

impl Document {
    /// What was solved of what was measured.
    pub fn new(chip: &Chip, solved: &[Solved], measured: &[Measured], protocol: &str) -> Document {
        let constants = solved.iter().map(|solved| Constant {
            name: solved.name.to_owned(),
            before: solved.before,
            value: solved.value,
            low: solved.range.0,
            high: solved.range.1,
            how: match solved.how {
                How::Found => "measured",
                How::Undetermined => "undetermined",
                How::AtTheEdge => "at-the-edge",
            },
            probes: solved.probes.clone(),
        });
        let probes = measured.iter().map(|measured| ProbeTime {
            name: measured.probe.clone(),
            time_us: measured.time_us,
            spread: measured.spread,
        });
        Document {
            chip: chip.name.to_owned(),
            cores: chip.get(Parameter::Cores).unwrap_or(0.0),
            model: MODEL,
            protocol: protocol.to_owned(),
            chip_file: None,
            constants: constants.collect(),
            probes: probes.collect(),
            registry: Vec::new(),
        }
    }

    /// The rows that predictions use: what was determined, and the cores they were measured with.
    pub fn file(&self) -> ChipFile {
        let row = |name: &str, value: f64, range: (f64, f64), basis: &str, note: String| Row {
            name: name.to_owned(),
            value,
            range,
            basis: basis.to_owned(),
            note,
        };
        let mut rows = Vec::new();
        if self.cores > 0.0 {
            let range = (self.cores, self.cores);
            let note = format!("GPU cores of this machine; {}", self.protocol);
            rows.push(row("cores", self.cores, range, "measured", note));
        }
        for constant in self.constants.iter().filter(|c| c.how == "measured") {
            let note = format!("{}; from {}", self.protocol, constant.probes.join("; "));
            let range = (constant.low, constant.high);
            rows.push(row(&constant.name, constant.value, range, "measured", note));
        }
        if let Some(band) = self.band() {
            let note = format!(
                "{}; registry kernels, predicted and measured",
                self.protocol
            );
            rows.push(row("band_chip", band, (band, band), "derived", note));
        }
        ChipFile {
            chip: self.chip.clone(),
            rows,
        }
    }

    /// The same as the text of a file.
    pub fn file_text(&self) -> String {
        self.file().to_text(&format!(
            "Constants of the model {} for predictions on {}, measured by assay calibrate.\n{}",
            self.model, self.chip, self.protocol
        ))
    }

    /// How much wider bands must be on this machine: from the registry's kernels, where they were measured.
    fn band(&self) -> Option<f64> {
        let mut factors: Vec<f64> = self
            .registry
            .iter()
            .filter_map(RegistryRow::beyond)
            .collect();
        const FEWEST: usize = 20;
        if factors.len() < FEWEST {
            return None;
        }
        factors.sort_by(f64::total_cmp);
        let at = (0.8 * (factors.len() - 1) as f64) as usize;
        factors.get(at).map(|factor| factor.max(1.0))
    }

    /// Writes the registry's bands as they are with the new constants.
    pub fn widen(&mut self, target: &Target) {
        if let Some(band) = self.band() {
            let before = target.constants.band_chip;
            for row in &mut self.registry {
                row.low_us *= before / band;
                row.high_us *= band / before;
            }
        }
    }

    /// For people.
    pub fn text(&self, view: &View) -> String {
        let mut out = format!(
            "{} ({} cores), model {}: {}\n\n",
            self.chip, self.cores, self.model, self.protocol
        );
        let mut table = Table::new([
            Column::left("constant"),
            Column::right("tables"),
            Column::right("here"),
            Column::right("from"),
            Column::right("to"),
            Column::left("").shrink(),
        ])
        .painter(view.painter);
        let short = |value: f64| format!("{value:.*}", if value >= 100.0 { 0 } else { 2 });
        for constant in &self.constants {
            let word = match constant.how {
                "undetermined" => {
                    Cell::new("not determined: the value of the tables stays", Role::Warn)
                }
                "at-the-edge" => {
                    Cell::new("no sensible value fits: left out of the file", Role::Warn)
                }
                _ => "".into(),
            };
            table.row([
                Cell::from(constant.name.as_str()),
                constant.before.map_or("–".to_owned(), short).into(),
                short(constant.value).into(),
                short(constant.low).into(),
                short(constant.high).into(),
                word,
            ]);
        }
        out += &table.render(view.width);
        if !self.registry.is_empty() {
            out += &self.registry_text(view);
        }
        match &self.chip_file {
            Some(path) => out += &format!("\nwritten to {path}\n"),
            None => out += "\nnothing was written: --chip-file FILE does\n",
        }
        out
    }

    fn registry_text(&self, view: &View) -> String {
        let mut table = Table::new([
            Column::left("kernel").shrink(),
            Column::right("measured"),
            Column::right("predicted"),
            Column::right("predicted / measured"),
            Column::left("limited by"),
        ])
        .painter(view.painter);
        let mut logs = Vec::new();
        for row in &self.registry {
            let ratio = row.predicted_us / row.measured_us.max(f64::MIN_POSITIVE);
            logs.push(ratio.ln().abs());
            table.row([
                row.kernel.clone(),
                time(row.measured_us),
                time(row.predicted_us),
                format!("{ratio:.2}"),
                row.limited_by.clone(),
            ]);
        }
        let mean = logs.iter().sum::<f64>() / logs.len().max(1) as f64;
        format!(
            "\n{}{} kernels, off by a factor of {:.2} on average\n",
            table.render(view.width),
            self.registry.len(),
            mean.exp()
        )
    }
}
