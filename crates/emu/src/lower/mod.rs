//! Machine code to micro-operations.
//!
//! The code is decoded once, in order. A jump into the middle of an instruction (or
//! over data) starts another decoded piece at its target, so every address that can be
//! reached directly has its micro-operation; code that is not reached may be anything.

mod alu;
mod control;
mod g15;
mod memory;
mod operand;

use crate::op::{MicroOp, NOWHERE, OpIndex, Operation, Row};
use crate::touch::Touches;
use crate::uniforms::Uniforms;
use assay_agx::{Family, Instruction, Isa, Item, Program};
use operand::{Operands, Problem};

/// Code in the form the interpreter runs.
#[derive(Debug)]
pub(crate) struct Lowered {
    pub(crate) ops: Vec<MicroOp>,
    /// Rows of constants.
    pub(crate) pool: Vec<Row>,
    /// The instruction set, for what differs beyond instructions.
    pub(crate) family: Family,
    /// The micro-operation of each parcel that starts one.
    starts: Vec<OpIndex>,
}

impl Lowered {
    /// The micro-operation of the instruction at byte `offset`.
    pub(crate) fn at(&self, offset: i64) -> Option<OpIndex> {
        let parcel = usize::try_from(offset).ok().filter(|at| at % 2 == 0)? / 2;
        let index = *self.starts.get(parcel)?;
        (index != NOWHERE).then_some(index)
    }
}

/// Lowers the main program with these uniforms; uniforms without value read as zero when
/// `lenient`. Placeholders stop with an explanation when they are reached.
pub(crate) fn lower_main(program: &Program, uniforms: &Uniforms, lenient: bool) -> Lowered {
    let mut lowered = lower(program.isa, &program.code, uniforms, lenient);
    for placeholder in &program.placeholders {
        let index = lowered.at(i64::from(placeholder.offset));
        let op = index.and_then(|index| lowered.ops.get_mut(index as usize));
        if let Some(op) = op.filter(|op| matches!(op.operation, Operation::Undecodable { .. })) {
            let why = placeholder.operation.kind.refusal();
            op.operation = Operation::Unsupported { why };
        }
    }
    lowered
}

/// Lowers `code` with these uniforms; uniforms without value read as zero when
/// `lenient`.
pub(crate) fn lower(isa: Isa, code: &[u8], uniforms: &Uniforms, lenient: bool) -> Lowered {
    let mut lowering = Lowering {
        isa,
        code,
        operands: Operands {
            uniforms,
            lenient,
            pool: operand::Pool::default(),
        },
        ops: Vec::with_capacity(code.len() / 6 + 1),
        starts: vec![NOWHERE; code.len() / 2 + 1],
    };
    lowering.piece(0);
    lowering.resolve();
    Lowered {
        ops: lowering.ops,
        pool: lowering.operands.pool.rows,
        family: isa.family(),
        starts: lowering.starts,
    }
}

struct Lowering<'a> {
    isa: Isa,
    code: &'a [u8],
    operands: Operands<'a>,
    ops: Vec<MicroOp>,
    starts: Vec<OpIndex>,
}

impl Lowering<'_> {
    /// Decodes from `start` until the end or until code that is decoded already.
    fn piece(&mut self, start: usize) {
        let code = self.code.get(start..).unwrap_or_default();
        for (at, item) in assay_agx::walk(self.isa, code) {
            let offset = start + at as usize;
            match self.starts.get_mut(offset / 2) {
                Some(known) if *known != NOWHERE => {
                    let target = *known;
                    self.push(offset, Operation::Continue { target }, Touches::default());
                    return;
                }
                Some(place) => *place = self.ops.len() as OpIndex,
                None => {}
            }
            match item {
                Item::Known(instruction) => self.instruction(offset, &instruction),
                Item::Truncated { .. } => self.push(offset, Operation::End, Touches::default()),
                Item::Unknown(parcel) => {
                    self.push(
                        offset,
                        Operation::Undecodable { parcel },
                        Touches::default(),
                    );
                }
                Item::Odd(byte) => {
                    let parcel = u16::from(byte);
                    self.push(
                        offset,
                        Operation::Undecodable { parcel },
                        Touches::default(),
                    );
                }
            }
        }
        self.push(self.code.len(), Operation::End, Touches::default());
    }

    fn instruction(&mut self, offset: usize, instruction: &Instruction) {
        if self.isa.family() == Family::G15 {
            for (operation, touches) in g15::lower(instruction, offset as u32, &mut self.operands) {
                self.push(offset, operation, touches);
            }
            return;
        }
        let mut touches = operand::touches(instruction);
        memory::correct_touches(instruction, &mut touches);
        let operation =
            self.operation(offset, instruction)
                .unwrap_or_else(|problem| match problem {
                    Problem::Unset(half) => Operation::UnsetUniform { half },
                    Problem::Unsupported(why) => Operation::Unsupported { why },
                });
        touches.checks_itself = operation.checks_itself();
        if matches!(
            operation,
            Operation::Call { .. } | Operation::CallIndirect { .. }
        ) {
            // The link register r1.
            touches.write(crate::touch::Touch {
                row: 1,
                halves: 0b11,
            });
        }
        self.push(offset, operation, touches);
    }

    fn operation(
        &mut self,
        offset: usize,
        instruction: &Instruction,
    ) -> operand::Lowered<Operation> {
        if let Some(operation) = alu::lower(instruction, &mut self.operands)? {
            return Ok(operation);
        }
        if let Some(operation) = memory::lower(instruction, &mut self.operands)? {
            return Ok(operation);
        }
        let control = control::lower(instruction, offset as u32, &mut self.operands)?;
        control.ok_or(Problem::Unsupported(
            "what it does in a compute kernel is not known",
        ))
    }

    fn push(&mut self, offset: usize, operation: Operation, touches: Touches) {
        self.ops.push(MicroOp {
            operation,
            touches,
            offset: offset as u32,
        });
    }

    /// Turns branch targets into indices, decoding what is only reached by branches.
    fn resolve(&mut self) {
        let mut next = 0;
        while let Some(op) = self.ops.get(next) {
            let to = match op.operation {
                Operation::JumpIfAny { to, .. }
                | Operation::JumpIfNone { to, .. }
                | Operation::Call { to, .. } => to,
                _ => {
                    next += 1;
                    continue;
                }
            };
            let index = self.target(to);
            if let Some(op) = self.ops.get_mut(next) {
                match &mut op.operation {
                    Operation::JumpIfAny { target, .. }
                    | Operation::JumpIfNone { target, .. }
                    | Operation::Call { target, .. } => *target = index,
                    _ => {}
                }
            }
            next += 1;
        }
    }

    /// The micro-operation at a byte offset, decoding from there if needed.
    fn target(&mut self, to: i64) -> OpIndex {
        let Some(offset) = usize::try_from(to)
            .ok()
            .filter(|&offset| offset % 2 == 0 && offset < self.code.len())
        else {
            return NOWHERE;
        };
        if self.starts.get(offset / 2) == Some(&NOWHERE) {
            self.piece(offset);
        }
        self.starts.get(offset / 2).copied().unwrap_or(NOWHERE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(code: &[u8]) -> Vec<u32> {
        let lowered = lower(Isa::G13, code, &Uniforms::new(), false);
        lowered.ops.iter().map(|op| op.offset).collect()
    }

    #[test]
    fn a_jump_into_an_instruction_decodes_another_piece_that_joins_the_first() {
        // mov_imm r0l, 0x0088 (bytes 2..4 read as `stop`), jmp_exec_any -2, stop
        let code = [0x62, 0, 0x88, 0, 0, 0xc0, 0xfe, 0xff, 0xff, 0xff, 0x88, 0];
        assert_eq!(offsets(&code), [0, 4, 10, 12, 2, 4]);
    }

    #[test]
    fn code_without_end_gets_one() {
        assert_eq!(offsets(&[0x62, 0, 0, 0]), [0, 4]);
        assert_eq!(offsets(&[]), [0]);
    }
}
