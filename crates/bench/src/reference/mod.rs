//! Something else that computes the same, to compare times with.
//!
//! A [`Reference`] is given the inputs of a case, runs it as often as asked and says how long that took. The oracle is
//! one ([`OracleReference`]); any program that speaks a small protocol over its standard input and output is another
//! ([`Process`]), and [`python`] has the programs that come with the project, for MLX and for PyTorch.
//!
//! ```
//! use assay_bench::{Dtype, inputs::{self, Kind}, registry::{Case, Registry}};
//! use assay_bench::reference::{OracleReference, Reference};
//! let case = Case::new(Registry::embedded()?.kernel("softmax")?, "quick", Dtype::F32)?;
//! let mut reference = OracleReference::default();
//! reference.prepare(0, &case, &inputs::random(&case, 1, Kind::Usual))?;
//! assert!(reference.run(0, 2)? > 0.0);
//! assert_eq!(reference.outputs(0)?[0].len(), 3 * 301 * 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod process;
mod protocol;
pub mod python;

pub use process::Process;

use crate::oracle::{self, Tensor};
use crate::registry::{Case, CaseRole};
use std::time::Instant;

/// Whose clock a reference's times are from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// This machine's: from before the first run is asked for until the last one's results are there.
    Host,
    /// A GPU's own.
    Gpu,
}

/// Why a reference has no time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It does not know the operation.
    #[error("{name} cannot do this: {why}")]
    Unsupported {
        /// The reference.
        name: String,
        /// Its words.
        why: String,
    },
    /// It says that something went wrong.
    #[error("{name}: {why}")]
    Failed {
        /// The reference.
        name: String,
        /// Its words, or ours.
        why: String,
    },
    /// It cannot be started, or is gone. Nothing more comes from it.
    #[error("{name}: {why}")]
    Gone {
        /// The reference.
        name: String,
        /// What happened.
        why: String,
    },
}

/// Something that computes what kernels compute.
pub trait Reference: std::fmt::Debug {
    /// What reports call it.
    fn name(&self) -> &str;

    /// Whose clock its times are from.
    fn clock(&self) -> Clock;

    /// Takes the inputs of a case under a number.
    fn prepare(&mut self, set: usize, case: &Case, inputs: &[Tensor]) -> Result<(), Error>;

    /// Runs what was prepared so many times and waits for the last; gives seconds for all of them.
    fn run(&mut self, set: usize, times: usize) -> Result<f64, Error>;

    /// The bytes of each output of what was prepared.
    fn outputs(&mut self, set: usize) -> Result<Vec<Vec<u8>>, Error>;

    /// Forgets everything that was prepared.
    fn forget(&mut self) -> Result<(), Error>;
}

/// The oracle, in plain double precision on one thread of this CPU.
#[derive(Debug, Default)]
pub struct OracleReference {
    prepared: Vec<(usize, Case, Vec<Tensor>)>,
}

impl OracleReference {
    const NAME: &'static str = "oracle";

    fn answers(&self, set: usize) -> Result<(&Case, Vec<oracle::Answer>), Error> {
        let failed = |why: String| Error::Failed {
            name: Self::NAME.to_owned(),
            why,
        };
        let mut known = self.prepared.iter();
        let (_, case, inputs) = known
            .find(|(known, ..)| *known == set)
            .ok_or_else(|| failed(format!("nothing was prepared as {set}")))?;
        let answers = oracle::answers(case, inputs).map_err(|error| failed(error.to_string()))?;
        Ok((case, answers))
    }
}

impl Reference for OracleReference {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn clock(&self) -> Clock {
        Clock::Host
    }

    fn prepare(&mut self, set: usize, case: &Case, inputs: &[Tensor]) -> Result<(), Error> {
        self.prepared.retain(|(known, ..)| *known != set);
        self.prepared.push((set, case.clone(), inputs.to_vec()));
        Ok(())
    }

    fn run(&mut self, set: usize, times: usize) -> Result<f64, Error> {
        let start = Instant::now();
        for _ in 0..times {
            std::hint::black_box(self.answers(set)?);
        }
        Ok(start.elapsed().as_secs_f64())
    }

    fn outputs(&mut self, set: usize) -> Result<Vec<Vec<u8>>, Error> {
        let (case, answers) = self.answers(set)?;
        let outputs = case
            .arguments
            .iter()
            .filter(|argument| matches!(argument.role, CaseRole::Output { .. }));
        let encoded = outputs.zip(&answers);
        Ok(encoded
            .map(|(argument, answer)| argument.dtype.encode(&answer.values))
            .collect())
    }

    fn forget(&mut self) -> Result<(), Error> {
        self.prepared.clear();
        Ok(())
    }
}
