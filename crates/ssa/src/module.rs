//! A module: functions, kernels, globals, function constants, types, source files.

use crate::aggregate::Aggregates;
use crate::function::Function;
use crate::id::{IdVec, define_ids};
use crate::inst::{FunctionId, Symbol};
use crate::kernel::Kernel;
use crate::location::Locations;
use crate::ty::{Space, Type};

define_ids! {
    /// A variable of a module: threadgroup memory, constant data, or what each thread constructs for itself.
    GlobalId = "g";
    /// A function constant of a module.
    FunctionConstantId = "c";
}

/// Everything that was compiled together.
#[derive(Clone, Default, Debug)]
pub struct Module {
    /// Name of the module, often its source file.
    pub name: String,
    /// Array and struct types.
    pub types: Aggregates,
    /// Source files and locations.
    pub locations: Locations,
    /// Threadgroup variables and constant data.
    pub globals: IdVec<GlobalId, Global>,
    /// Function constants.
    pub function_constants: IdVec<FunctionConstantId, FunctionConstant>,
    /// Functions with bodies.
    pub functions: IdVec<FunctionId, Function>,
    /// Names of callees that are neither functions nor builtins.
    pub symbols: IdVec<Symbol, String>,
    /// Entry points.
    pub kernels: Vec<Kernel>,
    /// How floats were compiled.
    pub float_mode: FloatMode,
}

/// What the compiler was told about floats.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FloatMode {
    /// Fast math on or off; nothing when not recorded.
    pub fast_math: Option<bool>,
    /// Denormals flushed (Metal's default on Apple GPUs for single precision); nothing when not recorded.
    pub flush_denormals: Option<bool>,
}

/// A variable outside functions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Global {
    /// Name in the source, mangled.
    pub name: String,
    /// [`Space::Threadgroup`] or [`Space::Constant`]; [`Space::Thread`] for a variable that is zero at first and that code
    /// of the module constructs, in every thread: a program that runs has none.
    pub space: Space,
    /// Type of the contents.
    pub ty: Type,
    /// Alignment in bytes.
    pub align: u32,
    /// The contents.
    pub data: GlobalData,
}

/// Contents of a global when the kernel starts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum GlobalData {
    /// Undefined (threadgroup memory).
    #[default]
    Undefined,
    /// All zero.
    Zero,
    /// These bytes, as many as the type has.
    Bytes(Vec<u8>),
}

/// A value given when a kernel is specialised.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionConstant {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Its type, a scalar or vector.
    pub ty: Type,
    /// The value used when none is given, as the element bits.
    pub default: Option<Vec<u64>>,
    /// Whether a program must give a value.
    pub required: bool,
}

impl Module {
    /// An empty module.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// The symbol of a name, entered if it is new.
    pub fn symbol(&mut self, name: &str) -> Symbol {
        match self.symbols.find(|known| known == name) {
            Some(id) => id,
            None => self.symbols.push(name.to_owned()),
        }
    }

    /// The kernel of a name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// Adds a function.
    pub fn add_function(&mut self, function: Function) -> FunctionId {
        self.functions.push(function)
    }
}
