//! Simdgroup matrix operations, and the multiply-accumulate.

use crate::code::Reg;
use crate::simd::{SimdLevel, simd_variants};
use assay_num as num;
use assay_num::matrix as layout;
use assay_ssa::Scalar;

/// An operation on matrices; each takes two narrow registers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MatrixOp {
    Load {
        d: [u32; 2],
        scalar: Scalar,
        at: Origin,
    },
    Store {
        a: [u32; 2],
        scalar: Scalar,
        at: Origin,
    },
    /// The value on the diagonal, zero elsewhere.
    Diagonal { d: [u32; 2], value: u32 },
    /// Index into the program's products.
    Product { index: u32 },
}

/// Where a matrix lies in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) ptr: u32,
    /// Elements from one row to the next.
    pub(crate) stride: u32,
    pub(crate) column: u32,
    pub(crate) row: u32,
    pub(crate) transposed: Reg,
}

/// `d = a · b + c`, each with its element type; without `c`, zero is meant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product {
    pub(crate) d: [u32; 2],
    pub(crate) d_type: Scalar,
    pub(crate) a: ([u32; 2], Scalar),
    pub(crate) b: ([u32; 2], Scalar),
    pub(crate) c: Option<([u32; 2], Scalar)>,
}

type Lanes = [[u32; 32]; 2];

/// Where a lane's first element lies in the matrix. Loops below are written out: they must become vector code.
const PLACES: [(usize, usize); 32] = {
    let mut places = [(0, 0); 32];
    let mut lane = 0;
    while lane < 32 {
        places[lane] = layout::element_of_lane(lane);
        lane += 1;
    }
    places
};

#[inline(always)]
fn gather<T: Copy + Default>(lanes: &Lanes, read: impl Fn(u32) -> T) -> [[T; 8]; 8] {
    let mut matrix = [[T::default(); 8]; 8];
    for lane in 0..32 {
        let (row, column) = PLACES[lane];
        matrix[row][column] = read(lanes[0][lane]);
        matrix[row][column + 1] = read(lanes[1][lane]);
    }
    matrix
}

#[inline(always)]
fn scatter<T: Copy>(matrix: &[[T; 8]; 8], write: impl Fn(T) -> u32) -> Lanes {
    let mut lanes = [[0; 32]; 2];
    for lane in 0..32 {
        let (row, column) = PLACES[lane];
        lanes[0][lane] = write(matrix[row][column]);
        lanes[1][lane] = write(matrix[row][column + 1]);
    }
    lanes
}

#[inline(always)]
fn singles(lanes: &Lanes, scalar: Scalar) -> [[f32; 8]; 8] {
    match scalar {
        Scalar::F16 | Scalar::BF16 => gather(lanes, |bits| widened(bits, scalar)),
        _ => gather(lanes, f32::from_bits),
    }
}

#[inline(always)]
fn halves(lanes: &Lanes) -> [[u16; 8]; 8] {
    gather(lanes, |bits| bits as u16)
}

#[inline(always)]
fn widened(bits: u32, scalar: Scalar) -> f32 {
    match scalar {
        Scalar::F16 => num::f16_to_f32(bits as u16),
        Scalar::BF16 => num::bf16_to_f32(bits as u16),
        _ => f32::from_bits(bits),
    }
}

#[inline(always)]
fn narrowed(value: f32, scalar: Scalar) -> u32 {
    match scalar {
        Scalar::F16 => u32::from(num::f32_to_f16(value)),
        Scalar::BF16 => u32::from(num::f32_to_bf16(value)),
        _ => value.to_bits(),
    }
}

#[inline(always)]
fn product(a: &Lanes, b: &Lanes, c: Option<&Lanes>, of: &Product) -> Lanes {
    let all_half = of.a.1 == Scalar::F16
        && of.b.1 == Scalar::F16
        && of.d_type == Scalar::F16
        && of.c.is_none_or(|(_, scalar)| scalar == Scalar::F16);
    if all_half {
        let c = match c {
            Some(c) => halves(c),
            None => [[0; 8]; 8],
        };
        let result = layout::multiply_add_half(&halves(a), &halves(b), &c);
        return scatter(&result, u32::from);
    }
    let start = match (c, of.c) {
        (Some(c), Some((_, scalar))) => singles(c, scalar),
        _ => [[0.0; 8]; 8],
    };
    let result = layout::multiply_add(&singles(a, of.a.1), &singles(b, of.b.1), &start);
    match of.d_type {
        Scalar::F16 | Scalar::BF16 => scatter(&result, |value| narrowed(value, of.d_type)),
        _ => scatter(&result, f32::to_bits),
    }
}

/// `a · b + c`.
pub(crate) fn multiply(
    level: SimdLevel,
    a: &Lanes,
    b: &Lanes,
    c: Option<&Lanes>,
    of: &Product,
) -> Lanes {
    let variants = simd_variants!(
        [] (a: &Lanes, b: &Lanes, c: Option<&Lanes>, of: &Product) -> Lanes,
        |_simd| product(a, b, c, of)
    );
    // SAFETY: a level exists only where the CPU has its instructions.
    unsafe { variants.select(level)(a, b, c, of) }
}
