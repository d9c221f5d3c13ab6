//! Whether results are right: output by output, with the worst elements.

use assay_report::blocks::View;
use assay_report::number::grouped;
use assay_report::style::Role;
use serde::Serialize;
use std::fmt::Write as _;

/// Whether the results are right.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// True if no element is wrong.
    pub right: bool,
    /// What says what is right.
    pub by: String,
    /// How far an element may be off.
    pub allowed: String,
    /// Output by output.
    pub outputs: Vec<Judged>,
}

/// An output beside what it should be.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judged {
    /// The index of its buffer.
    pub index: u32,
    /// The argument's name.
    pub name: String,
    /// How many elements it should have.
    pub elements: usize,
    /// How many are wrong.
    pub wrong: usize,
    /// The largest distance in units of the last place; null where an element is not a number.
    pub largest_ulps: Option<u64>,
    /// The largest error of an element that is right, as a part of what is allowed.
    pub largest_error: f64,
    /// The worst of those that are wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub worst: Vec<Worst>,
}

/// A wrong element. Numbers that JSON does not have are null.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Worst {
    /// Along each axis of the buffer.
    pub index: Vec<u64>,
    /// What is right.
    pub expected: Option<f64>,
    /// What was computed.
    pub got: Option<f64>,
    /// The distance in units of the last place.
    pub ulps: Option<u64>,
    #[serde(skip)]
    pub texts: [String; 2],
}

impl Worst {
    /// An element of a buffer of this shape.
    pub fn new(place: usize, expected: f64, got: f64, ulps: Option<u64>, shape: &[u64]) -> Worst {
        let finite = |value: f64| value.is_finite().then_some(value);
        Worst {
            index: axes(place as u64, shape),
            expected: finite(expected),
            got: finite(got),
            ulps,
            texts: [expected, got].map(shown),
        }
    }
}

fn shown(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        1e-3..1e7 => format!("{value:.7}")
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned(),
        _ if value.is_finite() => format!("{value:.6e}"),
        _ => value.to_string(),
    }
}

/// A place along the axes of a shape.
fn axes(place: u64, shape: &[u64]) -> Vec<u64> {
    let mut rest = place;
    let mut axes: Vec<u64> = Vec::new();
    for length in shape.iter().skip(1).rev() {
        let length = (*length).max(1);
        axes.push(rest % length);
        rest /= length;
    }
    axes.push(rest);
    axes.reverse();
    axes
}

impl Verdict {
    /// The verdict, and the worst elements.
    pub fn text(&self, kernel: &str, view: &View) -> String {
        let mut out = String::new();
        for output in &self.outputs {
            let (wrong, all) = (
                grouped(output.wrong as u64),
                grouped(output.elements as u64),
            );
            let line = match output.wrong {
                0 => format!(
                    "{kernel} is right: all {all} elements of {} agree with {}",
                    output.name, self.by
                ),
                _ => format!(
                    "{kernel} is wrong: {wrong} of {all} elements of {} differ from {}",
                    output.name, self.by
                ),
            };
            let role = if output.wrong == 0 {
                Role::Good
            } else {
                Role::Bad
            };
            for line in assay_report::wrap::wrap(&line, view.width, 0) {
                let _ = writeln!(out, "{}", view.painter.paint(role, &line));
            }
            if output.wrong > 0 {
                out += &output.table();
            }
        }
        let largest = self
            .outputs
            .iter()
            .map(|it| it.largest_error)
            .fold(0.0, f64::max);
        let part = match self.right {
            true if largest > 0.0 => {
                format!("; the largest error is {:.0} % of that", largest * 100.0)
            }
            _ => String::new(),
        };
        let allowed = format!("allowed: {}{part}", self.allowed);
        out += &assay_report::wrap::wrap(&allowed, view.width, 2).join("\n");
        out.push('\n');
        out
    }
}

impl Judged {
    fn table(&self) -> String {
        let mut out = format!(
            "  {:>16}  {:>15}  {:>15}  {:>10}\n",
            "element", "expected", "got", "ulps"
        );
        for worst in &self.worst {
            let index: Vec<String> = worst.index.iter().map(u64::to_string).collect();
            let ulps = worst.ulps.map_or("–".to_owned(), |ulps| match ulps {
                0..1_000_000 => ulps.to_string(),
                _ => "> 10⁶".to_owned(),
            });
            let [expected, got] = &worst.texts;
            let place = format!("{}[{}]", self.name, index.join(", "));
            let _ = writeln!(out, "  {place:>16}  {expected:>15}  {got:>15}  {ulps:>10}");
        }
        if let Some(more @ 1..) = self.wrong.checked_sub(self.worst.len()) {
            let _ = writeln!(out, "  and {} more", grouped(more as u64));
        }
        out
    }
}
