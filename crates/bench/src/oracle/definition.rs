//! How a kernel's operation is defined: by a function of this crate, or by something in the kernel's own folder.

use super::expression::{self, Expression};
use super::{Answers, Call, Error, Program, Tensor, named};
use crate::registry::{Case, CaseRole};
use std::sync::Arc;

/// What says what is right.
#[derive(Clone, Debug, PartialEq)]
pub enum Definition {
    /// A function of [`crate::oracle`].
    Function(String),
    /// Expressions over indices, in the description.
    Expression(Arc<Expression>),
    /// A Python function, or any program, in a process of its own.
    Program(Arc<Program>),
}

/// How much longer an expression takes than a function of this crate.
const INTERPRETED: u64 = 16;

impl Definition {
    /// Returns true if it is the function of this name.
    pub fn is(&self, name: &str) -> bool {
        matches!(self, Self::Function(known) if known == name)
    }

    /// What references know the operation by; one that is defined in a kernel's folder is called as the kernel is.
    pub fn operation<'a>(&'a self, kernel: &'a str) -> &'a str {
        match self {
            Self::Function(name) => name,
            Self::Expression(_) | Self::Program(_) => kernel,
        }
    }

    /// For people: the function's name, the expression, the file or the command.
    pub fn told(&self) -> String {
        match self {
            Self::Function(name) => name.clone(),
            Self::Expression(expression) => expression.to_string(),
            Self::Program(program) => program.to_string(),
        }
    }

    /// Operations of this crate's functions that take as long as one of this oracle's.
    pub(crate) fn slowness(&self) -> u64 {
        match self {
            Self::Expression(_) => INTERPRETED,
            Self::Function(_) | Self::Program(_) => 1,
        }
    }

    pub(super) fn answers(
        &self,
        case: &Case,
        inputs: &[Tensor],
        rows: Option<&[usize]>,
    ) -> Answers {
        let function = match self {
            Self::Expression(expression) => {
                return Ok(expression::answers(expression, case, inputs, rows)?);
            }
            Self::Program(program) => return program.answers(case, inputs),
            Self::Function(name) => named(name).ok_or_else(|| Error::Unknown(name.clone()))?,
        };
        let scalars = case.arguments.iter().filter_map(|one| match one.role {
            CaseRole::Scalar { value } => Some((one.name.clone(), value)),
            _ => None,
        });
        let scalars: Vec<(String, f64)> = scalars.collect();
        function(&Call {
            sizes: &case.sizes,
            scalars: &scalars,
            inputs,
            rows,
        })
    }
}
