//! What an optimising compiler moves out of loops, and what that costs in registers.
//!
//! LLVM, which Apple's compilers are made of, hoists whatever gives the same result in every turn:
//! arithmetic, and loads whose address stays the same from memory that the loop does not write. It does so
//! without counting registers (its pass `licm` leaves that to the allocator). Generated code keeps such
//! loads in the loop. After a loop inside has been unrolled there can be hundreds of them: as many
//! as registers hold cost nothing in the loop, the others are spilled, and every turn reloads
//! them from the stack.

use crate::code::{Class, Instruction};
use assay_agx::{Op, RegSet};

/// Half registers of a thread at most.
pub(crate) const HALF_REGISTERS: u32 = 256;

/// What becomes of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is issued in every turn.
    #[default]
    Stays,
    /// It is issued once, before the loop.
    Hoisted,
    /// It is a load that is issued before the loop; each turn reloads its result from the stack.
    Spilled,
}

/// Fates of all instructions of a program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) fates: Vec<Fate>,
    /// Half registers of the loop that needs most, with what was hoisted out of it.
    pub(crate) half_registers: u32,
    /// Half registers of a spilled load's loop that are reloaded in a turn, by instruction.
    pub(crate) reloaded: Vec<u32>,
}

/// A loop as far as it matters here.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    /// Of each block that runs in every turn: its first instruction and the one after its last.
    pub(crate) blocks: Vec<(usize, usize)>,
    /// First and last instruction.
    pub(crate) range: (usize, usize),
}

impl Plan {
    /// Everything stays where it is.
    pub(crate) fn as_written(instructions: &[Instruction]) -> Plan {
        Plan {
            fates: vec![Fate::Stays; instructions.len()],
            half_registers: 0,
            reloaded: vec![0; instructions.len()],
        }
    }

    /// The fates of instructions in loops.
    pub(crate) fn new(instructions: &[Instruction], loops: &[Loop]) -> Plan {
        let mut plan = Plan::as_written(instructions);
        for found in loops {
            plan.hoist(instructions, found);
        }
        plan
    }

    fn hoist(&mut self, instructions: &[Instruction], found: &Loop) {
        let (first, last) = found.range;
        let inside = instructions.get(first..=last).unwrap_or_default();
        let written = inside
            .iter()
            .fold(RegSet::EMPTY, |all, i| all.union(i.writes));
        let memory = Written::by(inside);
        let mut loads = Vec::new();
        for &(from, to) in &found.blocks {
            let mut varying = written;
            for (at, instruction) in instructions.iter().enumerate().take(to).skip(from) {
                let load = is_load(instruction) && !memory.touches(instruction.op);
                let same = (instruction.pure || load) && !instruction.reads.intersects(&varying);
                varying = match same {
                    true => varying.difference(instruction.writes),
                    false => varying.union(instruction.writes),
                };
                // A constant or a copy stays: it starts something.
                if same && !matches!(instruction.op, Op::MovImm | Op::Bitop) {
                    self.fates[at] = Fate::Hoisted;
                }
                if same && load {
                    loads.push(at);
                }
            }
        }
        self.allocate(instructions, found, &loads);
    }

    /// Gives hoisted loads registers while there are some; spills the others.
    fn allocate(&mut self, instructions: &[Instruction], found: &Loop, loads: &[usize]) {
        let (first, last) = found.range;
        let mut used = RegSet::EMPTY;
        for at in first..=last {
            if self.fates.get(at) == Some(&Fate::Stays)
                && let Some(instruction) = instructions.get(at)
            {
                used = used.union(instruction.reads).union(instruction.writes);
            }
        }
        let mut taken = used.len();
        let mut reloaded = 0;
        for &at in loads {
            let halves = instructions[at].writes.len();
            if taken + halves <= HALF_REGISTERS {
                taken += halves;
            } else {
                self.fates[at] = Fate::Spilled;
                reloaded += halves;
            }
        }
        if !loads.is_empty() {
            self.half_registers = self.half_registers.max(taken);
        }
        for &at in loads {
            self.reloaded[at] = reloaded;
        }
    }
}

fn is_load(instruction: &Instruction) -> bool {
    matches!(instruction.op, Op::DeviceLoad | Op::ThreadgroupLoad) && !instruction.writes.is_empty()
}

/// Memories that a loop changes.
#[derive(Clone, Copy, Debug, Default)]
struct Written {
    device: bool,
    threadgroup: bool,
}

impl Written {
    fn by(instructions: &[Instruction]) -> Written {
        let mut written = Written::default();
        for instruction in instructions {
            match (instruction.op, instruction.class) {
                (Op::DeviceStore, _) => written.device = true,
                (Op::ThreadgroupStore, _) => written.threadgroup = true,
                (Op::DeviceLoad | Op::ThreadgroupLoad | Op::StackLoad | Op::StackStore, _) => {}
                // After a barrier memory holds what other threads wrote; the rest are atomics.
                (
                    _,
                    Class::Barrier | Class::DeviceAccess | Class::LocalLoad | Class::LocalOther,
                ) => {
                    (written.device, written.threadgroup) = (true, true);
                }
                _ => {}
            }
        }
        written
    }

    fn touches(self, op: Op) -> bool {
        match op {
            Op::DeviceLoad => self.device,
            _ => self.threadgroup,
        }
    }
}
