//! Reflection: what a kernel binds, and the function constants that a library declares.

use crate::library::Library;
use assay_device::ArgumentBinding as Place;
use assay_foundation::collections::{array, dictionary};
use assay_foundation::string::string;
use assay_front::{Form, OpenConstants, Request};
use assay_objc::root::NSOBJECT;
use assay_objc::{Bool, Id, NO, Strong, YES, class};
use assay_ssa::{ArgumentAccess, Scalar, Type};
use std::sync::OnceLock;

/// One binding of a kernel: its argument, `MTLBindingType` and index.
#[derive(Debug, Default)]
pub struct Binding(Option<(assay_device::Argument, i64, u32)>);

impl Binding {
    fn of(argument: &assay_device::Argument) -> Option<Binding> {
        let (kind, index) = match argument.binding {
            Place::Buffer(index) => (0, index),
            Place::Threadgroup(index) => (1, index),
            Place::Texture(index) => (2, index),
            Place::Sampler(index) => (3, index),
            // A position in the grid, which nothing binds.
            _ => return None,
        };
        Some(Binding(Some((argument.clone(), kind, index))))
    }

    fn get<T: Default>(&self, read: impl FnOnce(&(assay_device::Argument, i64, u32)) -> T) -> T {
        self.0.as_ref().map_or_else(T::default, read)
    }
}

/// The reflection of a kernel with these arguments.
pub(crate) fn reflection(arguments: &[assay_device::Argument]) -> Strong {
    // SAFETY: `Binding` and the array are the states of the classes.
    unsafe {
        let bindings = arguments.iter().filter_map(Binding::of);
        let all = array(bindings.map(|binding| BINDING.make(binding)).collect());
        REFLECTION.make(Reflection(OnceLock::from(all)))
    }
}

class! {
    /// `id<MTLBinding>`, of every kind.
    pub BINDING = "AssayMTLBinding": NSOBJECT, Binding, ["MTLBinding", "MTLBufferBinding", "MTLThreadgroupBinding", "MTLTextureBinding"];
    - "name" "@@:" (this) -> Id { string(&this.get(|(argument, ..)| argument.name.clone())).autoreleased() }
    - "type" "q@:" (this) -> i64 { this.get(|(_, kind, _)| *kind) }
    - "index" "Q@:" (this) -> u64 { this.get(|(.., index)| u64::from(*index)) }
    - "access" "Q@:" (this) -> u64 {
        this.get(|(argument, ..)| match argument.access {
            ArgumentAccess::Read => 0,
            ArgumentAccess::ReadWrite | ArgumentAccess::Unknown => 1,
            ArgumentAccess::Write => 2,
        })
    }
    - "isUsed" "B@:" (this) -> Bool { this.get(|(argument, ..)| !argument.unused).into() }
    - "isArgument" "B@:" (this) -> Bool { YES }
    - "bufferDataSize" "Q@:" (this) -> u64 { this.get(|(argument, ..)| u64::from(argument.size)) }
    - "bufferAlignment" "Q@:" (this) -> u64 { this.get(|(argument, ..)| u64::from(argument.align)) }
    - "threadgroupMemoryDataSize" "Q@:" (this) -> u64 { this.get(|(argument, ..)| u64::from(argument.size)) }
    - "threadgroupMemoryAlignment" "Q@:" (this) -> u64 { this.get(|(argument, ..)| u64::from(argument.align)) }
}

/// The bindings of a kernel.
#[derive(Debug, Default)]
pub struct Reflection(OnceLock<Strong>);

class! {
    /// `MTLComputePipelineReflection`.
    pub REFLECTION = "MTLComputePipelineReflection": NSOBJECT, Reflection, [];
    - "bindings" "@@:" (this) -> Id { this.0.get().map_or(std::ptr::null_mut(), Strong::id) }
    - "arguments" "@@:" (this) -> Id { this.0.get().map_or(std::ptr::null_mut(), Strong::id) }
}

/// A function constant that a kernel declares: name, `MTLDataType`, index, whether it must be given.
#[derive(Debug, Default)]
pub struct Declared(String, u64, u32, bool);

class! {
    /// `MTLFunctionConstant`.
    pub FUNCTION_CONSTANT = "MTLFunctionConstant": NSOBJECT, Declared, [];
    - "name" "@@:" (this) -> Id { string(&this.0).autoreleased() }
    - "type" "Q@:" (this) -> u64 { this.1 }
    - "index" "Q@:" (this) -> u64 { u64::from(this.2) }
    - "required" "B@:" (this) -> Bool { if this.3 { YES } else { NO } }
}

/// `MTLDataType` of a constant. The program form does not tell signed from unsigned integers, whose bits are the same.
fn data_type(ty: Type) -> u64 {
    let scalar = match ty.element() {
        Some(Scalar::I1) => 53,
        Some(Scalar::I8) => 45,
        Some(Scalar::I16) => 37,
        Some(Scalar::I64) => 81,
        Some(Scalar::F16) => 16,
        Some(Scalar::BF16) => 121,
        Some(Scalar::F32) => 3,
        Some(Scalar::I32) | None => 29,
    };
    scalar + u64::from(ty.lanes().max(1)) - 1
}

fn as_read(library: &Library, kernel: &str) -> Option<assay_front::Program> {
    let request = Request {
        constants: &[],
        open: OpenConstants::Keep,
        form: Form::AsRead,
    };
    let front = library.front.as_ref()?;
    front.kernel(kernel).ok()?.program_as(&request).ok()
}

/// The arguments of a kernel. None if it cannot be read, which making its pipeline tells.
pub(crate) fn arguments(library: &Library, kernel: &str) -> Vec<assay_ssa::Argument> {
    let program = as_read(library, kernel);
    let kernels = program
        .as_ref()
        .map_or(&[][..], |program| &program.module.kernels);
    let own = kernels.iter().find(|known| known.name == kernel);
    own.map_or_else(Vec::new, |own| own.arguments.clone())
}

/// The function constants of a kernel by name. Empty if the kernel cannot be read, which making its pipeline tells.
pub(crate) fn function_constants(library: &Library, kernel: &str) -> Strong {
    let program = as_read(library, kernel);
    let known = program
        .iter()
        .flat_map(|program| program.module.function_constants.as_slice());
    let pairs = known.map(|constant| {
        let declared = Declared(
            constant.name.clone(),
            data_type(constant.ty),
            constant.index,
            constant.required,
        );
        // SAFETY: `Declared` is the state of the class.
        (string(&constant.name), unsafe {
            FUNCTION_CONSTANT.make(declared)
        })
    });
    dictionary(pairs.collect())
}
