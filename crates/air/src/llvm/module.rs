//! A module: globals, functions and their bodies.

use super::attribute::AttributeTable;
use super::instruction::{BlockId, Instruction};
use super::metadata::{DebugLocation, Metadata, MetadataId, MetadataPool};
use super::types::{TypeId, TypeTable};
use super::value::{Constant, ConstantPool, Span, Value, ValueId, ValueKind};
use std::borrow::Cow;

/// An LLVM module in memory. Names and strings are borrowed from the bitcode.
#[derive(Clone, Debug, Default)]
pub struct Module<'a> {
    /// Who wrote the bitcode (`LLVM19.1.7`); Apple's compiler writes nothing.
    pub producer: String,
    /// Target triple, such as `air64_v26-apple-macosx14.0.0`.
    pub triple: String,
    /// Data layout.
    pub data_layout: String,
    /// Name of the source file, or in a metallib of the kernel.
    pub source_name: String,
    /// Types.
    pub types: TypeTable,
    /// Attributes.
    pub attributes: AttributeTable,
    /// Names of sections, counted from 1 by the globals.
    pub sections: Vec<String>,
    /// Variables.
    pub globals: Vec<GlobalVariable<'a>>,
    /// Functions, with bodies and without.
    pub functions: Vec<Function<'a>>,
    /// Other names of globals.
    pub aliases: Vec<Alias<'a>>,
    /// All values of the module: globals, functions, aliases, constants.
    pub values: Vec<Value>,
    /// The constants of the module.
    pub constants: ConstantPool,
    /// Metadata of the module.
    pub metadata: MetadataPool<'a>,
    /// Names of synchronisation scopes.
    pub sync_scopes: Vec<String>,
    /// Bodies in the order of the functions that have one.
    pub bodies: Vec<Body<'a>>,
}

/// A variable of a module.
#[derive(Clone, Debug)]
pub struct GlobalVariable<'a> {
    /// Its symbol.
    pub name: Cow<'a, str>,
    /// Type of its contents.
    pub ty: TypeId,
    /// LLVM's number of its address space.
    pub space: u32,
    /// Never written.
    pub constant: bool,
    /// Its contents, if it is defined here.
    pub initializer: Option<ValueId>,
    /// Alignment in bytes, 0 when not said.
    pub align: u32,
    /// Its section, from 1 in [`Module::sections`]; 0 is none.
    pub section: u32,
    /// Linkage number.
    pub linkage: u32,
    /// Given a value from outside before the program runs.
    pub externally_initialized: bool,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function<'a> {
    /// Its symbol.
    pub name: Cow<'a, str>,
    /// Its function type.
    pub ty: TypeId,
    /// Number of its attribute list, from 1; 0 is none.
    pub attributes: u32,
    /// Its section, from 1; 0 is none.
    pub section: u32,
    /// Linkage number.
    pub linkage: u32,
    /// Index in [`Module::bodies`] if it is defined here.
    pub body: Option<u32>,
    /// Its value.
    pub value: ValueId,
}

/// Another name for a global or function.
#[derive(Clone, Debug)]
pub struct Alias<'a> {
    /// Its symbol.
    pub name: Cow<'a, str>,
    /// What it stands for.
    pub target: ValueId,
}

/// The instructions of a function.
#[derive(Clone, Debug, Default)]
pub struct Body<'a> {
    /// Which function.
    pub function: u32,
    /// Number of the first local value; those below are the module's.
    pub first_local: u32,
    /// Parameters, constants and instruction results, from `first_local` on.
    pub values: Vec<Value>,
    /// Constants of the function.
    pub constants: ConstantPool,
    /// All instructions, block after block.
    pub instructions: Vec<Instruction>,
    /// The instructions of each block, as a run of `instructions`.
    pub blocks: Vec<Span>,
    /// Operand lists of address computations, calls, phis and switches.
    pub operands: Vec<u32>,
    /// Number paths of `extractvalue` and `insertvalue`.
    pub indices: Vec<u32>,
    /// Places in the source.
    pub locations: Vec<DebugLocation>,
    /// Metadata of the function; numbers continue the module's.
    pub metadata: MetadataPool<'a>,
    /// Number of the first local piece of metadata.
    pub first_metadata: u32,
    /// Attachments: instruction (or [`WHOLE_FUNCTION`]), kind, metadata; sorted.
    pub attachments: Vec<(u32, u32, MetadataId)>,
}

/// In place of an instruction: the attachment is the function's.
pub const WHOLE_FUNCTION: u32 = u32::MAX;

impl<'a> Module<'a> {
    /// The function of a symbol.
    pub fn function(&self, name: &str) -> Option<&Function<'a>> {
        self.functions.iter().find(|function| function.name == name)
    }

    /// A value of the module.
    pub fn value(&self, id: ValueId) -> Option<&Value> {
        self.values.get(id.0 as usize)
    }

    /// The name of a section number.
    pub fn section(&self, number: u32) -> &str {
        let index = (number as usize).checked_sub(1);
        let name = index.and_then(|index| self.sections.get(index));
        name.map_or("", String::as_str)
    }

    /// A constant of the module.
    pub fn constant(&self, id: ValueId) -> Option<&Constant> {
        match self.value(id)?.kind {
            ValueKind::ModuleConstant(index) => self.constants.get(index),
            _ => None,
        }
    }

    /// The integer a piece of metadata holds.
    pub fn metadata_int(&self, id: MetadataId) -> Option<i64> {
        let Metadata::Value(value) = self.metadata.get(id)? else {
            return None;
        };
        match self.constant(*value)? {
            Constant::Int(number) => Some(*number),
            Constant::Null => Some(0),
            _ => None,
        }
    }
}

impl<'a> Body<'a> {
    /// The values or blocks of an operand list.
    #[inline]
    pub fn list(&self, span: Span) -> &[u32] {
        self.operands.get(span.range()).unwrap_or_default()
    }

    /// The numbers of a path.
    pub fn path(&self, span: Span) -> &[u32] {
        self.indices.get(span.range()).unwrap_or_default()
    }

    /// A value visible in the body.
    #[inline]
    pub fn value<'m>(&'m self, module: &'m Module<'a>, id: ValueId) -> Option<&'m Value> {
        match id.0.checked_sub(self.first_local) {
            Some(local) => self.values.get(local as usize),
            None => module.value(id),
        }
    }

    /// A constant visible in the body, with the pool it refers to.
    pub fn constant<'m>(
        &'m self,
        module: &'m Module<'a>,
        id: ValueId,
    ) -> Option<(&'m Constant, &'m ConstantPool)> {
        match self.value(module, id)?.kind {
            ValueKind::ModuleConstant(index) => {
                Some((module.constants.get(index)?, &module.constants))
            }
            ValueKind::LocalConstant(index) => Some((self.constants.get(index)?, &self.constants)),
            _ => None,
        }
    }

    /// The instructions of a block.
    pub fn block(&self, block: BlockId) -> &[Instruction] {
        let span = self.blocks.get(block.0 as usize).copied();
        let span = span.unwrap_or_default();
        self.instructions.get(span.range()).unwrap_or_default()
    }

    /// The pool a piece of metadata is in, and its number there.
    pub fn metadata_pool<'m>(
        &'m self,
        module: &'m Module<'a>,
        id: MetadataId,
    ) -> (&'m MetadataPool<'a>, MetadataId) {
        match id.0.checked_sub(self.first_metadata) {
            Some(local) => (&self.metadata, MetadataId(local)),
            None => (&module.metadata, id),
        }
    }

    /// What is attached to an instruction (its index in the body).
    pub fn attachments(&self, instruction: u32) -> &[(u32, u32, MetadataId)] {
        let start = self
            .attachments
            .partition_point(|entry| entry.0 < instruction);
        let rest = self.attachments.get(start..).unwrap_or_default();
        let end = rest.partition_point(|entry| entry.0 == instruction);
        &rest[..end]
    }
}
