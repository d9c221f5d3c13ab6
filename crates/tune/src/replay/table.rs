//! What a replay found, as a document and as text.

use super::{Calibration, Claims, Plan, Recorded, calibrate, replay};
use crate::search::Strategy;
use assay_report::style::{Painter, Role};
use assay_report::table::{Cell, Column, Table};
use assay_report::wrap::wrap;
use serde::Serialize;
use std::fmt::Write as _;

/// Replayed searches.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// How was searched.
    pub strategy: &'static str,
    /// Searches per space.
    pub seeds: u64,
    /// Standard deviation of the logarithm of predicted over true time, of the model that guided them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_error: Option<f64>,
    /// After how many evaluations was looked.
    pub evaluations: Vec<usize>,
    /// One row per space.
    pub spaces: Vec<Row>,
    /// Means over spaces; the gap closed is that of the means.
    pub mean: Row,
    /// How claimed gains compare with true ones, for searches that decide by such a model, by number of evaluations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claimed>,
}

/// A space.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its valid configurations.
    pub configurations: usize,
    /// The fraction of the optimum reached, by number of evaluations.
    pub fraction: Vec<f64>,
    /// What random search reaches.
    pub random: Vec<f64>,
    /// How much of the gap between random search and the optimum is closed.
    pub closed: Vec<f64>,
}

/// Claimed and true gains after a number of evaluations.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Claimed {
    /// Evaluations of each search.
    pub evaluations: usize,
    /// Searches.
    pub searches: usize,
    /// The share of searches whose claimed gain is not above the true one.
    pub not_above: f64,
    /// The median of claimed over true gain.
    pub median: f64,
    /// The same without shrinking.
    pub unshrunk_not_above: f64,
    /// The same without shrinking.
    pub unshrunk_median: f64,
}

impl Report {
    /// Replays a plan on spaces with names. With a model, claims are calibrated too.
    pub fn new(spaces: &[(String, Recorded)], plan: &Plan) -> Report {
        let rows: Vec<Row> = spaces
            .iter()
            .map(|(name, space)| Row::new(name, space, plan))
            .collect();
        let recorded: Vec<Recorded> = spaces.iter().map(|(_, space)| space.clone()).collect();
        let claimed = |model_error: f64| {
            let at = |&evaluations: &usize| {
                let calibration = Calibration {
                    // A model that decides is no prior: searches see its times and nothing else.
                    strategy: plan.strategy,
                    evaluations,
                    seeds: plan.seeds,
                    model_error,
                };
                Claimed::new(evaluations, &calibrate(&recorded, &calibration))
            };
            plan.evaluations.iter().map(at).collect()
        };
        Report {
            strategy: plan.strategy.name(),
            seeds: plan.seeds,
            model_error: plan.model_error,
            evaluations: plan.evaluations.clone(),
            mean: Row::mean(&rows),
            spaces: rows,
            claims: plan.model_error.map_or(Vec::new(), claimed),
        }
    }
}

impl Claimed {
    /// The standard error of the share of claims that are not above the truth.
    pub fn standard_error(&self) -> f64 {
        (self.not_above * (1.0 - self.not_above) / self.searches.max(1) as f64).sqrt()
    }

    fn new(evaluations: usize, claims: &Claims) -> Claimed {
        Claimed {
            evaluations,
            searches: claims.searches,
            not_above: rounded(claims.not_above),
            median: rounded(claims.median),
            unshrunk_not_above: rounded(claims.unshrunk_not_above),
            unshrunk_median: rounded(claims.unshrunk_median),
        }
    }
}

impl Row {
    fn new(name: &str, space: &Recorded, plan: &Plan) -> Row {
        let random = plan
            .evaluations
            .iter()
            .map(|&count| space.random_fraction(count));
        let random: Vec<f64> = random.collect();
        let fraction = match (plan.strategy, plan.model_error) {
            (Strategy::Random, None) => random.clone(),
            _ => replay(space, plan),
        };
        Row {
            name: name.to_owned(),
            configurations: space.space.len(),
            closed: closed(&fraction, &random),
            fraction: fraction.into_iter().map(rounded).collect(),
            random: random.into_iter().map(rounded).collect(),
        }
    }

    fn mean(rows: &[Row]) -> Row {
        let mean = |of: fn(&Row) -> &Vec<f64>| -> Vec<f64> {
            let count = rows.first().map_or(0, |row| of(row).len());
            let at = |place: usize| {
                let all = rows.iter().filter_map(|row| of(row).get(place));
                all.sum::<f64>() / rows.len().max(1) as f64
            };
            (0..count).map(at).collect()
        };
        let (fraction, random) = (mean(|row| &row.fraction), mean(|row| &row.random));
        Row {
            name: "mean".to_owned(),
            configurations: rows.iter().map(|row| row.configurations).sum(),
            closed: closed(&fraction, &random),
            fraction: fraction.into_iter().map(rounded).collect(),
            random: random.into_iter().map(rounded).collect(),
        }
    }
}

/// How much of the gap between random search and the optimum is closed.
fn closed(fraction: &[f64], random: &[f64]) -> Vec<f64> {
    let pairs = fraction.iter().zip(random);
    let one = |(fraction, random): (&f64, &f64)| match 1.0 - random {
        gap if gap > 1e-9 => rounded((fraction - random) / gap),
        _ => 0.0,
    };
    pairs.map(one).collect()
}

fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// The report for people.
pub fn text(report: &Report, painter: Painter, width: usize) -> String {
    let mut columns = vec![
        Column::left("space").shrink(),
        Column::right("configurations"),
    ];
    for count in &report.evaluations {
        columns.push(Column::right(format!("after {count}")));
        columns.push(Column::right("random"));
        columns.push(Column::right("closed"));
    }
    let mut table = Table::new(columns).painter(painter);
    for row in report.spaces.iter().chain([&report.mean]) {
        let mut cells: Vec<Cell> = vec![
            row.name.as_str().into(),
            row.configurations.to_string().into(),
        ];
        for ((fraction, random), closed) in row.fraction.iter().zip(&row.random).zip(&row.closed) {
            cells.push(format!("{fraction:.3}").into());
            cells.push(Cell::new(format!("{random:.3}"), Role::Dim));
            cells.push(format!("{:.0} %", 100.0 * closed).into());
        }
        table.row(cells);
    }
    let mut out = table.render(width);
    let model = report.model_error.map_or(String::new(), |error| {
        format!(", guided by a model whose predictions err by a log-normal factor of σ = {error}")
    });
    let note = format!(
        "\nFraction of the optimum reached by {}, mean of {} seeds{model}. random: what random search reaches on average. \
         closed: how much of the gap between random search and the optimum is gained.",
        report.strategy, report.seeds
    );
    for line in wrap(note.trim_start(), width, 0) {
        let _ = writeln!(out, "{line}");
    }
    if !report.claims.is_empty() {
        claims(&mut out, report, painter, width);
    }
    out
}

fn claims(out: &mut String, report: &Report, painter: Painter, width: usize) {
    let mut table = Table::new([
        Column::right("evaluations"),
        Column::right("searches"),
        Column::right("claim not above truth"),
        Column::right("median claim/truth"),
        Column::right("unshrunk"),
        Column::right("median"),
    ])
    .painter(painter);
    for claimed in &report.claims {
        table.row([
            claimed.evaluations.to_string(),
            claimed.searches.to_string(),
            format!(
                "{:.0} ± {:.0} %",
                100.0 * claimed.not_above,
                100.0 * claimed.standard_error()
            ),
            format!("{:.2}", claimed.median),
            format!("{:.0} %", 100.0 * claimed.unshrunk_not_above),
            format!("{:.2}", claimed.unshrunk_median),
        ]);
    }
    let _ = writeln!(
        out,
        "\nGains claimed by searches that see only such a model's times (±: a standard error, by the number of searches):"
    );
    *out += &table.render(width);
}
