//! The state of one simdgroup: 32 lanes that execute together.

use crate::nesting::{Nesting, SavedFrame};
use crate::op::{Dest, LANES, OpIndex, POOL, Part, Row, Source};
use crate::poison::Poison;

/// A function call that has not returned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallFrame {
    pub(crate) back: u32,
    pub(crate) nesting: SavedFrame,
}

/// Where the threads of a simdgroup are in the grid.
#[derive(Clone, Debug)]
pub(crate) struct Placement {
    /// Threadgroup's position in the grid of threadgroups.
    pub(crate) group: [u32; 3],
    /// Threads of this threadgroup along each axis: fewer at the grid's edge.
    pub(crate) size: [u32; 3],
    /// Threads of a full threadgroup along each axis.
    pub(crate) full_size: [u32; 3],
    /// Index in the threadgroup.
    pub(crate) simdgroup: u32,
    /// How many lanes have a thread.
    pub(crate) threads: u32,
}

/// State of a simdgroup.
#[derive(Debug)]
pub(crate) struct Simdgroup {
    pub(crate) registers: Vec<Row>,
    /// Lanes that execute.
    pub(crate) exec: u32,
    /// Lanes that have a thread.
    pub(crate) exists: u32,
    /// All ones in lanes that execute, else zero.
    pub(crate) lanes: Row,
    pub(crate) pc: OpIndex,
    /// Instructions executed.
    pub(crate) steps: u64,
    /// Lanes active, summed over instructions.
    pub(crate) lane_steps: u64,
    pub(crate) placement: Placement,
    pub(crate) stack: Stack,
    pub(crate) calls: Vec<CallFrame>,
    pub(crate) poison: Poison,
    pub(crate) nesting: Nesting,
}

impl Simdgroup {
    pub(crate) fn new(
        rows: usize,
        entry: OpIndex,
        placement: Placement,
        stack: Stack,
    ) -> Simdgroup {
        let exists = match placement.threads {
            threads @ 0..=31 => (1 << threads) - 1,
            _ => u32::MAX,
        };
        let mut simdgroup = Simdgroup {
            registers: vec![Row::ZERO; rows.max(1)],
            exec: 0,
            exists,
            lanes: Row::ZERO,
            pc: entry,
            steps: 0,
            lane_steps: 0,
            placement,
            stack,
            calls: Vec::new(),
            poison: Poison::new(rows.max(1)),
            nesting: Nesting::default(),
        };
        simdgroup.set_exec(exists);
        simdgroup
    }

    /// Sets which lanes execute.
    #[inline(always)]
    pub(crate) fn set_exec(&mut self, exec: u32) {
        self.exec = exec;
        for (lane, mask) in self.lanes.0.iter_mut().enumerate() {
            *mask = 0u32.wrapping_sub(exec >> lane & 1);
        }
    }

    /// The row a source is in.
    #[inline(always)]
    pub(crate) fn row<'a>(&'a self, pool: &'a [Row], row: u16) -> &'a Row {
        match row.checked_sub(POOL) {
            Some(index) => &pool[usize::from(index)],
            None => &self.registers[usize::from(row)],
        }
    }

    /// The value of a source; `space` holds it when it is not a row as it stands.
    #[inline(always)]
    pub(crate) fn read<'a>(
        &'a self,
        pool: &'a [Row],
        source: Source,
        space: &'a mut Row,
    ) -> &'a Row {
        let row = self.row(pool, source.row);
        if source.part == Part::Whole {
            return row;
        }
        *space = extract(row, source.part);
        space
    }

    /// Writes the executing lanes of a register of at most 32 bits.
    #[inline(always)]
    pub(crate) fn write(&mut self, to: Dest, value: &Row) {
        let lanes = self.lanes;
        let register = &mut self.registers[usize::from(to.row)];
        match to.part {
            Part::Whole if self.exec == u32::MAX => *register = *value,
            Part::Whole => merge(register, value, &lanes, 0, u32::MAX),
            Part::High | Part::HighSigned => merge(register, value, &lanes, 16, 0xffff_0000),
            Part::Low | Part::LowSigned => merge(register, value, &lanes, 0, 0xffff),
        }
    }

    /// Writes a pair of registers, or the low bits to one.
    #[inline(always)]
    pub(crate) fn write_wide(&mut self, to: Dest, low: &Row, high: &Row) {
        self.write(to, low);
        if to.pair {
            let next = Dest {
                row: to.row + 1,
                ..to
            };
            self.write(next, high);
        }
    }
}

#[inline(always)]
fn extract(row: &Row, part: Part) -> Row {
    match part {
        Part::Whole => *row,
        Part::Low => row.map(|value| value & 0xffff),
        Part::High => row.map(|value| value >> 16),
        Part::LowSigned => row.map(|value| value as u16 as i16 as u32),
        Part::HighSigned => row.map(|value| (value as i32 >> 16) as u32),
    }
}

#[inline(always)]
fn merge(register: &mut Row, value: &Row, lanes: &Row, shift: u32, keep: u32) {
    for lane in 0..LANES {
        let old = register.0[lane];
        let new = value.0[lane] << shift;
        register.0[lane] = old ^ ((old ^ new) & lanes.0[lane] & keep);
    }
}

/// A lane's stack, for all lanes of a simdgroup.
///
/// Frames grow downwards: a function's frame starts where its caller's would end, so
/// offsets count up from the current frame into the callers'.
#[derive(Debug)]
pub(crate) struct Stack {
    /// Word `n` below the top, for each lane.
    words: Vec<Row>,
    /// The lanes in which the low and the high half of a word hold no value.
    empty: Vec<[u32; 2]>,
    limit_bytes: u32,
    fill: u32,
}

impl Stack {
    pub(crate) fn new(limit_bytes: u32, fill: u32) -> Stack {
        Stack {
            words: Vec::new(),
            empty: Vec::new(),
            limit_bytes,
            fill,
        }
    }

    /// Bytes in use.
    pub(crate) fn bytes(&self) -> u64 {
        self.words.len() as u64 * 4
    }

    pub(crate) fn limit(&self) -> u32 {
        self.limit_bytes
    }

    /// Moves the frame by this many words; gives the size asked for when there is no
    /// room, or when more is released than there was.
    pub(crate) fn adjust(&mut self, dwords: i32) -> Result<(), i64> {
        let words = self.words.len() as i64 + i64::from(dwords);
        match usize::try_from(words) {
            Ok(count) if words * 4 <= i64::from(self.limit_bytes) => {
                self.words.resize(count, Row::splat(self.fill));
                self.empty.resize(count, [u32::MAX; 2]);
                Ok(())
            }
            _ => Err(words * 4),
        }
    }

    /// Whether an element that is there holds no value in a lane.
    pub(crate) fn is_empty(&self, lane: usize, offset: i64, size: u64) -> bool {
        let Some(empty) = self.word(offset).and_then(|word| self.empty.get(word)) else {
            return false;
        };
        halves(offset, size).any(|half| empty[half] >> lane & 1 != 0)
    }

    /// Notes whether an element that was stored has a value in a lane.
    pub(crate) fn set_empty(&mut self, lane: usize, offset: i64, size: u64, is_empty: bool) {
        let word = self.word(offset);
        if let Some(empty) = word.and_then(|word| self.empty.get_mut(word)) {
            for half in halves(offset, size) {
                empty[half] = empty[half] & !(1 << lane) | u32::from(is_empty) << lane;
            }
        }
    }

    fn word(&self, offset: i64) -> Option<usize> {
        let below_top = (self.bytes() as i64).checked_sub(offset & !3)?;
        let index = below_top / 4 - 1;
        (offset >= 0 && index >= 0).then_some(index as usize)
    }

    pub(crate) fn load(&self, lane: usize, offset: i64, size: u64) -> Option<u32> {
        let word = self.words.get(self.word(offset)?)?.0.get(lane)?;
        let shift = (offset as u32 & 3) * 8;
        Some(word >> shift & element_mask(size))
    }

    pub(crate) fn store(&mut self, lane: usize, offset: i64, size: u64, value: u32) -> Option<()> {
        let index = self.word(offset)?;
        let word = self.words.get_mut(index)?.0.get_mut(lane)?;
        let shift = (offset as u32 & 3) * 8;
        let mask = element_mask(size) << shift;
        *word = *word & !mask | value << shift & mask;
        Some(())
    }
}

/// The halves of its word that an element is in.
fn halves(offset: i64, size: u64) -> impl Iterator<Item = usize> {
    let first = (offset as usize & 3) / 2;
    match size {
        4 => 0..2,
        _ => first..first + 1,
    }
}

pub(crate) fn element_mask(size: u64) -> u32 {
    match size {
        1 => 0xff,
        2 => 0xffff,
        _ => u32::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callers_frame_lies_above_its_callees() {
        let mut stack = Stack::new(64, 0);
        stack.adjust(4).unwrap();
        stack.store(3, 0, 4, 11).unwrap();
        stack.store(3, 13, 1, 22).unwrap();
        stack.adjust(2).unwrap();
        stack.store(3, 0, 4, 33).unwrap();
        assert_eq!(stack.load(3, 8, 4), Some(11));
        assert_eq!(stack.load(3, 21, 1), Some(22));
        stack.adjust(-2).unwrap();
        assert_eq!(stack.load(3, 0, 4), Some(11));
        assert_eq!(stack.load(3, 16, 4), None);
        assert_eq!(stack.load(3, -4, 4), None);
        assert_eq!(stack.adjust(20), Err(96));
        assert_eq!(stack.adjust(-5), Err(-4));
    }
}
