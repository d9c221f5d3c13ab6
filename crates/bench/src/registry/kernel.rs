//! A kernel of the registry, checked.

use super::source::Sources;
use crate::Dtype;
use crate::formula::{Formula, Sizes};
use crate::oracle;

pub use assay_launch::Values;
pub use assay_launch::template::{Argument, Binding as PassBinding, Constant, Grid, Pass, Role};

/// The three sets, by how much one kernel does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Set {
    /// One operation, or a convolution with what follows it.
    Common,
    /// Fused operations of neural networks.
    Standard,
    /// Whole small models and layers.
    Full,
}

impl Set {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Common, Self::Standard, Self::Full];

    /// The name of its folder.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Common => "common",
            Self::Standard => "standard",
            Self::Full => "full",
        }
    }
}

/// A kernel: what it takes, what it must compute, how it is started, what it costs.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its name, that of its folder.
    pub name: String,
    /// Its set.
    pub set: Set,
    /// What it computes, in a line.
    pub summary: String,
    /// What says what is right.
    pub oracle: oracle::Definition,
    /// Element types there are variants for; the first is the default.
    pub dtypes: Vec<Dtype>,
    /// Sizes that follow from others, in order.
    pub derived: Vec<(String, Formula)>,
    /// Size sets, in the order of their uses.
    pub sizes: Vec<SizeSet>,
    /// Arguments, inputs first.
    pub arguments: Vec<Argument>,
    /// Function constants.
    pub constants: Vec<Constant>,
    /// Dispatches, in order.
    pub passes: Vec<Pass>,
    /// Knobs and restrictions as `assay tune` reads them: `TM = 4,1,2`, `restrict TM * TN <= 16`.
    pub tune: Vec<String>,
    /// How far results may be off, by element type.
    pub tolerances: Vec<(Dtype, Tolerance)>,
    /// Floating-point operations.
    pub flops: Formula,
    /// Bytes that must move; `None` stands for inputs read once and outputs written once.
    pub bytes: Option<Formula>,
    /// Its source files.
    pub sources: Sources,
}

/// Sizes to run with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeSet {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub use_: SizeUse,
    /// The sizes.
    pub sizes: Sizes,
}

/// What a size set is for. The part of its name before a `-` says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SizeUse {
    /// The sizes that times and scores are about.
    Reference,
    /// Small, with several threadgroups and a tail.
    Quick,
    /// Sizes that are multiples of nothing.
    Odd,
    /// Sizes that whoever tunes a kernel does not see.
    HeldOut,
}

impl SizeUse {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Reference, Self::Quick, Self::Odd, Self::HeldOut];

    /// The word in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Quick => "quick",
            Self::Odd => "odd",
            Self::HeldOut => "held_out",
        }
    }
}

/// How far a result may be off: `absolute + relative × scale`, where the oracle gives each element's scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Tolerance {
    /// Relative to the element's scale.
    pub relative: f64,
    /// In any case.
    pub absolute: f64,
    /// Why this much.
    pub reason: String,
}

impl Kernel {
    /// A size set by its name.
    pub fn size_set(&self, name: &str) -> Option<&SizeSet> {
        self.sizes.iter().find(|set| set.name == name)
    }

    /// How far results of an element type may be off.
    pub fn tolerance(&self, dtype: Dtype) -> Option<&Tolerance> {
        let mut known = self.tolerances.iter();
        known
            .find(|(of, _)| *of == dtype)
            .map(|(_, tolerance)| tolerance)
    }
}
