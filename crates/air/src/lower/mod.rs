//! From an LLVM module to the program form: what every Metal kernel means, whoever compiled it.
//!
//! Two dialects come in. *Apple's* has address spaces in its pointers, kernels described by
//! `!air.kernel`, simdgroup matrices as `<64 x T>` of which a thread uses the first two elements, and
//! positions as arguments. *Ours*, from clang, has none of these: pointers are generic until their origin
//! is known, kernels are described by annotations ([`annotations`]), matrices are two scalars, positions
//! are calls. Behind this door there is one form: `matrix<T>`, positions as builtins, block parameters.
//!
//! | file | what it lowers |
//! |---|---|
//! | [`types`] | types |
//! | [`kernel`], [`annotations`], [`signature`] | who the kernels are and what they take |
//! | [`function_constants`] | values given when a kernel is specialised |
//! | [`globals`], [`constants`] | constant data, constants |
//! | [`function`] | blocks, phis, branches |
//! | [`arithmetic`], [`vectors`], [`memory`], [`odd_memory`], [`calls`] | instructions |
//! | [`locations`], [`lines`], [`loops`] | source lines, hints |

mod annotations;
mod arithmetic;
mod calls;
mod constants;
mod function;
mod function_constants;
mod given;
mod globals;
mod kernel;
mod kernels;
mod lines;
mod locations;
mod loops;
mod memory;
mod odd_calls;
mod odd_memory;
mod program_inputs;
mod signature;
mod tables;
mod types;
mod vectors;
mod wide;

use crate::llvm;
use assay_opt::construct_globals::{Constructors, construct_globals};
use assay_ssa::{self as ssa, FunctionId, GlobalId, Id, Symbol, Type, builtin::Resolved};
use function::FunctionLowering;
use function_constants::FunctionConstants;
pub use given::{ConstantKey, ConstantSyntax, GivenConstant};
pub use kernels::Kernels;
pub use signature::{Signature, Versions, signatures, versions};
use std::collections::HashMap;
use std::fmt;

/// Which compiler's conventions a module follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// Apple's Metal compiler.
    Apple,
    /// clang with our headers.
    Clang,
}

impl Dialect {
    /// The dialect of a module, told by its target.
    pub fn of(module: &llvm::Module<'_>) -> Self {
        let apple =
            module.triple.starts_with("air") || !module.metadata.named("air.kernel").is_empty();
        if apple {
            Dialect::Apple
        } else {
            Dialect::Clang
        }
    }
}

/// What to lower, and with which values of function constants.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Only the kernel of this name; all kernels otherwise.
    pub kernel: Option<String>,
    /// Values of function constants. Those not given stay open in the program.
    pub constants: Vec<GivenConstant>,
    /// Function constants that were not given are zero instead of open. They still count as not defined.
    pub open_is_zero: bool,
    /// Say where the life of each variable begins (`lifetime_start`), for programs that are checked.
    pub lifetimes: bool,
}

/// Why a module could not be lowered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LowerError {
    /// The function, if it is about one.
    pub function: Option<String>,
    /// Index of the instruction in the function, if it is about one.
    pub instruction: Option<u32>,
    /// Whether it is about a value that was given for a function constant.
    pub of_given_constant: bool,
    /// What is in the way.
    pub message: String,
}

impl LowerError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        LowerError {
            function: None,
            instruction: None,
            of_given_constant: false,
            message: message.into(),
        }
    }
}

impl fmt::Display for LowerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.function, self.instruction) {
            (Some(name), Some(index)) => write!(f, "function \"{name}\", instruction {index}: ")?,
            (Some(name), None) => write!(f, "function \"{name}\": ")?,
            _ => {}
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for LowerError {}

pub(crate) type Lowered<T> = Result<T, LowerError>;

/// The names of the kernels of a module, in its order.
pub fn kernel_names(module: &llvm::Module<'_>) -> Vec<String> {
    Kernels::of(module).names().map(str::to_owned).collect()
}

/// Lowers the kernels of a module and every function they call.
///
/// Callees that are neither in the module nor known builtins are kept by name, in
/// [`assay_ssa::Module::symbols`]; they do not stop the lowering.
pub fn lower(module: &llvm::Module<'_>, options: &Options) -> Result<ssa::Module, LowerError> {
    lower_with(module, &Kernels::of(module), options)
}

/// The same with what was found out about the module before: `known` must be [`Kernels::of`] this module.
pub fn lower_with(
    module: &llvm::Module<'_>,
    known: &Kernels,
    options: &Options,
) -> Result<ssa::Module, LowerError> {
    let mut lowering = Lowering::new(module, known, options)?;
    let mut kernels = known.choose(options.kernel.as_deref());
    let functions: Vec<u32> = kernels.iter().map(|kernel| kernel.function).collect();
    lowering.collect_functions(&functions, 0);
    let of_function: HashMap<u32, usize> = kernels
        .iter()
        .enumerate()
        .map(|(index, kernel)| (kernel.function, index))
        .collect();
    for index in 0..lowering.order.len() {
        let function = lowering.order[index];
        let kernel = of_function.get(&function).copied();
        let kernel = kernel.and_then(|kernel| kernels.get_mut(kernel));
        let lowered = FunctionLowering::lower(&mut lowering, function, kernel)?;
        lowering.target.functions.push(lowered);
    }
    let constructors = lowering.lower_constructors()?;
    for kernel in kernels {
        let Some(id) = lowering.function_id(kernel.function) else {
            continue;
        };
        lowering.target.kernels.push(ssa::Kernel {
            name: kernel.name,
            function: id,
            arguments: kernel.arguments,
            max_threads: kernel.max_threads,
        });
    }
    construct_globals(&mut lowering.target, &constructors);
    if lowering.dialect == Dialect::Clang {
        ssa::analysis::spaces::infer(&mut lowering.target);
    }
    Ok(lowering.target)
}

/// A kernel as found in the module, before its function is lowered.
#[derive(Clone, Debug)]
pub(crate) struct FoundKernel {
    pub(crate) name: String,
    /// Index of its LLVM function.
    pub(crate) function: u32,
    /// Its arguments; `param` is the LLVM parameter until the function is lowered.
    pub(crate) arguments: Vec<ssa::Argument>,
    pub(crate) max_threads: Option<u32>,
}

/// A module while it is lowered.
pub(crate) struct Lowering<'m, 'a> {
    pub(crate) source: &'m llvm::Module<'a>,
    pub(crate) target: ssa::Module,
    pub(crate) dialect: Dialect,
    pub(crate) constants: FunctionConstants,
    /// True if the program says where lives of variables begin.
    pub(crate) lifetimes: bool,
    /// LLVM functions to lower, in order; their position is their id in the target.
    order: Vec<u32>,
    function_ids: Vec<Option<FunctionId>>,
    /// Types already lowered.
    type_cache: Vec<Option<Type>>,
    /// Globals already lowered.
    global_ids: Vec<Option<GlobalId>>,
    /// What names of callees mean.
    resolved: Vec<Option<Resolved>>,
    symbols: Vec<Option<Symbol>>,
    pub(crate) module_values: ModuleValues,
    pub(crate) locations: locations::LocationCache,
    pub(crate) kinds: AttachmentKinds,
}

/// What the module's constants are in the function at hand. A module can have many more constants than a
/// function uses, so they are forgotten by counting functions, not by clearing.
pub(crate) struct ModuleValues {
    values: Vec<(u32, Option<ssa::Value>)>,
    function: u32,
}

impl ModuleValues {
    fn new(count: usize) -> Self {
        ModuleValues {
            values: vec![(0, None); count],
            function: 0,
        }
    }

    /// Forgets everything: another function begins.
    pub(crate) fn forget(&mut self) {
        self.function += 1;
    }

    #[inline]
    pub(crate) fn get(&self, id: llvm::ValueId) -> Option<ssa::Value> {
        let &(function, value) = self.values.get(id.0 as usize)?;
        value.filter(|_| function == self.function)
    }

    pub(crate) fn set(&mut self, id: llvm::ValueId, value: ssa::Value) {
        if let Some(slot) = self.values.get_mut(id.0 as usize) {
            *slot = (self.function, Some(value));
        }
    }
}

/// Numbers of the attachment kinds that matter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AttachmentKinds {
    pub(crate) alias_scope: Option<u32>,
    pub(crate) noalias: Option<u32>,
    pub(crate) unroll: Option<u32>,
    pub(crate) invariant: Option<u32>,
}

impl<'m, 'a> Lowering<'m, 'a> {
    fn new(source: &'m llvm::Module<'a>, known: &Kernels, options: &Options) -> Lowered<Self> {
        let mut target = ssa::Module::new(&source.source_name);
        target.float_mode = known.float_mode;
        let kind = |name| source.metadata.kind(name);
        let kinds = AttachmentKinds {
            alias_scope: kind("alias.scope"),
            noalias: kind("noalias"),
            unroll: kind("llvm.loop"),
            invariant: kind("invariant.load"),
        };
        let constants = FunctionConstants::find(source, options, &mut target)?;
        Ok(Lowering {
            source,
            target,
            dialect: known.dialect,
            constants,
            lifetimes: options.lifetimes,
            order: Vec::new(),
            function_ids: vec![None; source.functions.len()],
            type_cache: vec![None; source.types.len()],
            global_ids: vec![None; source.globals.len()],
            resolved: vec![None; source.functions.len()],
            symbols: vec![None; source.functions.len()],
            module_values: ModuleValues::new(source.values.len()),
            locations: locations::LocationCache::default(),
            kinds,
        })
    }

    /// Lowers the functions that construct variables outside functions, if any function lowered so far mentions one.
    fn lower_constructors(&mut self) -> Lowered<Constructors> {
        let globals = self.target.globals.as_slice();
        if globals
            .iter()
            .all(|global| global.space != ssa::Space::Thread)
        {
            return Ok(Constructors::default());
        }
        let functions = function_constants::constructors(self.source);
        let first = self.order.len();
        self.collect_functions(&functions, first);
        for index in first..self.order.len() {
            let lowered = FunctionLowering::lower(self, self.order[index], None)?;
            self.target.functions.push(lowered);
        }
        let functions = functions.into_iter();
        Ok(Constructors {
            functions: functions.filter_map(|id| self.function_id(id)).collect(),
            guards: self.guards(),
        })
    }

    /// Numbers functions and everything they call, these first.
    fn collect_functions(&mut self, functions: &[u32], first: usize) {
        for &function in functions {
            self.collect(function);
        }
        let mut next = first;
        while let Some(&function) = self.order.get(next) {
            next += 1;
            let Some(body) = self.body_of(function) else {
                continue;
            };
            for instruction in &body.instructions {
                let llvm::Op::Call { callee, .. } = instruction.op else {
                    continue;
                };
                if let Some(callee) = self.called_function(callee) {
                    self.collect(callee);
                }
            }
        }
    }

    fn collect(&mut self, function: u32) {
        let Some(slot) = self.function_ids.get_mut(function as usize) else {
            return;
        };
        let defined = self
            .source
            .functions
            .get(function as usize)
            .is_some_and(|function| function.body.is_some());
        if slot.is_none() && defined {
            *slot = Some(FunctionId::from_index(self.order.len()));
            self.order.push(function);
        }
    }

    pub(crate) fn body_of(&self, function: u32) -> Option<&'m llvm::Body<'a>> {
        let body = self.source.functions.get(function as usize)?.body?;
        self.source.bodies.get(body as usize)
    }

    /// The LLVM function a module value names, through aliases.
    pub(crate) fn called_function(&self, callee: llvm::ValueId) -> Option<u32> {
        let mut id = callee;
        for _ in 0..8 {
            match self.source.value(id)?.kind {
                llvm::ValueKind::Function(index) => return Some(index),
                llvm::ValueKind::Alias(index) => {
                    id = self.source.aliases.get(index as usize)?.target;
                }
                llvm::ValueKind::ModuleConstant(index) => {
                    match self.source.constants.get(index)? {
                        llvm::Constant::Cast { operand, .. } => id = *operand,
                        _ => return None,
                    }
                }
                _ => return None,
            }
        }
        None
    }

    pub(crate) fn function_id(&self, function: u32) -> Option<FunctionId> {
        self.function_ids.get(function as usize).copied().flatten()
    }

    /// What the name of a function without body means.
    pub(crate) fn resolve(&mut self, function: u32) -> Resolved {
        let Some(Some(known)) = self.resolved.get(function as usize) else {
            let name = self.source.functions.get(function as usize);
            let name = name.map_or("", |function| &function.name);
            let resolved = ssa::builtin::resolve(name);
            if let Some(slot) = self.resolved.get_mut(function as usize) {
                *slot = Some(resolved);
            }
            return resolved;
        };
        *known
    }

    pub(crate) fn symbol(&mut self, function: u32) -> Symbol {
        if let Some(Some(symbol)) = self.symbols.get(function as usize) {
            return *symbol;
        }
        let name = self.source.functions.get(function as usize);
        let symbol = self
            .target
            .symbol(name.map_or("?", |function| &function.name));
        if let Some(slot) = self.symbols.get_mut(function as usize) {
            *slot = Some(symbol);
        }
        symbol
    }
}
