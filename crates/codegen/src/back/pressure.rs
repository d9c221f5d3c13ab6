//! How many half registers are alive at once.

use super::ranges::Ranges;
use crate::mir::Function;

/// Halves alive at every point, from point 0 on.
pub(crate) fn pressure(function: &Function, ranges: &Ranges) -> Vec<u16> {
    let insts = function
        .blocks
        .as_slice()
        .iter()
        .map(|block| block.insts.len());
    let points = 2 * insts.sum::<usize>() + 2;
    let mut change = vec![0i32; points];
    for reg in function.vregs.ids() {
        for segment in ranges.of(reg) {
            let halves = segment.halves.count_ones() as i32;
            if let Some(at) = change.get_mut(segment.start as usize) {
                *at += halves;
            }
            if let Some(at) = change.get_mut(segment.end as usize) {
                *at -= halves;
            }
        }
    }
    let mut now = 0;
    change
        .into_iter()
        .map(|by| {
            now += by;
            now.clamp(0, i32::from(u16::MAX)) as u16
        })
        .collect()
}
