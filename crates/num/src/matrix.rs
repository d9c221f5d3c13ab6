//! Simdgroup matrices: where the 64 elements of an 8×8 matrix live, and in which order products are added.
//!
//! Each lane holds two elements of a row: lane `l` has (row, column) and (row, column + 1) with
//! `row = 4·bit4(l) + bits2..1(l)`, `column = 4·bit3(l) + 2·bit0(l)`. The layout is the same for all operands
//! (MLX's source, a public Asahi prototype and measurements agree).
//!
//! `D = A·B + C`: *chosen*, each element starts from C's and adds the products in order of the shared index, each by a
//! fused multiply-add that rounds to the accumulator's precision (brain-float accumulators: single precision, rounded
//! once at the end).

use crate::flush::{finish, flush};
use crate::{LANES, half};

/// Row and first column of the two elements a lane holds.
#[inline(always)]
pub const fn element_of_lane(lane: usize) -> (usize, usize) {
    let row = (lane >> 4 & 1) * 4 + (lane >> 1 & 3);
    let column = (lane >> 3 & 1) * 4 + (lane & 1) * 2;
    (row, column)
}

/// The lane that holds an element, and which of its two it is.
#[inline(always)]
pub const fn lane_of_element(row: usize, column: usize) -> (usize, usize) {
    let lane = (row >> 2 & 1) << 4 | (row & 3) << 1 | (column >> 2 & 1) << 3 | column >> 1 & 1;
    (lane, column & 1)
}

/// Collects a matrix from its lanes.
#[inline(always)]
pub fn gather<T: Copy + Default>(lanes: &[[T; LANES]; 2]) -> [[T; 8]; 8] {
    let mut matrix = [[T::default(); 8]; 8];
    for (lane, (&first, &second)) in lanes[0].iter().zip(&lanes[1]).enumerate() {
        let (row, column) = element_of_lane(lane);
        matrix[row][column] = first;
        matrix[row][column + 1] = second;
    }
    matrix
}

/// Spreads a matrix over its lanes.
#[inline(always)]
pub fn scatter<T: Copy>(matrix: &[[T; 8]; 8]) -> [[T; LANES]; 2] {
    let element = |which: usize| {
        std::array::from_fn(|lane| {
            let (row, column) = element_of_lane(lane);
            matrix[row][column + which]
        })
    };
    [element(0), element(1)]
}

/// `a · b + c` with a single-precision accumulator.
#[inline(always)]
pub fn multiply_add(a: &[[f32; 8]; 8], b: &[[f32; 8]; 8], c: &[[f32; 8]; 8]) -> [[f32; 8]; 8] {
    // Operands are flushed once; what an operation makes is flushed already. The bits are those of `single::fma`.
    let (a, b, mut result) = (flushed(a), flushed(b), flushed(c));
    for (row, sums) in result.iter_mut().enumerate() {
        for inner in 0..8 {
            // A row at a time, each made anew: the compiler keeps those in vector registers.
            let (left, right, before) = (a[row][inner], &b[inner], *sums);
            let mut next = [0.0; 8];
            for column in 0..8 {
                next[column] = finish(left.mul_add(right[column], before[column]));
            }
            *sums = next;
        }
    }
    result
}

#[inline(always)]
fn flushed(matrix: &[[f32; 8]; 8]) -> [[f32; 8]; 8] {
    let mut result = [[0.0; 8]; 8];
    for (flushed, &element) in result
        .as_flattened_mut()
        .iter_mut()
        .zip(matrix.as_flattened())
    {
        *flushed = flush(element);
    }
    result
}

/// `a · b + c` with a half-precision accumulator; all are bit patterns.
#[inline(always)]
pub fn multiply_add_half(a: &[[u16; 8]; 8], b: &[[u16; 8]; 8], c: &[[u16; 8]; 8]) -> [[u16; 8]; 8] {
    let mut result = *c;
    for row in 0..8 {
        for inner in 0..8 {
            for column in 0..8 {
                result[row][column] =
                    half::fma(a[row][inner], b[inner][column], result[row][column]);
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_and_elements_correspond() {
        let mut seen = [[false; 8]; 8];
        for lane in 0..LANES {
            let (row, column) = element_of_lane(lane);
            for which in 0..2 {
                assert_eq!(lane_of_element(row, column + which), (lane, which));
                assert!(!std::mem::replace(&mut seen[row][column + which], true));
            }
        }
        // As public sources give it, in another form.
        for lane in 0..LANES {
            let quarter = lane >> 2;
            let row = (quarter & 4) + (lane >> 1 & 3);
            let column = (quarter & 2) * 2 + (lane & 1) * 2;
            assert_eq!(element_of_lane(lane), (row, column));
        }
    }

    #[test]
    fn spreading_and_collecting_are_inverse() {
        let matrix: [[u32; 8]; 8] =
            std::array::from_fn(|row| std::array::from_fn(|column| (row * 8 + column) as u32));
        assert_eq!(gather(&scatter(&matrix)), matrix);
    }

    #[test]
    fn products_are_added_in_order_onto_the_accumulator() {
        let mut a = [[0.0; 8]; 8];
        let mut b = [[0.0; 8]; 8];
        let mut c = [[0.0; 8]; 8];
        // 1e8 + 1 loses the 1; −1e8 then leaves 0. Another order would leave 1.
        c[0][0] = 1e8;
        (a[0][0], b[0][0]) = (1.0, 1.0);
        (a[0][1], b[1][0]) = (-1e8, 1.0);
        assert_eq!(multiply_add(&a, &b, &c)[0][0], 0.0);
    }

    #[test]
    fn each_step_is_a_single_precision_fused_multiply_add() {
        let mut bits = 1u32;
        let mut next = || {
            bits = bits.wrapping_mul(1664525).wrapping_add(1013904223);
            f32::from_bits(bits ^ bits >> 13)
        };
        for _ in 0..200 {
            let [a, b, c]: [[[f32; 8]; 8]; 3] =
                std::array::from_fn(|_| std::array::from_fn(|_| std::array::from_fn(|_| next())));
            let d = multiply_add(&a, &b, &c);
            for (row, column) in (0..64).map(|index| (index / 8, index % 8)) {
                let expected = (0..8).fold(c[row][column], |sum, inner| {
                    crate::single::fma(a[row][inner], b[inner][column], sum)
                });
                assert_eq!(d[row][column].to_bits(), expected.to_bits());
            }
        }
    }

    #[test]
    fn agrees_with_double_precision_on_small_integers() {
        let a: [[f32; 8]; 8] = std::array::from_fn(|i| std::array::from_fn(|j| (i * 3 + j) as f32));
        let b: [[f32; 8]; 8] = std::array::from_fn(|i| std::array::from_fn(|j| (i + j * 5) as f32));
        let c = a;
        let d = multiply_add(&a, &b, &c);
        for row in 0..8 {
            for column in 0..8 {
                let sum: f32 = (0..8).map(|k| a[row][k] * b[k][column]).sum();
                assert_eq!(d[row][column], sum + c[row][column]);
            }
        }
    }
}
