//! Constants of the model that predicts GPU time.
//!
//! Unlike a [`Parameter`](crate::Parameter), which describes the chip, a constant
//! describes the model: it has a range in which a fit may move it, and says how well it
//! is known.

use crate::{Basis, Chip, Source, table};
use std::sync::LazyLock;

/// A constant of the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelConstant {
    /// The name used in tables and overrides.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// The range a fit may move it in.
    pub range: (f64, f64),
    /// How it is known.
    pub basis: Basis,
    /// Who published it.
    pub source: Source,
    /// What it is, and how well it is determined.
    pub note: &'static str,
}

const ROWS: &str = include_str!("../data/model.tsv");

/// Every constant with its scope, in the order of the table.
fn rows() -> &'static [(&'static str, ModelConstant)] {
    static ALL: LazyLock<Vec<(&'static str, ModelConstant)>> =
        LazyLock::new(|| table::rows(ROWS).filter_map(parse).collect());
    &ALL
}

fn parse(row: [&'static str; 8]) -> Option<(&'static str, ModelConstant)> {
    let [scope, name, value, low, high, basis, source, note] = row;
    let constant = ModelConstant {
        name,
        value: table::number(value)?,
        range: (table::number(low)?, table::number(high)?),
        basis: Basis::named(basis)?,
        source: Source::named(source)?,
        note,
    };
    Some((scope, constant))
}

/// The constants for a chip: of each name the row with the narrowest scope. A family takes what families before it have
/// rows for: an unmeasured constant is closer to that of the generation before than to that of the first.
///
/// ```
/// use assay_chip::{Chip, model_constants};
/// let constants = model_constants(&Chip::named("m2")?);
/// assert!(constants.iter().any(|constant| constant.name == "launch_us"));
/// # Ok::<(), assay_chip::Error>(())
/// ```
pub fn model_constants(chip: &Chip) -> Vec<ModelConstant> {
    let families = (1..=chip.family).map(|family| format!("family{family}"));
    let scopes = std::iter::once("all".to_owned()).chain(families);
    let mut found: Vec<ModelConstant> = Vec::new();
    for scope in scopes.chain([chip.name.to_owned()]) {
        for (_, constant) in rows().iter().filter(|(of, _)| **of == scope) {
            match found.iter_mut().find(|known| known.name == constant.name) {
                Some(known) => *known = *constant,
                None => found.push(*constant),
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chips;

    #[test]
    fn every_row_is_read_and_lies_in_its_range() {
        assert_eq!(rows().len(), table::line_count(ROWS));
        for (scope, constant) in rows() {
            let (low, high) = constant.range;
            let name = constant.name;
            assert!(low > 0.0 && low <= high, "{name}");
            assert!((low..=high).contains(&constant.value), "{name}");
            assert!(!constant.note.is_empty(), "{name}");
            let known = *scope == "all"
                || chips()
                    .iter()
                    .any(|c| c.name == *scope || format!("family{}", c.family) == *scope);
            assert!(known, "{scope}");
        }
    }

    #[test]
    fn a_family_takes_what_the_one_before_has_and_its_own_rows_first() {
        let value = |chip: &str, name: &str| {
            let all = model_constants(&crate::Chip::named(chip).unwrap());
            all.into_iter().find(|one| one.name == name).unwrap().value
        };
        for name in ["request_cycles", "local_row_cycles", "issue_efficiency"] {
            assert_eq!(value("m5", name), value("m4", name), "{name}");
            assert_eq!(value("m1", name), value("m2-pro", name), "{name}");
        }
        assert!(value("m5", "request_cycles") < value("m2", "request_cycles"));
        assert!(value("m5", "band_chip") > value("m4", "band_chip"));
    }

    #[test]
    fn every_constant_has_a_value_for_all_chips() {
        let everywhere = rows().iter().filter(|(scope, _)| *scope == "all").count();
        for chip in chips() {
            assert_eq!(model_constants(chip).len(), everywhere, "{}", chip.name);
        }
    }
}
