//! Natural loops and how they nest.
//!
//! A back edge leads to a block that dominates its source; the loop is everything that
//! reaches the back edge without passing the header. Loops with the same header are
//! one. Inner loops are found first, and an outer loop steps over them whole, so the
//! work is linear in the size of the graph.

use crate::cfg::{Cfg, Trouble};
use crate::code::Code;
use crate::dominators::Dominators;
use crate::{BlockId, LoopId};

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
        let count = cfg.blocks().len();
        let mut finder = Finder {
            cfg,
            dominators,
            innermost: vec![None; count],
            loops: Vec::new(),
        };
        // Inner headers come later in reverse postorder.
        for &header in dominators.order().iter().rev() {
            let latches: Vec<BlockId> = cfg_latches(finder.cfg, dominators, header);
            if !latches.is_empty() {
                finder.discover(header, latches);
            }
        }
        let found = finder.finish();
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

fn cfg_latches(cfg: &Cfg, dominators: &Dominators, header: BlockId) -> Vec<BlockId> {
    let mut latches: Vec<BlockId> = cfg
        .predecessors(header)
        .iter()
        .copied()
        .filter(|&from| dominators.dominates(header, from))
        .collect();
    latches.sort();
    latches.dedup();
    latches
}

struct Finder<'a> {
    cfg: &'a Cfg,
    dominators: &'a Dominators,
    innermost: Vec<Option<LoopId>>,
    loops: Vec<Loop>,
}

impl Finder<'_> {
    fn discover(&mut self, header: BlockId, latches: Vec<BlockId>) {
        let id = LoopId::new(self.loops.len());
        self.loops.push(Loop {
            header,
            latches: latches.clone(),
            parent: None,
            depth: 1,
            blocks: Vec::new(),
        });
        let mut work = latches;
        while let Some(block) = work.pop() {
            if !self.dominators.dominates(header, block) {
                continue;
            }
            match self.outermost(block) {
                None => {
                    if let Some(slot) = self.innermost.get_mut(block.index()) {
                        *slot = Some(id);
                    }
                    if block != header {
                        work.extend(self.cfg.predecessors(block));
                    }
                }
                Some(inner) if inner == id => {}
                Some(inner) => {
                    let Some(found) = self.loops.get_mut(inner.index()) else {
                        continue;
                    };
                    found.parent = Some(id);
                    let entry = found.header;
                    work.extend(
                        self.cfg
                            .predecessors(entry)
                            .iter()
                            .copied()
                            .filter(|&from| !self.dominators.dominates(entry, from)),
                    );
                }
            }
        }
        if let Some(slot) = self.innermost.get_mut(header.index())
            && slot.is_none()
        {
            *slot = Some(id);
        }
    }

    /// The outermost loop found so far around a block.
    fn outermost(&self, block: BlockId) -> Option<LoopId> {
        let mut id = (*self.innermost.get(block.index())?)?;
        while let Some(parent) = self.loops.get(id.index()).and_then(|found| found.parent) {
            id = parent;
        }
        Some(id)
    }

    /// Renumbers outer before inner and fills in depths and blocks.
    fn finish(mut self) -> Loops {
        let count = self.loops.len();
        for index in (0..count).rev() {
            // Outer loops were found after inner ones.
            let above = self.loops[index]
                .parent
                .and_then(|parent| self.loops.get(parent.index()))
                .map_or(0, |parent| parent.depth);
            self.loops[index].depth = above + 1;
        }
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|&index| (self.loops[index].header, self.loops[index].depth));
        let mut renumbered = vec![LoopId(0); count];
        for (new, &old) in order.iter().enumerate() {
            renumbered[old] = LoopId::new(new);
        }
        let new_id = |id: LoopId| renumbered.get(id.index()).copied();
        let mut loops: Vec<Loop> = order
            .iter()
            .map(|&old| {
                let found = &self.loops[old];
                Loop {
                    parent: found.parent.and_then(new_id),
                    ..found.clone()
                }
            })
            .collect();
        for slot in &mut self.innermost {
            *slot = slot.and_then(new_id);
        }
        for (index, innermost) in self.innermost.iter().enumerate() {
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
        let mut has_inner = vec![false; loops.len()];
        for parent in loops.iter().filter_map(|found| found.parent) {
            if let Some(slot) = has_inner.get_mut(parent.index()) {
                *slot = true;
            }
        }
        Loops {
            loops,
            innermost: self.innermost,
            has_inner,
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
