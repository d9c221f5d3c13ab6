//! What an instruction reads, writes and does to control: exact, per 16-bit register.

use crate::instruction::Instruction;
use crate::isa::Family;
use crate::op::Op;
use crate::operand::{Hint, Operand, Width};
use crate::regset::{RegSet, UniformSet};
use crate::table::{Field, Role};

/// What an instruction does to the execution mask. Every lane has a nesting counter in
/// `r0l` and is active when it is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExecEffect {
    /// Nothing.
    None,
    /// `if`: inactive lanes count `n` more; active lanes that fail get 1.
    If(u8),
    /// `else`: active lanes get `n`; lanes at 1 that pass become active.
    Else(u8),
    /// `while`: lanes below `n` become active if they pass, else get `n`.
    While(u8),
    /// `pop_exec`: every counter goes down by `n`, not below 0.
    Pop(u8),
    /// Lanes end: `stop`, `trap`.
    End,
}

/// Where execution goes after an instruction. Targets are absolute byte offsets; a
/// target before the start of the program is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flow {
    /// The next instruction.
    Next,
    /// To the target if any lane is active, else on.
    JumpIfAny(Option<u64>),
    /// To the target if no lane is active, else on.
    JumpIfNone(Option<u64>),
    /// A jump whose condition is not understood.
    JumpUnknown(Option<u64>),
    /// To a function; `r1` gets the return address.
    Call(Option<u64>),
    /// To the function whose address is in a register.
    CallIndirect,
    /// To the address in a register.
    Return,
    /// The program ends.
    Stop,
    /// The program ends in error.
    Trap,
}

/// The link register, written by calls: `r1`.
const LINK: std::ops::Range<u16> = 2..4;

impl Instruction {
    /// The half registers read.
    ///
    /// ```
    /// use assay_agx::{Instruction, Isa};
    /// // device_load 0, i32, xy, r4_r5, r0_r1, r2, unsigned
    /// let load = Instruction::decode(Isa::G13, &[0x05, 0x21, 0x40, 0x06, 0x00, 0xc0, 0x32, 0x00])?;
    /// assert_eq!(load.reads().iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    /// assert_eq!(load.writes().iter().collect::<Vec<_>>(), [8, 9, 10, 11]);
    /// # Ok::<(), assay_agx::DecodeError>(())
    /// ```
    #[inline]
    pub fn reads(&self) -> RegSet {
        self.registers(|role| matches!(role, Role::Source | Role::Both))
    }

    /// The half registers written.
    #[inline]
    pub fn writes(&self) -> RegSet {
        let mut written = self.registers(|role| matches!(role, Role::Dest | Role::Both));
        if matches!(self.op(), Op::Call | Op::CallReg) && self.family() == Family::G13 {
            written.insert_range(LINK);
        }
        written
    }

    #[inline]
    fn registers(&self, wanted: impl Fn(Role) -> bool) -> RegSet {
        let mut set = RegSet::EMPTY;
        let word = self.halves();
        for spec in self.form().operands {
            if wanted(spec.role) {
                set.insert_range(spec.operand(word).half_range());
            }
        }
        set
    }

    /// The half registers this instruction says it is the last to read.
    pub fn discards(&self) -> RegSet {
        let mut set = RegSet::EMPTY;
        for operand in self.sources() {
            if let Operand::Reg(reg) = operand
                && reg.hint == Hint::Discard
            {
                set.insert_range(reg.half_range());
            }
        }
        set
    }

    /// The half uniforms read.
    pub fn uniforms_read(&self) -> UniformSet {
        let mut set = UniformSet::EMPTY;
        for spec in self.form().operands {
            if spec.role == Role::Source
                && let Operand::Uniform(uniform) = spec.operand(self.halves())
            {
                set.insert_range(uniform.half_range());
            }
        }
        set
    }

    /// The half uniforms written, by a `uniform_store` with an immediate index or as a destination.
    pub fn uniforms_written(&self) -> UniformSet {
        let mut set = UniformSet::EMPTY;
        if let Some(Operand::Uniform(uniform)) = self.dest() {
            set.insert_range(uniform.half_range());
        }
        if self.op() != Op::UniformStore {
            return set;
        }
        let (Some(Operand::Imm(first)), Some(mask)) = (self.get(Field::Index), self.mask()) else {
            return set;
        };
        let halves = match self.get(Field::Data) {
            Some(Operand::Reg(reg)) if reg.width == Width::W32 => 2,
            _ => 1,
        };
        for component in (0..4).filter(|component| mask >> component & 1 != 0) {
            let start = first + component * halves;
            if let Ok(start) = u16::try_from(start) {
                set.insert_range(start..start.saturating_add(halves as u16));
            }
        }
        set
    }

    /// The scoreboard slot an asynchronous instruction reports to, or a `wait` waits for.
    pub fn slot(&self) -> Option<u8> {
        Some(self.get_int(Field::Slot)? as u8)
    }

    /// Whether the result arrives later, so that a `wait` on [`Instruction::slot`] is
    /// needed before it is used.
    pub fn is_asynchronous(&self) -> bool {
        self.op() != Op::Wait && self.slot().is_some()
    }

    /// The effect on the execution mask.
    pub fn exec_effect(&self) -> ExecEffect {
        let nest = self.nest().unwrap_or(0);
        match self.op() {
            Op::IfIcmp | Op::IfFcmp | Op::IfPredicate => ExecEffect::If(nest),
            Op::ElseIcmp | Op::ElseFcmp | Op::ElsePredicate => ExecEffect::Else(nest),
            Op::WhileIcmp | Op::WhileFcmp | Op::WhilePredicate => ExecEffect::While(nest),
            Op::PopExec | Op::PopExecUnknown => ExecEffect::Pop(nest),
            Op::Stop | Op::Trap => ExecEffect::End,
            _ => ExecEffect::None,
        }
    }

    /// Where execution goes from here; `offset` is this instruction's own.
    pub fn flow(&self, offset: u64) -> Flow {
        let target = || self.branch_target(offset);
        match self.op() {
            Op::JmpExecAny => Flow::JumpIfAny(target()),
            Op::JmpExecNone => Flow::JumpIfNone(target()),
            Op::JmpIncomplete | Op::JmpIfSkippingDoorbell => Flow::JumpUnknown(target()),
            Op::Call => Flow::Call(target()),
            Op::CallReg => Flow::CallIndirect,
            Op::Ret => Flow::Return,
            Op::Stop => Flow::Stop,
            Op::Trap => Flow::Trap,
            _ => Flow::Next,
        }
    }

    /// The absolute target of a jump or call at `offset`, when it is not negative.
    pub fn branch_target(&self, offset: u64) -> Option<u64> {
        let distance = self.branch_distance()?;
        offset.checked_add_signed(i64::from(distance))
    }

    /// The distance of a jump or call, in bytes from its own address.
    pub fn branch_distance(&self) -> Option<i32> {
        match self.get(Field::Target)? {
            Operand::Target(distance) => Some(distance),
            _ => None,
        }
    }
}
