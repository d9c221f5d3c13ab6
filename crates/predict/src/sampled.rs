//! A sample of a dispatch's threadgroups with everything recorded of it, to be folded again with changes.

use crate::change::Change;
use crate::code::Code;
use crate::execution::Execution;
use crate::invariants::Plan;
use crate::record::Record;
use crate::summarise::fold;

/// What a sample of threadgroups did, instruction by instruction.
#[derive(Debug)]
pub struct Sampled {
    pub(crate) code: Code,
    pub(crate) plan: Option<Plan>,
    pub(crate) records: Vec<Record>,
    /// Share of all threadgroups that each record stands for.
    pub(crate) shares: Vec<f64>,
    /// The same, folded.
    pub execution: Execution,
}

impl Sampled {
    /// The execution with changes.
    pub(crate) fn changed(&self, change: &Change) -> Execution {
        let plan = self.plan.as_ref();
        let (folded, _) = fold(&self.records, &self.shares, &self.code, plan, change);
        let own = &self.execution;
        Execution {
            version: own.version,
            kernel: own.kernel.clone(),
            grid: own.grid,
            threadgroup: own.threadgroup,
            sampled: own.sampled,
            half_registers: own.half_registers,
            threadgroup_bytes: own.threadgroup_bytes,
            constant_instructions: own.constant_instructions,
            order: own.order.clone(),
            footprint: own.footprint.clone(),
            ..folded
        }
    }
}
