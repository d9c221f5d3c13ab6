//! The signature of a kernel: what a program that dispatches it must bind, and what it declares.

use crate::builtin::Builtin;
use crate::inst::FunctionId;
use crate::ty::Space;

/// An entry point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kernel {
    /// The name it is found under (Metal's `host_name`).
    pub name: String,
    /// Its function. The function's parameters are the arguments that have a [`Argument::param`].
    pub function: FunctionId,
    /// All arguments in source order.
    pub arguments: Vec<Argument>,
    /// `[[max_total_threads_per_threadgroup(n)]]`.
    pub max_threads: Option<u32>,
}

/// How an argument is bound.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Binding {
    /// `[[buffer(n)]]` in device or constant memory.
    Buffer(u32),
    /// `[[threadgroup(n)]]`: threadgroup memory sized at dispatch.
    Threadgroup(u32),
    /// `[[texture(n)]]`.
    Texture(u32),
    /// `[[sampler(n)]]`.
    Sampler(u32),
    /// A position or size such as `[[thread_position_in_grid]]`. In the program these are read by
    /// calling the builtin, never through a parameter.
    Builtin(Builtin),
    /// `[[stage_in]]` attribute.
    StageIn(u32),
    /// Something else, kept by its AIR name in [`Argument::type_name`].
    Other,
}

/// Whether an argument is read or written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ArgumentAccess {
    /// Not said.
    #[default]
    Unknown,
    /// Only read.
    Read,
    /// Only written.
    Write,
    /// Read and written.
    ReadWrite,
}

impl ArgumentAccess {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Unknown, Self::Read, Self::Write, Self::ReadWrite];

    /// The word in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Read => "read",
            Self::Write => "write",
            Self::ReadWrite => "read_write",
        }
    }
}

/// One argument of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Argument {
    /// Name in the source.
    pub name: String,
    /// How it is bound.
    pub binding: Binding,
    /// The parameter of the kernel's function that carries it; positions have none.
    pub param: Option<u32>,
    /// Address space of a buffer.
    pub space: Option<Space>,
    /// Whether it is read or written.
    pub access: ArgumentAccess,
    /// Type in the source (`float`, `uint3`, `MyParams`).
    pub type_name: String,
    /// Size of one element (of the pointee) in bytes; 0 when not said.
    pub size: u32,
    /// Alignment of one element in bytes; 0 when not said.
    pub align: u32,
    /// Size of the whole buffer when the type fixes it (`constant T&`).
    pub buffer_size: Option<u32>,
    /// The buffer does not overlap others.
    pub no_alias: bool,
    /// The compiler says it is not used.
    pub unused: bool,
    /// The function constant that must be true for the argument to exist.
    pub condition: Option<String>,
    /// Members of the struct it points to, if a pointer, texture or sampler is among them. Not part of the text form.
    pub members: Vec<Member>,
}

/// A member of an argument buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// What it is.
    pub kind: MemberKind,
    /// How it is reached: `weights`, `layers[2].scale`.
    pub path: String,
    /// Its type in the source, of a pointer that of what it points to.
    pub type_name: String,
    /// Where it lies, in bytes.
    pub offset: u32,
    /// Its index for argument encoders (`[[id(n)]]`).
    pub id: u32,
}

/// What a member of an argument buffer is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MemberKind {
    /// A pointer to device or constant memory.
    Pointer,
    /// A texture.
    Texture,
    /// A sampler.
    Sampler,
    /// A plain value.
    Value,
}

impl Argument {
    /// An argument with the given name and binding and nothing else said.
    pub fn new(name: &str, binding: Binding) -> Self {
        Self {
            name: name.to_owned(),
            binding,
            param: None,
            space: None,
            access: ArgumentAccess::Unknown,
            type_name: String::new(),
            size: 0,
            align: 0,
            buffer_size: None,
            no_alias: false,
            unused: false,
            condition: None,
            members: Vec::new(),
        }
    }
}

impl Kernel {
    /// The argument a parameter carries.
    pub fn argument_of_param(&self, param: u32) -> Option<&Argument> {
        self.arguments
            .iter()
            .find(|argument| argument.param == Some(param))
    }
}
