//! Facts computed about functions: one question per file.
//!
//! Each analysis is made from a function as it is and knows nothing of later changes.

pub mod cfg;
pub mod dominators;
pub mod held_pointers;
pub mod loops;
pub mod spaces;
pub mod trips;
pub mod uniformity;

pub use cfg::Cfg;
pub use dominators::{Dominators, PostDominators};
pub use loops::{Loop, LoopId, Loops};
pub use trips::{ExitTest, Induction, Trips};
pub use uniformity::UniformityInfo;

/// Among which threads a value is the same, most uniform first: `max` joins two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum Uniformity {
    /// The same in all threads of the dispatch.
    #[default]
    Dispatch,
    /// The same in all threads of a threadgroup.
    Threadgroup,
    /// The same in all threads of a simdgroup.
    Simdgroup,
    /// Different from thread to thread.
    Varying,
}

impl Uniformity {
    /// Whether one value serves the whole simdgroup.
    pub fn is_simd_uniform(self) -> bool {
        self <= Self::Simdgroup
    }

    /// The word for it in texts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dispatch => "dispatch",
            Self::Threadgroup => "threadgroup",
            Self::Simdgroup => "simdgroup",
            Self::Varying => "varying",
        }
    }
}
