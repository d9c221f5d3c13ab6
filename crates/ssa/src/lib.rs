//! The SIMT program form all of Assay shares.
//!
//! A [`Module`] holds functions, kernels (entry points with their bindings), threadgroup and constant variables.
//! A [`Function`] is a list of blocks over typed values in static single assignment; control flow joins through
//! block parameters. The program of one thread is written down, and 32 of them (a simdgroup) run it in lockstep:
//! operations that involve other threads are *convergent*.
//!
//! * [`Builder`] makes functions, [`verify`] checks them, [`print()`] writes the text form and [`parse`] reads it.
//! * [`builtin`] is the one table of what kernels can call.
//! * [`analysis`] has dominators, loops, uniformity and address-space inference.
//!
//! What a number is, how an operation rounds, is `assay-num`'s business; what an operation *does* is said here.

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

pub mod analysis;
pub mod builtin;

mod aggregate;
mod builder;
mod constants;
mod copy;
mod flags;
mod function;
mod import;
mod inst;
mod kernel;
mod location;
mod memory;
mod module;
mod ops;
mod pool;
mod text;
mod ty;
mod verify;
mod visit;

pub use aggregate::{Aggregate, Aggregates, Field};
pub use analysis::Uniformity;
pub use assay_graph::id;
pub use builder::Builder;
pub use builtin::{Builtin, BuiltinCall};
pub use flags::Flags;
pub use function::{
    BlockData, ConstElements, Function, FunctionAttributes, LoopHint, ValueData, ValueDef,
};
pub use id::{Id, IdMap, IdSet, IdVec};
pub use inst::{
    Block, BlockCall, Callee, FunctionId, IndexExtend, IndexList, Inst, InstData, SwitchCases,
    SwitchId, Symbol, UNDEF_LANE, Value, ValueList,
};
pub use kernel::{Argument, ArgumentAccess, Binding, Kernel, Member, MemberKind};
pub use location::{FileId, Loc, Location, Locations, NameId};
pub use memory::{Access, AliasId, AliasSet, AtomicOp, BarrierMemory, Ordering, Scope};
pub use module::{
    FloatMode, FunctionConstant, FunctionConstantId, Global, GlobalData, GlobalId, Module,
};
pub use ops::{BinaryOp, CastOp, FloatCond, IntCond, TernaryOp, UnaryOp};
pub use text::ParseError;
pub use text::parse::parse;
pub use text::print::{print_function, print_inst};
pub use text::print_module::print;
pub use ty::{AggregateId, MAX_VECTOR_LANES, Scalar, Space, Type, TypeKind};
pub use verify::{VerifyError, verify, verify_function};
pub use visit::InstEffects;
