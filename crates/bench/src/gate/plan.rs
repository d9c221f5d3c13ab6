//! How thoroughly a kernel is examined.

use crate::Dtype;
use crate::registry::SizeUse;

/// How thoroughly to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Where all random numbers come from. A new one for every examination, told with its result.
    pub seed: u64,
    /// Trials with fresh inputs per size set and element type.
    pub trials: u32,
    /// Which size sets.
    pub sizes: Vec<SizeUse>,
    /// Which element types; all of the kernel's if empty.
    pub dtypes: Vec<Dtype>,
    /// The size set that will be timed, which is tried whatever `sizes` says.
    pub timed: Option<String>,
    /// How many sizes are drawn at random.
    pub random_sizes: u32,
}

impl Plan {
    /// One trial at the quick sizes, and one at sizes drawn at random.
    pub fn quick(seed: u64) -> Self {
        Self {
            seed,
            trials: 1,
            sizes: vec![SizeUse::Quick],
            dtypes: Vec::new(),
            timed: None,
            random_sizes: 1,
        }
    }

    /// Three trials at all sizes but the reference ones, which are large.
    pub fn full(seed: u64) -> Self {
        Self {
            seed,
            trials: 3,
            sizes: vec![SizeUse::Quick, SizeUse::Odd, SizeUse::HeldOut],
            dtypes: Vec::new(),
            timed: None,
            random_sizes: 2,
        }
    }
}
