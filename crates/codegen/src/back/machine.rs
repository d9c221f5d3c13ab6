//! Instructions over physical registers, on their way to bytes.

use crate::mir::{BlockId, Opcode};
use assay_agx::{Field, Op, Operand, Reg, RegSet, Unencoded};
use assay_ssa::Loc;

/// An instruction whose registers are chosen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Machine {
    pub(crate) op: Op,
    pub(crate) name: Option<&'static str>,
    pub(crate) saturate: bool,
    pub(crate) operands: Vec<(Field, Operand)>,
    /// Half registers it reads and writes, the nesting counter left out.
    pub(crate) reads: RegSet,
    pub(crate) writes: RegSet,
    /// What it stands for, if its encoding is not known.
    pub(crate) placeholder: Option<Unencoded>,
    /// Where it jumps.
    pub(crate) target: Option<BlockId>,
    pub(crate) loc: Option<Loc>,
}

/// The instructions of each block, in layout order.
pub(crate) type Code = Vec<Vec<Machine>>;

impl Machine {
    pub(crate) fn new(op: Op, loc: Option<Loc>) -> Machine {
        Machine {
            op,
            name: None,
            saturate: false,
            operands: Vec::new(),
            reads: RegSet::EMPTY,
            writes: RegSet::EMPTY,
            placeholder: None,
            target: None,
            loc,
        }
    }

    /// With the operation of a virtual instruction, if it leaves something in the code.
    pub(crate) fn of(opcode: Opcode, loc: Option<Loc>) -> Option<Machine> {
        match opcode {
            Opcode::Machine { op, name, saturate } => Some(Machine {
                name,
                saturate,
                ..Machine::new(op, loc)
            }),
            Opcode::Placeholder(operation) => Some(Machine {
                placeholder: Some(operation),
                ..Machine::new(Op::Unknown, loc)
            }),
            Opcode::ParallelCopy | Opcode::Undefined => None,
        }
    }

    /// With an operand that is no general register.
    #[must_use]
    pub(crate) fn with(mut self, field: Field, operand: Operand) -> Machine {
        self.operands.push((field, operand));
        self
    }

    /// With a register that is read.
    #[must_use]
    pub(crate) fn reading(mut self, field: Field, reg: Reg) -> Machine {
        self.reads.insert_range(reg.half_range());
        self.with(field, Operand::Reg(reg))
    }

    /// With a register that is written.
    #[must_use]
    pub(crate) fn writing(mut self, field: Field, reg: Reg) -> Machine {
        self.writes.insert_range(reg.half_range());
        self.with(field, Operand::Reg(reg))
    }

    /// Whether its result arrives later, or it occupies a slot until it is done.
    pub(crate) fn is_asynchronous(&self) -> bool {
        matches!(
            self.op,
            Op::DeviceLoad
                | Op::DeviceStore
                | Op::Atomic
                | Op::StackLoad
                | Op::StackStore
                | Op::TextureSample
                | Op::TextureLoad
        )
    }

    /// Whether it reads or writes the nesting counter.
    pub(crate) fn uses_counter(&self) -> bool {
        let named = self
            .operands
            .iter()
            .any(|(_, operand)| operand.half_range().contains(&0));
        named || self.op.writes_exec_mask()
    }
}
