//! The 32 lanes of a simdgroup: functions applied to all, and which lane a shuffle reads.
//!
//! The loops here have a fixed length and no branches, so they become vector code. Inside a function compiled with
//! `#[target_feature(enable = "avx2,fma")]` they use those instructions, because everything down to the arithmetic is
//! `#[inline(always)]`.

use crate::LANES;

/// Applies a function to all lanes, by name: `map_lanes!(precise::exp, &a)`.
///
/// Unlike [`map`] and its like, which take any closure, this calls the function directly, so that an
/// `#[inline(always)]` function is inlined however large it is, and with it the caller's vector instructions.
///
/// ```
/// let roots = assay_num::map_lanes!(assay_num::single::sqrt, &[4.0; 32]);
/// assert_eq!(roots, [2.0; 32]);
/// ```
#[macro_export]
macro_rules! map_lanes {
    ($function:path, $a:expr) => {{
        let a: &[_; $crate::LANES] = $a;
        let mut result = [Default::default(); $crate::LANES];
        for (slot, &a) in result.iter_mut().zip(a) {
            *slot = $function(a);
        }
        result
    }};
    ($function:path, $a:expr, $b:expr) => {{
        let (a, b): (&[_; $crate::LANES], &[_; $crate::LANES]) = ($a, $b);
        let mut result = [Default::default(); $crate::LANES];
        for ((slot, &a), &b) in result.iter_mut().zip(a).zip(b) {
            *slot = $function(a, b);
        }
        result
    }};
    ($function:path, $a:expr, $b:expr, $c:expr) => {{
        let (a, b): (&[_; $crate::LANES], &[_; $crate::LANES]) = ($a, $b);
        let c: &[_; $crate::LANES] = $c;
        let mut result = [Default::default(); $crate::LANES];
        for (((slot, &a), &b), &c) in result.iter_mut().zip(a).zip(b).zip(c) {
            *slot = $function(a, b, c);
        }
        result
    }};
}

/// One value per lane.
pub type Lanes<T> = [T; LANES];

/// A function of one value, for all lanes.
#[inline(always)]
pub fn map<T: Copy, R: Copy + Default>(a: &Lanes<T>, function: impl Fn(T) -> R) -> Lanes<R> {
    let mut result = [R::default(); LANES];
    for (slot, &a) in result.iter_mut().zip(a) {
        *slot = function(a);
    }
    result
}

/// A function of two values, for all lanes.
#[inline(always)]
pub fn map2<T: Copy, U: Copy, R: Copy + Default>(
    a: &Lanes<T>,
    b: &Lanes<U>,
    function: impl Fn(T, U) -> R,
) -> Lanes<R> {
    let mut result = [R::default(); LANES];
    for ((slot, &a), &b) in result.iter_mut().zip(a).zip(b) {
        *slot = function(a, b);
    }
    result
}

/// A function of three values, for all lanes.
#[inline(always)]
pub fn map3<T: Copy, U: Copy, V: Copy, R: Copy + Default>(
    a: &Lanes<T>,
    b: &Lanes<U>,
    c: &Lanes<V>,
    function: impl Fn(T, U, V) -> R,
) -> Lanes<R> {
    let mut result = [R::default(); LANES];
    for (((slot, &a), &b), &c) in result.iter_mut().zip(a).zip(b).zip(c) {
        *slot = function(a, b, c);
    }
    result
}

/// Which lanes hold true, lane 0 in the lowest bit.
#[inline(always)]
pub fn ballot(a: &Lanes<bool>) -> u32 {
    let mut mask = 0;
    for (lane, &value) in a.iter().enumerate() {
        mask |= u32::from(value) << lane;
    }
    mask
}

/// The lane `simd_shuffle(value, index)` reads; a lane outside reads itself.
#[inline(always)]
pub const fn shuffle_source(lane: u32, index: u32) -> u32 {
    if index < LANES as u32 { index } else { lane }
}

/// The lane `simd_shuffle_down(value, delta)` reads; the upper lanes, without one, read themselves.
#[inline(always)]
pub const fn shuffle_down_source(lane: u32, delta: u32) -> u32 {
    let source = lane.wrapping_add(delta);
    if delta < LANES as u32 && source < LANES as u32 {
        source
    } else {
        lane
    }
}

/// The lane `simd_shuffle_up(value, delta)` reads; the lower lanes, without one, read themselves.
#[inline(always)]
pub const fn shuffle_up_source(lane: u32, delta: u32) -> u32 {
    if delta <= lane { lane - delta } else { lane }
}

/// The lane `simd_shuffle_xor(value, mask)` reads; one outside is itself.
#[inline(always)]
pub const fn shuffle_xor_source(lane: u32, mask: u32) -> u32 {
    let source = lane ^ mask;
    if source < LANES as u32 { source } else { lane }
}

/// The lane `simd_shuffle_rotate_down(value, delta)` reads.
#[inline(always)]
pub const fn rotate_down_source(lane: u32, delta: u32) -> u32 {
    lane.wrapping_add(delta) % LANES as u32
}

/// The lane `simd_shuffle_rotate_up(value, delta)` reads.
#[inline(always)]
pub const fn rotate_up_source(lane: u32, delta: u32) -> u32 {
    lane.wrapping_sub(delta) % LANES as u32
}

/// Where `simd_shuffle_and_fill_down(value, fill, delta, modulo)` reads: a lane of the value, or of the filling.
///
/// The simdgroup is cut into groups of `modulo` lanes; lanes whose source is beyond their group read the filling's lanes
/// from the start of the group.
#[inline(always)]
pub const fn fill_down_source(lane: u32, delta: u32, modulo: u32) -> (bool, u32) {
    let modulo = if modulo == 0 || modulo > LANES as u32 {
        LANES as u32
    } else {
        modulo
    };
    let (start, offset) = (lane / modulo * modulo, lane % modulo);
    let source = offset.wrapping_add(delta);
    if source < modulo && delta < modulo {
        (false, start + source)
    } else {
        (true, start + source % modulo)
    }
}

/// Where `simd_shuffle_and_fill_up(value, fill, delta, modulo)` reads: a lane of the value, or of the filling, whose
/// last lanes of the group come in from below.
#[inline(always)]
pub const fn fill_up_source(lane: u32, delta: u32, modulo: u32) -> (bool, u32) {
    let modulo = if modulo == 0 || modulo > LANES as u32 {
        LANES as u32
    } else {
        modulo
    };
    let (start, offset) = (lane / modulo * modulo, lane % modulo);
    if delta <= offset {
        (false, start + offset - delta)
    } else {
        (true, start + (offset + modulo - delta % modulo) % modulo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_without_a_source_read_themselves() {
        assert_eq!((shuffle_source(3, 31), shuffle_source(3, 32)), (31, 3));
        assert_eq!(
            (shuffle_down_source(30, 1), shuffle_down_source(31, 1)),
            (31, 31)
        );
        assert_eq!((shuffle_up_source(1, 1), shuffle_up_source(0, 1)), (0, 0));
        assert_eq!(shuffle_down_source(0, u32::MAX), 0);
        assert_eq!(
            (shuffle_xor_source(5, 1), shuffle_xor_source(5, 32)),
            (4, 5)
        );
        assert_eq!((rotate_down_source(31, 1), rotate_up_source(0, 1)), (0, 31));
    }

    #[test]
    fn filling_comes_from_the_group_s_other_end() {
        assert_eq!(fill_up_source(5, 2, 32), (false, 3));
        assert_eq!(fill_up_source(1, 2, 32), (true, 31));
        assert_eq!(fill_up_source(0, 2, 32), (true, 30));
        assert_eq!(fill_down_source(30, 2, 32), (true, 0));
        assert_eq!(fill_down_source(31, 2, 32), (true, 1));
        assert_eq!(fill_down_source(9, 1, 8), (false, 10));
        assert_eq!(fill_down_source(15, 1, 8), (true, 8));
        assert_eq!(fill_up_source(8, 1, 8), (true, 15));
    }

    #[test]
    fn a_ballot_has_lane_zero_lowest() {
        let mut votes = [false; LANES];
        (votes[0], votes[5]) = (true, true);
        assert_eq!(ballot(&votes), 0b10_0001);
    }
}
