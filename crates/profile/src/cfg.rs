//! The control-flow graph a simdgroup follows.
//!
//! AGX branches in two ways. *Jumps* move the whole simdgroup; *execution-mask
//! instructions* (`if`, `else`, `while`, `pop_exec`) only switch lanes off and on, and
//! the simdgroup walks on through code that some lanes skip. This graph has an edge
//! wherever the simdgroup can go, so it is the graph that costs are summed over; what a
//! single lane does is the business of [`crate::lanes`].
//!
//! Blocks end at jumps and also after each execution-mask instruction, so that a block
//! has one set of active lanes.

use crate::code::Code;
use crate::{BlockId, InsnId};
use assay_agx::{ExecEffect, Flow};
use std::ops::Range;

/// Why an edge is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EdgeKind {
    /// The next instruction.
    Fall,
    /// A jump.
    Jump,
}

/// A way out of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Where to.
    pub to: BlockId,
    /// Why.
    pub kind: EdgeKind,
}

/// What ends a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The next block is someone's target; control falls into it.
    Fall,
    /// An execution-mask instruction.
    Mask(ExecEffect),
    /// `jmp_exec_any`.
    JumpIfAny,
    /// `jmp_exec_none`.
    JumpIfNone,
    /// A jump whose condition is not understood.
    JumpUnknown,
    /// A call; the callee when it lies in this code.
    Call(Option<BlockId>),
    /// Return to the caller.
    Return,
    /// `stop`, `trap`, or the end of the code.
    Stop,
}

/// Instructions that are executed together.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its instructions.
    pub insns: Range<u32>,
    /// What ends it.
    pub end: End,
    /// Ways out; calls fall through to what follows them.
    edges: [Option<Edge>; 2],
}

impl Block {
    /// The ways out.
    #[inline]
    pub fn edges(&self) -> impl Iterator<Item = Edge> + use<> {
        self.edges.into_iter().flatten()
    }

    /// Its last instruction.
    pub fn last(&self) -> InsnId {
        InsnId(self.insns.end.saturating_sub(1))
    }

    /// The ids of its instructions.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = InsnId> + use<> {
        self.insns.clone().map(InsnId)
    }
}

/// Something about the code that the analysis could not follow.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Trouble {
    /// A jump or call that leaves the code, or lands inside an instruction.
    StrayTarget {
        /// Offset of the jump.
        offset: u32,
        /// Where it goes; absent when before the start.
        target: Option<u64>,
    },
    /// A call through a register.
    IndirectCall {
        /// Offset of the call.
        offset: u32,
    },
    /// Bytes that are no known instruction, on a path that is executed.
    UnknownInstruction {
        /// Offset of the bytes.
        offset: u32,
    },
    /// The code ends without `stop`.
    NoStop {
        /// Offset of the last instruction.
        offset: u32,
    },
    /// A cycle that is entered in two places, so it is no natural loop.
    Irreducible {
        /// Offset of one of its entries.
        offset: u32,
    },
}

/// The graph.
#[derive(Clone, Debug, Default)]
pub struct Cfg {
    blocks: Vec<Block>,
    block_of: Vec<BlockId>,
    predecessors: Vec<BlockId>,
    predecessor_start: Vec<u32>,
    functions: Vec<BlockId>,
    function_of: Vec<u32>,
    is_entry: Vec<bool>,
    reachable: Vec<bool>,
    trouble: Vec<Trouble>,
}

impl Cfg {
    /// The graph of `code`, entered at byte `entry`.
    pub fn new(code: &Code, entry: u32) -> Cfg {
        let entry = code.at(u64::from(entry)).unwrap_or(InsnId(0));
        let leaders = leaders(code, entry);
        let mut cfg = Cfg {
            block_of: vec![BlockId(0); code.len()],
            ..Cfg::default()
        };
        cfg.cut(code, &leaders);
        cfg.connect(code);
        cfg.find_functions(entry);
        cfg.find_troubles(code);
        cfg.find_predecessors();
        cfg
    }

    fn cut(&mut self, code: &Code, leaders: &[bool]) {
        let mut start = 0_usize;
        for next in 1..=code.len() {
            if next == code.len() || leaders.get(next).copied().unwrap_or(true) {
                let id = BlockId::new(self.blocks.len());
                for place in self.block_of.get_mut(start..next).unwrap_or_default() {
                    *place = id;
                }
                self.blocks.push(Block {
                    insns: start as u32..next as u32,
                    end: End::Stop,
                    edges: [None; 2],
                });
                start = next;
            }
        }
    }

    fn connect(&mut self, code: &Code) {
        for index in 0..self.blocks.len() {
            let Some(block) = self.blocks.get(index) else {
                continue;
            };
            let Some(entry) = code.get(block.last()) else {
                continue;
            };
            let next = (index + 1 < self.blocks.len()).then(|| Edge {
                to: BlockId::new(index + 1),
                kind: EdgeKind::Fall,
            });
            let (flow, effect) = entry
                .known()
                .map_or((Flow::Next, ExecEffect::None), |insn| {
                    (insn.flow(u64::from(entry.offset)), insn.exec_effect())
                });
            let jump = |target: Option<u64>| {
                let to = *self.block_of.get(code.at(target?)?.index())?;
                Some(Edge {
                    to,
                    kind: EdgeKind::Jump,
                })
            };
            let (end, edges) = match flow {
                Flow::Next => match effect {
                    ExecEffect::None => (End::Fall, [next, None]),
                    effect => (End::Mask(effect), [next, None]),
                },
                Flow::JumpIfAny(target) => (End::JumpIfAny, [next, jump(target)]),
                Flow::JumpIfNone(target) => (End::JumpIfNone, [next, jump(target)]),
                Flow::JumpUnknown(target) => (End::JumpUnknown, [next, jump(target)]),
                Flow::Call(target) => (End::Call(jump(target).map(|edge| edge.to)), [next, None]),
                Flow::CallIndirect => (End::Call(None), [next, None]),
                Flow::Return => (End::Return, [None, None]),
                Flow::Stop | Flow::Trap => (End::Stop, [None, None]),
            };
            if let Some(block) = self.blocks.get_mut(index) {
                block.end = end;
                block.edges = edges;
            }
        }
    }

    /// Marks what can be executed, function by function.
    fn find_functions(&mut self, entry: InsnId) {
        self.reachable = vec![false; self.blocks.len()];
        let Some(&entry) = self.block_of.get(entry.index()) else {
            return;
        };
        self.functions.push(entry);
        self.function_of = vec![0; self.blocks.len()];
        self.is_entry = vec![false; self.blocks.len()];
        if let Some(slot) = self.is_entry.get_mut(entry.index()) {
            *slot = true;
        }
        let mut known = 0;
        let mut work = Vec::new();
        while let Some(&function) = self.functions.get(known) {
            known += 1;
            work.push(function);
            while let Some(id) = work.pop() {
                let (Some(seen), Some(block)) = (
                    self.reachable.get_mut(id.index()),
                    self.blocks.get(id.index()),
                ) else {
                    continue;
                };
                if std::mem::replace(seen, true) {
                    continue;
                }
                if let Some(slot) = self.function_of.get_mut(id.index()) {
                    *slot = known as u32 - 1;
                }
                work.extend(block.edges().map(|edge| edge.to));
                if let End::Call(Some(callee)) = block.end
                    && let Some(is_entry) = self.is_entry.get_mut(callee.index())
                    && !std::mem::replace(is_entry, true)
                {
                    self.functions.push(callee);
                }
            }
        }
    }

    fn find_troubles(&mut self, code: &Code) {
        let mut trouble = Vec::new();
        for (index, block) in self.blocks.iter().enumerate() {
            if !self.is_reachable(BlockId::new(index)) {
                continue;
            }
            for entry in code.range(block.insns.clone()) {
                if entry.is_unknown() {
                    trouble.push(Trouble::UnknownInstruction {
                        offset: entry.offset,
                    });
                }
            }
            let Some(entry) = code.get(block.last()) else {
                continue;
            };
            let offset = entry.offset;
            let target = entry
                .known()
                .and_then(|insn| insn.branch_target(u64::from(offset)));
            let jumps = block.edges().any(|edge| edge.kind == EdgeKind::Jump);
            match block.end {
                End::JumpIfAny | End::JumpIfNone | End::JumpUnknown if !jumps => {
                    trouble.push(Trouble::StrayTarget { offset, target });
                }
                End::Call(None) => trouble.push(match target {
                    Some(_) => Trouble::StrayTarget { offset, target },
                    None if entry.op() == assay_agx::Op::Call => {
                        Trouble::StrayTarget { offset, target }
                    }
                    None => Trouble::IndirectCall { offset },
                }),
                End::Fall | End::Mask(_) if block.edges().next().is_none() => {
                    trouble.push(Trouble::NoStop { offset });
                }
                _ => {}
            }
        }
        self.trouble = trouble;
    }

    fn find_predecessors(&mut self) {
        let mut counts = vec![0_u32; self.blocks.len() + 1];
        for block in self.reached() {
            for edge in block.1.edges() {
                if let Some(count) = counts.get_mut(edge.to.index() + 1) {
                    *count += 1;
                }
            }
        }
        for index in 1..counts.len() {
            counts[index] += counts[index - 1];
        }
        let mut place = counts.clone();
        let mut all = vec![BlockId(0); counts.last().copied().unwrap_or(0) as usize];
        for (id, block) in self.reached() {
            for edge in block.edges() {
                if let Some(at) = place.get_mut(edge.to.index()) {
                    if let Some(slot) = all.get_mut(*at as usize) {
                        *slot = id;
                    }
                    *at += 1;
                }
            }
        }
        self.predecessors = all;
        self.predecessor_start = counts;
    }

    /// Every block, whether it can be reached or not.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// One block.
    #[inline]
    pub fn block(&self, id: BlockId) -> Option<&Block> {
        self.blocks.get(id.index())
    }

    /// The blocks that can be executed, in order of address.
    pub fn reached(&self) -> impl Iterator<Item = (BlockId, &Block)> {
        self.blocks
            .iter()
            .enumerate()
            .map(|(index, block)| (BlockId::new(index), block))
            .filter(|(id, _)| self.is_reachable(*id))
    }

    /// Whether a block can be executed.
    #[inline]
    pub fn is_reachable(&self, id: BlockId) -> bool {
        self.reachable.get(id.index()).copied().unwrap_or(false)
    }

    /// The block of an instruction.
    #[inline]
    pub fn block_of(&self, id: InsnId) -> Option<BlockId> {
        self.block_of.get(id.index()).copied()
    }

    /// Where control can come from.
    #[inline]
    pub fn predecessors(&self, id: BlockId) -> &[BlockId] {
        let at = |index: usize| self.predecessor_start.get(index).copied().unwrap_or(0) as usize;
        self.predecessors
            .get(at(id.index())..at(id.index() + 1))
            .unwrap_or_default()
    }

    /// Entries of functions: the main program first, then what it calls.
    pub fn functions(&self) -> &[BlockId] {
        &self.functions
    }

    /// Whether a function starts with this block.
    pub fn is_entry(&self, id: BlockId) -> bool {
        self.is_entry.get(id.index()).copied().unwrap_or(false)
    }

    /// The function a block belongs to, by its place in [`Cfg::functions`]: the first
    /// that reaches it.
    pub fn function_of(&self, id: BlockId) -> usize {
        self.function_of.get(id.index()).copied().unwrap_or(0) as usize
    }

    /// What could not be followed.
    pub fn trouble(&self) -> &[Trouble] {
        &self.trouble
    }

    pub(crate) fn add_trouble(&mut self, trouble: Trouble) {
        self.trouble.push(trouble);
    }
}

/// Which instructions begin a block.
fn leaders(code: &Code, entry: InsnId) -> Vec<bool> {
    let mut leaders = vec![false; code.len()];
    let mut mark = |index: usize| {
        if let Some(leader) = leaders.get_mut(index) {
            *leader = true;
        }
    };
    mark(0);
    mark(entry.index());
    for (index, entry) in code.entries().iter().enumerate() {
        let Some(insn) = entry.known() else {
            continue;
        };
        let flow = insn.flow(u64::from(entry.offset));
        if flow != Flow::Next || insn.exec_effect() != ExecEffect::None {
            mark(index + 1);
        }
        if let Flow::JumpIfAny(target)
        | Flow::JumpIfNone(target)
        | Flow::JumpUnknown(target)
        | Flow::Call(target) = flow
            && let Some(to) = target.and_then(|target| code.at(target))
        {
            mark(to.index());
        }
    }
    leaders
}
