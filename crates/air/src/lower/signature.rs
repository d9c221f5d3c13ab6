//! What a module says about its kernels and about itself, without lowering anything.

use super::{Dialect, annotations, kernel};
use crate::llvm;
use assay_ssa::Argument;

/// A kernel as its module describes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    /// The name it is found under.
    pub name: String,
    /// All arguments in source order. [`Argument::param`] counts the LLVM function's parameters.
    pub arguments: Vec<Argument>,
    /// `[[max_total_threads_per_threadgroup(n)]]`.
    pub max_threads: Option<u32>,
}

/// Versions a module states; what it does not state is absent.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Versions {
    /// Of the AIR dialect: `2.7`.
    pub air: Option<String>,
    /// Of the Metal language: `3.1`.
    pub metal: Option<String>,
    /// The compiler, in its own words.
    pub compiler: Option<String>,
}

/// The kernels of a module with their arguments, in its order.
pub fn signatures(module: &llvm::Module<'_>) -> Vec<Signature> {
    let kernels = match Dialect::of(module) {
        Dialect::Apple => kernel::find(module),
        Dialect::Clang => annotations::find(module),
    };
    let signature = |kernel: super::FoundKernel| Signature {
        name: kernel.name,
        arguments: kernel.arguments,
        max_threads: kernel.max_threads,
    };
    kernels.into_iter().map(signature).collect()
}

/// The versions a module states.
pub fn versions(module: &llvm::Module<'_>) -> Versions {
    let first = |name: &str| module.metadata.named(name).first().copied();
    // Major and minor; a language has its name in front.
    let numbers = |name: &str| {
        let node = module.metadata.node(first(name)?);
        let mut numbers = node
            .iter()
            .flatten()
            .filter_map(|&id| module.metadata_int(id));
        Some(format!("{}.{}", numbers.next()?, numbers.next()?))
    };
    let ident = first("llvm.ident").and_then(|node| *module.metadata.node(node).first()?);
    Versions {
        air: numbers("air.version"),
        metal: numbers("air.language_version"),
        compiler: ident.and_then(|id| module.metadata.string(id).map(Into::into)),
    }
}
