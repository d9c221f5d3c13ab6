//! What a server of the Language Server Protocol knows between two messages: open documents, settings, errands.
//!
//! Its threads and what they do with the machine are the program's.

// Its fields are described where they are set.
#![allow(missing_docs)]

mod errand;
mod settings;
mod state;
pub mod uri;

pub use errand::Errand;
pub use settings::{Settings, client};
pub use state::{Client, Document, Outgoing, Shared, State};
