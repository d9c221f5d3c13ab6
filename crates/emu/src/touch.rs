//! Which registers a micro-operation reads and writes: what the checks for poison look at.

use crate::poison::half_bits;

/// A register that a micro-operation reads or writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Touch {
    pub(crate) row: u8,
    /// Bit 0: the low half. Bit 1: the high half. Bit 2: the hint says last use.
    pub(crate) halves: u8,
}

/// How many registers a micro-operation can touch.
pub(crate) const MAX_TOUCHES: usize = 16;

/// The registers a micro-operation reads, then those it writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Touches {
    /// The same in the form of the common case, so that checking it is a few words of
    /// arithmetic without a loop.
    pub(crate) few: Few,
    list: [Touch; MAX_TOUCHES],
    reads: u8,
    end: u8,
    /// Whether any read is a last use.
    pub(crate) discards: bool,
    /// The operation itself knows which lanes it reads and checks them.
    pub(crate) checks_itself: bool,
}

/// How many reads the common case has room for: a select has four.
pub(crate) const FEW_READS: usize = 4;

/// At most four reads and one write, as rows and the bits that
/// [`half_bits`](crate::poison::half_bits) gives. Places that are not used have no bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Few {
    pub(crate) bits: [u64; FEW_READS],
    pub(crate) write_bits: u64,
    pub(crate) rows: [u8; FEW_READS],
    pub(crate) write_row: u8,
    /// There are more reads than have room here.
    pub(crate) more_reads: bool,
    /// There are more writes than have room here.
    pub(crate) more_writes: bool,
}

impl Touches {
    /// Adds a read; all reads come before the writes.
    pub(crate) fn read(&mut self, touch: Touch) {
        let place = usize::from(self.reads);
        match (self.few.bits.get_mut(place), self.few.rows.get_mut(place)) {
            (Some(bits), Some(row)) => (*bits, *row) = (half_bits(touch.halves), touch.row),
            _ => self.few.more_reads = true,
        }
        self.push(touch);
        self.reads = self.end;
        self.discards |= touch.halves & 4 != 0;
    }

    pub(crate) fn write(&mut self, touch: Touch) {
        match self.writes().is_empty() {
            true => {
                (self.few.write_row, self.few.write_bits) = (touch.row, half_bits(touch.halves));
            }
            false => self.few.more_writes = true,
        }
        self.push(touch);
    }

    fn push(&mut self, touch: Touch) {
        if let Some(place) = self.list.get_mut(usize::from(self.end)) {
            *place = touch;
            self.end += 1;
        }
    }

    #[inline(always)]
    pub(crate) fn reads(&self) -> &[Touch] {
        self.list.get(..usize::from(self.reads)).unwrap_or_default()
    }

    #[inline(always)]
    pub(crate) fn writes(&self) -> &[Touch] {
        self.list
            .get(usize::from(self.reads)..usize::from(self.end))
            .unwrap_or_default()
    }
}
