//! The compiler of Metal 4: libraries and compute pipelines of descriptors. Tasks have ended when they are given out.

use super::Label;
use crate::device;
use crate::library;
use crate::plain;
use crate::report::wrong_use;
use assay_objc::block::{Block, Callback};
use assay_objc::root::NSOBJECT;
use assay_objc::{Id, Strong, class};
use std::ptr::null_mut;

/// # Safety
/// The descriptor must be one, or nil.
pub(crate) unsafe fn compiler(descriptor: Id) -> Strong {
    // SAFETY: the caller's promise; `Label` is the state of the class.
    unsafe { COMPILER.make(Label::of(descriptor)) }
}

unsafe fn library_of(descriptor: Id, error: *mut Id) -> Id {
    // SAFETY: the caller's descriptor is one, or nil.
    unsafe {
        let part = |name| plain::get(descriptor, name).unwrap_or(null_mut());
        library::of_source(part(c"source"), part(c"options"), error)
    }
}

/// The function of an `MTL4LibraryFunctionDescriptor`, or of an `MTL4SpecializedFunctionDescriptor` around one.
unsafe fn function_of(descriptor: Id, error: *mut Id) -> Strong {
    // SAFETY: the caller's descriptor is one, or nil; the descriptors tell what they have.
    unsafe {
        let part = |of: Id, name| plain::get::<Id>(of, name).unwrap_or(null_mut());
        let (inner, constants) =
            match plain::SPECIALIZED_FUNCTION_DESCRIPTOR.state::<plain::Fields>(descriptor) {
                Some(_) => (
                    part(descriptor, c"functionDescriptor"),
                    part(descriptor, c"constantValues"),
                ),
                None => (descriptor, null_mut()),
            };
        if plain::LIBRARY_FUNCTION_DESCRIPTOR
            .state::<plain::Fields>(inner)
            .is_none()
        {
            wrong_use(
                "computeFunctionDescriptor: expected an MTL4LibraryFunctionDescriptor, or an MTL4SpecializedFunctionDescriptor with one",
            );
            return Strong::nil();
        }
        Strong::owned(library::function_of(
            part(inner, c"library"),
            part(inner, c"name"),
            constants,
            error,
        ))
    }
}

unsafe fn pipeline_of(descriptor: Id, error: *mut Id) -> Id {
    // SAFETY: the caller's descriptor is one, or nil.
    unsafe {
        let function = function_of(
            plain::get(descriptor, c"computeFunctionDescriptor").unwrap_or(null_mut()),
            error,
        );
        if function.is_nil() {
            return null_mut();
        }
        let threads = plain::get(descriptor, c"maxTotalThreadsPerThreadgroup").unwrap_or(0);
        let label = plain::get(descriptor, c"label").unwrap_or(null_mut());
        let indirect = plain::get::<i64>(descriptor, c"supportIndirectCommandBuffers") == Some(1);
        library::pipeline(function.id(), threads, label, indirect, error)
    }
}

/// Makes something, calls a block with it and its error, and gives out a task that has ended.
unsafe fn task(block: *const Block, make: impl FnOnce(*mut Id) -> Id) -> Id {
    let mut error = null_mut();
    // SAFETY: the block takes what is made and an error; the reference is ours.
    unsafe {
        let made = Strong::owned(make(&raw mut error));
        if let Some(block) = Callback::keep(block) {
            block.call_with_two(made.id(), error);
        }
        TASK.make(()).into_owned()
    }
}

class! {
    /// `id<MTL4Compiler>`.
    pub COMPILER = "AssayMTL4Compiler": NSOBJECT, Label, ["MTL4Compiler"];
    - "label" "@@:" (this) -> Id { this.get() }
    - "device" "@@:" (this) -> Id { device::shared() }
    - "newLibraryWithDescriptor:error:" "@@:@^@" (this, descriptor: Id, error: *mut Id) -> Id { library_of(descriptor, error) }
    - "newLibraryWithDescriptor:completionHandler:" "@@:@@?" (this, descriptor: Id, block: *const Block) -> Id {
        task(block, |error| library_of(descriptor, error))
    }
    - "newComputePipelineStateWithDescriptor:compilerTaskOptions:error:" "@@:@@^@" (this, descriptor: Id, _options: Id, error: *mut Id) -> Id {
        pipeline_of(descriptor, error)
    }
    - "newComputePipelineStateWithDescriptor:compilerTaskOptions:completionHandler:" "@@:@@@?"
      (this, descriptor: Id, _options: Id, block: *const Block) -> Id {
        task(block, |error| pipeline_of(descriptor, error))
    }
}
class! {
    /// `id<MTL4CompilerTask>`.
    pub TASK = "AssayMTL4CompilerTask": NSOBJECT, (), ["MTL4CompilerTask"];
    - "status" "q@:" (this) -> i64 { 3 }
    - "waitUntilCompleted" "v@:" (this) { }
}
