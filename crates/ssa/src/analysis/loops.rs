//! Natural loops: header, body, nesting, exits.

use super::cfg::Cfg;
use super::dominators::Dominators;
use crate::function::{Function, LoopHint};
use crate::id::{Id, IdMap, IdVec, define_ids};
use crate::inst::Block;
use assay_graph::LoopNest;

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
    /// Blocks outside that lead to the header, those that are never reached too.
    pub entering: Vec<Block>,
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
        let (tree, edges) = dominators.graph();
        let nest = LoopNest::new(edges, tree);
        let order = dominators.order();
        let block = |node: u32| order.get(node as usize).copied();
        let id = |index: u32| LoopId::from_index(index as usize);
        let loops = nest.loops.iter().filter_map(|found| {
            Some(Loop {
                header: block(found.header)?,
                parent: found.parent.map(id),
                depth: found.depth,
                latches: found.latches.iter().filter_map(|&at| block(at)).collect(),
                blocks: Vec::new(),
                exits: Vec::new(),
                entering: Vec::new(),
                preheader: None,
            })
        });
        let mut found = Self {
            loops: loops.collect(),
            innermost: IdMap::with_len(None, function.num_blocks()),
            irreducible: is_irreducible(cfg, dominators),
        };
        for (&block, &innermost) in order.iter().zip(&nest.innermost) {
            found.innermost[block] = innermost.map(id);
        }
        found.finish(cfg);
        found
    }

    fn finish(&mut self, cfg: &Cfg) {
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
            let before = cfg.predecessors(header).iter().copied();
            let mut entering: Vec<Block> =
                before.filter(|&pred| !self.contains(id, pred)).collect();
            // A switch may lead to one block in several ways.
            entering.sort_unstable();
            entering.dedup();
            let mut reached = entering.iter().filter(|&&pred| cfg.is_reached(pred));
            let preheader = match (reached.next(), reached.next()) {
                (Some(&block), None) if cfg.successors(block).len() == 1 => Some(block),
                _ => None,
            };
            self.loops[id].preheader = preheader;
            self.loops[id].entering = entering;
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

/// Returns true if an edge goes back in the order to a block that does not dominate its source.
fn is_irreducible(cfg: &Cfg, dominators: &Dominators) -> bool {
    cfg.order().iter().any(|&header| {
        let mut predecessors = cfg.predecessors(header).iter();
        predecessors.any(|&pred| {
            cfg.is_reached(pred)
                && !dominators.dominates(header, pred)
                && cfg.position(pred) >= cfg.position(header)
        })
    })
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
