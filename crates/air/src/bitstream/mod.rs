//! The bit stream that carries LLVM bitcode: blocks in blocks, records of numbers.
//!
//! Numbers are stored in as few bits as the writer saw fit: fixed width, or *variable bit rate*
//! (chunks whose top bit says whether another follows). A record is either spelled out in VBR6, or
//! follows an *abbreviation*: a template defined earlier that says how each operand is stored. A block
//! says how many words it is long, so it can be skipped unread.
//!
//! Why not the `llvm-bitcode` crate: on damaged input its VBR reader shifts by 64 and more (a panic in
//! debug builds), runs of abbreviation definitions make it call itself without bound, its errors do not
//! say where, and it takes a reference-counted abbreviation for every record. This reader has none of
//! these, decodes into one reused buffer, and is all this crate needs.

mod abbreviation;
mod cursor;
mod reader;

pub use cursor::Cursor;
pub use reader::{Entry, Reader, Record};
