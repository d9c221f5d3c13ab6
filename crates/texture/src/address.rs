//! Addressing: from a coordinate along one axis to the texels around it.

use crate::sampler::{Address, Filter, Sampler};

/// The texels around a coordinate along one axis, before addressing: the first, and the weight of the one after it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Around {
    pub(crate) first: i64,
    /// `None`: the first is all there is.
    pub(crate) weight: Option<f32>,
}

impl Around {
    /// Texels around `coordinate`, in an extent of `size`.
    pub(crate) fn new(
        sampler: &Sampler,
        axis: usize,
        filter: Filter,
        coordinate: f32,
        size: u32,
    ) -> Self {
        let texels = size as f32;
        let position = match (sampler.normalized, sampler.address[axis]) {
            (false, _) => coordinate,
            // The whole part says nothing; taking it off first keeps what is left exact.
            (true, Address::Repeat) => (coordinate - coordinate.floor()) * texels,
            (true, _) => coordinate * texels,
        };
        // Far outside all texels are alike, and no number is a place as well.
        let position = if position.is_nan() {
            0.0
        } else {
            position.clamp(-1e9, 1e9)
        };
        match filter {
            Filter::Nearest => Self {
                first: position.floor() as i64,
                weight: None,
            },
            Filter::Linear | Filter::Bicubic => {
                let shifted = position - 0.5;
                let first = shifted.floor();
                Self {
                    first: first as i64,
                    weight: Some(shifted - first),
                }
            }
        }
    }

    /// The texels and their weights, without those that weigh nothing.
    pub(crate) fn parts(self, offset: i32) -> impl Iterator<Item = (i64, f32)> {
        let first = self.first + i64::from(offset);
        let weight = self.weight.unwrap_or(0.0);
        [(first, 1.0 - weight), (first + 1, weight)]
            .into_iter()
            .filter(|(_, weight)| *weight != 0.0)
    }
}

/// The texel that stands for one that may lie outside. None if the border does.
pub(crate) fn address(mode: Address, at: i64, size: u32) -> Option<u32> {
    let size = i64::from(size.max(1));
    let inside = match mode {
        Address::ClampToZero | Address::ClampToBorder => {
            return (0..size).contains(&at).then_some(at as u32);
        }
        Address::ClampToEdge => at.clamp(0, size - 1),
        Address::Repeat => at.rem_euclid(size),
        Address::MirroredRepeat => {
            let twice = at.rem_euclid(2 * size);
            twice.min(2 * size - 1 - twice)
        }
    };
    Some(inside as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texels_outside_are_those_of_the_mode() {
        let row = |mode: Address| -> Vec<Option<u32>> {
            (-3..6).map(|at| address(mode, at, 3)).collect()
        };
        let some = |all: [u32; 9]| all.map(Some).to_vec();
        assert_eq!(row(Address::ClampToEdge), some([0, 0, 0, 0, 1, 2, 2, 2, 2]));
        assert_eq!(row(Address::Repeat), some([0, 1, 2, 0, 1, 2, 0, 1, 2]));
        assert_eq!(
            row(Address::MirroredRepeat),
            some([2, 1, 0, 0, 1, 2, 2, 1, 0])
        );
        assert_eq!(row(Address::ClampToZero)[..4], [None, None, None, Some(0)]);
    }
}
