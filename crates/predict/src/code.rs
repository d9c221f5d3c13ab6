//! The static side of an execution: basic blocks and what their instructions cost.

use crate::change::Change;
use crate::execution::Run;
use crate::invariants::{Loop, Plan};
use crate::pipeline::Pipeline;
use crate::schedule;
use assay_agx::{ExecEffect, Flow, Item, Op, Operand, Program, RegSet};
use assay_chip::{CoreFacts, CostTable, Key, Unit};

/// Latency assumed where the cost table has none, in cycles.
const ASSUMED_LATENCY: f32 = 4.0;

/// One instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    pub(crate) offset: u32,
    /// Bytes of code.
    pub(crate) bytes: u8,
    pub(crate) op: Op,
    pub(crate) slot: Option<u8>,
    pub(crate) reads: RegSet,
    pub(crate) writes: RegSet,
    pub(crate) class: Class,
    /// Its result depends on its sources only, lane by lane.
    pub(crate) pure: bool,
    /// By how many levels it deepens the nesting of conditions, or the reverse.
    nesting: i32,
    /// The immediate that a `while_icmp` compares with.
    pub(crate) bound: Option<i64>,
    pub(crate) issue: f32,
    /// Cycles of the complex unit.
    pub(crate) complex: f32,
    pub(crate) latency: f32,
    /// Float operations of a lane.
    pub(crate) flops: u32,
}

impl Instruction {
    /// Issue slots of the cost table.
    pub(crate) fn issue_slots(&self) -> f32 {
        self.issue
    }
}

/// What an instruction is counted as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
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
    /// Loops: first and last instruction, the innermost of those that share instructions first.
    loops: Vec<(u32, u32)>,
    /// Of each block: the turns of its loop that an optimising compiler issues together.
    turns: Vec<usize>,
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
        let mut back: Vec<(u64, u32)> = Vec::new();
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
                    if let Some(to) = to.filter(|to| *to <= offset) {
                        back.push((to, instructions.len() as u32));
                    }
                    lead(next);
                    to.into_iter().for_each(&mut lead);
                }
                Flow::CallIndirect | Flow::Return | Flow::Stop | Flow::Trap => lead(next),
            }
            let mut instruction = cost(offset as u32, &instruction, costs);
            instruction.bytes = item.len().min(255) as u8;
            instructions.push(instruction);
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
        let mut loops: Vec<(u32, u32)> = back
            .into_iter()
            .filter_map(|(to, end)| {
                let first = *at_parcel.get((to / 2) as usize)?;
                (first != NONE).then_some((first, end))
            })
            .collect();
        loops.sort_by_key(|&(first, last)| last - first.min(last));
        let mut code = Code {
            instructions,
            at_parcel,
            block_of,
            starts,
            loops,
            turns: Vec::new(),
        };
        code.turns = (0..code.block_count())
            .map(|block| match code.is_loop(block) {
                true => schedule::turns_together(code.block(block)),
                false => 1,
            })
            .collect();
        Ok(code)
    }

    /// Returns true if the block is the whole body of a loop.
    fn is_loop(&self, block: usize) -> bool {
        let own = (self.starts[block], self.starts[block + 1].saturating_sub(1));
        self.loop_of(block) == Some(own)
    }

    /// Turns of the loop that is this block that an optimising compiler issues together.
    pub(crate) fn turns(&self, block: u16) -> usize {
        self.turns.get(usize::from(block)).copied().unwrap_or(1)
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

    /// Returns true if a threadgroup barrier is among the instructions.
    pub(crate) fn has_barriers(&self) -> bool {
        let mut all = self.instructions.iter();
        all.any(|instruction| instruction.class == Class::Barrier)
    }

    /// The block of an instruction.
    pub(crate) fn block_of(&self, index: usize) -> Option<u16> {
        self.block_of.get(index).copied()
    }

    /// Instructions of a block.
    pub(crate) fn block_len(&self, block: u16) -> usize {
        let block = usize::from(block);
        let ends = self.starts.get(block).zip(self.starts.get(block + 1));
        ends.map_or(0, |(first, end)| end.saturating_sub(*first) as usize)
    }

    /// Instructions of a block that compute with values rather than count, compare, wait or make addresses: as far as can
    /// be told, floats and what the complex unit does.
    pub(crate) fn arithmetic_of(&self, block: u16) -> impl Iterator<Item = u32> + '_ {
        let first = self.starts.get(usize::from(block)).copied().unwrap_or(0);
        let all = (first..).take(self.block_len(block));
        all.filter(|&at| {
            let instruction = self.instructions.get(at as usize);
            instruction.is_some_and(|one| one.flops > 0 || one.complex > 0.0)
        })
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

    /// A block whose instructions cost as much as they do on average, if arms that no lane takes are
    /// jumped over. Changes of the execution mask always are executed.
    fn taken(&self, block: usize, shares: Option<&[f32]>, change: &Change) -> Vec<Instruction> {
        let mut instructions = self.block(block).to_vec();
        let first = self.starts[block];
        for (index, instruction) in (first..).zip(&mut instructions) {
            if change.drops_barrier(index) {
                instruction.class = Class::Plain;
            }
        }
        for (instruction, share) in instructions.iter_mut().zip(shares.unwrap_or_default()) {
            if !instruction.op.writes_exec_mask() {
                instruction.issue *= share;
                instruction.complex *= share;
            }
        }
        instructions
    }

    /// The innermost loop around a block.
    fn loop_of(&self, block: usize) -> Option<(u32, u32)> {
        let (first, last) = (self.starts[block], self.starts[block + 1].saturating_sub(1));
        let around = |&&(from, to): &&(u32, u32)| from <= first && last <= to;
        self.loops.iter().find(around).copied()
    }

    /// Returns true if a block of a loop runs in every turn: no condition is open where it
    /// starts.
    fn in_every_turn(&self, block: usize, (from, _): (u32, u32)) -> bool {
        let before = self
            .instructions
            .get(from as usize..self.starts[block] as usize);
        let before = before.unwrap_or_default().iter();
        before.map(|instruction| instruction.nesting).sum::<i32>() <= 0
    }

    /// What an optimising compiler moves out of loops.
    pub(crate) fn plan(&self) -> Plan {
        let mut loops: Vec<Loop> = Vec::new();
        for block in 0..self.block_count() {
            // A division that a condition guards is not moved before it.
            let around = self.loop_of(block);
            let Some((first, last)) = around.filter(|&around| self.in_every_turn(block, around))
            else {
                continue;
            };
            let range = (first as usize, last as usize);
            let own = (self.starts[block] as usize, self.starts[block + 1] as usize);
            match loops.iter_mut().find(|known| known.range == range) {
                Some(known) => known.blocks.push(own),
                None => loops.push(Loop {
                    blocks: vec![own],
                    range,
                }),
            }
        }
        Plan::new(&self.instructions, &loops)
    }

    /// Loops that have more code than the instruction cache holds: each turn fetches all of it again. Only
    /// blocks that were executed count.
    fn beyond_instruction_cache(&self, executed: &[bool]) -> Vec<(u32, u32)> {
        let mut code_before = Vec::with_capacity(self.instructions.len() + 1);
        code_before.push(0u64);
        let mut bytes = 0;
        for (instruction, block) in self.instructions.iter().zip(&self.block_of) {
            if executed.get(usize::from(*block)) == Some(&true) {
                bytes += u64::from(instruction.bytes);
            }
            code_before.push(bytes);
        }
        let code = |&(first, last): &(u32, u32)| {
            let before = |at: u32| code_before.get(at as usize).copied().unwrap_or(bytes);
            before(last.saturating_add(1)).saturating_sub(before(first))
        };
        let most = u64::from(CoreFacts::get().instruction_cache_bytes);
        let loops = self.loops.iter().copied();
        loops.filter(|found| code(found) > most).collect()
    }

    /// The runs of every block, and of how many turns they are. `access_of` gives the index of
    /// the access of an instruction (or of the reload that takes its place), if it was executed. Given a plan
    /// and the share of executions of each instruction in which a lane is active, blocks are scheduled as an
    /// optimising compiler would.
    pub(crate) fn runs(
        &self,
        optimised: Option<(&Plan, &[f32])>,
        executed: &[bool],
        change: &Change,
        access_of: impl Fn(u32, bool) -> Option<u16>,
    ) -> Vec<(usize, Vec<Run>)> {
        let written = |(from, to): (u32, u32)| {
            let inside = self.instructions.get(from as usize..=to as usize);
            let inside = inside.unwrap_or_default().iter();
            inside.fold(RegSet::EMPTY, |all, i| all.union(i.writes))
        };
        let beyond = self.beyond_instruction_cache(executed);
        let blocks = (0..self.block_count()).map(|block| {
            let around = self.loop_of(block);
            let (first, end) = (self.starts[block], self.starts[block + 1]);
            let range = first as usize..end as usize;
            let fates = optimised.and_then(|(plan, _)| plan.fates.get(range.clone()));
            let taken = optimised.and_then(|(_, taken)| taken.get(range));
            let instructions = &self.taken(block, taken, change);
            let schedule = match fates {
                None => schedule::in_order(instructions),
                Some(fates) => {
                    let own = (first, end.saturating_sub(1));
                    // A loop that is this block alone.
                    let alone = around.filter(|around| *around == own);
                    schedule::optimised(instructions, fates, alone.map(written))
                }
            };
            let mut pipeline = Pipeline::new();
            // Twice: the second time registers are as a loop leaves them.
            pipeline.block(instructions, &schedule, &access_of);
            let mut runs = pipeline.block(instructions, &schedule, &access_of);
            if !around.is_some_and(|around| beyond.contains(&around)) {
                runs.iter_mut().for_each(|run| run.fetched = 0.0);
            }
            (schedule.turns, runs)
        });
        blocks.collect()
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
    let nesting = match instruction.exec_effect() {
        ExecEffect::If(levels) => i32::from(levels),
        ExecEffect::Pop(levels) => -i32::from(levels),
        _ => 0,
    };
    let arithmetic = matches!(row.unit, Unit::F32 | Unit::F16 | Unit::Scib | Unit::Ic);
    let bound = match (op, instruction.source(1)) {
        (Op::WhileIcmp, Some(Operand::Imm(bound))) => Some(bound),
        _ => None,
    };
    Instruction {
        offset,
        bytes: 0,
        op,
        pure: class == Class::Plain && arithmetic,
        nesting,
        bound,
        slot: instruction.slot(),
        reads: instruction.reads(),
        writes: instruction.writes(),
        class,
        issue,
        flops: instruction.flops(),
        complex,
        latency: row.latency.map_or(ASSUMED_LATENCY, |cycles| cycles as f32),
    }
}
