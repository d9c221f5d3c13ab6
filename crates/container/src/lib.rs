//! Opens any Apple GPU file, by its content and not by its name.
//!
//! [`open`] looks at the bytes and says what they are:
//!
//! | content | what it is | module |
//! |---|---|---|
//! | [`Contents::Metallib`] | a library of AIR functions, magic `MTLB` | [`mtlb`] |
//! | [`Contents::Archive`] | a binary archive or `.gpubin`, magic `0xCBFEBABE` | [`fat`] |
//! | [`Contents::Image`] | a Mach-O for an Apple GPU, one slice of the above | [`image`] |
//! | [`Contents::Bitcode`] | an LLVM module, bare or wrapped | [`bitcode`] |
//! | [`Contents::Embedded`] | any other file that carries metallibs | [`embedded`] |
//! | [`Contents::Source`] | Metal source text | |
//! | [`Contents::Code`] | raw AGX machine code | |
//!
//! Listings, machine code as text, are read by [`listing`].
//!
//! [`Contents::program`] chooses a function and hands its machine code on as an
//! [`assay_agx::Program`]; [`mtlb::Function::bitcode`] is what an AIR reader takes.
//!
//! Everything is borrowed from the bytes given: nothing is copied, nothing is
//! decoded, and every range a file states is checked before it is used. Errors
//! carry the offset in the file.
//!
//! ```
//! # #[cfg(feature = "builder")] {
//! use assay_container::{Contents, open, builder::MetallibBuilder};
//! let bytes = MetallibBuilder::new().kernel("saxpy", b"BC\xC0\xDE").build();
//! let Contents::Metallib(library) = open(&bytes)? else { unreachable!() };
//! assert_eq!(library.functions()[0].name, "saxpy");
//! # }
//! # Ok::<(), assay_container::Error>(())
//! ```

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

pub mod bitcode;
#[cfg(feature = "builder")]
pub mod builder;
mod descriptor;
pub mod embedded;
mod error;
pub mod fat;
pub mod flatbuffer;
pub mod gpu;
pub mod image;
pub mod listing;
pub mod macho;
pub mod metadata;
pub mod mtlb;
mod open;
mod program;
mod select;
mod view;

pub use error::{Error, Problem};
pub use open::{Contents, open};
pub use program::{CodeSymbol, Extracted, raw_program};
pub use select::SelectError;
pub use view::View;
