//! The figures that may not grow: one row each.

use crate::rules;

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Less.
    Less,
    /// More.
    More,
}

/// A figure of a kernel. All of them are modelled: of generated code, or predicted.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Its name in configurations and documents.
    pub name: &'static str,
    /// What it is, for tables.
    pub meaning: &'static str,
    /// Which way is better.
    pub better: Better,
    /// Per cent it may become worse by, when nobody says otherwise; `None` if it is only shown.
    pub tolerance: Option<f64>,
    /// The rule that is broken when it becomes worse by more.
    pub rule: &'static str,
}

/// The name of the predicted time, which is kept per chip and size and not among the figures of the code.
pub(crate) const TIME: &str = "time";

/// Every figure, in the order of the tables.
pub const FIGURES: &[Figure] = &[
    Figure {
        name: TIME,
        meaning: "predicted time, µs",
        better: Better::Less,
        tolerance: Some(5.0),
        rule: rules::SLOWER,
    },
    Figure {
        name: "registers",
        meaning: "half-registers a thread is given",
        better: Better::Less,
        tolerance: Some(10.0),
        rule: rules::REGISTERS_GREW,
    },
    Figure {
        name: "occupancy",
        meaning: "threads per core",
        better: Better::More,
        tolerance: Some(0.0),
        rule: rules::OCCUPANCY_FELL,
    },
    Figure {
        name: "spills",
        meaning: "bytes of spilled registers per thread",
        better: Better::Less,
        tolerance: Some(0.0),
        rule: rules::SPILLS_GREW,
    },
    Figure {
        name: "loop_instructions",
        meaning: "instructions in the hot loop",
        better: Better::Less,
        tolerance: Some(10.0),
        rule: rules::HOT_LOOP_GREW,
    },
    Figure {
        name: "instructions",
        meaning: "instructions in all",
        better: Better::Less,
        tolerance: None,
        rule: rules::CODE_GREW,
    },
];

impl Figure {
    /// The figure of a name.
    pub fn named(name: &str) -> Option<&'static Figure> {
        FIGURES.iter().find(|figure| figure.name == name)
    }

    /// How much worse, in per cent of what was before: negative for better. From nothing to something is infinitely worse.
    pub(crate) fn worsening(&self, before: f64, after: f64) -> f64 {
        let worse = match self.better {
            Better::Less => after - before,
            Better::More => before - after,
        };
        if worse == 0.0 {
            0.0
        } else if before == 0.0 {
            worse.signum() * f64::INFINITY
        } else {
            worse / before.abs() * 100.0
        }
    }
}

/// Refuses a name that is not a figure's.
pub(crate) fn known(table: &str, name: &str) -> Result<(), String> {
    if Figure::named(name).is_some() {
        return Ok(());
    }
    let names: Vec<&str> = FIGURES.iter().map(|figure| figure.name).collect();
    Err(format!(
        "{table}: `{name}` is no figure; there are {}",
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losing_threads_is_worse_and_so_is_the_first_spill() {
        let figure = |name| Figure::named(name).unwrap();
        assert_eq!(figure("occupancy").worsening(1024.0, 896.0), 12.5);
        assert_eq!(figure("registers").worsening(40.0, 30.0), -25.0);
        assert_eq!(figure("spills").worsening(0.0, 8.0), f64::INFINITY);
        assert_eq!(figure("spills").worsening(0.0, 0.0), 0.0);
    }
}
