//! A recording for other programs: Chrome trace JSON, CSV.

mod chrome;
mod csv;
mod raw;

pub use chrome::write_chrome;
pub use csv::{CsvTable, write_csv};
pub use raw::write_raw_csv;
