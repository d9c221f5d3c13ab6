//! The state of one simdgroup: 32 lanes that execute together.

use crate::arith;
use crate::nesting::{Nesting, SavedFrame};
use crate::op::{COUNTERS, Dest, LANES, OpIndex, Part, REGISTERS, Row, Source};
use crate::poison::Poison;
use assay_agx::Family;
use std::cell::Cell;

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
    /// The general registers, then the pool of constants.
    registers: Vec<Cells>,
    /// Rows for sources that are not whole registers.
    spaces: [Cells; 4],
    /// Lanes that execute.
    pub(crate) exec: u32,
    /// How many lanes execute.
    pub(crate) active_lanes: u64,
    /// Lanes that have a thread.
    pub(crate) exists: u32,
    /// The row of the nesting counters: `r0l`'s on G13.
    pub(crate) counters: u8,
    /// All ones in lanes that execute, else zero.
    lanes: Cells,
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

/// Lanes that one vector register of the host holds.
pub(crate) const CHUNK: usize = 8;

/// Chunks of a row.
pub(crate) const CHUNKS: usize = LANES / CHUNK;

/// Some lanes of a row.
#[repr(C, align(32))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk(pub(crate) [u32; CHUNK]);

/// A register: a row that operations change in place. Cells, because an operation may
/// read and write the same register; each chunk is read before it is written.
pub(crate) type Cells = [Cell<Chunk>; CHUNKS];

/// Writes a function of three rows to the executing lanes of a register.
///
/// A macro and not a function of a closure: the body has to be compiled for the host's
/// vector instructions wherever it is used, and closures cannot be forced inline.
macro_rules! write_lanes {
    ($simdgroup:expr, $to:expr, [$rows_a:expr, $rows_b:expr, $rows_c:expr],
     |$a:ident, $b:ident, $c:ident| $value:expr) => {{
        use $crate::simdgroup::{CHUNK, CHUNKS, Cells, Chunk, place};
        let (simdgroup, to): (&$crate::simdgroup::Simdgroup, $crate::op::Dest) = ($simdgroup, $to);
        let (rows_a, rows_b, rows_c): (&Cells, &Cells, &Cells) = ($rows_a, $rows_b, $rows_c);
        let register = simdgroup.register(to.row);
        if to.part == $crate::op::Part::Whole && simdgroup.exec == u32::MAX {
            for chunk in 0..CHUNKS {
                let a = rows_a[chunk].get().0;
                let b = rows_b[chunk].get().0;
                let c = rows_c[chunk].get().0;
                let mut out = [0; CHUNK];
                for n in 0..CHUNK {
                    let ($a, $b, $c) = (a[n], b[n], c[n]);
                    out[n] = $value;
                }
                register[chunk].set(Chunk(out));
            }
        } else {
            let lane_mask = simdgroup.lane_mask();
            let (shift, keep) = place(to.part);
            for chunk in 0..CHUNKS {
                let a = rows_a[chunk].get().0;
                let b = rows_b[chunk].get().0;
                let c = rows_c[chunk].get().0;
                let old = register[chunk].get().0;
                let lanes = lane_mask[chunk].get().0;
                let mut out = [0; CHUNK];
                for n in 0..CHUNK {
                    let ($a, $b, $c) = (a[n], b[n], c[n]);
                    let value: u32 = $value;
                    out[n] = old[n] ^ ((old[n] ^ value << shift) & lanes[n] & keep);
                }
                register[chunk].set(Chunk(out));
            }
        }
    }};
}
pub(crate) use write_lanes;

fn cells(row: &Row) -> Cells {
    std::array::from_fn(|chunk| Cell::new(Chunk(std::array::from_fn(|n| row.0[chunk * CHUNK + n]))))
}

#[inline(always)]
pub(crate) fn to_row(cells: &Cells) -> Row {
    let mut row = Row::ZERO;
    for (chunk, lanes) in cells.iter().zip(row.0.chunks_exact_mut(CHUNK)) {
        lanes.copy_from_slice(&chunk.get().0);
    }
    row
}

#[inline(always)]
pub(crate) fn fill(cells: &Cells, row: &Row) {
    for (chunk, lanes) in cells.iter().zip(row.0.chunks_exact(CHUNK)) {
        chunk.set(Chunk(std::array::from_fn(|n| lanes[n])));
    }
}

impl Simdgroup {
    pub(crate) fn new(
        pool: &[Row],
        entry: OpIndex,
        placement: Placement,
        stack: Stack,
    ) -> Simdgroup {
        let exists = match placement.threads {
            threads @ 0..=31 => (1 << threads) - 1,
            _ => u32::MAX,
        };
        let mut registers: Vec<Cells> = Vec::with_capacity(REGISTERS + pool.len());
        registers.resize_with(REGISTERS, || cells(&Row::ZERO));
        registers.extend(pool.iter().map(cells));
        let mut simdgroup = Simdgroup {
            registers,
            spaces: std::array::from_fn(|_| cells(&Row::ZERO)),
            exec: 0,
            active_lanes: 0,
            exists,
            counters: 0,
            lanes: cells(&Row::ZERO),
            pc: entry,
            steps: 0,
            lane_steps: 0,
            placement,
            stack,
            calls: Vec::new(),
            poison: Poison::new(),
            nesting: Nesting::default(),
        };
        simdgroup.set_exec(exists);
        simdgroup
    }

    /// Follows the rules of an instruction set: where the nesting counters are, and for whom
    /// the discard hint drops a register.
    pub(crate) fn obey(&mut self, family: Family) {
        self.counters = match family {
            Family::G13 => 0,
            Family::G15 => COUNTERS,
        };
        self.poison.discards_all_lanes = family == Family::G13;
    }

    /// Replaces the constants, when uniforms have changed.
    pub(crate) fn set_pool(&mut self, pool: &[Row]) {
        self.registers.truncate(REGISTERS);
        self.registers.extend(pool.iter().map(cells));
    }

    /// Sets which lanes execute.
    #[inline(always)]
    pub(crate) fn set_exec(&mut self, exec: u32) {
        self.exec = exec;
        self.active_lanes = u64::from(exec.count_ones());
        let mut lanes = Row::ZERO;
        for (lane, mask) in lanes.0.iter_mut().enumerate() {
            *mask = 0u32.wrapping_sub(exec >> lane & 1);
        }
        fill(&self.lanes, &lanes);
    }

    /// A copy of a row.
    #[inline(always)]
    pub(crate) fn row(&self, row: u16) -> Row {
        to_row(&self.registers[usize::from(row)])
    }

    /// Replaces a row in all lanes.
    pub(crate) fn set_row(&mut self, row: u16, value: &Row) {
        fill(&self.registers[usize::from(row)], value);
    }

    /// The value of a source.
    #[inline(always)]
    pub(crate) fn read(&self, source: Source) -> Row {
        let row = self.row(source.row);
        match source.part {
            Part::Whole => row,
            part => row.map(|value| extract(value, part)),
        }
    }

    /// The value of a source in place, or in one of the spare rows when it is a half.
    #[inline(always)]
    pub(crate) fn operand(&self, source: Source, space: usize) -> &Cells {
        let row = &self.registers[usize::from(source.row)];
        if source.part == Part::Whole {
            return row;
        }
        let space = &self.spaces[space];
        for chunk in 0..CHUNKS {
            let from = row[chunk].get().0;
            let mut out = [0; CHUNK];
            for n in 0..CHUNK {
                out[n] = extract(from[n], source.part);
            }
            space[chunk].set(Chunk(out));
        }
        space
    }

    #[cfg(target_arch = "x86_64")]
    /// The row a source is in or is a part of.
    #[inline(always)]
    pub(crate) fn source(&self, source: Source) -> &Cells {
        &self.registers[usize::from(source.row)]
    }

    /// A float source as single-precision bits, before modifiers: halves hold
    /// half-precision numbers.
    #[inline(always)]
    pub(crate) fn float_operand<const VECTOR: bool>(&self, source: Source, space: usize) -> &Cells {
        let row = &self.registers[usize::from(source.row)];
        if source.part == Part::Whole {
            return row;
        }
        let space = &self.spaces[space];
        #[cfg(target_arch = "x86_64")]
        if VECTOR {
            // SAFETY: `VECTOR` is true only where `has_vectors` was.
            unsafe { crate::ops::half::widen_row(row, source.part, space) };
            return space;
        }
        for chunk in 0..CHUNKS {
            let from = row[chunk].get().0;
            let mut out = [0; CHUNK];
            for n in 0..CHUNK {
                let half = extract(from[n], source.part) as u16;
                out[n] = arith::f16_to_f32(half).to_bits();
            }
            space[chunk].set(Chunk(out));
        }
        space
    }

    /// A spare row for a comparison's outcome, or for a result on its way.
    #[inline(always)]
    pub(crate) fn outcome(&self) -> &Cells {
        &self.spaces[3]
    }

    /// A copy of that row.
    #[inline(always)]
    pub(crate) fn outcome_row(&self) -> Row {
        to_row(&self.spaces[3])
    }

    /// The cells of a register.
    #[inline(always)]
    pub(crate) fn register(&self, row: u8) -> &Cells {
        &self.registers[usize::from(row)]
    }

    /// All ones in lanes that execute, else zero.
    #[inline(always)]
    pub(crate) fn lane_mask(&self) -> &Cells {
        &self.lanes
    }

    /// Writes the executing lanes of a register of at most 32 bits.
    #[inline(always)]
    pub(crate) fn write(&self, to: Dest, value: &Row) {
        let space = &self.spaces[0];
        fill(space, value);
        write_lanes!(self, to, [space, space, space], |value, _b, _c| value);
    }

    /// Writes a pair of registers, or the low bits to one.
    pub(crate) fn write_wide(&self, to: Dest, low: &Row, high: &Row) {
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

/// A part of a 32-bit value.
#[inline(always)]
fn extract(value: u32, part: Part) -> u32 {
    match part {
        Part::Whole => value,
        Part::Low => value & 0xffff,
        Part::High => value >> 16,
        Part::LowSigned => value as u16 as i16 as u32,
        Part::HighSigned => (value as i32 >> 16) as u32,
    }
}

/// How far left a part is, and its bits.
#[inline(always)]
pub(crate) fn place(part: Part) -> (u32, u32) {
    match part {
        Part::Whole => (0, u32::MAX),
        Part::Low | Part::LowSigned => (0, 0xffff),
        Part::High | Part::HighSigned => (16, 0xffff_0000),
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
