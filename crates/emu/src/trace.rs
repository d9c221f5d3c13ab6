//! Following one thread, instruction by instruction.

use crate::fault::Thread;
use crate::op::{MicroOp, Operation};
use crate::simdgroup::Simdgroup;
use crate::touch::Touch;

/// One executed instruction of the thread that is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEntry {
    /// Whether it is in the constant program.
    pub constant_program: bool,
    /// Byte offset of the instruction.
    pub offset: u32,
    /// Whether the thread was active.
    pub active: bool,
    /// Registers the instruction wrote, and their values after it.
    pub written: Vec<Written>,
}

/// A register and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// First half register.
    pub half: u16,
    /// How many halves: 1 or 2.
    pub halves: u8,
    /// The value.
    pub value: u32,
}

/// Collects the entries of one thread.
#[derive(Debug)]
pub(crate) struct Tracer {
    pub(crate) thread: Thread,
    pub(crate) limit: usize,
    pub(crate) entries: Vec<TraceEntry>,
    current: Option<bool>,
}

impl Tracer {
    pub(crate) fn new(thread: Thread, limit: usize) -> Tracer {
        Tracer {
            thread,
            limit,
            entries: Vec::new(),
            current: None,
        }
    }

    pub(crate) fn before(&mut self, simdgroup: &Simdgroup, op: &MicroOp) {
        let here = simdgroup.placement.simdgroup == self.thread.simdgroup;
        let is_instruction = !matches!(op.operation, Operation::Continue { .. });
        self.current = (here && is_instruction && self.entries.len() < self.limit)
            .then_some(simdgroup.exec >> (self.thread.lane % 32) & 1 != 0);
        // An instruction that leaves the loop (a barrier, the end) has no `after`.
        if let Some(active) = self.current {
            self.entries.push(TraceEntry {
                constant_program: false,
                offset: op.offset,
                active,
                written: Vec::new(),
            });
        }
    }

    pub(crate) fn after(&mut self, simdgroup: &Simdgroup, op: &MicroOp) {
        let Some(active) = self.current.take() else {
            return;
        };
        let Some(entry) = self.entries.last_mut() else {
            return;
        };
        let counts_anyway = matches!(
            op.operation,
            Operation::If { .. }
                | Operation::Else { .. }
                | Operation::While { .. }
                | Operation::Pop { .. }
        );
        if active || counts_anyway {
            let lane = self.thread.lane as usize % 32;
            let written = op.touches.writes().iter();
            entry.written = written
                .filter_map(|touch| written_value(simdgroup, *touch, lane))
                .collect();
        }
    }
}

fn written_value(simdgroup: &Simdgroup, touch: Touch, lane: usize) -> Option<Written> {
    let row = simdgroup.row(u16::from(touch.row));
    let word = row.0.get(lane)?;
    let first = u16::from(touch.row) * 2;
    Some(match touch.halves & 3 {
        0b11 => Written {
            half: first,
            halves: 2,
            value: *word,
        },
        0b10 => Written {
            half: first + 1,
            halves: 1,
            value: word >> 16,
        },
        _ => Written {
            half: first,
            halves: 1,
            value: word & 0xffff,
        },
    })
}
