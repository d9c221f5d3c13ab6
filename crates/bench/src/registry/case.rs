//! A kernel at certain sizes, with every formula replaced by its value.

use super::kernel::{Kernel, SizeUse, Tolerance};
use crate::Dtype;
use crate::formula::{Formula, Sizes};
use crate::oracle;
use assay_launch::template::Template;

pub use assay_launch::{
    Argument as CaseArgument, Binding as CaseBinding, Extent as CaseExtent, Pass as CasePass,
    Role as CaseRole,
};

/// What a kernel is given and how it is started, in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The kernel.
    pub kernel: String,
    /// What says what is right.
    pub oracle: oracle::Definition,
    /// The size set.
    pub size_set: String,
    /// What the size set is for.
    pub use_: SizeUse,
    /// The variant's element type.
    pub dtype: Dtype,
    /// All sizes, derived ones too.
    pub sizes: Sizes,
    /// Arguments.
    pub arguments: Vec<CaseArgument>,
    /// Function constants: number, name, value.
    pub constants: Vec<(u32, String, u32)>,
    /// Dispatches.
    pub passes: Vec<CasePass>,
    /// How far results may be off.
    pub tolerance: Tolerance,
    /// Floating-point operations.
    pub flops: u64,
    /// Bytes that must move.
    pub bytes: u64,
}

/// Why a kernel has no such case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CaseError {
    /// The launch has no numbers.
    #[error(transparent)]
    Launch(#[from] assay_launch::Error),
    /// No such size set.
    #[error("there is no size set \"{name}\"; there are {}", .known.join(", "))]
    SizeSet {
        /// The name asked for.
        name: String,
        /// Those there are.
        known: Vec<String>,
    },
    /// No such variant.
    #[error("there is no {dtype} variant; there are {}", .known.iter().map(|dtype| dtype.name()).collect::<Vec<_>>().join(", "))]
    Dtype {
        /// The type asked for.
        dtype: Dtype,
        /// Those there are.
        known: Vec<Dtype>,
    },
}

impl Case {
    /// A kernel at the sizes of a set, in the variant of an element type.
    ///
    /// ```
    /// use assay_bench::{Dtype, registry::{Case, Registry}};
    /// let registry = Registry::embedded()?;
    /// let case = Case::new(registry.kernel("softmax")?, "reference", Dtype::F16)?;
    /// assert_eq!(case.bytes, 2 * 2 * 1024 * 1024);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(kernel: &Kernel, size_set: &str, dtype: Dtype) -> Result<Self, CaseError> {
        let set = kernel
            .size_set(size_set)
            .ok_or_else(|| CaseError::SizeSet {
                name: size_set.to_owned(),
                known: kernel.sizes.iter().map(|set| set.name.clone()).collect(),
            })?;
        Self::with_sizes(kernel, &set.name, set.use_, &set.sizes, dtype)
    }

    /// The same at any sizes.
    pub fn with_sizes(
        kernel: &Kernel,
        name: &str,
        use_: SizeUse,
        sizes: &Sizes,
        dtype: Dtype,
    ) -> Result<Self, CaseError> {
        let tolerance = kernel
            .tolerance(dtype)
            .cloned()
            .ok_or_else(|| CaseError::Dtype {
                dtype,
                known: kernel.dtypes.clone(),
            })?;
        let template = Template {
            derived: &kernel.derived,
            arguments: &kernel.arguments,
            constants: &kernel.constants,
            passes: &kernel.passes,
        };
        let mut launch = template.at(sizes, dtype)?;
        for pass in &mut launch.passes {
            pass.function = format!("{}_{dtype}", pass.function);
        }
        let integer = |formula: &Formula| {
            let value = formula.integer(&launch.sizes);
            value.map_err(|error| assay_launch::Error::Formula {
                formula: formula.text().to_owned(),
                error,
            })
        };
        let bytes = match &kernel.bytes {
            Some(formula) => integer(formula)?,
            None => compulsory_bytes(&launch.arguments),
        };
        Ok(Self {
            kernel: kernel.name.clone(),
            oracle: kernel.oracle.clone(),
            size_set: name.to_owned(),
            use_,
            dtype,
            tolerance,
            flops: integer(&kernel.flops)?,
            bytes,
            sizes: launch.sizes,
            arguments: launch.arguments,
            constants: launch.constants,
            passes: launch.passes,
        })
    }
}

/// Inputs read once, outputs written once.
fn compulsory_bytes(arguments: &[CaseArgument]) -> u64 {
    let moved = arguments.iter().filter(|argument| {
        matches!(
            argument.role,
            CaseRole::Input { .. } | CaseRole::Output { .. }
        )
    });
    moved
        .map(|argument| (argument.elements() as u64).saturating_mul(argument.dtype.size() as u64))
        .sum()
}
