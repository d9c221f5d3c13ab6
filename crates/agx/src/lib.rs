//! The instruction sets of Apple's AGX GPUs: G13 and G14 (M1 and M2), and the one that G15, G16
//! and G17 share (M3, M4, A18), of which each encoding says how well it is known: [`Standing`].
//!
//! One declarative table per set describes every encoding. Decoding, encoding, text in both
//! directions and the properties of an instruction all interpret that table; no other
//! part of the project knows a bit position.
//!
//! ```
//! use assay_agx::{walk, Isa, Item};
//! let code = [0x62, 0x00, 0x00, 0x00, 0x88, 0x00];
//! let mut listing = String::new();
//! for (offset, item) in walk(Isa::G13, &code) {
//!     if let Item::Known(insn) = item {
//!         listing += &format!("{offset}: {}\n", insn.words(offset));
//!     }
//! }
//! assert_eq!(listing, "0: mov_imm r0l, 0\n4: stop\n");
//! ```
//!
//! | you want | look at |
//! |---|---|
//! | bytes to instructions | [`Instruction::decode`], [`walk`] |
//! | what it does | [`Instruction::op`], [`Instruction::get`] and the typed accessors |
//! | what it touches | [`Instruction::reads`], [`Instruction::writes`], [`Instruction::memory`], [`Instruction::flow`] |
//! | text | [`Instruction::words`], [`Instruction::text`], [`Instruction::parse`] |
//! | how well it is known | [`Instruction::standing`] |
//! | a new instruction | [`Builder`] |
//! | a whole source text | [`assemble`] |
//! | a whole kernel | [`Program`] |
//! | an operation whose encoding is not publicly known | [`Placeholder`] |

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

mod asm;
mod bits;
mod builder;
mod dispatch;
mod instruction;
mod isa;
mod kind;
mod line;
mod memo;
mod memory;
mod names;
mod op;
mod operand;
mod parse;
mod placeholder;
mod program;
mod properties;
#[cfg(test)]
mod random_tests;
mod regset;
mod semantics;
mod special;
mod standing;
mod table;
mod text;
mod token;
mod walk;

pub use asm::{AsmError, Assembly, assemble};
pub use builder::{Builder, EncodeError};
pub use instruction::{Argument, DecodeError, Encoded, Instruction, MAX_LENGTH};
pub use isa::{Family, Isa, UnsupportedIsa};
pub use memory::{AccessKind, MemoryAccess, Space};
pub use names::List;
pub use op::{Class, Op};
pub use operand::{Hint, MiniFloat, Modifiers, Operand, Predicate, Reg, Uniform, Width};
pub use parse::ParseError;
pub use placeholder::{Placeholder, Unencoded, UnencodedKind};
pub use program::{Axis, Binding, BoundValue, Call, Line, Program, SystemValue, UniformConstants};
pub use properties::{ExecEffect, Flow};
pub use regset::{HalfSet, RegSet, UniformSet};
pub use semantics::{
    AtomicOp, Compare, Condition, ConvertMode, FloatOrder, Format, Order, ReduceOp, Reduction,
    Scope, Shuffle, ShuffleKind,
};
pub use special::SpecialRegister;
pub use standing::{Standing, forms_of};
pub use table::{Field, Role};
pub use walk::{Item, Walk, walk};
