//! What a module says about its kernels, found once.
//!
//! A library of thousands of kernels lowers each by itself: what they have in common must not be looked for again for
//! each of them.

use super::{Dialect, FoundKernel, annotations, kernel};
use crate::llvm;
use assay_ssa::FloatMode;
use std::collections::HashMap;

/// The kernels of a module, and what holds for all of them.
#[derive(Clone, Debug)]
pub struct Kernels {
    pub(crate) dialect: Dialect,
    pub(crate) float_mode: FloatMode,
    found: Vec<FoundKernel>,
    by_name: HashMap<String, Vec<usize>>,
}

impl Kernels {
    /// Looks through a module.
    pub fn of(module: &llvm::Module<'_>) -> Kernels {
        let dialect = Dialect::of(module);
        let found = match dialect {
            Dialect::Apple => kernel::find(module),
            Dialect::Clang => annotations::find(module),
        };
        let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, kernel) in found.iter().enumerate() {
            by_name.entry(kernel.name.clone()).or_default().push(index);
        }
        Kernels {
            dialect,
            float_mode: kernel::float_mode(module),
            found,
            by_name,
        }
    }

    /// The names, in the order of the module.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.found.iter().map(|kernel| kernel.name.as_str())
    }

    /// The kernels of a name, or all of them.
    pub(crate) fn choose(&self, name: Option<&str>) -> Vec<FoundKernel> {
        let Some(name) = name else {
            return self.found.clone();
        };
        let indices = self.by_name.get(name).into_iter().flatten();
        indices
            .filter_map(|&index| self.found.get(index).cloned())
            .collect()
    }
}
