//! What is asked of a sweep.

use crate::references::Choice;
use crate::score::Target;
use assay_bench::Dtype;
use assay_device::Origin;
use std::path::PathBuf;

/// How kernels are examined and timed.
#[derive(Clone, Debug)]
pub struct Question {
    /// On this CPU, or on the Mac's GPU.
    pub device: Origin,
    /// One trial at small sizes and few samples.
    pub quick: bool,
    /// The sizes to time at.
    pub sizes: String,
    /// So many samples.
    pub iters: Option<u32>,
    /// So many runs before the first sample.
    pub warmup: Option<usize>,
    /// Empty caches before every sample.
    pub cold_start: bool,
    /// What to compare times with; nothing is the usual.
    pub references: Vec<Choice>,
    /// References without the kernel.
    pub reference_only: bool,
    /// The score that counts.
    pub target: Target,
    /// With the static profile.
    pub profile: bool,
    /// Chips to predict for, as they were named.
    pub predict: Option<String>,
    /// The same, found.
    pub targets: Vec<assay_predict::Target>,
    /// Go on with a sweep that was interrupted.
    pub resume: bool,
    /// Seconds that one submission may take.
    pub timeout: Option<f64>,
    /// Check only.
    pub no_time: bool,
    /// Only these element types; none is all.
    pub dtypes: Vec<Dtype>,
    /// Where random inputs come from.
    pub seed: Option<u64>,
    /// The source to examine in place of the kernel's own.
    pub source: Option<Own>,
    /// The chip whose source and profile are wanted.
    pub chip: Option<String>,
    /// The folder of kernels, where it is not the registry.
    pub kernels: Option<PathBuf>,
}

/// A source of the user's, or why it cannot be read.
#[derive(Clone, Debug)]
pub struct Own {
    /// Its name.
    pub path: PathBuf,
    /// Its text.
    pub text: Result<String, String>,
}

impl Question {
    /// Returns true if variants of this element type are wanted.
    pub(crate) fn wants(&self, dtype: Dtype) -> bool {
        self.dtypes.is_empty() || self.dtypes.contains(&dtype)
    }
}
