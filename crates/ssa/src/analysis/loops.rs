//! Natural loops: header, body, nesting, exits.

use super::cfg::Cfg;
use super::dominators::Dominators;
use crate::function::{Function, LoopHint};
use crate::id::{IdMap, IdVec, define_ids};
use crate::inst::Block;

define_ids! {
    /// A loop of a function.
    LoopId = "loop";
}

/// A loop: the blocks from which control can return to the header without leaving the header's dominion.
#[derive(Clone, Debug)]
pub struct Loop {
    /// The block every way into the loop passes.
    pub header: Block,
    /// The loop around this one.
    pub parent: Option<LoopId>,
    /// 1 for an outermost loop.
    pub depth: u32,
    /// Blocks that go back to the header.
    pub latches: Vec<Block>,
    /// All blocks of the loop, inner loops' included, in reverse postorder.
    pub blocks: Vec<Block>,
    /// Edges that leave the loop: from inside, to outside.
    pub exits: Vec<(Block, Block)>,
    /// The only block outside from which control enters, if it goes nowhere else.
    pub preheader: Option<Block>,
}

/// The loops of a function.
#[derive(Clone, Debug)]
pub struct Loops {
    loops: IdVec<LoopId, Loop>,
    innermost: IdMap<Block, Option<LoopId>>,
    irreducible: bool,
}

impl Loops {
    /// Finds the loops.
    pub fn new(cfg: &Cfg, dominators: &Dominators, function: &Function) -> Self {
        let mut found = Self {
            loops: IdVec::new(),
            innermost: IdMap::with_len(None, function.num_blocks()),
            irreducible: false,
        };
        // Headers from the back of the order: inner loops before the loops around them.
        for &header in cfg.order().iter().rev() {
            let latches = found.latches(cfg, dominators, header);
            if !latches.is_empty() {
                found.add(cfg, header, latches);
            }
        }
        found.finish(cfg);
        found
    }

    fn latches(&mut self, cfg: &Cfg, dominators: &Dominators, header: Block) -> Vec<Block> {
        let mut latches = Vec::new();
        for &pred in cfg.predecessors(header) {
            if !cfg.is_reached(pred) || latches.contains(&pred) {
                continue;
            }
            if dominators.dominates(header, pred) {
                latches.push(pred);
            } else if cfg.position(pred) >= cfg.position(header) {
                self.irreducible = true;
            }
        }
        latches
    }

    /// Walks back from the latches to the header; blocks already in an inner loop stand for that whole loop.
    fn add(&mut self, cfg: &Cfg, header: Block, latches: Vec<Block>) {
        let id = self.loops.next_id();
        let mut work = latches.clone();
        while let Some(block) = work.pop() {
            match self.outermost_of(block) {
                None => {
                    self.innermost[block] = Some(id);
                    if block != header {
                        work.extend(
                            cfg.predecessors(block)
                                .iter()
                                .filter(|&&b| cfg.is_reached(b)),
                        );
                    }
                }
                Some(inner) if inner != id => {
                    self.loops[inner].parent = Some(id);
                    let inner_header = self.loops[inner].header;
                    let outside = cfg
                        .predecessors(inner_header)
                        .iter()
                        .copied()
                        .filter(|&pred| {
                            cfg.is_reached(pred) && self.outermost_of(pred) != Some(id)
                        });
                    work.extend(outside);
                }
                Some(_) => {}
            }
        }
        self.innermost[header] = self.innermost[header].or(Some(id));
        self.loops.push(Loop {
            header,
            parent: None,
            depth: 1,
            latches,
            blocks: Vec::new(),
            exits: Vec::new(),
            preheader: None,
        });
    }

    fn outermost_of(&self, block: Block) -> Option<LoopId> {
        let mut current = self.innermost[block]?;
        while let Some(parent) = self.loops.get(current).and_then(|l| l.parent) {
            current = parent;
        }
        Some(current)
    }

    fn finish(&mut self, cfg: &Cfg) {
        // Outer loops have higher ids than the loops in them.
        for id in self.loops.ids().rev() {
            if let Some(parent) = self.loops[id].parent {
                self.loops[id].depth = self.loops[parent].depth + 1;
            }
        }
        for &block in cfg.order() {
            let mut current = self.innermost[block];
            while let Some(id) = current {
                self.loops[id].blocks.push(block);
                current = self.loops[id].parent;
            }
            for &to in cfg.successors(block) {
                // A loop that contains the target is inside loops that do too.
                let mut left = self.innermost[block];
                while let Some(id) = left.filter(|&id| !self.contains(id, to)) {
                    self.loops[id].exits.push((block, to));
                    left = self.loops[id].parent;
                }
            }
        }
        for id in self.loops.ids() {
            let header = self.loops[id].header;
            let mut entering = cfg
                .predecessors(header)
                .iter()
                .copied()
                .filter(|&pred| cfg.is_reached(pred) && !self.contains(id, pred));
            let preheader = match (entering.next(), entering.next()) {
                (Some(block), None) if cfg.successors(block).len() == 1 => Some(block),
                _ => None,
            };
            self.loops[id].preheader = preheader;
        }
    }

    /// All loops, inner ones before those around them.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (LoopId, &Loop)> + ExactSizeIterator {
        self.loops.iter()
    }

    /// A loop.
    pub fn get(&self, id: LoopId) -> &Loop {
        &self.loops[id]
    }

    /// Number of loops.
    pub fn len(&self) -> usize {
        self.loops.len()
    }

    /// Whether there is no loop.
    pub fn is_empty(&self) -> bool {
        self.loops.is_empty()
    }

    /// The innermost loop a block is in.
    #[inline]
    pub fn innermost(&self, block: Block) -> Option<LoopId> {
        self.innermost[block]
    }

    /// How many loops a block is in.
    pub fn depth(&self, block: Block) -> u32 {
        self.innermost[block].map_or(0, |id| self.loops[id].depth)
    }

    /// Whether a block is in a loop (or in a loop inside it).
    pub fn contains(&self, id: LoopId, block: Block) -> bool {
        let mut current = self.innermost[block];
        while let Some(inner) = current {
            if inner == id {
                return true;
            }
            current = self.loops[inner].parent;
        }
        false
    }

    /// Whether some cycle is entered in more than one place; such a cycle is no loop here.
    pub fn is_irreducible(&self) -> bool {
        self.irreducible
    }
}

/// Puts hints that a front end attached to the jumps back of loops onto the loops' headers.
pub fn attach_latch_hints(function: &mut Function, hints: &[(Block, LoopHint)]) {
    if hints.is_empty() {
        return;
    }
    let cfg = Cfg::new(function);
    let dominators = Dominators::new(&cfg, function);
    for &(latch, hint) in hints {
        let header = cfg
            .successors(latch)
            .iter()
            .copied()
            .find(|&to| dominators.dominates(to, latch));
        if let Some(header) = header.filter(|_| cfg.is_reached(latch)) {
            function.set_loop_hint(header, hint);
        }
    }
}
