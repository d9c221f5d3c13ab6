//! Which registers hold no value, and why: the proof of waits and hints.
//!
//! A register has no value in a lane while a load is still to deliver it, after an
//! instruction gave it up with the discard hint, and before it is first written.
//! Reading it then is an error that names both instructions.
//!
//! The discard hint drops a register for *all* lanes, active or not: the register
//! cache works on whole registers, and both compilers whose code we know (Apple's and
//! Mesa's) never discard a register that inactive lanes still need. Code for G15 does, so
//! there the hint concerns active lanes only.

use crate::op::{COUNTERS, OpIndex};
use crate::touch::{Touch, Touches};

/// One entry for every number a row can have in a [`Touch`], so that indexing needs no check.
const ROWS: usize = u8::MAX as usize + 1;

/// Scoreboard slots: two on G13, six named by G15's masks.
const SLOTS: usize = 8;

/// Why a half register has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// It was never written.
    Unwritten,
    /// A load or atomic is to deliver it.
    Pending { by: OpIndex, slot: u8 },
    /// The hint gave it up.
    Discarded { by: OpIndex },
    /// A shuffle copied it from a lane without value.
    Shuffled { by: OpIndex },
}

/// A read of a half register that has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadRead {
    pub(crate) half: u16,
    pub(crate) lane: u32,
    pub(crate) reason: Reason,
}

/// Registers without value. Each row has 64 bits: a lane's low half is bit `lane`,
/// its high half bit `32 + lane`.
#[derive(Debug)]
pub(crate) struct Poison {
    bad: Box<[u64; ROWS]>,
    pending: Box<[u64; ROWS]>,
    reasons: Box<[[Reason; 2]; ROWS]>,
    outstanding: [Vec<(u8, u64)>; SLOTS],
    /// Whether anything is outstanding.
    any_pending: bool,
    /// The discard hint drops a register for inactive lanes too.
    pub(crate) discards_all_lanes: bool,
}

/// The bits of halves named by bits 0 and 1 of `halves`, in all lanes.
#[inline(always)]
pub(crate) fn half_bits(halves: u8) -> u64 {
    const SELECTED: [u64; 4] = [0, 0xffff_ffff, 0xffff_ffff << 32, u64::MAX];
    SELECTED[usize::from(halves & 3)]
}

/// The bits of both halves in the lanes of `lanes`.
#[inline(always)]
fn lane_bits(lanes: u32) -> u64 {
    u64::from(lanes) | u64::from(lanes) << 32
}

/// The bits of halves named by bits 0 and 1 of `halves`, in the lanes of `lanes`.
#[inline(always)]
fn bits(halves: u8, lanes: u32) -> u64 {
    half_bits(halves) & lane_bits(lanes)
}

impl Poison {
    /// Nothing is written yet.
    pub(crate) fn new() -> Poison {
        let mut poison = Poison {
            bad: Box::new([u64::MAX; ROWS]),
            pending: Box::new([0; ROWS]),
            reasons: Box::new([[Reason::Unwritten; 2]; ROWS]),
            outstanding: Default::default(),
            any_pending: false,
            discards_all_lanes: true,
        };
        // Counters that no register names start at zero.
        if let Some(bad) = poison.bad.get_mut(usize::from(COUNTERS)) {
            *bad = 0;
        }
        poison
    }

    /// Whether everything an operation reads has a value in `lanes`.
    #[inline(always)]
    pub(crate) fn reads_well(&self, touches: &Touches, lanes: u32) -> bool {
        let few = &touches.few;
        let mut bad = 0;
        for (row, bits) in few.rows.iter().zip(few.bits) {
            bad |= self.bad[usize::from(*row)] & bits;
        }
        bad & lane_bits(lanes) == 0 && (!few.more_reads || self.all_good(touches.reads(), lanes))
    }

    /// Whether all these reads find values in `lanes`.
    #[inline(always)]
    pub(crate) fn all_good(&self, reads: &[Touch], lanes: u32) -> bool {
        let mut bad = 0;
        for touch in reads {
            bad |= self.bad[usize::from(touch.row)] & bits(touch.halves, lanes);
        }
        bad == 0
    }

    /// The first of these reads that finds no value in some lane of `lanes`.
    #[cold]
    pub(crate) fn first_bad(&self, reads: &[Touch], lanes: u32) -> Option<BadRead> {
        for touch in reads {
            let found = self.bad.get(usize::from(touch.row))? & bits(touch.halves, lanes);
            if found != 0 {
                let bit = found.trailing_zeros();
                return Some(self.bad_read(touch.row, bit));
            }
        }
        None
    }

    fn bad_read(&self, row: u8, bit: u32) -> BadRead {
        let half = bit / 32;
        let reasons = self.reasons.get(usize::from(row));
        BadRead {
            half: u16::from(row) * 2 + half as u16,
            lane: bit % 32,
            reason: reasons.map_or(Reason::Unwritten, |pair| pair[half as usize]),
        }
    }

    /// The lanes in which the given halves of a row have no value.
    pub(crate) fn bad_lanes(&self, row: u8, halves: u8) -> u32 {
        let bad = self.bad.get(usize::from(row)).copied().unwrap_or(0) & bits(halves, u32::MAX);
        (bad | bad >> 32) as u32
    }

    /// Whether loads are still to deliver something.
    #[inline(always)]
    pub(crate) fn any_pending(&self) -> bool {
        self.any_pending
    }

    /// The first of these writes to a register that a load is still to deliver.
    pub(crate) fn first_pending(&self, writes: &[Touch], lanes: u32) -> Option<BadRead> {
        for touch in writes {
            let found = self.pending.get(usize::from(touch.row))? & bits(touch.halves, lanes);
            if found != 0 {
                return Some(self.bad_read(touch.row, found.trailing_zeros()));
            }
        }
        None
    }

    /// After an instruction: gives up what it discards, then takes what it wrote.
    #[inline(always)]
    pub(crate) fn retire(&mut self, touches: &Touches, lanes: u32, op: OpIndex) {
        if touches.discards {
            let dropped = match self.discards_all_lanes {
                true => u32::MAX,
                false => lanes,
            };
            for touch in touches.reads() {
                if touch.halves & 4 != 0 {
                    self.mark(*touch, dropped, Reason::Discarded { by: op });
                }
            }
        }
        let few = &touches.few;
        self.bad[usize::from(few.write_row)] &= !(few.write_bits & lane_bits(lanes));
        if few.more_writes {
            for touch in touches.writes() {
                self.bad[usize::from(touch.row)] &= !bits(touch.halves, lanes);
            }
        }
    }

    #[inline(always)]
    fn mark(&mut self, touch: Touch, lanes: u32, reason: Reason) {
        self.bad[usize::from(touch.row)] |= bits(touch.halves, lanes);
        let reasons = &mut self.reasons[usize::from(touch.row)];
        for (half, place) in reasons.iter_mut().enumerate() {
            if touch.halves & (1 << half) != 0 {
                *place = reason;
            }
        }
    }

    /// After a load: what it wrote is not there until its slot is waited for.
    pub(crate) fn suspend(&mut self, writes: &[Touch], lanes: u32, op: OpIndex, slot: u8) {
        for touch in writes {
            self.mark(*touch, lanes, Reason::Pending { by: op, slot });
            let mask = bits(touch.halves, lanes);
            self.pending[usize::from(touch.row)] |= mask;
            self.outstanding[usize::from(slot & 7)].push((touch.row, mask));
            self.any_pending = true;
        }
    }

    /// The lanes of `lanes` in which a register was never written; `None` if in some it
    /// has no value for another reason.
    pub(crate) fn only_unwritten(&self, touch: Touch, lanes: u32) -> Option<u32> {
        let row = usize::from(touch.row);
        let found = self.bad.get(row)? & bits(touch.halves, lanes);
        let reasons = self.reasons.get(row)?;
        let mut unwritten = 0;
        for (half, reason) in reasons.iter().enumerate() {
            let here = (found >> (32 * half)) as u32;
            if here != 0 && *reason != Reason::Unwritten {
                return None;
            }
            unwritten |= here;
        }
        Some(unwritten)
    }

    /// After a load of a register that was stored without value.
    pub(crate) fn unwrite(&mut self, touch: Touch, lanes: u32) {
        if lanes != 0 {
            self.mark(touch, lanes, Reason::Unwritten);
            let row = usize::from(touch.row);
            self.pending[row] &= !bits(touch.halves, lanes);
        }
    }

    /// After a wait: everything of the slot has arrived.
    pub(crate) fn deliver(&mut self, slot: u8) {
        for (row, mask) in self.outstanding[usize::from(slot & 7)].drain(..) {
            let row = usize::from(row);
            self.bad[row] &= !(self.pending[row] & mask);
            self.pending[row] &= !mask;
        }
        self.any_pending = self.outstanding.iter().any(|loads| !loads.is_empty());
    }

    /// After a shuffle: lanes that copied a lane without value have none either.
    pub(crate) fn spread(&mut self, write: Touch, lanes: u32, op: OpIndex) {
        if lanes != 0 {
            self.mark(write, lanes, Reason::Shuffled { by: op });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const R1: Touch = Touch {
        row: 1,
        halves: 0b11,
    };
    const R1H: Touch = Touch {
        row: 1,
        halves: 0b10,
    };

    #[test]
    fn a_load_delivers_only_at_its_own_wait() {
        let mut poison = Poison::new();
        poison.suspend(&[R1], 0xff, 7, 1);
        assert!(!poison.all_good(&[R1H], 1));
        poison.deliver(0);
        let bad = poison.first_bad(&[R1H], 0xf0).unwrap();
        assert_eq!(
            bad,
            BadRead {
                half: 3,
                lane: 4,
                reason: Reason::Pending { by: 7, slot: 1 }
            }
        );
        assert!(poison.first_pending(&[R1], 0x80).is_some());
        assert!(poison.first_pending(&[R1], 0x100).is_none());
        poison.deliver(1);
        assert!(poison.all_good(&[R1], 0xff));
        assert!(!poison.all_good(&[R1], 0x100), "lanes that were not loaded");
    }

    #[test]
    fn a_discarded_register_is_good_again_once_written() {
        let mut poison = Poison::new();
        let mut write = Touches::default();
        write.write(R1);
        poison.retire(&write, u32::MAX, 0);
        assert!(poison.all_good(&[R1], u32::MAX));
        let mut both = Touches::default();
        both.read(Touch {
            row: 1,
            halves: 0b111,
        });
        poison.retire(&both, u32::MAX, 5);
        assert_eq!(
            poison.first_bad(&[R1], 1).unwrap().reason,
            Reason::Discarded { by: 5 }
        );
        both.write(R1H);
        poison.retire(&both, u32::MAX, 6);
        assert!(poison.all_good(&[R1H], u32::MAX));
        assert!(!poison.all_good(&[R1], u32::MAX));
    }
}
