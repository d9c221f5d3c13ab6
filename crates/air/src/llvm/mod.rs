//! LLVM bitcode as data: modules, functions, instructions, metadata.
//!
//! [`read()`] turns the bytes of a `.bc` or `.air` file into [`Module`]s. It knows what Apple's Metal
//! compiler writes (typed pointers, a wrapper header) and what clang 17 to 22 write (opaque pointers,
//! debug records). Everything a kernel can hold is decoded; what it cannot hold (exception handling,
//! inline assembly) is kept as a number, so that whoever meets it can say so.
//!
//! The reader is bounded by its input: every count in the stream is checked against the bits that are
//! left before anything is allocated, no recursion follows the input's nesting without a limit, and
//! every id is checked where it is used.

mod attribute;
mod instruction;
mod metadata;
mod module;
mod owned;
mod read;
mod types;
mod value;

pub use attribute::{AttributeTable, Attributes};
pub use instruction::{BinaryOp, BlockId, CastOp, FastMath, Instruction, NO_LOCATION, Op};
pub use metadata::{DebugLocation, Metadata, MetadataId, MetadataPool};
pub use module::{Alias, Body, Function, GlobalVariable, Module, WHOLE_FUNCTION};
pub use read::read;
pub use types::{Layout, Type, TypeId, TypeTable};
pub use value::{Constant, ConstantPool, Span, Value, ValueId, ValueKind};
