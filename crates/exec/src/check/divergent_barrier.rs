//! Divergent barriers: those of a simdgroup that not all its lanes come to.
//!
//! A lane that returned early is no error, and a lane that jumps over the rest of the kernel is the same to the machine. So a
//! lane that is not at the barrier but has not returned is remembered, and its next action decides: if it accesses memory or takes
//! part in a barrier or collective, it went past the barrier.

/// Lanes of a simdgroup that were not at a barrier.
#[derive(Clone, Copy, Debug)]
struct Missing {
    simdgroup: usize,
    lanes: u32,
    barrier: usize,
}

/// All of a threadgroup's.
#[derive(Debug, Default)]
pub(super) struct Waiting(Vec<Missing>);

impl Waiting {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn note(&mut self, simdgroup: usize, lanes: u32, barrier: usize) {
        if lanes == 0 {
            return;
        }
        let known = |entry: &&mut Missing| entry.simdgroup == simdgroup && entry.barrier == barrier;
        match self.0.iter_mut().find(known) {
            Some(entry) => entry.lanes |= lanes,
            None => self.0.push(Missing {
                simdgroup,
                lanes,
                barrier,
            }),
        }
    }

    /// Lanes of a simdgroup do something: the barrier that one of them went past, and which; each barrier once.
    #[inline(always)]
    pub(super) fn went_past(&mut self, simdgroup: usize, lanes: u32) -> Option<(usize, u32)> {
        if self.0.is_empty() {
            return None;
        }
        let acts = |entry: &Missing| entry.simdgroup == simdgroup && entry.lanes & lanes != 0;
        let at = self.0.iter().position(acts)?;
        let entry = self.0.remove(at);
        Some((entry.barrier, (entry.lanes & lanes).trailing_zeros()))
    }
}

#[cfg(test)]
mod tests {
    use super::Waiting;

    #[test]
    fn a_lane_that_goes_on_is_found_once() {
        let mut waiting = Waiting::default();
        waiting.note(1, 0b0011, 7);
        waiting.note(1, 0b0100, 7);
        assert_eq!(waiting.went_past(0, !0), None, "another simdgroup");
        assert_eq!(waiting.went_past(1, 0b1000), None, "a lane that was there");
        assert_eq!(waiting.went_past(1, 0b1110), Some((7, 1)));
        assert_eq!(waiting.went_past(1, !0), None);
    }
}
