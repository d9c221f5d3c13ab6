//! Instruction costs.

use crate::{Error, Key, Source, table};
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

/// Which cost table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum CostModel {
    /// Measured on M1 and M2: for predictions.
    #[default]
    Measured,
    /// Mesa's static model: to reproduce the statistics its compiler prints.
    Mesa,
}

impl CostModel {
    /// Both tables.
    pub const ALL: [CostModel; 2] = [CostModel::Measured, CostModel::Mesa];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            CostModel::Measured => "measured",
            CostModel::Mesa => "mesa",
        }
    }
}

impl fmt::Display for CostModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for CostModel {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let found = CostModel::ALL
            .into_iter()
            .find(|model| model.name() == text);
        found.ok_or_else(|| Error::UnknownCosts {
            asked: text.to_owned(),
        })
    }
}

/// The part of a core an instruction occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "lowercase")
)]
pub enum Unit {
    /// Single-precision arithmetic.
    F32,
    /// Half-precision arithmetic.
    F16,
    /// Selects, compares, integer adds, bitwise operations, moves, cross-lane.
    Scib,
    /// Integer multiplication, shifts, conversions, transcendentals. Runs beside
    /// the other arithmetic units.
    Ic,
    /// Loads, stores, atomics, textures.
    Memory,
    /// Jumps, execution masks, waits, barriers.
    Control,
}

impl Unit {
    /// Every unit.
    pub const ALL: [Unit; 6] = [
        Unit::F32,
        Unit::F16,
        Unit::Scib,
        Unit::Ic,
        Unit::Memory,
        Unit::Control,
    ];

    /// The name in tables and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Unit::F32 => "F32",
            Unit::F16 => "F16",
            Unit::Scib => "SCIB",
            Unit::Ic => "IC",
            Unit::Memory => "memory",
            Unit::Control => "control",
        }
    }

    fn named(name: &str) -> Option<Unit> {
        Unit::ALL.into_iter().find(|unit| unit.name() == name)
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a cost is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum Basis {
    /// Measured on hardware.
    Measured,
    /// Concluded from measurements of related operations.
    Derived,
    /// Not measured; the note says what stands in.
    Assumed,
    /// Fitted to measured times; the note says to which and how well it is determined.
    Fitted,
    /// Part of Mesa's model.
    Modelled,
    /// Outside Mesa's model, which counts it as 0.
    LeftOut,
}

impl Basis {
    const ALL: [Basis; 6] = [
        Basis::Fitted,
        Basis::Measured,
        Basis::Derived,
        Basis::Assumed,
        Basis::Modelled,
        Basis::LeftOut,
    ];

    pub(crate) fn named(name: &str) -> Option<Basis> {
        Basis::ALL.into_iter().find(|known| known.name() == name)
    }

    /// The name in tables and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Basis::Measured => "measured",
            Basis::Derived => "derived",
            Basis::Assumed => "assumed",
            Basis::Fitted => "fitted",
            Basis::Modelled => "modelled",
            Basis::LeftOut => "left-out",
        }
    }
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What an instruction costs. Cycles are per simdgroup instruction per scheduler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// The row.
    pub key: Key,
    /// What it occupies.
    pub unit: Unit,
    /// For how many cycles; `None` when unknown.
    pub cycles: Option<f64>,
    /// Issue slots of its scheduler. An IC operation takes one and then runs beside
    /// the others; elsewhere the unit is the scheduler's own and this equals `cycles`.
    pub dispatch: Option<f64>,
    /// Cycles until a dependent instruction can issue; `None` when unknown.
    pub latency: Option<f64>,
    /// How this is known.
    pub basis: Basis,
    /// Who published it.
    pub source: Source,
    /// What to know about it; the reason when something is unknown.
    pub note: &'static str,
}

/// A row for every [`Key`].
#[derive(Clone, Debug)]
pub struct CostTable {
    model: CostModel,
    rows: Vec<Cost>,
}

impl CostTable {
    /// The table with this name.
    pub fn of(model: CostModel) -> &'static CostTable {
        static MEASURED: LazyLock<CostTable> =
            LazyLock::new(|| CostTable::read(CostModel::Measured, MEASURED_ROWS));
        static MESA: LazyLock<CostTable> =
            LazyLock::new(|| CostTable::read(CostModel::Mesa, MESA_ROWS));
        match model {
            CostModel::Measured => &MEASURED,
            CostModel::Mesa => &MESA,
        }
    }

    /// Which table this is.
    pub fn model(&self) -> CostModel {
        self.model
    }

    /// The cost of a key.
    pub fn get(&self, key: Key) -> Cost {
        self.rows
            .get(key.index())
            .copied()
            .unwrap_or_else(|| no_row(key))
    }

    /// Every row, in order.
    pub fn rows(&self) -> &[Cost] {
        &self.rows
    }

    /// What is wrong with the table: keys without a row, and unknown costs without
    /// a reason. Empty when every key has a cost or says why not.
    pub fn check(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for key in Key::ALL {
            let cost = self.get(*key);
            let missing = cost.note == NO_ROW;
            let unknown =
                cost.cycles.is_none() || cost.dispatch.is_none() || cost.latency.is_none();
            if missing {
                faults.push(format!("{key} has no row in table {}", self.model));
            } else if unknown && cost.note.is_empty() {
                faults.push(format!("{key} has an unknown cost and no reason for it"));
            }
        }
        faults
    }

    fn read(model: CostModel, text: &'static str) -> CostTable {
        let mut rows: Vec<Cost> = Key::ALL.iter().map(|&key| no_row(key)).collect();
        for row in table::rows(text).filter_map(parse) {
            if let Some(place) = rows.get_mut(row.key.index()) {
                *place = row;
            }
        }
        CostTable { model, rows }
    }
}

const MEASURED_ROWS: &str = include_str!("../data/measured.tsv");
const MESA_ROWS: &str = include_str!("../data/mesa.tsv");
const NO_ROW: &str = "no row in the table";

/// A key the table forgot: unknown in everything, and [`CostTable::check`] says so.
fn no_row(key: Key) -> Cost {
    Cost {
        key,
        unit: Unit::Control,
        cycles: None,
        dispatch: None,
        latency: None,
        basis: Basis::Assumed,
        source: Source::USER,
        note: NO_ROW,
    }
}

fn parse(
    [key, unit, cycles, dispatch, latency, basis, source, note]: [&'static str; 8],
) -> Option<Cost> {
    Some(Cost {
        key: Key::named(key)?,
        unit: Unit::named(unit)?,
        cycles: table::number(cycles),
        dispatch: table::number(dispatch),
        latency: table::number(latency),
        basis: Basis::named(basis)?,
        source: Source::named(source)?,
        note,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_a_row_in_both_tables_and_every_row_a_key() {
        for (model, text) in [
            (CostModel::Measured, MEASURED_ROWS),
            (CostModel::Mesa, MESA_ROWS),
        ] {
            assert_eq!(CostTable::of(model).check(), Vec::<String>::new());
            let rows: Vec<Cost> = table::rows(text).filter_map(parse).collect();
            assert_eq!(rows.len(), table::line_count(text));
            assert_eq!(rows.len(), Key::ALL.len());
        }
    }

    #[test]
    fn a_forgotten_row_fails_the_check() {
        let table = CostTable::read(CostModel::Mesa, "heading\n");
        assert_eq!(table.check().len(), Key::ALL.len());
    }

    #[test]
    fn only_ic_operations_run_beside_their_dispatch() {
        for model in CostModel::ALL {
            for cost in CostTable::of(model).rows() {
                let arithmetic = matches!(cost.unit, Unit::F32 | Unit::F16 | Unit::Scib);
                if arithmetic && cost.cycles.is_some() {
                    assert_eq!(cost.cycles, cost.dispatch, "{model} {}", cost.key);
                }
            }
        }
    }

    #[test]
    fn the_tables_disagree_on_purpose() {
        let row = |model, key| CostTable::of(model).get(key);
        assert_eq!(row(CostModel::Measured, Key::Convert).cycles, Some(4.0));
        assert_eq!(row(CostModel::Mesa, Key::Convert).cycles, Some(0.0));
        assert_eq!(row(CostModel::Mesa, Key::Convert).basis, Basis::LeftOut);
        assert_eq!(row(CostModel::Mesa, Key::Imad32).cycles, Some(4.0));
        assert_eq!(row(CostModel::Mesa, Key::Rsqrt32).cycles, Some(8.0));
        assert_eq!(
            row(CostModel::Mesa, Key::SimdReduceAddF32).dispatch,
            Some(24.0)
        );
    }

    #[test]
    fn unknown_is_not_zero() {
        let unknown = CostTable::of(CostModel::Measured).get(Key::Unknown);
        assert_eq!((unknown.cycles, unknown.dispatch), (None, None));
        assert!(!unknown.note.is_empty());
    }
}
