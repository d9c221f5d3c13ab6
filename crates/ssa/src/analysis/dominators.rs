//! Dominators and postdominators of a function's blocks.

use super::cfg::Cfg;
use crate::function::Function;
use crate::id::Id;
use crate::inst::Block;
use assay_graph::{DominatorTree, Edges};

const NONE: u32 = u32::MAX;

/// Which blocks are on every path from the entry to a block.
#[derive(Clone, Debug)]
pub struct Dominators {
    tree: DominatorTree,
    /// Predecessors by place in the order.
    edges: Edges,
    order: Vec<Block>,
    position: Vec<u32>,
}

impl Dominators {
    /// Computes the dominator tree.
    pub fn new(cfg: &Cfg, function: &Function) -> Self {
        let order = cfg.order().to_vec();
        let position: Vec<u32> = (0..function.num_blocks())
            .map(|index| cfg.position(Block::from_index(index)).unwrap_or(NONE))
            .collect();
        let mut edges = Edges::with_capacity(order.len());
        for &block in &order {
            let predecessors = cfg.predecessors(block).iter();
            edges.push(predecessors.filter_map(|&pred| cfg.position(pred)));
        }
        let tree = DominatorTree::new(&edges);
        Self {
            tree,
            edges,
            order,
            position,
        }
    }

    /// The tree over places in [`order`](Self::order), and the predecessors it was made from.
    pub(super) fn graph(&self) -> (&DominatorTree, &Edges) {
        (&self.tree, &self.edges)
    }

    fn node(&self, block: Block) -> Option<u32> {
        self.position
            .get(block.index())
            .copied()
            .filter(|&node| node != NONE)
    }

    /// The nearest strict dominator; none for the entry and for unreached blocks.
    pub fn immediate(&self, block: Block) -> Option<Block> {
        let parent = self.tree.parent(self.node(block)?)?;
        self.order.get(parent as usize).copied()
    }

    /// Whether `a` is on every path to `b` (a block dominates itself). An unreached `b` is dominated by all.
    #[inline]
    pub fn dominates(&self, a: Block, b: Block) -> bool {
        match (self.node(a), self.node(b)) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(a), Some(b)) => self.tree.dominates(a, b),
        }
    }

    /// The span of numbers of a block: it dominates the blocks whose spans lie in its own. None for unreached blocks.
    pub fn span(&self, block: Block) -> Option<(u32, u32)> {
        self.tree.span(self.node(block)?)
    }

    /// The nearest block that dominates both.
    pub fn common(&self, a: Block, b: Block) -> Option<Block> {
        let node = self.tree.common(self.node(a)?, self.node(b)?);
        self.order.get(node as usize).copied()
    }

    /// Reached blocks, each after its dominator.
    pub fn order(&self) -> &[Block] {
        &self.order
    }
}

/// Which blocks are on every path from a block to the end of the function.
///
/// A loop without exit is taken to leave from its last block, so that every reached block has an answer.
#[derive(Clone, Debug)]
pub struct PostDominators {
    tree: DominatorTree,
    /// Blocks by node number less one; node 0 is the end of the function.
    order: Vec<Block>,
    node: Vec<u32>,
}

impl PostDominators {
    /// Computes the postdominator tree.
    pub fn new(cfg: &Cfg, function: &Function) -> Self {
        let (order, exits) = reverse_order(cfg, function.num_blocks());
        let mut node = vec![NONE; function.num_blocks()];
        for (position, block) in order.iter().enumerate() {
            node[block.index()] = position as u32 + 1;
        }
        let mut edges = Edges::with_capacity(order.len() + 1);
        edges.push([]);
        for &block in &order {
            let successors = cfg.successors(block).iter().map(|to| node[to.index()]);
            let end = exits[block.index()].then_some(0);
            edges.push(successors.chain(end));
        }
        let tree = DominatorTree::new(&edges);
        Self { tree, order, node }
    }

    /// The nearest strict postdominator; none when that is the end of the function.
    pub fn immediate(&self, block: Block) -> Option<Block> {
        let node = *self.node.get(block.index()).filter(|&&node| node != NONE)?;
        let up = self.tree.parent(node)?.checked_sub(1)?;
        self.order.get(up as usize).copied()
    }

    /// Whether `a` is on every path from `b` to the end (a block postdominates itself).
    pub fn postdominates(&self, a: Block, b: Block) -> bool {
        match (self.node.get(a.index()), self.node.get(b.index())) {
            (Some(&a), Some(&b)) if a != NONE && b != NONE => self.tree.dominates(a, b),
            _ => false,
        }
    }
}

/// Blocks in reverse postorder of the reversed graph, and which blocks leave the function (really, or by the rule
/// for loops without exit).
fn reverse_order(cfg: &Cfg, count: usize) -> (Vec<Block>, Vec<bool>) {
    let mut exits = vec![false; count];
    let mut reaches_end = vec![false; count];
    let mut work = Vec::new();
    for &block in cfg.order() {
        if cfg.successors(block).is_empty() {
            exits[block.index()] = true;
        }
    }
    // Mark what reaches an end; then, from the back, let unmarked blocks end by themselves.
    let mut mark = |from: Block, reaches_end: &mut Vec<bool>| {
        if std::mem::replace(&mut reaches_end[from.index()], true) {
            return;
        }
        work.push(from);
        while let Some(block) = work.pop() {
            for &pred in cfg.predecessors(block) {
                if cfg.is_reached(pred) && !std::mem::replace(&mut reaches_end[pred.index()], true)
                {
                    work.push(pred);
                }
            }
        }
    };
    for &block in cfg.order() {
        if exits[block.index()] {
            mark(block, &mut reaches_end);
        }
    }
    for &block in cfg.order().iter().rev() {
        if !reaches_end[block.index()] {
            exits[block.index()] = true;
            mark(block, &mut reaches_end);
        }
    }
    (walk_back(cfg, &exits, count), exits)
}

fn walk_back(cfg: &Cfg, exits: &[bool], count: usize) -> Vec<Block> {
    let mut seen = vec![false; count];
    let mut postorder = Vec::with_capacity(cfg.order().len());
    let mut stack: Vec<(Block, usize)> = Vec::new();
    for &root in cfg.order() {
        if !exits[root.index()] || std::mem::replace(&mut seen[root.index()], true) {
            continue;
        }
        stack.push((root, 0));
        while let Some((block, next)) = stack.last_mut() {
            let block = *block;
            match cfg.predecessors(block).get(*next).copied() {
                Some(pred) => {
                    *next += 1;
                    if cfg.is_reached(pred) && !std::mem::replace(&mut seen[pred.index()], true) {
                        stack.push((pred, 0));
                    }
                }
                None => {
                    postorder.push(block);
                    stack.pop();
                }
            }
        }
    }
    postorder.reverse();
    postorder
}
