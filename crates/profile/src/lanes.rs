//! What one lane does, and which registers it needs.
//!
//! A lane has a nesting counter (`r0l`) and executes instructions only while it is 0.
//! The states of a lane are therefore pairs of a block and a counter. Which pairs can
//! happen is explored from the entry with the exact rules of `if`, `else`, `while` and
//! `pop_exec`; a lane that is switched off passes through a block without reading or
//! writing. Liveness runs over these pairs, so a value that switched-off lanes still
//! need stays live through the code they skip, and a value both sides of an `if`
//! overwrite does not.
//!
//! A register is needed at an instruction when a lane in any state needs it.

use crate::cfg::{Cfg, End};
use crate::code::Code;
use crate::{BlockId, InsnId};
use assay_agx::{ExecEffect, Instruction, Op, Operand, RegSet};

/// Counters from here on are one state: no compiler nests so deep.
const DEEPEST: u8 = 63;

/// What registers are live, at every instruction.
#[derive(Clone, Debug, Default)]
pub struct Liveness {
    /// Half-registers needed at each instruction; 0 where it is never executed.
    pub pressure: Vec<u16>,
    /// The largest pressure.
    pub peak: u16,
    /// The first instruction where it is reached.
    pub peak_at: Option<InsnId>,
    /// Registers read before anything wrote them.
    pub live_at_entry: RegSet,
    /// Registers that any executed instruction names.
    pub used: RegSet,
    /// Whether unknown instructions or calls may need more.
    pub exact: bool,
}

impl Liveness {
    /// Runs the analysis.
    pub fn new(code: &Code, cfg: &Cfg) -> Liveness {
        let states = States::explore(code, cfg);
        let all_returns = return_sites(cfg)
            .iter()
            .all(|sites| sites.len() < MOST_SITES);
        let sets = BlockSets::new(code, cfg);
        let live_out = solve(cfg, &states, &sets);
        let mut found = measure(code, cfg, &states, &live_out);
        found.exact = all_returns
            && !cfg.reached().any(|(_, block)| {
                matches!(block.end, End::Call(None))
                    || code
                        .range(block.insns.clone())
                        .iter()
                        .any(|entry| entry.is_unknown())
            });
        found
    }

    /// Half-registers a thread must be given: the highest one named, plus one.
    pub fn allocated(&self) -> u16 {
        self.used.last().map_or(0, |last| last + 1)
    }

    /// Pressure at an instruction.
    pub fn at(&self, id: InsnId) -> u16 {
        self.pressure.get(id.index()).copied().unwrap_or(0)
    }
}

/// The pairs of block and counter that can happen, numbered densely.
pub(crate) struct States {
    /// Counters seen per block, a bit each.
    seen: Vec<u64>,
    /// Number of the first state of each block.
    base: Vec<u32>,
    /// Successors of each state: number of the state.
    next: Vec<u32>,
    next_start: Vec<u32>,
}

impl States {
    fn explore(code: &Code, cfg: &Cfg) -> States {
        let returns = return_sites(cfg);
        let mut seen = vec![0_u64; cfg.blocks().len()];
        let mut work: Vec<(BlockId, u8)> = Vec::new();
        if let Some(&entry) = cfg.functions().first() {
            work.push((entry, 0));
            seen[entry.index()] = 1;
        }
        let mut moves = Vec::new();
        while let Some((block, counter)) = work.pop() {
            moves.clear();
            successors(code, cfg, &returns, block, counter, &mut moves);
            for &(to, counter) in &moves {
                if let Some(mask) = seen.get_mut(to.index())
                    && *mask >> counter & 1 == 0
                {
                    *mask |= 1 << counter;
                    work.push((to, counter));
                }
            }
        }
        let mut base = Vec::with_capacity(seen.len() + 1);
        let mut total = 0;
        for mask in &seen {
            base.push(total);
            total += mask.count_ones();
        }
        base.push(total);
        let mut states = States {
            seen,
            base,
            next: Vec::with_capacity(total as usize * 2),
            next_start: Vec::with_capacity(total as usize + 1),
        };
        for index in 0..cfg.blocks().len() {
            let block = BlockId::new(index);
            for counter in states.counters(block) {
                moves.clear();
                successors(code, cfg, &returns, block, counter, &mut moves);
                states.next_start.push(states.next.len() as u32);
                for &(to, counter) in &moves {
                    states.next.extend(states.number(to, counter));
                }
            }
        }
        states.next_start.push(states.next.len() as u32);
        states
    }

    fn number(&self, block: BlockId, counter: u8) -> Option<u32> {
        let mask = *self.seen.get(block.index())?;
        if mask >> counter & 1 == 0 {
            return None;
        }
        let below = mask & ((1 << counter) - 1);
        Some(self.base.get(block.index())? + below.count_ones())
    }

    fn counters(&self, block: BlockId) -> impl Iterator<Item = u8> + use<> {
        let mut rest = self.seen.get(block.index()).copied().unwrap_or(0);
        std::iter::from_fn(move || {
            (rest != 0).then(|| {
                let counter = rest.trailing_zeros() as u8;
                rest &= rest - 1;
                counter
            })
        })
    }

    fn next(&self, state: u32) -> &[u32] {
        let at = |index: u32| self.next_start.get(index as usize).copied().unwrap_or(0) as usize;
        self.next.get(at(state)..at(state + 1)).unwrap_or_default()
    }

    fn count(&self) -> usize {
        self.base.last().copied().unwrap_or(0) as usize
    }
}

/// A function called from more places is followed back to some of them only.
const MOST_SITES: usize = 64;

/// For each function: the blocks after its calls.
fn return_sites(cfg: &Cfg) -> Vec<Vec<BlockId>> {
    let mut sites: Vec<Vec<BlockId>> = vec![Vec::new(); cfg.functions().len()];
    for (_, block) in cfg.reached() {
        if let End::Call(Some(callee)) = block.end
            && let Some(sites) = sites.get_mut(cfg.function_of(callee))
            && sites.len() < MOST_SITES
        {
            sites.extend(block.edges().map(|edge| edge.to));
        }
    }
    sites
}

/// Where a lane with this counter goes from the end of a block.
fn successors(
    code: &Code,
    cfg: &Cfg,
    returns: &[Vec<BlockId>],
    id: BlockId,
    counter: u8,
    to: &mut Vec<(BlockId, u8)>,
) {
    let Some(block) = cfg.block(id) else {
        return;
    };
    let mut edges = block.edges();
    let (fall, jump) = (edges.next(), edges.next());
    let active = counter == 0;
    match block.end {
        End::Fall => to.extend(fall.map(|edge| (edge.to, counter))),
        End::Mask(effect) => {
            let fixed = code.get(block.last()).and_then(|entry| {
                let insn = entry.known()?;
                constant_condition(insn)
            });
            if let Some(edge) = fall {
                for next in counters_after(effect, counter, fixed) {
                    to.push((edge.to, next));
                }
            }
        }
        // An active lane forces the jump; others are carried along or not.
        End::JumpIfAny => match jump {
            Some(jump) if active => to.push((jump.to, 0)),
            _ => to.extend([fall, jump].into_iter().flatten().map(|e| (e.to, counter))),
        },
        End::JumpIfNone if active => to.extend(fall.map(|edge| (edge.to, 0))),
        End::JumpIfNone | End::JumpUnknown => {
            to.extend([fall, jump].into_iter().flatten().map(|e| (e.to, counter)));
        }
        End::Call(Some(callee)) => to.push((callee, counter)),
        End::Call(None) => to.extend(fall.map(|edge| (edge.to, counter))),
        // Which call it returns to is not tracked: any of its function's.
        End::Return => {
            let sites = returns.get(cfg.function_of(id)).into_iter().flatten();
            to.extend(sites.map(|&site| (site, counter)));
        }
        End::Stop => {}
    }
}

/// The counters a lane may have after an execution-mask instruction. `fixed` is the
/// outcome of its condition when that is a constant.
fn counters_after(effect: ExecEffect, v: u8, fixed: Option<bool>) -> impl Iterator<Item = u8> {
    let either = |pass: u8, fail: u8| match fixed {
        Some(true) => [Some(pass), None],
        Some(false) => [Some(fail), None],
        None => [Some(pass), Some(fail)],
    };
    let deeper = |n: u8| [Some(v.saturating_add(n).min(DEEPEST)), None];
    let next = match effect {
        ExecEffect::If(n) if v != 0 => deeper(n),
        ExecEffect::If(_) => either(0, 1),
        ExecEffect::Else(n) if v == 0 => [Some(n), None],
        ExecEffect::Else(_) if v == 1 => either(0, 1),
        ExecEffect::While(n) if v < n => either(0, n),
        // A saturated counter may be any larger one.
        ExecEffect::Pop(n) if v == DEEPEST => [Some(v.saturating_sub(n)), Some(DEEPEST)],
        ExecEffect::Pop(n) => [Some(v.saturating_sub(n)), None],
        ExecEffect::Else(_) | ExecEffect::While(_) | ExecEffect::None => [Some(v), None],
        ExecEffect::End => [None, None],
    };
    next.into_iter().flatten()
}

/// The outcome of a comparison of two immediates, such as `push_exec` is made of.
pub(crate) fn constant_condition(insn: &Instruction) -> Option<bool> {
    use assay_agx::{Compare, FloatOrder, Order};
    if !matches!(
        insn.op(),
        Op::IfIcmp | Op::IfFcmp | Op::ElseIcmp | Op::ElseFcmp | Op::WhileIcmp | Op::WhileFcmp
    ) {
        return None;
    }
    let condition = insn.condition()?;
    let mut values = insn.sources().filter_map(|operand| match operand {
        Operand::Imm(value) => Some(value as f64),
        Operand::Float(value, _) => Some(f64::from(value.to_f32())),
        _ => None,
    });
    let (a, b) = (values.next()?, values.next()?);
    let outcome = match condition.compare {
        Compare::Unsigned(order) | Compare::Signed(order) => match order {
            Order::Equal => a == b,
            Order::Less => a < b,
            Order::Greater => a > b,
        },
        Compare::Float(order) => match order {
            FloatOrder::Equal => a == b,
            FloatOrder::Less | FloatOrder::LessOrNan => a < b,
            FloatOrder::Greater | FloatOrder::GreaterOrNan => a > b,
            FloatOrder::GreaterEqual => a >= b,
            FloatOrder::LessEqual => a <= b,
        },
        Compare::Test | Compare::Unknown(_) => return None,
    };
    Some(outcome != condition.negate)
}

/// What a block reads before writing it, and what it writes.
struct BlockSets {
    reads: Vec<RegSet>,
    writes: Vec<RegSet>,
}

impl BlockSets {
    fn new(code: &Code, cfg: &Cfg) -> BlockSets {
        let mut sets = BlockSets {
            reads: Vec::with_capacity(cfg.blocks().len()),
            writes: Vec::with_capacity(cfg.blocks().len()),
        };
        for block in cfg.blocks() {
            let (mut reads, mut writes) = (RegSet::EMPTY, RegSet::EMPTY);
            for entry in code.range(block.insns.clone()) {
                reads = reads.union(entry.reads.difference(writes));
                writes = writes.union(entry.writes);
            }
            sets.reads.push(reads);
            sets.writes.push(writes);
        }
        sets
    }
}

/// Live registers at the end of each state.
fn solve(cfg: &Cfg, states: &States, sets: &BlockSets) -> Vec<RegSet> {
    let count = states.count();
    let mut live_in = vec![RegSet::EMPTY; count];
    let mut live_out = vec![RegSet::EMPTY; count];
    let (predecessor_start, predecessors) = reverse(states);
    let mut block_of = vec![(0_u32, false); count];
    for index in 0..cfg.blocks().len() {
        let block = BlockId::new(index);
        for counter in states.counters(block) {
            if let Some(slot) = states
                .number(block, counter)
                .and_then(|state| block_of.get_mut(state as usize))
            {
                *slot = (index as u32, counter == 0);
            }
        }
    }
    // Popping from the end visits the last blocks first, as a backward analysis wants.
    let mut queued = vec![true; count];
    let mut work: Vec<u32> = (0..count as u32).collect();
    while let Some(state) = work.pop() {
        let at = state as usize;
        queued[at] = false;
        let mut out = RegSet::EMPTY;
        for &next in states.next(state) {
            out = out.union(live_in.get(next as usize).copied().unwrap_or_default());
        }
        live_out[at] = out;
        let (block, active) = block_of[at];
        let needed = match (
            sets.reads.get(block as usize),
            sets.writes.get(block as usize),
        ) {
            (Some(reads), Some(writes)) if active => out.difference(*writes).union(*reads),
            _ => out,
        };
        if needed == live_in[at] {
            continue;
        }
        live_in[at] = needed;
        let range = predecessor_start[at] as usize..predecessor_start[at + 1] as usize;
        for &before in predecessors.get(range).unwrap_or_default() {
            if let Some(queued) = queued.get_mut(before as usize)
                && !std::mem::replace(queued, true)
            {
                work.push(before);
            }
        }
    }
    live_out
}

fn reverse(states: &States) -> (Vec<u32>, Vec<u32>) {
    let count = states.count();
    let mut start = vec![0_u32; count + 1];
    for &to in &states.next {
        start[to as usize + 1] += 1;
    }
    for index in 1..start.len() {
        start[index] += start[index - 1];
    }
    let mut place = start.clone();
    let mut all = vec![0_u32; states.next.len()];
    for state in 0..count as u32 {
        for &to in states.next(state) {
            let slot = &mut place[to as usize];
            all[*slot as usize] = state;
            *slot += 1;
        }
    }
    (start, all)
}

fn measure(code: &Code, cfg: &Cfg, states: &States, live_out: &[RegSet]) -> Liveness {
    let mut found = Liveness {
        pressure: vec![0; code.len()],
        ..Liveness::default()
    };
    for (id, block) in cfg.reached() {
        let mut active = None;
        let mut passing = RegSet::EMPTY;
        for counter in states.counters(id) {
            let set = states
                .number(id, counter)
                .and_then(|state| live_out.get(state as usize))
                .copied()
                .unwrap_or_default();
            match counter {
                0 => active = Some(set),
                _ => passing = passing.union(set),
            }
        }
        let mut live = active.unwrap_or_default();
        for insn_id in block.ids().rev() {
            let Some(entry) = code.get(insn_id) else {
                continue;
            };
            let (reads, writes) = (entry.reads, entry.writes);
            found.used = found.used.union(reads).union(writes);
            let after = live.union(writes).union(passing).len();
            live = live.difference(writes).union(reads);
            let before = live.union(passing).len();
            if let Some(slot) = found.pressure.get_mut(insn_id.index()) {
                *slot = before.max(after) as u16;
            }
        }
        if cfg.functions().first() == Some(&id) {
            found.live_at_entry = live;
        }
    }
    for (index, &pressure) in found.pressure.iter().enumerate() {
        if pressure > found.peak {
            found.peak = pressure;
            found.peak_at = Some(InsnId::new(index));
        }
    }
    found
}
