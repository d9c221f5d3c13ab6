//! The text form: written by [`print`](print::print), read by `parse`. Reading what was written and writing it again gives the same text.

pub(crate) mod print;
