//! Providers: whoever answers requests.

pub mod command;
#[cfg(feature = "http")]
pub mod http;
pub mod script;
pub mod stream;
pub mod wire;

use crate::chat::{Answer, Request};
use crate::error::Error;

/// Answers requests. A provider knows its address and key; requests know neither.
pub trait Provider: Send + Sync {
    /// Its name in messages: `anthropic`, or a server's address.
    fn name(&self) -> String;

    /// Returns true if answers depend on the order of requests, so that they are asked one after the other.
    fn is_ordered(&self) -> bool {
        false
    }

    /// Is told that an earlier run had the next answer already.
    fn skip(&self) {}

    /// Asks once. `heard` is told how many bytes of the answer have come so far; it returns false to stop.
    fn complete(
        &self,
        request: &Request,
        heard: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Answer, Error>;
}
