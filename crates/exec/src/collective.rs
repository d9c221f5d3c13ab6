//! Operations across the lanes of a simdgroup or quadgroup.
//!
//! The order in which values are combined is `assay_num::reduce`'s; which lane a shuffle reads,
//! `assay_num::lanes`'. Lanes that are not active take no part in a reduction. A shuffle that reads an inactive lane gets
//! what that lane's register holds.

use crate::code::Reg;
use assay_num::{brain, half, int, lanes, reduce, single};
use assay_ssa::Scalar;
use assay_ssa::builtin::{Builtin, Sign};

/// A collective on one number per lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Collective {
    pub(crate) what: What,
    pub(crate) scalar: Scalar,
    pub(crate) d: Reg,
    pub(crate) a: Reg,
    /// The second operand: an index or the filling.
    pub(crate) b: Option<Reg>,
    /// Index and modulo of a shuffle with filling.
    pub(crate) c: Option<Reg>,
    pub(crate) e: Option<Reg>,
}

/// Which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Reduce { op: Combine, group: u8 },
    Inclusive { op: Combine, group: u8 },
    Exclusive { op: Combine, group: u8 },
    Shuffle { how: Shuffle, group: u8 },
    Fill { up: bool, group: u8 },
    First { group: u8 },
    Ballot { group: u8 },
    All { group: u8 },
    Any { group: u8 },
    VoteAll { group: u8 },
    VoteAny { group: u8 },
    ActiveMask { group: u8 },
    IsFirst { group: u8 },
    IsUniform,
}

/// How values are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    Sum,
    Product,
    Min { signed: bool },
    Max { signed: bool },
    And,
    Or,
    Xor,
}

/// Which lane a shuffle reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shuffle {
    Index,
    Up,
    Down,
    Xor,
    RotateUp,
    RotateDown,
}

impl What {
    /// The collective a builtin is.
    pub(crate) fn of(builtin: Builtin, sign: Sign) -> Option<Self> {
        use Builtin as B;
        let signed = sign == Sign::Signed;
        let (simd, quad) = (32, 4);
        let reduce = |op, group| Self::Reduce { op, group };
        let inclusive = |op, group| Self::Inclusive { op, group };
        let exclusive = |op, group| Self::Exclusive { op, group };
        let shuffle = |how, group| Self::Shuffle { how, group };
        Some(match builtin {
            B::SimdSum => reduce(Combine::Sum, simd),
            B::SimdProduct => reduce(Combine::Product, simd),
            B::SimdMin => reduce(Combine::Min { signed }, simd),
            B::SimdMax => reduce(Combine::Max { signed }, simd),
            B::SimdAnd => reduce(Combine::And, simd),
            B::SimdOr => reduce(Combine::Or, simd),
            B::SimdXor => reduce(Combine::Xor, simd),
            B::QuadSum => reduce(Combine::Sum, quad),
            B::QuadProduct => reduce(Combine::Product, quad),
            B::QuadMin => reduce(Combine::Min { signed }, quad),
            B::QuadMax => reduce(Combine::Max { signed }, quad),
            B::QuadAnd => reduce(Combine::And, quad),
            B::QuadOr => reduce(Combine::Or, quad),
            B::QuadXor => reduce(Combine::Xor, quad),
            B::SimdPrefixInclusiveSum => inclusive(Combine::Sum, simd),
            B::SimdPrefixExclusiveSum => exclusive(Combine::Sum, simd),
            B::SimdPrefixInclusiveProduct => inclusive(Combine::Product, simd),
            B::SimdPrefixExclusiveProduct => exclusive(Combine::Product, simd),
            B::QuadPrefixInclusiveSum => inclusive(Combine::Sum, quad),
            B::QuadPrefixExclusiveSum => exclusive(Combine::Sum, quad),
            B::QuadPrefixInclusiveProduct => inclusive(Combine::Product, quad),
            B::QuadPrefixExclusiveProduct => exclusive(Combine::Product, quad),
            B::SimdShuffle | B::SimdBroadcast => shuffle(Shuffle::Index, simd),
            B::SimdShuffleUp => shuffle(Shuffle::Up, simd),
            B::SimdShuffleDown => shuffle(Shuffle::Down, simd),
            B::SimdShuffleXor => shuffle(Shuffle::Xor, simd),
            B::SimdShuffleRotateUp => shuffle(Shuffle::RotateUp, simd),
            B::SimdShuffleRotateDown => shuffle(Shuffle::RotateDown, simd),
            B::QuadShuffle | B::QuadBroadcast => shuffle(Shuffle::Index, quad),
            B::QuadShuffleUp => shuffle(Shuffle::Up, quad),
            B::QuadShuffleDown => shuffle(Shuffle::Down, quad),
            B::QuadShuffleXor => shuffle(Shuffle::Xor, quad),
            B::QuadShuffleRotateUp => shuffle(Shuffle::RotateUp, quad),
            B::QuadShuffleRotateDown => shuffle(Shuffle::RotateDown, quad),
            B::SimdShuffleAndFillUp => Self::Fill {
                up: true,
                group: simd,
            },
            B::SimdShuffleAndFillDown => Self::Fill {
                up: false,
                group: simd,
            },
            B::QuadShuffleAndFillUp => Self::Fill {
                up: true,
                group: quad,
            },
            B::QuadShuffleAndFillDown => Self::Fill {
                up: false,
                group: quad,
            },
            B::SimdBroadcastFirst => Self::First { group: simd },
            B::QuadBroadcastFirst => Self::First { group: quad },
            B::SimdBallot => Self::Ballot { group: simd },
            B::QuadBallot => Self::Ballot { group: quad },
            B::SimdAll => Self::All { group: simd },
            B::QuadAll => Self::All { group: quad },
            B::SimdAny => Self::Any { group: simd },
            B::QuadAny => Self::Any { group: quad },
            B::SimdVoteAll => Self::VoteAll { group: simd },
            B::QuadVoteAll => Self::VoteAll { group: quad },
            B::SimdVoteAny => Self::VoteAny { group: simd },
            B::QuadVoteAny => Self::VoteAny { group: quad },
            B::SimdActiveThreadsMask => Self::ActiveMask { group: simd },
            B::QuadActiveThreadsMask => Self::ActiveMask { group: quad },
            B::SimdIsFirst => Self::IsFirst { group: simd },
            B::QuadIsFirst => Self::IsFirst { group: quad },
            B::IsUniform => Self::IsUniform,
            _ => return None,
        })
    }
}

impl Combine {
    fn apply(self, scalar: Scalar, a: u64, b: u64) -> u64 {
        let bits = scalar.bits();
        let less = |signed| int::compare(a, b, bits, signed) < 0;
        match scalar {
            Scalar::F32 => {
                let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
                let value = match self {
                    Self::Sum => single::add(x, y),
                    Self::Product => single::mul(x, y),
                    Self::Min { .. } => single::min(x, y),
                    _ => single::max(x, y),
                };
                u64::from(value.to_bits())
            }
            Scalar::F16 => u64::from(match self {
                Self::Sum => half::add(a as u16, b as u16),
                Self::Product => half::mul(a as u16, b as u16),
                Self::Min { .. } => half::min(a as u16, b as u16),
                _ => half::max(a as u16, b as u16),
            }),
            Scalar::BF16 => u64::from(match self {
                Self::Sum => brain::add(a as u16, b as u16),
                Self::Product => brain::mul(a as u16, b as u16),
                Self::Min { .. } => brain::min(a as u16, b as u16),
                _ => brain::max(a as u16, b as u16),
            }),
            _ => {
                let value = match self {
                    Self::Sum => a.wrapping_add(b),
                    Self::Product => a.wrapping_mul(b),
                    Self::Min { signed } => {
                        if less(signed) {
                            a
                        } else {
                            b
                        }
                    }
                    Self::Max { signed } => {
                        if less(signed) {
                            b
                        } else {
                            a
                        }
                    }
                    Self::And => a & b,
                    Self::Or => a | b,
                    Self::Xor => a ^ b,
                };
                value & int::mask(bits)
            }
        }
    }

    /// What changes nothing.
    fn identity(self, scalar: Scalar) -> u64 {
        let bits = scalar.bits();
        match scalar {
            Scalar::F32 => u64::from(
                match self {
                    Self::Sum => reduce::SUM_IDENTITY,
                    Self::Product => reduce::PRODUCT_IDENTITY,
                    _ => reduce::MINMAX_IDENTITY,
                }
                .to_bits(),
            ),
            Scalar::F16 => match self {
                Self::Sum => 0x8000,
                Self::Product => 0x3c00,
                _ => 0x7e00,
            },
            Scalar::BF16 => match self {
                Self::Sum => 0x8000,
                Self::Product => 0x3f80,
                _ => 0x7fc0,
            },
            _ => match self {
                Self::Sum | Self::Or | Self::Xor | Self::Max { signed: false } => 0,
                Self::Product => 1,
                Self::And | Self::Min { signed: false } => int::mask(bits),
                Self::Min { signed: true } => int::mask(bits) >> 1,
                Self::Max { signed: true } => 1 << (bits - 1),
            },
        }
    }

    /// What an exclusive prefix starts with.
    fn first(self, scalar: Scalar) -> u64 {
        match self {
            Self::Product => Self::Product.identity(scalar),
            _ => 0,
        }
    }
}

/// The lanes of the group of `size` that `lane` belongs to.
fn group_mask(lane: usize, size: u8) -> u32 {
    if size >= 32 {
        !0
    } else {
        ((1 << size) - 1) << (lane as u32 / u32::from(size) * u32::from(size))
    }
}

/// The operands of a collective in all lanes.
#[derive(Debug)]
pub(crate) struct Operands {
    pub(crate) a: [u64; 32],
    pub(crate) b: [u64; 32],
    pub(crate) c: [u64; 32],
    pub(crate) e: Option<[u64; 32]>,
}

impl Collective {
    /// The result in each lane; only active lanes take it.
    pub(crate) fn apply(&self, operands: &Operands, mask: u32) -> [u64; 32] {
        let a = &operands.a;
        let scalar = self.scalar;
        let votes =
            || (0..32).fold(0u32, |votes, lane| votes | (a[lane] as u32 & 1) << lane) & mask;
        let each = |f: &dyn Fn(usize) -> u64| -> [u64; 32] { std::array::from_fn(f) };
        let shifted = |bits: u32, lane: usize, group: u8| {
            let own = bits & group_mask(lane, group);
            u64::from(if group >= 32 {
                own
            } else {
                own >> (lane / 4 * 4)
            })
        };
        match self.what {
            What::Reduce { op, group } => {
                let (identity, combine) = (op.identity(scalar), |x, y| op.apply(scalar, x, y));
                match group {
                    4 => reduce::reduce_quads(a, mask, identity, combine),
                    _ => [reduce::reduce(a, mask, identity, combine); 32],
                }
            }
            What::Inclusive { op, group } => {
                let combine = |x, y| op.apply(scalar, x, y);
                let (identity, first) = (op.identity(scalar), op.first(scalar));
                reduce::inclusive(a, mask, identity, first, group.into(), combine)
            }
            What::Exclusive { op, group } => {
                let combine = |x, y| op.apply(scalar, x, y);
                let (identity, first) = (op.identity(scalar), op.first(scalar));
                reduce::exclusive(a, mask, identity, first, group.into(), combine)
            }
            What::Shuffle { .. } | What::Fill { .. } => {
                each(&|lane| match self.source(operands, lane) {
                    Some((true, source)) => operands.b[source],
                    Some((false, source)) => a[source],
                    None => 0,
                })
            }
            What::First { group } => each(&|lane| {
                let first = reduce::first_lane(mask & group_mask(lane, group));
                first.map_or(0, |first| a[first as usize & 31])
            }),
            What::Ballot { group } => {
                let votes = votes();
                each(&|lane| shifted(votes, lane, group))
            }
            What::All { group } => {
                let votes = votes();
                each(&|lane| u64::from((votes ^ mask) & group_mask(lane, group) == 0))
            }
            What::Any { group } => {
                let votes = votes();
                each(&|lane| u64::from(votes & group_mask(lane, group) != 0))
            }
            What::VoteAll { group } => each(&|lane| {
                let active = shifted(mask, lane, group);
                u64::from(a[lane] & active == active)
            }),
            What::VoteAny { group } => {
                each(&|lane| u64::from(a[lane] & shifted(mask, lane, group) != 0))
            }
            What::ActiveMask { group } => each(&|lane| shifted(mask, lane, group)),
            What::IsFirst { group } => each(&|lane| {
                u64::from(reduce::first_lane(mask & group_mask(lane, group)) == Some(lane as u32))
            }),
            What::IsUniform => {
                let first = reduce::first_lane(mask).map_or(0, |first| a[first as usize & 31]);
                let same = (0..32).all(|lane| mask >> lane & 1 == 0 || a[lane] == first);
                [u64::from(same); 32]
            }
        }
    }
}

impl Collective {
    /// The result in each lane for the most common collectives on 32-bit numbers of the whole simdgroup.
    pub(crate) fn apply_narrow(
        &self,
        a: &[u32; 32],
        b: Option<&[u32; 32]>,
        mask: u32,
    ) -> Option<[u32; 32]> {
        match self.what {
            What::Reduce { op, group: 32 } => {
                let result = match (self.scalar, op) {
                    (Scalar::F32, Combine::Sum) => single_reduction(a, mask, op, single::add),
                    (Scalar::F32, Combine::Min { .. }) => {
                        single_reduction(a, mask, op, single::min)
                    }
                    (Scalar::F32, Combine::Max { .. }) => {
                        single_reduction(a, mask, op, single::max)
                    }
                    (Scalar::I32, Combine::Sum) => reduce::reduce(a, mask, 0, u32::wrapping_add),
                    _ => return None,
                };
                Some([result; 32])
            }
            What::Shuffle { how, group: 32 } => {
                let b = b?;
                let mut result = [0; 32];
                let mut each = |source: fn(u32, u32) -> u32| {
                    for lane in 0..32 {
                        result[lane] = a[source(lane as u32, b[lane]) as usize & 31];
                    }
                };
                match how {
                    Shuffle::Index => each(lanes::shuffle_source),
                    Shuffle::Up => each(lanes::shuffle_up_source),
                    Shuffle::Down => each(lanes::shuffle_down_source),
                    Shuffle::Xor => each(lanes::shuffle_xor_source),
                    Shuffle::RotateUp => each(lanes::rotate_up_source),
                    Shuffle::RotateDown => each(lanes::rotate_down_source),
                }
                Some(result)
            }
            _ => None,
        }
    }
}

impl Collective {
    /// Returns true if lanes read each other's numbers as they are.
    pub(crate) fn is_shuffle(&self) -> bool {
        matches!(self.what, What::Shuffle { .. } | What::Fill { .. })
    }

    /// Returns true if the lane to read is given by its number.
    pub(crate) fn names_lanes(&self) -> bool {
        let index = Shuffle::Index;
        matches!(self.what, What::Shuffle { how, .. } if how == index)
    }

    /// Returns true if a lane gives a number that no lane has. (Beyond an end by a distance is another matter: sums over
    /// a simdgroup do that and do not look at what they get.)
    pub(crate) fn names_no_lane(&self, operands: &Operands, lane: usize) -> bool {
        match self.what {
            What::Shuffle { group, .. } if self.names_lanes() => {
                operands.b[lane & 31] as u32 >= u32::from(group)
            }
            _ => false,
        }
    }

    /// The lane that a lane of a shuffle reads from; true if of the filling operand. Nothing for other collectives.
    pub(crate) fn source(&self, operands: &Operands, lane: usize) -> Option<(bool, usize)> {
        match self.what {
            What::Shuffle { how, group } => {
                let index = operands.b[lane & 31] as u32;
                Some((false, shuffle_source(how, group, lane, index)))
            }
            What::Fill { up, group } => {
                let delta = operands.c[lane & 31] as u32;
                let modulo = operands.e.map_or(u32::from(group), |e| e[lane & 31] as u32);
                let modulo = modulo.min(group.into());
                let (filled, source) = if up {
                    lanes::fill_up_source(lane as u32, delta, modulo)
                } else {
                    lanes::fill_down_source(lane as u32, delta, modulo)
                };
                Some((filled, source as usize & 31))
            }
            _ => None,
        }
    }
}

#[inline(always)]
fn single_reduction(
    a: &[u32; 32],
    mask: u32,
    op: Combine,
    combine: impl Fn(f32, f32) -> f32,
) -> u32 {
    let identity = op.identity(Scalar::F32) as u32;
    reduce::reduce(a, mask, identity, |x, y| {
        combine(f32::from_bits(x), f32::from_bits(y)).to_bits()
    })
}

fn shuffle_source(how: Shuffle, group: u8, lane: usize, index: u32) -> usize {
    let own = lane as u32;
    let source = if group >= 32 {
        match how {
            Shuffle::Index => lanes::shuffle_source(own, index),
            Shuffle::Up => lanes::shuffle_up_source(own, index),
            Shuffle::Down => lanes::shuffle_down_source(own, index),
            Shuffle::Xor => lanes::shuffle_xor_source(own, index),
            Shuffle::RotateUp => lanes::rotate_up_source(own, index),
            Shuffle::RotateDown => lanes::rotate_down_source(own, index),
        }
    } else {
        let (start, place) = (own & !3, own & 3);
        let inside = |source: u32| if source < 4 { start + source } else { own };
        match how {
            Shuffle::Index => inside(index),
            Shuffle::Up => inside(place.wrapping_sub(index)),
            Shuffle::Down => inside(place.saturating_add(index)),
            Shuffle::Xor => inside(place ^ index),
            Shuffle::RotateUp => start + (place.wrapping_sub(index) & 3),
            Shuffle::RotateDown => start + (place.wrapping_add(index) & 3),
        }
    };
    source as usize & 31
}
