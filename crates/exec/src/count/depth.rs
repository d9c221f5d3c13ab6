//! Load depths: the length of the chain of dependent loads behind the number in each register.
//!
//! Depths after a basic block depend only on depths before it, and a loop meets the same ones again and again, so transitions are
//! memoised: every set of depths has a number (its state), and each block maps states to states.

use crate::code::{Op, Program, Reg};
use crate::operands::{Role, for_each_register};
use std::collections::HashMap;
use std::ops::Range;

/// Most bytes of memoised states; then they are dropped. A chain of loads may be as long as a program runs.
const LIMIT: usize = 16 << 20;

/// Registers an operation reads and writes, as one number each: wide ones follow the narrow ones.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    start: u32,
    reads: u16,
    writes: u16,
    loads: bool,
    /// Each register read goes to the one written in its place, and to no other.
    pairs: bool,
}

/// The number of a set of depths of all registers.
pub(super) type State = u32;

/// A transition that is not known yet.
const UNKNOWN: State = State::MAX;

pub(super) struct Depths {
    flows: Vec<Flow>,
    registers: Vec<u32>,
    basic_blocks: usize,
    /// For each state its depths, and the state each basic block leads to.
    states: Vec<Box<[u16]>>,
    next: Vec<State>,
    known: HashMap<Box<[u16]>, State>,
    /// Bytes of all these.
    bytes: usize,
    deepest: u32,
}

impl Depths {
    /// The state a simdgroup starts with: nothing was loaded.
    pub(super) const START: State = 0;

    pub(super) fn new(program: &Program, basic_blocks: usize) -> Self {
        let (flows, registers) = flows(program);
        let mut depths = Self {
            flows,
            registers,
            basic_blocks,
            states: Vec::new(),
            next: Vec::new(),
            known: HashMap::new(),
            bytes: 0,
            deepest: 0,
        };
        depths.number(vec![0; program.narrow as usize + program.wide as usize].into());
        depths
    }

    /// Bytes it may take.
    pub(super) fn memory() -> u64 {
        LIMIT as u64
    }

    /// The longest chain of loads met.
    pub(super) fn deepest(&self) -> u32 {
        self.deepest
    }

    /// The state after a basic block, the operations of a range.
    #[inline(always)]
    pub(super) fn follow(&mut self, state: State, basic_block: u32, ops: Range<u32>) -> State {
        let place = state as usize * self.basic_blocks + basic_block as usize;
        match self.next.get(place) {
            Some(&next) if next != UNKNOWN => next,
            _ => self.work_out(state, place, ops),
        }
    }

    /// Returns true if so many states are memoised that they should be [dropped](Self::forget).
    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.bytes > LIMIT
    }

    /// Drops all states but those in use, which get new numbers.
    #[cold]
    pub(super) fn forget(&mut self, in_use: &mut [State]) {
        let states = std::mem::take(&mut self.states);
        self.known.clear();
        self.next.clear();
        self.bytes = 0;
        let start = states.first().map_or(0, |depths| depths.len());
        self.number(vec![0; start].into());
        for state in in_use {
            let depths = states.get(*state as usize);
            *state = depths.map_or(Self::START, |depths| self.number(depths.clone()));
        }
    }

    fn number(&mut self, depths: Box<[u16]>) -> State {
        if let Some(&known) = self.known.get(&depths) {
            return known;
        }
        let state = self.states.len() as State;
        // Both copies of the depths with their boxes, and where each basic block leads.
        self.bytes += 2 * (size_of_val(&*depths) + 32) + self.basic_blocks * size_of::<State>();
        self.known.insert(depths.clone(), state);
        self.states.push(depths);
        let transitions = (state as usize + 1) * self.basic_blocks;
        self.next.resize(transitions, UNKNOWN);
        state
    }

    #[inline(never)]
    fn work_out(&mut self, state: State, place: usize, ops: Range<u32>) -> State {
        let Some(before) = self.states.get(state as usize) else {
            return state;
        };
        let mut depths = before.clone();
        for flow in &self.flows[ops.start as usize..ops.end as usize] {
            let start = flow.start as usize;
            let middle = start + usize::from(flow.reads);
            if flow.pairs {
                let (from, to) = self.registers[start..].split_at(usize::from(flow.reads));
                for (&from, &to) in from.iter().zip(to) {
                    depths[to as usize] = depths[from as usize];
                }
                continue;
            }
            let mut depth = 0;
            for &register in &self.registers[start..middle] {
                depth = depth.max(depths[register as usize]);
            }
            if flow.loads {
                depth = depth.saturating_add(1);
                self.deepest = self.deepest.max(depth.into());
            }
            for &register in &self.registers[middle..middle + usize::from(flow.writes)] {
                depths[register as usize] = depth;
            }
        }
        let next = self.number(depths);
        if let Some(slot) = self.next.get_mut(place) {
            *slot = next;
        }
        next
    }
}

/// What flows through each operation. A value that is stored does not make what is loaded later depend on it.
fn flows(program: &Program) -> (Vec<Flow>, Vec<u32>) {
    let mut registers = Vec::new();
    let number = |reg: Reg| reg.index + if reg.wide { program.narrow } else { 0 };
    let mut flow_of = |op: &Op| {
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        let all = for_each_register(program, op, &mut |reg, role| match role {
            Role::Reads => reads.push(number(reg)),
            Role::Writes => writes.push(number(reg)),
        });
        let (Ok(()), Ok(read), Ok(written)) =
            (all, u16::try_from(reads.len()), u16::try_from(writes.len()))
        else {
            return Flow::default();
        };
        let start = registers.len() as u32;
        registers.extend(reads.into_iter().chain(writes));
        Flow {
            start,
            reads: read,
            writes: written,
            loads: program.loads(op),
            pairs: matches!(op, Op::Moves { .. }),
        }
    };
    (program.ops.iter().map(&mut flow_of).collect(), registers)
}
