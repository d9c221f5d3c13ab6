//! From formulas to numbers.

use crate::Dtype;
use crate::formula::{self, Formula, Sizes};
use crate::launch::{self, Launch};
use crate::template::{self, Grid, Role, Template};

/// Most elements of one argument; larger ones are mistakes.
pub const LARGEST: u64 = 1 << 32;

/// Why a launch has no numbers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
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
}

impl Template<'_> {
    /// The launch at certain sizes, in the variant of an element type. Besides the sizes given there are `element`, the
    /// bytes of that type, and those derived.
    pub fn at(&self, sizes: &Sizes, dtype: Dtype) -> Result<Launch, Error> {
        let mut sizes = sizes.clone();
        sizes.insert("element".to_owned(), dtype.size() as u64);
        let mut values = Evaluator { sizes };
        for (name, formula) in self.derived {
            let value = values.integer(formula)?;
            values.sizes.insert(name.clone(), value);
        }
        let arguments = self.arguments.iter().map(|argument| {
            let dtype = argument.dtype.unwrap_or(dtype);
            Ok(launch::Argument {
                name: argument.name.clone(),
                dtype,
                role: values.role(&argument.role, dtype)?,
            })
        });
        let arguments = arguments.collect::<Result<_, Error>>()?;
        let constants = self.constants.iter().map(|constant| {
            let value = values.number(&constant.value)?;
            Ok((constant.index, constant.name.clone(), value))
        });
        let constants = constants.collect::<Result<_, Error>>()?;
        let passes = self.passes.iter().map(|pass| values.pass(pass));
        let passes = passes.collect::<Result<_, Error>>()?;
        Ok(Launch {
            sizes: values.sizes,
            arguments,
            constants,
            passes,
        })
    }
}

/// The value of a formula as 32 bits.
pub(crate) fn number(formula: &Formula, sizes: &Sizes) -> Result<u32, Error> {
    let values = Evaluator {
        sizes: sizes.clone(),
    };
    values.number(formula)
}

struct Evaluator {
    sizes: Sizes,
}

impl Evaluator {
    fn integer(&self, formula: &Formula) -> Result<u64, Error> {
        formula
            .integer(&self.sizes)
            .map_err(|error| Error::Formula {
                formula: formula.text().to_owned(),
                error,
            })
    }

    fn real(&self, formula: &Formula) -> Result<f64, Error> {
        formula.real(&self.sizes).map_err(|error| Error::Formula {
            formula: formula.text().to_owned(),
            error,
        })
    }

    /// A whole number of 32 bits.
    fn number(&self, formula: &Formula) -> Result<u32, Error> {
        let value = self.integer(formula)?;
        u32::try_from(value).map_err(|_| Error::Range {
            formula: formula.text().to_owned(),
            value,
            why: "does not fit into 32 bits",
        })
    }

    /// A number of threads or groups.
    fn extent(&self, formulas: &[Formula; 3]) -> Result<[u32; 3], Error> {
        let mut extent = [0; 3];
        for (place, formula) in extent.iter_mut().zip(formulas) {
            *place = self.number(formula)?;
            if *place == 0 {
                return Err(Error::Range {
                    formula: formula.text().to_owned(),
                    value: 0,
                    why: "starts no thread",
                });
            }
        }
        Ok(extent)
    }

    fn shape(&self, formulas: &[Formula]) -> Result<Vec<usize>, Error> {
        let mut elements = 1u64;
        let mut shape = Vec::with_capacity(formulas.len());
        for formula in formulas {
            let value = self.integer(formula)?;
            elements = elements.saturating_mul(value);
            if value == 0 || elements > LARGEST {
                return Err(Error::Range {
                    formula: formula.text().to_owned(),
                    value,
                    why: "makes the argument empty or too large",
                });
            }
            shape.push(value as usize);
        }
        Ok(shape)
    }

    fn role(&self, role: &Role, dtype: Dtype) -> Result<launch::Role, Error> {
        Ok(match role {
            Role::Input {
                shape,
                values,
                below,
                scale,
                extremes,
            } => launch::Role::Input {
                shape: self.shape(shape)?,
                values: *values,
                below: below.as_ref().map_or(Ok(0), |below| self.integer(below))?,
                scale: scale.as_ref().map_or(Ok(1.0), |scale| self.real(scale))?,
                extremes: extremes.clone(),
            },
            Role::Output { shape } => launch::Role::Output {
                shape: self.shape(shape)?,
            },
            Role::Scratch { shape } => launch::Role::Scratch {
                shape: self.shape(shape)?,
            },
            Role::Scalar { value } if dtype.is_float() => launch::Role::Scalar {
                value: dtype.round(self.real(value)?),
            },
            Role::Scalar { value } => launch::Role::Scalar {
                value: f64::from(self.number(value)?),
            },
        })
    }

    fn pass(&self, pass: &template::Pass) -> Result<launch::Pass, Error> {
        let bindings = pass.bindings.iter().map(|binding| {
            Ok(match binding {
                template::Binding::Argument(place) => launch::Binding::Argument(*place),
                template::Binding::Number(formula) => {
                    launch::Binding::Number(self.number(formula)?)
                }
            })
        });
        let memory = pass.threadgroup_memory.iter();
        let memory = memory.map(|formula| self.number(formula));
        let repeat = pass.repeat.as_ref().map(|formula| self.number(formula));
        Ok(launch::Pass {
            function: pass.function.clone(),
            bindings: bindings.collect::<Result<_, Error>>()?,
            extent: match &pass.grid {
                Grid::Threads(threads) => launch::Extent::Threads(self.extent(threads)?),
                Grid::Groups(groups) => launch::Extent::Groups(self.extent(groups)?),
            },
            threadgroup: self.extent(&pass.threadgroup)?,
            threadgroup_memory: memory.collect::<Result<_, Error>>()?,
            repeat: repeat.transpose()?.unwrap_or(1),
        })
    }
}
