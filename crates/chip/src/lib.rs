//! Facts about Apple GPUs, as data.
//!
//! Three things, each a table under `data/` with the source of every row:
//!
//! - [`chips`]: M1 to M5 with their variants. A figure nobody published is absent,
//!   never 0: [`Chip::figure`] returns an `Option`.
//! - [`CostTable`]: what an instruction occupies and how long its result takes.
//!   There are two, and they disagree on purpose: [`CostModel::Measured`] for
//!   predictions, [`CostModel::Mesa`] to reproduce what Mesa's compiler prints.
//! - [`occupancy`]: how many threads fit on a core, what limits them, and what it
//!   takes to fit more.
//!
//! ```
//! use assay_chip::{Chip, CostModel, Key, Parameter};
//!
//! let m2 = Chip::named("m2")?.with("clock_ghz=1.4")?;
//! assert_eq!(m2.get(Parameter::ClockGhz), Some(1.4));
//! let costs = m2.costs(CostModel::Measured)?;
//! assert_eq!(costs.get(Key::Fmadd32).cycles, Some(1.0));
//!
//! let refused = Chip::named("m4")?.costs(CostModel::Measured).unwrap_err();
//! assert!(refused.to_string().contains("no cost table"));
//! # Ok::<(), assay_chip::Error>(())
//! ```
//!
//! [`Key::of`] finds the row of an instruction:
//!
//! ```
//! use assay_agx::{Instruction, Isa};
//! use assay_chip::{CostModel, CostTable, Key};
//! let stop = Instruction::decode(Isa::G13, &[0x88, 0x00])?;
//! assert_eq!(Key::of(&stop), Key::Stop);
//! assert_eq!(CostTable::of(CostModel::Measured).get(Key::of(&stop)).dispatch, Some(1.0));
//! # Ok::<(), assay_agx::DecodeError>(())
//! ```
//!
//! # How far to trust it
//!
//! The measured costs come from microbenchmarks on M1 and M2 by others. Throughputs
//! are the solid part. Latencies are harder to measure: a second set of measurements,
//! of dependent chains on an M1, is within 10 % of them for single-precision adds,
//! integer products and exponentials, within 26 % for the other multiply-adds, 1.3 to
//! 1.7 times as long for reductions, reciprocals and square roots, and 3.7 times as
//! long for shuffles; the rows say so. Costs of memory and control instructions beyond their
//! issue slot are not published and therefore unknown.

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

mod chip;
mod classify;
mod core;
mod cost;
mod error;
mod key;
mod model;
pub mod occupancy;
mod parameter;
mod source;
mod table;

pub use chip::{Chip, DEFAULT_CHIP, Figure, chips};
pub use classify::{NO_COST, OPS};
pub use core::CoreFacts;
pub use cost::{Basis, Cost, CostModel, CostTable, Unit};
pub use error::Error;
pub use key::Key;
pub use model::{ModelConstant, model_constants};
pub use parameter::Parameter;
pub use source::{Source, sources};
