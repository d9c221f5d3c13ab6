//! Dominators of machine code's blocks: a block dominates another when every way there leads through it.
//!
//! A program may have several functions; all hang under one imaginary root, node 0 of the tree.

use crate::BlockId;
use crate::cfg::Cfg;
use assay_graph::{DominatorTree, Edges};

/// The dominator tree and the order it was computed in.
#[derive(Clone, Debug, Default)]
pub struct Dominators {
    tree: DominatorTree,
    /// Predecessors by node.
    edges: Edges,
    /// Node of each block: its place in reverse postorder, from 1; 0 is unreachable.
    node: Vec<u32>,
    /// Blocks in reverse postorder.
    order: Vec<BlockId>,
}

impl Dominators {
    /// Computes the tree.
    pub fn new(cfg: &Cfg) -> Dominators {
        let order = reverse_postorder(cfg);
        let mut node = vec![0_u32; cfg.blocks().len()];
        for (index, id) in order.iter().enumerate() {
            if let Some(slot) = node.get_mut(id.index()) {
                *slot = index as u32 + 1;
            }
        }
        let mut edges = Edges::with_capacity(order.len() + 1);
        edges.push([]);
        for &id in &order {
            let root = cfg.is_entry(id).then_some(0);
            let known = |from: &BlockId| node.get(from.index()).copied().filter(|&at| at != 0);
            let predecessors = cfg.predecessors(id).iter().filter_map(known);
            edges.push(predecessors.chain(root));
        }
        Dominators {
            tree: DominatorTree::new(&edges),
            edges,
            node,
            order,
        }
    }

    /// Reachable blocks such that a block comes after its forward predecessors.
    pub fn order(&self) -> &[BlockId] {
        &self.order
    }

    /// The tree over nodes and the predecessors it was made from; node 0 is the imaginary root.
    pub(crate) fn graph(&self) -> (&DominatorTree, &Edges) {
        (&self.tree, &self.edges)
    }

    /// The block of a node.
    pub(crate) fn block(&self, node: u32) -> Option<BlockId> {
        let index = node.checked_sub(1)? as usize;
        self.order.get(index).copied()
    }

    fn node(&self, id: BlockId) -> Option<u32> {
        self.node.get(id.index()).copied().filter(|&at| at != 0)
    }

    /// Returns true if `a` dominates `b`. A block dominates itself.
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        match (self.node(a), self.node(b)) {
            (Some(a), Some(b)) => self.tree.dominates(a, b),
            _ => false,
        }
    }

    /// The immediate dominator; `None` for the entry of a function.
    pub fn parent(&self, id: BlockId) -> Option<BlockId> {
        self.block(self.tree.parent(self.node(id)?)?)
    }

    /// Place in [`Dominators::order`]; `None` when unreachable.
    pub fn place(&self, id: BlockId) -> Option<usize> {
        Some(self.node(id)? as usize - 1)
    }
}

fn reverse_postorder(cfg: &Cfg) -> Vec<BlockId> {
    let mut seen = vec![false; cfg.blocks().len()];
    let mut postorder = Vec::with_capacity(cfg.blocks().len());
    let mut stack: Vec<(BlockId, [Option<BlockId>; 2])> = Vec::new();
    let successors = |id: BlockId| {
        let mut all = [None; 2];
        if let Some(block) = cfg.block(id) {
            for (slot, edge) in all.iter_mut().zip(block.edges()) {
                *slot = Some(edge.to);
            }
        }
        all
    };
    let mut visit = |id: BlockId| {
        let first = seen.get_mut(id.index());
        first.is_some_and(|seen| !std::mem::replace(seen, true))
    };
    for &function in cfg.functions().iter().rev() {
        if !visit(function) {
            continue;
        }
        stack.push((function, successors(function)));
        while let Some((id, left)) = stack.last_mut() {
            // The jump first, so that the listing's own order comes out on top.
            match left.iter_mut().rev().find_map(Option::take) {
                Some(next) => {
                    if visit(next) {
                        stack.push((next, successors(next)));
                    }
                }
                None => {
                    postorder.push(*id);
                    stack.pop();
                }
            }
        }
    }
    postorder.reverse();
    postorder
}
