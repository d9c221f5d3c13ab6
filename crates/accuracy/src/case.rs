//! Cases: one measured command buffer each, with all that is needed to run it here.

use assay_launch::Start;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A published set of measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Set {
    /// MetalBench on an M2: the set the constants are fitted on.
    MetalBench,
    /// metal-sci-kernels on an M1 Pro: variants of one task.
    MetalSci,
    /// gemm-metal on an M3.
    GemmMetal,
    /// metal_performance_testing on an M1 Max.
    Bkvogel,
    /// AppleNumericalComputing on an M1.
    AppleNumerical,
    /// metal-matmul on an M1 Max: variants of one product.
    Crynux,
}

impl Set {
    /// All sets, in the order of the report.
    pub const ALL: [Set; 6] = [
        Set::MetalBench,
        Set::MetalSci,
        Set::GemmMetal,
        Set::Bkvogel,
        Set::AppleNumerical,
        Set::Crynux,
    ];

    /// The name used in ids and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Set::MetalBench => "metalbench",
            Set::MetalSci => "metal-sci",
            Set::GemmMetal => "gemm-metal",
            Set::Bkvogel => "bkvogel",
            Set::AppleNumerical => "apple-numerical",
            Set::Crynux => "crynux",
        }
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A measured command buffer.
#[derive(Clone, Debug)]
pub struct Case {
    /// Unique: `set/…`.
    pub id: String,
    /// The set it belongs to.
    pub set: Set,
    /// Cases that do the same work at the same size: candidates for ranking.
    pub group: String,
    /// Cases that must not be split between fitting and judging.
    pub family: String,
    /// Source file below the folder of checkouts, or the key of a text inside one.
    pub source: Source,
    /// Measured GPU time of the whole command buffer in microseconds, submission already
    /// subtracted where the protocol includes it.
    pub measured_us: f64,
    /// Operations and bytes as the publisher counts them, for the roofline.
    pub work: Option<(f64, f64)>,
    /// Device buffers shared by the passes.
    pub buffers: Vec<Buffer>,
    /// Dispatches of one round.
    pub passes: Vec<Pass>,
    /// How often the round is repeated in the command buffer.
    pub repeat: u32,
    /// Threadgroup memory the publisher recorded for the first pass, if any.
    pub recorded_threadgroup_bytes: Option<u32>,
}

/// Where a source is found below the folder of checkouts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file.
    File {
        /// Path below the folder.
        path: String,
        /// A replacement of text before compiling: what the author says was changed by
        /// hand between rows.
        replace: Option<(&'static str, &'static str)>,
    },
    /// A text of `session.json`, by the kernel's name, whose SHA-256 is known.
    Session {
        /// Kernel.
        name: String,
        /// Hexadecimal SHA-256 of the text.
        sha256: String,
    },
}

/// A device buffer.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Size.
    pub bytes: u64,
    /// What it holds before the first dispatch.
    pub contents: Start,
}

/// One dispatch.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Kernel.
    pub function: String,
    /// Threads along each axis.
    pub grid: [u32; 3],
    /// Threads of a threadgroup along each axis.
    pub threadgroup: [u32; 3],
    /// Length of dynamic threadgroup memory by index.
    pub threadgroup_memory: Vec<(u32, u32)>,
    /// Arguments by buffer index.
    pub arguments: Vec<(u32, Argument)>,
}

/// What is bound at an index.
#[derive(Clone, Debug)]
pub enum Argument {
    /// A buffer of the case.
    Buffer(usize),
    /// Bytes passed by value.
    Bytes(Vec<u8>),
}

impl Argument {
    /// An unsigned integer.
    pub fn u32(value: u32) -> Argument {
        Argument::Bytes(value.to_le_bytes().to_vec())
    }

    /// A float.
    pub fn f32(value: f32) -> Argument {
        Argument::Bytes(value.to_le_bytes().to_vec())
    }
}

impl Pass {
    /// Threadgroups in the grid.
    pub fn threadgroups(&self) -> u64 {
        let axis = |n: usize| u64::from(self.grid[n].div_ceil(self.threadgroup[n].max(1)));
        axis(0) * axis(1) * axis(2)
    }
}

/// A row of the data that did not become a case.
#[derive(Clone, Debug)]
pub struct Excluded {
    /// Which row.
    pub id: String,
    /// Set of the row.
    pub set: Set,
    /// Why.
    pub reason: String,
}

/// What a set gives: cases, and rows left out.
#[derive(Clone, Debug, Default)]
pub struct Cases {
    /// Usable rows.
    pub cases: Vec<Case>,
    /// The others.
    pub excluded: Vec<Excluded>,
}

impl Cases {
    pub(crate) fn exclude(&mut self, set: Set, id: &str, reason: impl Into<String>) {
        self.excluded.push(Excluded {
            id: format!("{set}/{id}"),
            set,
            reason: reason.into(),
        });
    }

    /// Adds those of another set.
    pub fn extend(&mut self, more: Cases) {
        self.cases.extend(more.cases);
        self.excluded.extend(more.excluded);
    }
}
