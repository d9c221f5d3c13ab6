//! Kernels of the registry, one after the other: examined, timed in turns with references, put on the board.
//!
//! [`run`] does what `assay bench` asks for and gives a [`Report`]; [`verify`] runs the holders of records again; [`mutants`]
//! tests the examination itself; [`prediction`] executes kernels of the registry for predicted times; [`calibrate`] measures the
//! constants of the model. What they need of the
//! machine is a [`World`]: this crate reads no arguments or environment and prints nothing.

// Its items are used by the program, which shows the documents; their fields are described where readers meet them.
#![allow(missing_docs)]
// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

mod alone;
pub mod calibrate;
mod capsule;
mod challenge;
mod describe;
mod engine;
mod environment;
mod html;
mod includes;
mod modelled;
pub mod mutants;
pub mod new;
pub mod prediction;
mod profile;
mod question;
mod references;
mod report;
mod resume;
mod saver;
mod score;
pub mod select;
mod table;
mod text;
mod turn;
pub mod verify;
mod work;
mod world;

pub use capsule::{Capsule, HOLDERS, OUTCOMES};
pub use describe::{Planned, describe, list, planned};
pub use engine::device_name;
pub use environment::{Environment, Mac};
pub use includes::whole;
pub use question::{Own, Question};
pub use references::Choice;
pub use report::{OnBoard, Report, Row};
pub use resume::fresh_seed;
pub use saver::Saver;
pub use score::Target;
pub use work::run;
pub use world::{Clang, Listener, World};

// The errors of the engine; files here use `Error` for those of devices.
pub(crate) use assay_engine::{Error as Failure, Kind};

/// A board's error, with its advice.
pub fn board_error(error: assay_board::Error) -> assay_engine::Error {
    let advice = error.advice();
    Failure::input(error.to_string()).advised(advice)
}
