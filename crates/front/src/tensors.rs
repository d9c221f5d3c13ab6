//! Tensor operations of a compiled kernel: where they stand in the source, and how much they multiply.
//!
//! `mpp::tensor_ops::matmul2d` is compiled to ordinary instructions. The functions they were inlined from are in the line table,
//! and the name of one of them carries the descriptor.

use assay_ssa::{Location, Locations, Module};

/// A product of matrices, one per call in the source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TensorOperation {
    /// The file of the call.
    pub file: String,
    /// The line of the call.
    pub line: u32,
    /// Rows of the result.
    pub rows: u32,
    /// Columns of the result.
    pub columns: u32,
    /// The extent that the operands have in common, if the descriptor knows it.
    pub inner: Option<u32>,
}

/// How the function that does a product is called in line tables.
const NAME: &str = "run<mpp::tensor_ops::matmul2d_descriptor{";

impl TensorOperation {
    /// Multiply-adds of one product, if they are known.
    pub fn multiply_adds(&self) -> Option<u64> {
        let tile = u64::from(self.rows) * u64::from(self.columns);
        Some(tile * u64::from(self.inner?))
    }

    fn read(locations: &Locations, place: &Location, name: &str) -> Option<Self> {
        let descriptor = name.strip_prefix(NAME)?.split('}').next()?;
        let mut numbers = descriptor.split(',').map(|number| number.trim().parse());
        let mut next = || numbers.next()?.ok();
        let [rows, columns, inner]: [i32; 3] = [next()?, next()?, next()?];
        Some(TensorOperation {
            file: locations.file_name(place.file).to_owned(),
            line: place.line,
            rows: rows.try_into().ok()?,
            columns: columns.try_into().ok()?,
            inner: inner
                .try_into()
                .ok()
                .filter(|inner| !matches!(inner, 0 | 0x7fff_ffff)),
        })
    }
}

/// The tensor operations of a kernel, in the order of the source.
pub fn tensor_operations(module: &Module, kernel: &str) -> Vec<TensorOperation> {
    let locations = &module.locations;
    let mut found = Vec::new();
    let function = module
        .kernel(kernel)
        .and_then(|kernel| module.functions.get(kernel.function));
    let Some(function) = function else {
        return found;
    };
    let instructions = function
        .blocks()
        .iter()
        .flat_map(|block| function.insts(*block));
    let mut seen = std::collections::HashSet::new();
    for loc in instructions.filter_map(|&inst| function.loc(inst)) {
        if !seen.insert(loc) {
            continue;
        }
        let mut chain = locations.chain(loc);
        let operation = chain.find_map(|location| {
            let name = locations.function_name(location)?;
            TensorOperation::read(locations, locations.user_line(loc)?, name)
        });
        found.extend(operation);
    }
    found.sort();
    found.dedup();
    found
}
