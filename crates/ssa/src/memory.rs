//! How a memory access is made: alignment, ordering, scope, aliasing.

use crate::id::define_ids;

/// How strongly an access is ordered against others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum Ordering {
    /// Not atomic.
    #[default]
    Plain,
    /// Atomic, without ordering (the only kind Metal's own atomics had before Metal 4).
    Relaxed,
    /// Later accesses stay later.
    Acquire,
    /// Earlier accesses stay earlier.
    Release,
    /// Both.
    AcqRel,
    /// In one order with all others of this kind.
    SeqCst,
}

impl Ordering {
    /// All orderings, weakest first.
    pub const ALL: [Self; 6] = [
        Self::Plain,
        Self::Relaxed,
        Self::Acquire,
        Self::Release,
        Self::AcqRel,
        Self::SeqCst,
    ];

    /// The word in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Relaxed => "relaxed",
            Self::Acquire => "acquire",
            Self::Release => "release",
            Self::AcqRel => "acq_rel",
            Self::SeqCst => "seq_cst",
        }
    }

    /// The ordering AIR's number stands for (C++'s `memory_order`).
    pub const fn from_air(number: u64) -> Self {
        match number {
            0 => Self::Relaxed,
            1 | 2 => Self::Acquire,
            3 => Self::Release,
            4 => Self::AcqRel,
            _ => Self::SeqCst,
        }
    }
}

/// Among which threads an atomic access or a barrier orders.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum Scope {
    /// The thread alone.
    #[default]
    Thread,
    /// The 32 threads of a simdgroup.
    Simdgroup,
    /// The threads of a threadgroup.
    Threadgroup,
    /// All threads of the device.
    Device,
}

impl Scope {
    /// All scopes, narrowest first.
    pub const ALL: [Self; 4] = [
        Self::Thread,
        Self::Simdgroup,
        Self::Threadgroup,
        Self::Device,
    ];

    /// The word in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::Simdgroup => "simdgroup",
            Self::Threadgroup => "threadgroup",
            Self::Device => "device",
        }
    }

    /// The scope AIR's number stands for (Metal's `thread_scope`).
    pub const fn from_air(number: u64) -> Self {
        match number {
            0 => Self::Thread,
            1 => Self::Threadgroup,
            4 => Self::Simdgroup,
            _ => Self::Device,
        }
    }
}

/// Which kinds of memory a barrier orders, as Metal's `mem_flags`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct BarrierMemory(pub u32);

impl BarrierMemory {
    /// Device memory.
    pub const DEVICE: u32 = 1;
    /// Threadgroup memory.
    pub const THREADGROUP: u32 = 2;
    /// Textures.
    pub const TEXTURE: u32 = 4;

    /// Whether device memory is ordered.
    pub const fn device(self) -> bool {
        self.0 & Self::DEVICE != 0
    }

    /// Whether threadgroup memory is ordered.
    pub const fn threadgroup(self) -> bool {
        self.0 & Self::THREADGROUP != 0
    }
}

define_ids! {
    /// An entry of a function's table of alias sets.
    AliasId = "a";
}

/// Which alias scopes an access belongs to, and which it is known not to touch.
///
/// A bit stands for one scope (one buffer argument, in Apple's AIR). Two accesses do not overlap when, in
/// some domain, all scopes of the one are among those the other excludes. A function knows 64 scopes;
/// further ones are dropped by the reader, which only loses precision.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct AliasSet {
    /// The scopes this access belongs to.
    pub scopes: u64,
    /// The scopes this access does not touch.
    pub noalias: u64,
}

/// How a load, store or atomic accesses memory; eight bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Access {
    /// log₂ of the alignment in bytes.
    pub align_log2: u8,
    /// Ordering; [`Ordering::Plain`] for ordinary accesses.
    pub ordering: Ordering,
    /// Scope of an atomic access.
    pub scope: Scope,
    /// The access must be made exactly as written.
    pub volatile: bool,
    /// The location does not change during the dispatch.
    pub invariant: bool,
    /// The alias set, if one is known.
    pub alias: Option<AliasId>,
}

impl Access {
    /// A plain access of this alignment (bytes; rounded down to a power of two, at least 1).
    pub fn aligned(bytes: u32) -> Self {
        Self {
            align_log2: bytes.max(1).ilog2() as u8,
            ordering: Ordering::Plain,
            scope: Scope::Thread,
            volatile: false,
            invariant: false,
            alias: None,
        }
    }

    /// A relaxed atomic access of this alignment and scope.
    pub fn relaxed(bytes: u32, scope: Scope) -> Self {
        Self {
            ordering: Ordering::Relaxed,
            scope,
            ..Self::aligned(bytes)
        }
    }

    /// Alignment in bytes.
    #[inline]
    pub const fn align(self) -> u32 {
        1 << (self.align_log2 & 31)
    }

    /// Whether the access is atomic.
    #[inline]
    pub fn is_atomic(self) -> bool {
        self.ordering != Ordering::Plain
    }
}

/// What an atomic read-modify-write does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum AtomicOp {
    /// Addition, wrapping.
    Add,
    /// Subtraction, wrapping.
    Sub,
    /// Signed minimum.
    SMin,
    /// Signed maximum.
    SMax,
    /// Unsigned minimum.
    UMin,
    /// Unsigned maximum.
    UMax,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Replacement.
    Exchange,
    /// Float addition.
    FAdd,
    /// Float subtraction.
    FSub,
    /// Float minimum.
    FMin,
    /// Float maximum.
    FMax,
}

impl AtomicOp {
    /// All operations.
    pub const ALL: [Self; 14] = [
        Self::Add,
        Self::Sub,
        Self::SMin,
        Self::SMax,
        Self::UMin,
        Self::UMax,
        Self::And,
        Self::Or,
        Self::Xor,
        Self::Exchange,
        Self::FAdd,
        Self::FSub,
        Self::FMin,
        Self::FMax,
    ];

    /// The word in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Sub => "sub",
            Self::SMin => "smin",
            Self::SMax => "smax",
            Self::UMin => "umin",
            Self::UMax => "umax",
            Self::And => "and",
            Self::Or => "or",
            Self::Xor => "xor",
            Self::Exchange => "xchg",
            Self::FAdd => "fadd",
            Self::FSub => "fsub",
            Self::FMin => "fmin",
            Self::FMax => "fmax",
        }
    }

    /// Whether the operation is on floats.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::FAdd | Self::FSub | Self::FMin | Self::FMax)
    }
}
