//! How the addresses of one access lie to each other: at equal distances, or not.

use assay_emu::MemoryAccess;

/// Lanes of a simdgroup.
const LANES: usize = 32;

/// The shape of one access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Distinct addresses.
    pub(crate) distinct: u64,
    /// Bytes from each active lane to the next, where that is one number.
    pub(crate) stride: Option<i64>,
}

impl Shape {
    pub(crate) fn of(access: &MemoryAccess) -> Shape {
        let mut addresses = [0; LANES];
        let mut count = 0usize;
        let (mut stride, mut regular) = (None, true);
        for (lane, &address) in access.addresses.iter().enumerate() {
            if access.active >> lane & 1 == 0 {
                continue;
            }
            if let Some(before) = count.checked_sub(1) {
                let distance = address.wrapping_sub(addresses[before]) as i64;
                regular &= *stride.get_or_insert(distance) == distance;
            }
            addresses[count] = address;
            count += 1;
        }
        let distinct = match (regular, stride) {
            (true, None) => count,
            (true, Some(0)) => 1,
            (true, Some(_)) => count,
            (false, _) => {
                let held = &mut addresses[..count];
                held.sort_unstable();
                1 + held.windows(2).filter(|pair| pair[0] != pair[1]).count()
            }
        };
        Shape {
            distinct: distinct as u64,
            stride: stride.filter(|_| regular),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_emu::{AccessKind, Memory};

    fn shape(active: u32, address: impl Fn(u64) -> u64) -> Shape {
        Shape::of(&MemoryAccess {
            memory: Memory::Device,
            kind: AccessKind::Load,
            active,
            addresses: std::array::from_fn(|lane| address(lane as u64)),
            bytes: 4,
        })
    }

    #[test]
    fn strides_broadcasts_and_gathers_are_told_apart() {
        let of = |distinct, stride| Shape { distinct, stride };
        assert_eq!(shape(u32::MAX, |lane| 64 * lane), of(32, Some(64)));
        assert_eq!(shape(u32::MAX, |_| 8), of(1, Some(0)));
        assert_eq!(shape(u32::MAX, |lane| 4 * (lane * lane % 16)), of(4, None));
        assert_eq!(shape(1, |_| 8), of(1, None));
        assert_eq!(shape(0, |_| 8), of(0, None));
    }
}
