//! The static side of an execution: basic blocks and what their instructions cost.

use crate::execution::{Run, Stop};
use assay_agx::{Flow, Item, Op, Program, RegSet};
use assay_chip::{CostTable, Key, Unit};

/// Half registers.
const HALVES: usize = 256;

/// Latency assumed where the cost table has none, in cycles.
const ASSUMED_LATENCY: f32 = 4.0;

/// One instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    pub(crate) offset: u32,
    slot: Option<u8>,
    reads: RegSet,
    writes: RegSet,
    class: Class,
    issue: f32,
    /// Cycles of the complex unit.
    complex: f32,
    latency: f32,
}

impl Instruction {
    /// Issue slots of the cost table.
    pub(crate) fn issue_slots(&self) -> f32 {
        self.issue
    }
}

/// What an instruction is counted as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Plain,
    Reduction,
    Prefix,
    Shuffle,
    Matrix32,
    Matrix16,
    DeviceAccess,
    LocalLoad,
    LocalOther,
    Wait,
    Barrier,
}

/// The decoded program, cut into basic blocks.
#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) instructions: Vec<Instruction>,
    /// Index of the instruction at each parcel (two bytes); `NONE` inside instructions.
    at_parcel: Vec<u32>,
    /// The block of each instruction.
    block_of: Vec<u16>,
    /// First instruction of each block, then the end.
    starts: Vec<u32>,
}

const NONE: u32 = u32::MAX;

/// A program that has too many blocks to be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManyBlocks;

impl Code {
    pub(crate) fn new(program: &Program, costs: &CostTable) -> Result<Code, TooManyBlocks> {
        let mut instructions = Vec::new();
        let mut at_parcel = vec![NONE; program.code.len() / 2 + 1];
        let mut leads = vec![false; program.code.len() / 2 + 2];
        let mut lead = |offset: u64| {
            if let Some(place) = leads.get_mut((offset / 2) as usize) {
                *place = true;
            }
        };
        lead(u64::from(program.entry));
        for (offset, item) in program.walk() {
            let Item::Known(instruction) = item else {
                continue;
            };
            let place = at_parcel.get_mut((offset / 2) as usize);
            if let Some(place) = place {
                *place = instructions.len() as u32;
            }
            let next = offset + item.len() as u64;
            match instruction.flow(offset) {
                Flow::Next => {}
                Flow::JumpIfAny(to)
                | Flow::JumpIfNone(to)
                | Flow::JumpUnknown(to)
                | Flow::Call(to) => {
                    lead(next);
                    to.into_iter().for_each(&mut lead);
                }
                Flow::CallIndirect | Flow::Return | Flow::Stop | Flow::Trap => lead(next),
            }
            instructions.push(cost(offset as u32, &instruction, costs));
        }
        let mut starts = Vec::new();
        let mut block_of = Vec::with_capacity(instructions.len());
        for (n, instruction) in instructions.iter().enumerate() {
            let leads = leads.get(instruction.offset as usize / 2).copied();
            if n == 0 || leads.unwrap_or(false) {
                starts.push(n as u32);
            }
            let block = u16::try_from(starts.len() - 1).map_err(|_| TooManyBlocks)?;
            block_of.push(block);
        }
        starts.push(instructions.len() as u32);
        Ok(Code {
            instructions,
            at_parcel,
            block_of,
            starts,
        })
    }

    /// The instruction at a byte offset.
    #[inline]
    pub(crate) fn at(&self, offset: u32) -> Option<usize> {
        let index = *self.at_parcel.get(offset as usize / 2)?;
        (index != NONE).then_some(index as usize)
    }

    /// The block that starts with this instruction.
    #[inline]
    pub(crate) fn block_started_by(&self, index: usize) -> Option<u16> {
        let block = *self.block_of.get(index)?;
        (self.starts.get(usize::from(block)) == Some(&(index as u32))).then_some(block)
    }

    /// Returns true if the instruction waits for a scoreboard slot.
    #[inline]
    pub(crate) fn waits(&self, index: usize) -> bool {
        self.instructions
            .get(index)
            .is_some_and(|instruction| instruction.class == Class::Wait)
    }

    pub(crate) fn block_count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Byte offset of a block's first instruction.
    pub(crate) fn block_offset(&self, block: usize) -> u32 {
        let first = self.starts.get(block).copied().unwrap_or(0);
        let first = self.instructions.get(first as usize);
        first.map_or(0, |instruction| instruction.offset)
    }

    /// Half registers in use: the highest and those below it.
    pub(crate) fn half_registers(&self) -> u32 {
        let touched = self.instructions.iter().flat_map(|instruction| {
            let reads = instruction.reads.iter();
            reads.chain(instruction.writes.iter())
        });
        touched.max().map_or(0, |half| u32::from(half) + 1)
    }

    fn block(&self, block: usize) -> &[Instruction] {
        let range = self.starts[block] as usize..self.starts[block + 1] as usize;
        &self.instructions[range]
    }

    /// The runs of every block. `access_of` gives the index of the access at a byte offset,
    /// if it was executed.
    pub(crate) fn runs(&self, access_of: impl Fn(u32) -> Option<u16>) -> Vec<Vec<Run>> {
        let mut pipeline = Pipeline::new();
        let mut runs: Vec<Vec<Run>> = Vec::new();
        for block in 0..self.block_count() {
            // Twice: the second time registers are as a loop leaves them.
            let instructions = self.block(block);
            pipeline.block(instructions, &access_of);
            runs.push(pipeline.block(instructions, &access_of));
        }
        runs
    }
}

fn cost(offset: u32, instruction: &assay_agx::Instruction, costs: &CostTable) -> Instruction {
    let key = Key::of(instruction);
    let row = costs.get(key);
    let name = key.name();
    let op = instruction.op();
    let class = match op {
        Op::Wait => Class::Wait,
        Op::ThreadgroupBarrier => Class::Barrier,
        _ if name == "simd_matrix_fmadd32" => Class::Matrix32,
        _ if name == "simd_matrix_fmadd16" => Class::Matrix16,
        _ if name.starts_with("simd_reduce") || name.starts_with("quad_reduce") => Class::Reduction,
        _ if name.starts_with("simd_prefix") || name.starts_with("quad_prefix") => Class::Prefix,
        _ if name.contains("shuffle") || name.contains("ballot") => Class::Shuffle,
        _ if name == "threadgroup_load" || name == "threadgroup_atomic" => Class::LocalLoad,
        _ if name == "threadgroup_store" => Class::LocalOther,
        _ if matches!(
            name,
            "device_load" | "device_store" | "device_atomic" | "stack_load" | "stack_store"
        ) =>
        {
            Class::DeviceAccess
        }
        _ => Class::Plain,
    };
    let issue = row.dispatch.unwrap_or(1.0) as f32;
    let complex = match row.unit {
        Unit::Ic => row.cycles.unwrap_or(4.0) as f32,
        _ => 0.0,
    };
    Instruction {
        offset,
        slot: instruction.slot(),
        reads: instruction.reads(),
        writes: instruction.writes(),
        class,
        issue,
        complex,
        latency: row.latency.map_or(ASSUMED_LATENCY, |cycles| cycles as f32),
    }
}

/// In-order issue of one simdgroup whose memory answers at once: gives the cycles each
/// run takes alone.
struct Pipeline {
    now: f32,
    ready: [f32; HALVES],
    complex_free: f32,
    /// Number of the load from threadgroup memory that delivers a half register, counted
    /// from 1; 0 when none is to.
    local: [u32; HALVES],
    local_loads: u32,
    /// Loads whose arrival was waited for.
    local_done: u32,
}

impl Pipeline {
    fn new() -> Pipeline {
        Pipeline {
            now: 0.0,
            ready: [0.0; HALVES],
            complex_free: 0.0,
            local: [0; HALVES],
            local_loads: 0,
            local_done: 0,
        }
    }

    fn block(
        &mut self,
        instructions: &[Instruction],
        access_of: &impl Fn(u32) -> Option<u16>,
    ) -> Vec<Run> {
        let mut runs = Vec::new();
        let mut run = Run::default();
        let mut begun = self.now;
        for instruction in instructions {
            if let Some(later) = self.uses_local(instruction) {
                run.alone = self.now - begun;
                run.stop = Stop::UseLocal { later };
                runs.push(std::mem::take(&mut run));
                begun = self.now;
            }
            self.issue(instruction);
            add(&mut run, instruction);
            let slot = instruction.slot.unwrap_or(0);
            let stop = match instruction.class {
                Class::Wait => Some(Stop::Wait { slot }),
                Class::Barrier => Some(Stop::Barrier),
                Class::DeviceAccess | Class::LocalLoad | Class::LocalOther => {
                    // One that was never executed stops nothing.
                    let access = access_of(instruction.offset);
                    access.map(|access| Stop::Access { access, slot })
                }
                _ => None,
            };
            if let Some(stop) = stop {
                run.alone = self.now - begun;
                run.stop = stop;
                runs.push(std::mem::take(&mut run));
                begun = self.now;
            }
        }
        run.alone = self.now - begun;
        if run.instructions > 0 {
            runs.push(run);
        }
        runs
    }

    /// The number of later loads that may still be under way, if the instruction uses what
    /// a load from threadgroup memory delivers and nothing has waited for it yet.
    fn uses_local(&mut self, instruction: &Instruction) -> Option<u8> {
        let touched = instruction.reads.iter().chain(instruction.writes.iter());
        let newest = touched
            .filter_map(|half| self.local.get(usize::from(half)).copied())
            .max()
            .unwrap_or(0);
        if newest <= self.local_done {
            return None;
        }
        self.local_done = newest;
        Some((self.local_loads - newest).min(255) as u8)
    }

    fn issue(&mut self, instruction: &Instruction) {
        let mut start = self.now;
        for half in instruction.reads.iter() {
            start = start.max(self.ready.get(usize::from(half)).copied().unwrap_or(0.0));
        }
        if instruction.complex > 0.0 {
            start = start.max(self.complex_free);
            self.complex_free = start + instruction.complex;
        }
        self.now = start + instruction.issue;
        let by_memory = matches!(
            instruction.class,
            Class::DeviceAccess | Class::LocalLoad | Class::LocalOther
        );
        let latency = match by_memory {
            true => instruction.issue,
            false => instruction.latency.max(instruction.issue),
        };
        if instruction.class == Class::LocalLoad {
            self.local_loads += 1;
        }
        for half in instruction.writes.iter() {
            let half = usize::from(half);
            if let Some(ready) = self.ready.get_mut(half) {
                *ready = start + latency;
            }
            if let Some(local) = self.local.get_mut(half) {
                *local = match instruction.class {
                    Class::LocalLoad => self.local_loads,
                    _ => 0,
                };
            }
        }
    }
}

fn add(run: &mut Run, instruction: &Instruction) {
    run.instructions += 1;
    run.complex += instruction.complex;
    match instruction.class {
        Class::Reduction => run.reductions += 1,
        Class::Prefix => run.prefixes += 1,
        Class::Shuffle => run.shuffles += 1,
        Class::Matrix32 => run.matrices32 += 1,
        Class::Matrix16 => run.matrices16 += 1,
        _ => run.issue += instruction.issue,
    }
}
