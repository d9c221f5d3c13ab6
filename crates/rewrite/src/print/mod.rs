//! Metal source from a program.
//!
//! | file | what it decides |
//! |---|---|
//! | `plan` | which values get a variable, and where it is declared |
//! | `names` | what variables are called |
//! | `signature` | arguments, positions, threadgroup and constant data |
//! | `aliasing` | memory that is accessed in several types |
//! | `expression`, `call`, `address`, `memory`, `literal`, `types` | how a value, access or type is written |
//! | `tidy` | the shape of the control tree |
//! | `statement` | the control tree as `if`, loops and jumps |

mod address;
mod aliasing;
mod call;
mod expression;
mod literal;
mod memory;
mod names;
mod plan;
mod signature;
mod statement;
mod tidy;
mod types;

use aliasing::Aliasing;
use assay_opt::structurize::{StructurizeError, structurize};
use assay_ssa::{
    Builtin, Function, GlobalId, IdMap, Kernel, Module, Type, TypeKind, Value, ValueDef,
};
use names::Names;
use plan::Plan;
pub use signature::PREAMBLE;
use signature::{Position, Reference};
use std::collections::{BTreeMap, HashMap};
use types::Element;

/// Why a kernel cannot be written as Metal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PrintError {
    /// The module has no kernel of this name.
    NoKernel(String),
    /// Its control flow has no structure.
    Control(StructurizeError),
    /// A pointer whose address space is not known.
    GenericPointer,
    /// A pointer that is read from memory.
    PointerInMemory,
    /// A vector Metal has no name for.
    WideVector(Type),
    /// A value that is an array or struct.
    Aggregate(Type),
    /// A texture or sampler.
    Texture,
    /// A builtin without a function in Metal.
    Builtin(&'static str),
    /// A function nobody knows.
    UnknownFunction(String),
    /// Something else the printer has no words for.
    Operation(&'static str),
}

impl std::fmt::Display for PrintError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoKernel(name) => write!(f, "there is no kernel \"{name}\""),
            Self::Control(error) => write!(f, "{error}"),
            Self::GenericPointer => write!(f, "a pointer whose address space is not known"),
            Self::PointerInMemory => write!(f, "a pointer that is read from memory"),
            Self::WideVector(ty) => write!(f, "a vector Metal has no name for ({ty})"),
            Self::Aggregate(ty) => write!(f, "a value that is an array or struct ({ty})"),
            Self::Texture => write!(f, "a texture or sampler"),
            Self::Builtin(name) => write!(f, "{name}, for which Metal has no function"),
            Self::UnknownFunction(name) => write!(f, "the unknown function {name}"),
            Self::Operation(what) => write!(f, "{what}"),
        }
    }
}

impl std::error::Error for PrintError {}

/// Everything that is known while a kernel is written.
struct Printer<'m> {
    module: &'m Module,
    kernel: &'m Kernel,
    function: &'m Function,
    plan: Plan,
    names: Names,
    /// What the variable of each pointer points at.
    elements: IdMap<Value, Option<Element>>,
    /// Which pointers may point into one object.
    aliasing: Aliasing,
    /// Arrays of the thread, with what they hold.
    allocas: HashMap<Value, Element>,
    /// The same of variables outside the kernel.
    globals: BTreeMap<GlobalId, Element>,
    /// Arguments of constant memory that hold one number and are written as references.
    references: HashMap<Value, Reference>,
    /// Pointers into memory that is only read.
    read_only: IdMap<Value, bool>,
    /// Positions and sizes, as arguments.
    positions: BTreeMap<Builtin, Position>,
}

/// One kernel of an optimised module as Metal source.
pub fn print(module: &Module, kernel: &str) -> Result<String, PrintError> {
    let kernel = module
        .kernel(kernel)
        .ok_or_else(|| PrintError::NoKernel(kernel.to_owned()))?;
    let function = module
        .functions
        .get(kernel.function)
        .ok_or_else(|| PrintError::NoKernel(kernel.name.clone()))?;
    let mut tree = structurize(function).map_err(PrintError::Control)?;
    tidy::tidy(&mut tree.body);
    let elements = address::elements(function);
    let references = signature::references(kernel, function);
    let roots: Vec<Value> = references.keys().copied().collect();
    let mut names = Names::new(module, kernel, function);
    let positions = signature::positions(kernel, function, &mut names);
    let mut printer = Printer {
        module,
        kernel,
        function,
        plan: Plan::new(function, &tree, &roots),
        aliasing: Aliasing::new(function),
        allocas: signature::allocas(module, function, &elements),
        globals: signature::global_elements(module, function, &elements),
        read_only: address::read_only(function, &signature::read_arguments(kernel, function)),
        references: HashMap::new(),
        names,
        elements,
        positions,
    };
    for (value, element) in references {
        let name = printer.names.of(value);
        printer
            .references
            .insert(value, Reference { name, element });
    }
    let statements = statement::body(&mut printer, &tree.body)?;
    let mut text = printer.head()?;
    statement::write(&statements, 1, &mut text);
    text += "}\n";
    Ok(text)
}

impl Printer<'_> {
    /// The type of the variable a value lives in.
    fn variable_type(&self, value: Value) -> Result<String, PrintError> {
        let ty = self.function.ty(value);
        match ty.kind() {
            TypeKind::Pointer(_) => self.pointer_type(value),
            _ => types::value(ty),
        }
    }

    /// A value as it is assigned to a block parameter.
    fn argument(&self, param: Value, arg: Value) -> Result<String, PrintError> {
        if self.function.ty(param).is_pointer() {
            return Ok(self.pointer_as(arg, &self.element(param))?.text);
        }
        Ok(self.value(arg)?.text)
    }

    /// The variables an expression mentions.
    fn mentioned(&self, value: Value) -> Vec<Value> {
        let mut found = Vec::new();
        let mut left = vec![value];
        while let Some(value) = left.pop() {
            match self.function.def(value) {
                ValueDef::Result(inst) if self.plan.inline[inst] => {
                    self.function
                        .for_each_operand(inst, |operand| left.push(operand));
                }
                ValueDef::Result(_) | ValueDef::Param(..) => found.push(value),
                _ => {}
            }
        }
        found
    }

    fn global_element(&self, global: GlobalId) -> Element {
        self.globals
            .get(&global)
            .cloned()
            .unwrap_or_else(Element::byte)
    }
}
