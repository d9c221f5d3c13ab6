//! Recordings of the timing library.

use crate::error::Error;
use crate::recording::Recording;

/// Larger ones are refused.
pub(crate) const LARGEST: u64 = 1 << 30;

pub(crate) fn read(_text: &[u8]) -> Result<Recording, Error> {
    Err(Error::Unrecognised("JSON of an unknown kind".to_owned()))
}
