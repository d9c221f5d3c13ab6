//! Where the GPU's time goes.

mod analysis;
mod capture;
mod error;
mod events;
mod findings;
mod load;
mod recording;
mod render;
mod source;
mod tables;
mod timing;
mod toc;
mod xml;

pub use analysis::document;
pub use analysis::document::{Analysis, VerdictKind};
pub use analysis::gaps::Cause;
pub use analysis::labels::label_family;
pub use analysis::{Options, analyze};
pub use error::{Error, Problem};
pub use events::*;
pub use findings::{Rule, rules};
pub use load::{LoadOptions, Loader};
pub use recording::{Origin, Recording, TableRead, Thread, Warning};
pub use render::markdown::report_markdown;
pub use render::text::{TextStyle, report_text};
pub use source::Source;
pub use toc::{TocProcess, TocRun, read_toc};
pub use xml::builder::Frame;
pub use xml::header::{Column, Header};
pub use xml::text::{TextId, Texts};
