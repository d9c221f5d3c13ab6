//! Reports of checking.

use assay_opt::expectation::Expectation;
use std::fmt;

/// Something a kernel must not do, and did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What.
    pub kind: ReportKind,
    /// The kernel.
    pub kernel: String,
    /// File, line and column, where known.
    pub place: Option<String>,
    /// Where the function of that line was called, from the inside out.
    pub callers: Vec<String>,
    /// Position in the grid of the thread that did it.
    pub thread: [u32; 3],
    /// The memory it is about.
    pub location: Option<Location>,
    /// More about it, in words.
    pub detail: Option<String>,
    /// The other access of a race.
    pub other: Option<Party>,
}

/// Kinds of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReportKind {
    /// A read or write outside what the pointer points into, or of nothing.
    OutOfBounds,
    /// An access that is not aligned as the type it uses says.
    Misaligned,
    /// Threadgroup or thread memory is read that was never written.
    Uninitialised,
    /// Two threads of a threadgroup touch the same memory, one writes, and no barrier orders them.
    Race,
    /// Two threadgroups touch the same memory, and one writes.
    GroupRace,
    /// A barrier that not all threads of the threadgroup reach, or not all of the simdgroup if it is the simdgroup's.
    DivergentBarrier,
    /// A shuffle that reads a lane that is not active or does not exist.
    InactiveLane,
    /// A matrix is loaded, stored or multiplied by some lanes of a simdgroup without the others.
    PartialMatrix,
    /// A race in which the value that was written is the one that was there: nothing changed this time.
    EqualRace,
    /// An integer is divided by zero.
    DivisionByZero,
    /// The least integer divided by -1.
    DivisionOverflow,
    /// A shift by the width of the number or more.
    OversizedShift,
    /// A float becomes an integer that it does not fit, or is no number.
    ConversionOverflow,
    /// Coordinates, a level, a layer or a sample that a texture does not have. The executor reads zeros there and writes nothing; the specification leaves it open.
    TextureOutOfBounds,
    /// A texture whose format or shape is not what the kernel takes it for, or a sampler that does not suit it.
    UnsuitableTexture,
    /// A thread reads a texel that it has written, without a fence between.
    MissingFence,
    /// An element or a slice of a tensor that reaches outside it.
    TensorOutOfBounds,
    /// A tensor operation by another number of simdgroups than its scope has.
    TensorScope,
    /// Operands of a tensor operation whose inner extents differ.
    TensorShapes,
}

impl ReportKind {
    /// The kind of a broken expectation.
    pub(super) const fn of(rule: Expectation) -> Self {
        match rule {
            Expectation::Initialised => Self::Uninitialised,
            Expectation::NonZeroDivisor => Self::DivisionByZero,
            Expectation::ShiftInRange => Self::OversizedShift,
            Expectation::ConversionInRange => Self::ConversionOverflow,
            Expectation::TensorInBounds => Self::TensorOutOfBounds,
            Expectation::TensorScope => Self::TensorScope,
            Expectation::TensorShapes => Self::TensorShapes,
            Expectation::IndexInArray => Self::OutOfBounds,
            Expectation::QuotientInRange => Self::DivisionOverflow,
        }
    }

    /// Returns true if the result is right with these inputs, and may be wrong with others.
    pub const fn is_warning(self) -> bool {
        matches!(self, Self::EqualRace)
    }

    /// A short name, as used in `// expect:` comments and by scripts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OutOfBounds => "out-of-bounds",
            Self::Misaligned => "misaligned",
            Self::Uninitialised => "uninitialised",
            Self::Race => "race",
            Self::GroupRace => "group-race",
            Self::DivergentBarrier => "divergent-barrier",
            Self::InactiveLane => "inactive-lane",
            Self::PartialMatrix => "partial-matrix",
            Self::EqualRace => "equal-race",
            Self::DivisionByZero => "division-by-zero",
            Self::DivisionOverflow => "division-overflow",
            Self::OversizedShift => "oversized-shift",
            Self::ConversionOverflow => "conversion-overflow",
            Self::TextureOutOfBounds => "texture-out-of-bounds",
            Self::UnsuitableTexture => "unsuitable-texture",
            Self::MissingFence => "missing-fence",
            Self::TensorOutOfBounds => "tensor-out-of-bounds",
            Self::TensorScope => "tensor-scope",
            Self::TensorShapes => "tensor-shapes",
        }
    }

    /// What it is, in words.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::OutOfBounds => "access outside its buffer",
            Self::Misaligned => "misaligned access",
            Self::Uninitialised => "read of uninitialised memory",
            Self::Race => "race between threads of a threadgroup",
            Self::GroupRace => "race between threadgroups",
            Self::DivergentBarrier => "barrier that not all threads reach",
            Self::InactiveLane => "shuffle from a lane that is not active or does not exist",
            Self::PartialMatrix => "matrix operation without all lanes of the simdgroup",
            Self::EqualRace => {
                "race between threads of a threadgroup, unseen because the value written is the one that was there"
            }
            Self::DivisionByZero => "integer division by zero",
            Self::DivisionOverflow => {
                "integer division whose quotient does not fit: the least number by -1"
            }
            Self::OversizedShift => "shift by the width of the number or more",
            Self::ConversionOverflow => "float that does not fit the integer it becomes",
            Self::TextureOutOfBounds => "access outside a texture",
            Self::UnsuitableTexture => "texture that does not suit its use",
            Self::MissingFence => {
                "read of a texel that the thread wrote, without texture.fence() between"
            }
            Self::TensorOutOfBounds => "element or slice outside its tensor",
            Self::TensorScope => {
                "tensor operation whose scope has another number of simdgroups than the threadgroup"
            }
            Self::TensorShapes => "tensor operation on operands whose inner extents differ",
        }
    }
}

/// A place in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// What it is in, by name.
    pub target: String,
    /// The index of the buffer, if it is one.
    pub buffer: Option<u32>,
    /// The texel in words, if it is one.
    pub texel: Option<String>,
    /// Offset in bytes; negative below the start.
    pub offset: i64,
    /// Bytes accessed.
    pub size: u32,
    /// `read`, `write` or `atomic access`.
    pub action: &'static str,
}

/// The other side of a race.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    /// File, line and column, where known.
    pub place: Option<String>,
    /// Position of the thread in the grid.
    pub thread: [u32; 3],
    /// `read`, `write` or `atomic access`.
    pub action: &'static str,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel \"{}\"", self.kernel)?;
        if let Some(place) = &self.place {
            write!(f, ", {place}")?;
        }
        for caller in &self.callers {
            write!(f, ", called at {caller}")?;
        }
        write!(f, ": {}", self.kind.sentence())?;
        if let Some(at) = &self.location {
            let Location {
                action,
                size,
                offset,
                target,
                texel,
                ..
            } = at;
            match texel {
                Some(texel) => write!(f, ": {action} at {texel} of {target}")?,
                None => write!(
                    f,
                    ": {action} of {size} bytes at offset {offset} of {target}"
                )?,
            }
        }
        if let Some(detail) = &self.detail {
            write!(f, ": {detail}")?;
        }
        let [x, y, z] = self.thread;
        write!(f, ", in thread ({x}, {y}, {z})")?;
        if let Some(other) = &self.other {
            let [x, y, z] = other.thread;
            write!(f, "; the other: {}", other.action)?;
            if let Some(place) = &other.place {
                write!(f, " at {place}")?;
            }
            write!(f, ", thread ({x}, {y}, {z})")?;
        }
        Ok(())
    }
}
