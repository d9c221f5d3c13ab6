//! Figures of two profiles: those that decide, and those that explain.

use crate::context::Context;
use assay_profile::{Change, Difference, Figures, Weight, compare, number};
use assay_report::style::Role;
use assay_report::table::{Cell, Column, Table};
use serde::Serialize;

#[cfg(test)]
use schemars::JsonSchema;

/// One kernel before and after.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(crate) struct Comparison {
    /// The kernel.
    pub(super) name: String,
    /// `changed`, `same`, `added` or `removed`.
    pub(super) status: &'static str,
    /// Predicted times of both, where a launch is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) predicted: Option<Box<assay_predict::Compared>>,
    /// Why there is no predicted time, if one was to be expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) not_predicted: Option<String>,
    /// Figure by figure.
    pub(super) figures: Vec<Difference>,
}

impl Comparison {
    pub(crate) fn new(
        name: &str,
        before: Option<Figures>,
        after: Option<Figures>,
        tolerance: f64,
    ) -> Comparison {
        let empty = Figures::new();
        let figures = compare(
            before.as_ref().unwrap_or(&empty),
            after.as_ref().unwrap_or(&empty),
            tolerance,
        );
        let status = match (&before, &after) {
            (None, _) => "added",
            (_, None) => "removed",
            _ if figures.iter().all(|d| d.change == Change::Same) => "same",
            _ => "changed",
        };
        Comparison {
            name: name.to_owned(),
            status,
            predicted: None,
            not_predicted: None,
            figures,
        }
    }

    pub(crate) fn is_changed(&self) -> bool {
        self.status != "same"
    }

    /// Returns true if a figure that decides, or the predicted time, became worse.
    pub(super) fn is_hurt(&self) -> bool {
        match &self.predicted {
            Some(predicted) => {
                use assay_predict::Call::{ProbablySlower, Slower};
                matches!(predicted.call, Slower | ProbablySlower)
            }
            None => self.deciding(Change::Hurt) > 0,
        }
    }

    /// What a figure is worth here: where there is a predicted time, figures only explain it.
    pub(super) fn weight(&self, difference: &Difference) -> Weight {
        match self.predicted {
            Some(_) => Weight::Explains,
            None => difference.weight,
        }
    }

    fn deciding(&self, change: Change) -> usize {
        let decide = self.figures.iter().filter(|d| d.weight == Weight::Decides);
        decide.filter(|d| d.change == change).count()
    }

    /// What the figures that decide say together.
    pub(super) fn verdict(&self) -> &'static str {
        match (
            self.deciding(Change::Helped) > 0,
            self.deciding(Change::Hurt) > 0,
        ) {
            (true, false) => "what decides became better; a launch gives the time",
            (false, true) => "what decides became worse; a launch gives the time",
            (true, true) => {
                "what decides contradicts itself: only a launch tells which is faster (--grid, --threadgroup, or a \
                 comment // assay: launch in both sources)"
            }
            (false, false) => "nothing that decides changed",
        }
    }
}

/// Changed figures of every kernel.
pub(crate) fn table(comparisons: &[Comparison], context: &Context) -> String {
    render(comparisons, false, usize::MAX, context)
}

/// Figures by kernel, those that decide first; after `most` rows their number.
pub(super) fn render(
    comparisons: &[Comparison],
    all: bool,
    most: usize,
    context: &Context,
) -> String {
    let mut table = Table::new([
        Column::left("kernel").shrink(),
        Column::left("figure (modelled)"),
        Column::right("before"),
        Column::right("after"),
        Column::right("change"),
        Column::left(""),
    ])
    .painter(context.painter);
    let mut left_out = 0;
    for comparison in comparisons {
        let mut name = comparison.name.as_str();
        if matches!(comparison.status, "added" | "removed") {
            table.row([
                Cell::from(name),
                "".into(),
                "".into(),
                "".into(),
                "".into(),
                Cell::new(comparison.status, Role::Warn),
            ]);
            continue;
        }
        for (weight, heading) in [
            (Weight::Decides, "what decides"),
            (Weight::Explains, "what explains"),
        ] {
            let shown = comparison.figures.iter().filter(|difference| {
                comparison.weight(difference) == weight
                    && (all || difference.change != Change::Same)
            });
            let shown: Vec<&Difference> = shown.collect();
            if shown.is_empty() {
                continue;
            }
            if table.len() >= most {
                left_out += shown.len();
                continue;
            }
            table.row([
                Cell::from(name),
                Cell::new(heading, Role::Heading),
                "".into(),
                "".into(),
                "".into(),
                "".into(),
            ]);
            name = "";
            for difference in shown {
                match table.len() < most {
                    true => table.row(row(difference, weight)),
                    false => {
                        left_out += 1;
                        continue;
                    }
                };
            }
        }
    }
    let mut out = table.render(context.width);
    if left_out > 0 {
        out += &format!("and {left_out} more figures: --full\n");
    }
    out
}

fn row(difference: &Difference, weight: Weight) -> [Cell; 6] {
    let value = |value: Option<f64>| value.map_or("–".to_owned(), number);
    let share = difference.relative;
    let share = share.map_or(String::new(), |share| format!("{:+.1} %", share * 100.0));
    [
        "".into(),
        format!("  {}", difference.figure).into(),
        value(difference.before).into(),
        value(difference.after).into(),
        share.into(),
        word(difference, weight),
    ]
}

/// Only a figure that decides is better or worse.
fn word(difference: &Difference, weight: Weight) -> Cell {
    let role = match difference.change {
        Change::Helped => Role::Good,
        Change::Hurt => Role::Bad,
        Change::Same => Role::Dim,
        Change::Unknown => Role::Warn,
    };
    match (weight, difference.change) {
        (Weight::Explains, Change::Helped | Change::Hurt) => "".into(),
        (_, change) => Cell::new(change.name(), role),
    }
}
