//! Special registers: where a thread is.

use crate::op::{LANES, Row};
use crate::simdgroup::Simdgroup;

/// The value of a special register in every lane. Numbers are checked when lowering.
pub(crate) fn read(simdgroup: &Simdgroup, register: u8) -> Row {
    let place = &simdgroup.placement;
    let axis = usize::from(register % 4).min(2);
    let mut out = Row::ZERO;
    for lane in 0..LANES {
        let index = place.simdgroup * LANES as u32 + lane as u32;
        let before = simdgroup.exec & ((1u32 << lane) - 1);
        let quad = 0xf << (lane & !3);
        out.0[lane] = match register {
            0..=2 => place.group[axis],
            4..=6 => place.size[axis],
            8..=10 => place.full_size[axis],
            48..=50 => position(place.size, index)[axis],
            51 => index,
            52 => lane as u32,
            53 => place.simdgroup,
            56 => (before & quad).count_ones(),
            57 => (simdgroup.exec & quad).count_ones(),
            58 => before.count_ones(),
            59 => simdgroup.exec.count_ones(),
            63 => simdgroup.exec >> lane & 1,
            80..=82 => place.group[axis]
                .wrapping_mul(place.full_size[axis])
                .wrapping_add(position(place.size, index)[axis]),
            _ => 0,
        };
    }
    out
}

/// The position of thread `index` in a threadgroup of this size.
fn position([width, height, _]: [u32; 3], index: u32) -> [u32; 3] {
    let (width, height) = (width.max(1), height.max(1));
    [
        index % width,
        index / width % height,
        index / width / height,
    ]
}
