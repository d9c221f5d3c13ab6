//! Counting what is executed.

use crate::lower::Lowered;
use crate::op::{MicroOp, OpIndex, Operation};
use crate::ops::access;
use crate::simdgroup::Simdgroup;
use std::collections::BTreeMap;

/// How often one instruction was executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstructionCount {
    /// By simdgroups.
    pub executions: u64,
    /// By threads: active lanes, summed over executions.
    pub lanes: u64,
    /// Executions in which a lane that has a thread was inactive.
    pub divergent: u64,
    /// Distinct 128-byte lines of device memory, summed over executions.
    pub lines: u64,
}

impl InstructionCount {
    fn add(&mut self, other: &InstructionCount) {
        self.executions += other.executions;
        self.lanes += other.lanes;
        self.divergent += other.divergent;
        self.lines += other.lines;
    }
}

/// Counts of a run, by byte offset in the main program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions that were executed at least once.
    pub instructions: BTreeMap<u32, InstructionCount>,
}

impl Counts {
    /// Everything together.
    pub fn total(&self) -> InstructionCount {
        let mut total = InstructionCount::default();
        for count in self.instructions.values() {
            total.add(count);
        }
        total
    }

    pub(crate) fn merge(&mut self, table: &CountTable, code: &Lowered) {
        for (op, count) in code.ops.iter().zip(&table.counts) {
            let is_instruction = !op.operation.is_part();
            if count.executions > 0 && is_instruction {
                self.instructions.entry(op.offset).or_default().add(count);
            }
        }
    }
}

/// Counts by micro-operation, for one threadgroup.
#[derive(Debug)]
pub(crate) struct CountTable {
    counts: Vec<InstructionCount>,
}

impl CountTable {
    pub(crate) fn new(ops: usize) -> CountTable {
        CountTable {
            counts: vec![InstructionCount::default(); ops],
        }
    }

    pub(crate) fn merge(&mut self, other: &CountTable) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            mine.add(theirs);
        }
    }

    pub(crate) fn add(&mut self, simdgroup: &Simdgroup, op: &MicroOp, index: OpIndex) {
        let Some(count) = self.counts.get_mut(index as usize) else {
            return;
        };
        count.executions += 1;
        count.lanes += u64::from(simdgroup.exec.count_ones());
        count.divergent += u64::from(simdgroup.exec != simdgroup.exists);
        count.lines += u64::from(match &op.operation {
            Operation::DeviceLoad { access, .. } | Operation::DeviceStore { access } => {
                access::lines(simdgroup, access)
            }
            Operation::DeviceAtomic { atomic, .. } => access::atomic_lines(simdgroup, atomic),
            _ => 0,
        });
    }
}
