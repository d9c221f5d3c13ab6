//! The pipeline a piece of machine code was compiled for.
//!
//! The section `__TEXT,__descriptor` of an image is a FlatBuffer with the identifier
//! `AIRP`; its root's field 3 is the pipeline, whose field 0 names the function.

use crate::flatbuffer::Table;
use crate::view::View;
use std::borrow::Cow;

const IDENTIFIER: &[u8; 4] = b"AIRP";
const PIPELINE: u16 = 3;
const FUNCTION_NAME: u16 = 0;

/// The name of a compute pipeline's function.
pub(crate) fn function_name(section: View<'_>) -> Option<Cow<'_, str>> {
    if section.bytes().get(4..8)? != IDENTIFIER {
        return None;
    }
    let pipeline = Table::root(section).ok()?.table(PIPELINE)?;
    let name = pipeline.string(FUNCTION_NAME)?;
    (!name.is_empty() && !name.contains(char::is_control)).then_some(name)
}
