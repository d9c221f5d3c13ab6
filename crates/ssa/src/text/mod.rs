//! The text form: written by [`print::print`], read by [`parse::parse`]. Reading what was written and writing it
//! again gives the same text.

mod cursor;
mod lex;
pub(crate) mod parse;
mod parse_function;
mod parse_inst;
pub(crate) mod print;

pub use lex::ParseError;
