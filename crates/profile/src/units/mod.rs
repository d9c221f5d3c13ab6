//! Manual pages of the units that reports speak of, shown by `assay explain UNIT`.
//!
//! One unit, one file: its module comment is the page.

mod complex;
mod control;
mod half;
mod issue;
mod memory;
mod scib;
mod single;

use assay_report::rule::Rule;

/// Every unit by the name that tables give it.
pub const UNITS: &[Rule] = &[
    Rule::new("issue", include_str!("issue.rs")),
    Rule::new("F32", include_str!("single.rs")),
    Rule::new("F16", include_str!("half.rs")),
    Rule::new("SCIB", include_str!("scib.rs")),
    Rule::new("IC", include_str!("complex.rs")),
    Rule::new("memory", include_str!("memory.rs")),
    Rule::new("control", include_str!("control.rs")),
];

#[cfg(test)]
mod tests {
    use super::UNITS;
    use assay_chip::Unit;

    #[test]
    fn every_unit_of_the_cost_tables_has_a_page() {
        for unit in Unit::ALL {
            let page = UNITS.iter().find(|page| page.id == unit.name());
            assert!(page.is_some(), "{} has no page", unit.name());
        }
    }
}
