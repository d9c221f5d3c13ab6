//! Where the GPU's time goes.

mod capture;
mod error;
mod events;
mod load;
mod recording;
mod source;
mod tables;
mod timing;
mod toc;
mod xml;

pub use error::{Error, Problem};
pub use events::*;
pub use load::{LoadOptions, Loader};
pub use recording::{Origin, Recording, TableRead, Thread, Warning};
pub use source::Source;
pub use toc::{TocProcess, TocRun, read_toc};
pub use xml::builder::Frame;
pub use xml::header::{Column, Header};
pub use xml::text::{TextId, Texts};
