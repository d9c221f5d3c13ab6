//! The board: what has been verified about kernels, and what beats what.
//!
//! A board is one SQLite file, or, for a team, tables of a PostgreSQL server (feature `postgres`). What competes is a *place* ([`Place`]): a kernel as described, in an element type, at
//! certain sizes, on a device, by one clock, measured in one way. At a place each source, by its hash, has any number of runs, and one source holds the record.
//!
//! - [`Outcome`] is a run that may enter: only a right verdict and steady results make one.
//! - [`Board::record`] writes it and says where it stands. A record changes hands only after races in turns with the
//!   holder ([`Raced`]) that all say so, and never to the source that holds it.
//! - [`Filter`] and [`Board::entries`] read; [`render`] shows.
//! - [`import`] takes other people's figures as [`Claim`]s. They have a table of their own, so no query can rank them
//!   with what was verified here.
//! - [`Modelled`] times are predictions. They have a table of their own too, and are never compared with a clock's.
//! - [`verify`] compares a new run with what the board says.
//! - [`Board::copy_to`] copies a board into another database, and compares them.
//! - [`Wire`] carries an [`Outcome`] from the machine that measured it to whoever keeps the board.
//!
//! The figure of a source is its *middle* run, not its fastest: the best of many runs is luck as much as speed.

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

mod claim;
mod clock;
mod copy;
mod entry;
mod error;
pub mod import;
mod modelled;
mod outcome;
mod place;
mod query;
mod record;
pub mod render;
mod schema;
mod sql;
mod store;
pub mod verify;
mod wire;

pub use claim::{Claim, Imported};
pub use clock::utc;
pub use copy::Copied;
pub use entry::{Beaten, Device, Entry, Reference, Run};
pub use error::Error;
pub use modelled::Modelled;
pub use outcome::{Outcome, Raced, Refused, Setting, Subject, Timed};
pub use place::{Place, Provenance};
pub use query::Filter;
pub use record::{Change, Held, LEAST, ROUNDS, Recorded, Standing};
pub use store::Board;
pub use wire::{Holder, Wire};
