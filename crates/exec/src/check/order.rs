//! Times of the last barriers, of a threadgroup and of each simdgroup.

use super::{MEM_DEVICE, MEM_TEXTURE, MEM_THREADGROUP, Space};

/// The kinds of memory that barriers order, with Metal's flag of each.
const SPACES: [(Space, u8); 3] = [
    (Space::Device, MEM_DEVICE),
    (Space::Threadgroup, MEM_THREADGROUP),
    (Space::Texture, MEM_TEXTURE),
];

/// When the threadgroup last met at a barrier, and when the lanes of each simdgroup were last in order, for each space.
#[derive(Debug)]
pub(super) struct Times<T> {
    met: [T; 3],
    /// The same at a barrier of any memory, or none.
    met_at_all: T,
    ordered: Vec<[T; 3]>,
}

impl<T: Copy> Times<T> {
    pub(super) fn new(simdgroups: usize, start: T) -> Self {
        Self {
            met: [start; 3],
            met_at_all: start,
            ordered: vec![[start; 3]; simdgroups],
        }
    }

    /// A threadgroup starts.
    pub(super) fn start(&mut self, now: T) {
        self.met = [now; 3];
        self.met_at_all = now;
        self.ordered.fill([now; 3]);
    }

    /// The lanes of a simdgroup are in order, as far as the flags say.
    pub(super) fn order(&mut self, simdgroup: usize, flags: u8, now: T) {
        let Some(ordered) = self.ordered.get_mut(simdgroup) else {
            return;
        };
        for (space, _) in SPACES.iter().filter(|(_, flag)| flags & flag != 0) {
            ordered[*space as usize] = now;
        }
    }

    /// The threadgroup meets at a barrier of these flags.
    pub(super) fn meet(&mut self, flags: u8, now: T) {
        self.met_at_all = now;
        for (space, _) in SPACES.iter().filter(|(_, flag)| flags & flag != 0) {
            self.met[*space as usize] = now;
            for ordered in &mut self.ordered {
                ordered[*space as usize] = now;
            }
        }
    }

    #[inline(always)]
    pub(super) fn met(&self, space: Space) -> T {
        self.met[space as usize]
    }

    /// When the threadgroup last met, whatever memory the barrier ordered.
    #[inline(always)]
    pub(super) fn met_at_all(&self) -> T {
        self.met_at_all
    }

    #[inline(always)]
    pub(super) fn ordered(&self, simdgroup: usize, space: Space) -> Option<T> {
        Some(self.ordered.get(simdgroup)?[space as usize])
    }
}
