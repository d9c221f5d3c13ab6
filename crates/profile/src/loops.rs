//! Natural loops of machine code, outer before inner.

use crate::cfg::{Cfg, Trouble};
use crate::code::Code;
use crate::dominators::Dominators;
use crate::{BlockId, LoopId};
use assay_graph::LoopNest;

/// A loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Where it is entered.
    pub header: BlockId,
    /// Blocks that jump back to the header.
    pub latches: Vec<BlockId>,
    /// The loop around it.
    pub parent: Option<LoopId>,
    /// 1 for an outermost loop.
    pub depth: u32,
    /// Every block of it, those of inner loops included, in order of address.
    pub blocks: Vec<BlockId>,
}

/// The loops of a program.
#[derive(Clone, Debug, Default)]
pub struct Loops {
    loops: Vec<Loop>,
    innermost: Vec<Option<LoopId>>,
    has_inner: Vec<bool>,
}

/// Deeper nests than any program has are cut, so that hostile code stays linear.
const DEEPEST: u32 = 64;

impl Loops {
    /// Finds them. Cycles that are no loops are added to the graph's troubles.
    pub fn new(code: &Code, cfg: &mut Cfg, dominators: &Dominators) -> Loops {
        let found = Loops::nested(cfg, dominators);
        for offset in irreducible(code, cfg, dominators) {
            cfg.add_trouble(Trouble::Irreducible { offset });
        }
        found
    }

    /// All loops, outer before inner, then by address.
    pub fn all(&self) -> &[Loop] {
        &self.loops
    }

    /// One loop.
    pub fn get(&self, id: LoopId) -> Option<&Loop> {
        self.loops.get(id.index())
    }

    /// The innermost loop around a block.
    #[inline]
    pub fn innermost(&self, block: BlockId) -> Option<LoopId> {
        self.innermost.get(block.index()).copied().flatten()
    }

    /// How many loops are around a block.
    pub fn depth(&self, block: BlockId) -> u32 {
        self.innermost(block)
            .and_then(|id| self.get(id))
            .map_or(0, |found| found.depth)
    }

    /// The loops around a block, innermost first.
    pub fn around(&self, block: BlockId) -> impl Iterator<Item = LoopId> + '_ {
        std::iter::successors(self.innermost(block), |&id| {
            self.get(id).and_then(|found| found.parent)
        })
    }

    /// Whether a block lies in a loop or one inside it.
    pub fn contains(&self, id: LoopId, block: BlockId) -> bool {
        self.around(block).any(|around| around == id)
    }

    /// Whether no loop lies inside this one.
    pub fn is_innermost(&self, id: LoopId) -> bool {
        !self.has_inner.get(id.index()).copied().unwrap_or(false)
    }
}

impl Loops {
    /// The loops of a graph, outer before inner, with depths and blocks.
    fn nested(cfg: &Cfg, dominators: &Dominators) -> Loops {
        let (tree, edges) = dominators.graph();
        let nest = LoopNest::new(edges, tree);
        let header = |at: usize| dominators.block(nest.loops[at].header);
        let mut order: Vec<usize> = (0..nest.loops.len()).collect();
        order.sort_by_key(|&at| (header(at), nest.loops[at].depth));
        let mut renumbered = vec![LoopId(0); order.len()];
        for (new, &old) in order.iter().enumerate() {
            renumbered[old] = LoopId::new(new);
        }
        let new_id = |at: u32| renumbered.get(at as usize).copied();
        let loops = order.iter().filter_map(|&old| {
            let found = &nest.loops[old];
            let latches = found.latches.iter();
            let mut latches: Vec<BlockId> =
                latches.filter_map(|&at| dominators.block(at)).collect();
            latches.sort();
            Some(Loop {
                header: header(old)?,
                latches,
                parent: found.parent.and_then(new_id),
                depth: found.depth,
                blocks: Vec::new(),
            })
        });
        let mut loops: Vec<Loop> = loops.collect();
        let mut innermost = vec![None; cfg.blocks().len()];
        for (node, found) in nest.innermost.iter().enumerate() {
            if let Some(block) = dominators.block(node as u32)
                && let Some(slot) = innermost.get_mut(block.index())
            {
                *slot = found.and_then(new_id);
            }
        }
        fill_blocks(&mut loops, &innermost);
        let mut has_inner = vec![false; loops.len()];
        for parent in loops.iter().filter_map(|found| found.parent) {
            if let Some(slot) = has_inner.get_mut(parent.index()) {
                *slot = true;
            }
        }
        Loops {
            loops,
            innermost,
            has_inner,
        }
    }
}

/// Gives every loop its blocks, those of inner loops included.
fn fill_blocks(loops: &mut [Loop], innermost: &[Option<LoopId>]) {
    for (index, innermost) in innermost.iter().enumerate() {
        let mut around = *innermost;
        let mut steps = 0;
        while let Some(id) = around
            && steps < DEEPEST
        {
            let Some(found) = loops.get_mut(id.index()) else {
                break;
            };
            found.blocks.push(BlockId::new(index));
            around = found.parent;
            steps += 1;
        }
    }
}

/// Offsets where a cycle is entered that is no natural loop.
fn irreducible(code: &Code, cfg: &Cfg, dominators: &Dominators) -> Vec<u32> {
    let mut offsets = Vec::new();
    for (id, block) in cfg.reached() {
        for edge in block.edges() {
            let backwards = dominators.place(edge.to) <= dominators.place(id);
            if backwards && !dominators.dominates(edge.to, id) {
                let start = cfg.block(edge.to).map_or(0, |to| to.insns.start);
                if let Some(entry) = code.entries().get(start as usize) {
                    offsets.push(entry.offset);
                }
            }
        }
    }
    offsets
}
