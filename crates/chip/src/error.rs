//! What can be asked for in vain.

use crate::{CostModel, Parameter};

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No such chip.
    #[error("no chip named `{asked}`; known are {known}")]
    UnknownChip {
        /// The name given.
        asked: String,
        /// The names there are.
        known: String,
    },
    /// No such parameter.
    #[error("no parameter named `{asked}`; known are {known}")]
    UnknownParameter {
        /// The name given.
        asked: String,
        /// The names there are.
        known: String,
    },
    /// An override that is not `NAME=VALUE`.
    #[error("`{asked}` is not NAME=VALUE, such as clock_ghz=1.4")]
    BadOverride {
        /// The text given.
        asked: String,
    },
    /// A value the parameter cannot have.
    #[error("{} cannot be `{value}`: {rule}", parameter.name())]
    BadValue {
        /// The parameter.
        parameter: Parameter,
        /// The value given.
        value: String,
        /// What it must be.
        rule: &'static str,
    },
    /// No such cost table.
    #[error("no cost table named `{asked}`; there are measured and mesa")]
    UnknownCosts {
        /// The name given.
        asked: String,
    },
    /// A chip whose register steps are unknown.
    #[error(
        "occupancy on {chip} is unknown: how registers limit threads on Metal GPU family \
         {family} is not published; it is for families 7 and 8 (M1, M2)"
    )]
    NoOccupancy {
        /// The chip's title.
        chip: &'static str,
        /// Its Metal GPU family.
        family: u8,
    },
    /// A chip without instruction costs.
    #[error(
        "no cost table `{model}` for {chip}: nobody has published instruction costs of Metal GPU \
         family {family}. Known of it: {known}. Cycles are available for {available}"
    )]
    NoCosts {
        /// The table asked for.
        model: CostModel,
        /// The chip's title.
        chip: &'static str,
        /// Its Metal GPU family.
        family: u8,
        /// What is known of the chip.
        known: String,
        /// The chips with costs.
        available: String,
    },
}
