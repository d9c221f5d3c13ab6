//! A kernel at certain sizes, with every formula replaced by its value.

use super::kernel::{Grid, Kernel, PassBinding, Role, SizeUse, Tolerance, Values};
use crate::Dtype;
use crate::formula::{self, Formula, Sizes};

/// What a kernel is given and how it is started, in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The kernel.
    pub kernel: String,
    /// The function of [`crate::oracle`] that says what is right.
    pub oracle: String,
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

/// An argument in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseArgument {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub dtype: Dtype,
    /// What it is for.
    pub role: CaseRole,
}

/// What an argument is for, in numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum CaseRole {
    /// Numbers the kernel reads.
    Input {
        /// Extents.
        shape: Vec<usize>,
        /// What the numbers are like.
        values: Values,
        /// All indices are below this.
        below: u64,
        /// A factor.
        scale: f64,
        /// Numbers the kernel must also get right.
        extremes: Vec<f64>,
    },
    /// Numbers the kernel writes.
    Output {
        /// Extents.
        shape: Vec<usize>,
    },
    /// Memory between passes.
    Scratch {
        /// Extents.
        shape: Vec<usize>,
    },
    /// One number.
    Scalar {
        /// Its value, rounded to its type.
        value: f64,
    },
}

impl CaseArgument {
    /// Elements it has; a scalar has one.
    pub fn elements(&self) -> usize {
        match &self.role {
            CaseRole::Input { shape, .. }
            | CaseRole::Output { shape }
            | CaseRole::Scratch { shape } => shape.iter().product(),
            CaseRole::Scalar { .. } => 1,
        }
    }
}

/// One dispatch in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct CasePass {
    /// Name in the source.
    pub function: String,
    /// What is bound to 0, 1, 2, …
    pub bindings: Vec<CaseBinding>,
    /// Threads of the grid, or `None` and the groups count.
    pub extent: CaseExtent,
    /// Threads of a threadgroup.
    pub threadgroup: [u32; 3],
    /// Bytes of threadgroup memory 0, 1, 2, …
    pub threadgroup_memory: Vec<u32>,
}

/// Extent of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseExtent {
    /// In threads.
    Threads([u32; 3]),
    /// In threadgroups.
    Groups([u32; 3]),
}

/// What a pass binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseBinding {
    /// An argument, by its place among [`Case::arguments`].
    Argument(usize),
    /// A 32-bit whole number.
    Number(u32),
}

impl CasePass {
    /// Threadgroups of the grid.
    pub fn groups(&self) -> u64 {
        let count = |[x, y, z]: [u32; 3]| {
            u64::from(x)
                .saturating_mul(u64::from(y))
                .saturating_mul(u64::from(z))
        };
        match self.extent {
            CaseExtent::Groups(groups) => count(groups),
            CaseExtent::Threads(threads) => {
                let [x, y, z] = threads;
                let [a, b, c] = self.threadgroup.map(|extent| extent.max(1));
                count([x.div_ceil(a), y.div_ceil(b), z.div_ceil(c)])
            }
        }
    }
}

/// Why a kernel has no such case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CaseError {
    /// A formula without value.
    #[error("\"{formula}\": {error}")]
    Formula {
        /// The formula.
        formula: String,
        /// Why.
        error: formula::Error,
    },
    /// A value that is too large or zero.
    #[error("\"{formula}\" is {value}, which {why}")]
    Range {
        /// The formula.
        formula: String,
        /// Its value.
        value: u64,
        /// What is wrong with it.
        why: &'static str,
    },
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
        let mut sizes = sizes.clone();
        sizes.insert("element".to_owned(), dtype.size() as u64);
        let mut values = Evaluator { sizes };
        for (name, formula) in &kernel.derived {
            let value = values.integer(formula)?;
            values.sizes.insert(name.clone(), value);
        }
        let arguments = kernel.arguments.iter().map(|argument| {
            Ok(CaseArgument {
                name: argument.name.clone(),
                dtype: argument.dtype.unwrap_or(dtype),
                role: values.role(&argument.role, argument.dtype.unwrap_or(dtype))?,
            })
        });
        let arguments: Vec<CaseArgument> = arguments.collect::<Result<_, CaseError>>()?;
        let constants = kernel.constants.iter().map(|constant| {
            Ok((
                constant.index,
                constant.name.clone(),
                values.number(&constant.value)?,
            ))
        });
        let bytes = match &kernel.bytes {
            Some(formula) => values.integer(formula)?,
            None => compulsory_bytes(&arguments),
        };
        Ok(Self {
            kernel: kernel.name.clone(),
            oracle: kernel.oracle.clone(),
            size_set: name.to_owned(),
            use_,
            dtype,
            constants: constants.collect::<Result<_, CaseError>>()?,
            passes: values.passes(kernel, dtype)?,
            tolerance,
            flops: values.integer(&kernel.flops)?,
            bytes,
            arguments,
            sizes: values.sizes,
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

struct Evaluator {
    sizes: Sizes,
}

impl Evaluator {
    fn integer(&self, formula: &Formula) -> Result<u64, CaseError> {
        formula
            .integer(&self.sizes)
            .map_err(|error| CaseError::Formula {
                formula: formula.text().to_owned(),
                error,
            })
    }

    fn real(&self, formula: &Formula) -> Result<f64, CaseError> {
        formula
            .real(&self.sizes)
            .map_err(|error| CaseError::Formula {
                formula: formula.text().to_owned(),
                error,
            })
    }

    /// A whole number of 32 bits.
    fn number(&self, formula: &Formula) -> Result<u32, CaseError> {
        let value = self.integer(formula)?;
        u32::try_from(value).map_err(|_| CaseError::Range {
            formula: formula.text().to_owned(),
            value,
            why: "does not fit into 32 bits",
        })
    }

    /// A number of threads or groups.
    fn extent(&self, formulas: &[Formula; 3]) -> Result<[u32; 3], CaseError> {
        let mut extent = [0; 3];
        for (place, formula) in extent.iter_mut().zip(formulas) {
            *place = self.number(formula)?;
            if *place == 0 {
                return Err(CaseError::Range {
                    formula: formula.text().to_owned(),
                    value: 0,
                    why: "starts no thread",
                });
            }
        }
        Ok(extent)
    }

    fn shape(&self, formulas: &[Formula]) -> Result<Vec<usize>, CaseError> {
        let mut elements = 1u64;
        let mut shape = Vec::with_capacity(formulas.len());
        for formula in formulas {
            let value = self.integer(formula)?;
            elements = elements.saturating_mul(value);
            if value == 0 || elements > super::check::LARGEST {
                return Err(CaseError::Range {
                    formula: formula.text().to_owned(),
                    value,
                    why: "makes the argument empty or too large",
                });
            }
            shape.push(value as usize);
        }
        Ok(shape)
    }

    fn role(&self, role: &Role, dtype: Dtype) -> Result<CaseRole, CaseError> {
        Ok(match role {
            Role::Input {
                shape,
                values,
                below,
                scale,
                extremes,
            } => CaseRole::Input {
                shape: self.shape(shape)?,
                values: *values,
                below: below.as_ref().map_or(Ok(0), |below| self.integer(below))?,
                scale: scale.as_ref().map_or(Ok(1.0), |scale| self.real(scale))?,
                extremes: extremes.clone(),
            },
            Role::Output { shape } => CaseRole::Output {
                shape: self.shape(shape)?,
            },
            Role::Scratch { shape } => CaseRole::Scratch {
                shape: self.shape(shape)?,
            },
            Role::Scalar { value } if dtype.is_float() => CaseRole::Scalar {
                value: dtype.round(self.real(value)?),
            },
            Role::Scalar { value } => CaseRole::Scalar {
                value: f64::from(self.number(value)?),
            },
        })
    }

    fn passes(&self, kernel: &Kernel, dtype: Dtype) -> Result<Vec<CasePass>, CaseError> {
        let passes = kernel.passes.iter().map(|pass| {
            let bindings = pass.bindings.iter().map(|binding| {
                Ok(match binding {
                    PassBinding::Argument(place) => CaseBinding::Argument(*place),
                    PassBinding::Number(formula) => CaseBinding::Number(self.number(formula)?),
                })
            });
            let memory = pass
                .threadgroup_memory
                .iter()
                .map(|formula| self.number(formula));
            Ok(CasePass {
                function: format!("{}_{dtype}", pass.function),
                bindings: bindings.collect::<Result<_, CaseError>>()?,
                extent: match &pass.grid {
                    Grid::Threads(threads) => CaseExtent::Threads(self.extent(threads)?),
                    Grid::Groups(groups) => CaseExtent::Groups(self.extent(groups)?),
                },
                threadgroup: self.extent(&pass.threadgroup)?,
                threadgroup_memory: memory.collect::<Result<_, CaseError>>()?,
            })
        });
        passes.collect()
    }
}
