//! Dominators and postdominators (Cooper, Harvey and Kennedy's iteration over reverse postorder).

use super::cfg::Cfg;
use crate::function::Function;
use crate::id::Id;
use crate::inst::Block;

const NONE: u32 = u32::MAX;

/// A tree over nodes numbered in the order of some depth-first walk, root 0.
#[derive(Clone, Debug)]
struct Tree {
    /// Immediate dominator of each node.
    parent: Vec<u32>,
    /// Entry and exit numbers of a walk over the tree: `a` dominates `b` when `b`'s span lies in `a`'s.
    span: Vec<(u32, u32)>,
}

impl Tree {
    /// `preds` gives the predecessors of a node among those already numbered or not; nodes are in reverse postorder.
    fn new<'a>(count: usize, preds: impl Fn(usize) -> &'a [u32]) -> Self {
        let mut parent = vec![NONE; count];
        if count > 0 {
            parent[0] = 0;
        }
        let mut changed = true;
        while changed {
            changed = false;
            for node in 1..count {
                let mut best = NONE;
                for &pred in preds(node) {
                    if parent[pred as usize] != NONE {
                        best = if best == NONE {
                            pred
                        } else {
                            meet(&parent, best, pred)
                        };
                    }
                }
                if best != parent[node] {
                    parent[node] = best;
                    changed = true;
                }
            }
        }
        let span = spans(&parent);
        Self { parent, span }
    }

    fn dominates(&self, a: u32, b: u32) -> bool {
        let (a, b) = (self.span[a as usize], self.span[b as usize]);
        a.0 <= b.0 && b.1 <= a.1
    }
}

fn meet(parent: &[u32], mut a: u32, mut b: u32) -> u32 {
    while a != b {
        while a > b {
            a = parent[a as usize];
        }
        while b > a {
            b = parent[b as usize];
        }
    }
    a
}

/// Parents come before children in the numbering, so spans need no recursion: count subtree sizes from the
/// back, then hand out ranges from the front.
fn spans(parent: &[u32]) -> Vec<(u32, u32)> {
    let count = parent.len();
    let mut size = vec![1u32; count];
    for node in (1..count).rev() {
        if parent[node] != NONE {
            size[parent[node] as usize] += size[node];
        }
    }
    let mut span = vec![(0, 0); count];
    let mut next = vec![1u32; count];
    for node in 0..count {
        if node > 0 && parent[node] != NONE {
            let up = parent[node] as usize;
            let start = next[up];
            next[up] += size[node];
            span[node].0 = start;
        }
        next[node] = span[node].0 + 1;
        span[node].1 = span[node].0 + size[node] - 1;
    }
    span
}

/// Which blocks are on every path from the entry to a block.
#[derive(Clone, Debug)]
pub struct Dominators {
    tree: Tree,
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
        let mut starts = Vec::with_capacity(order.len() + 1);
        let mut preds = Vec::new();
        for &block in &order {
            starts.push(preds.len());
            preds.extend(
                cfg.predecessors(block)
                    .iter()
                    .filter_map(|&pred| cfg.position(pred)),
            );
        }
        starts.push(preds.len());
        let tree = Tree::new(order.len(), |node| &preds[starts[node]..starts[node + 1]]);
        Self {
            tree,
            order,
            position,
        }
    }

    fn node(&self, block: Block) -> Option<u32> {
        self.position
            .get(block.index())
            .copied()
            .filter(|&node| node != NONE)
    }

    /// The nearest strict dominator; none for the entry and for unreached blocks.
    pub fn immediate(&self, block: Block) -> Option<Block> {
        let node = self.node(block)?;
        if node == 0 {
            return None;
        }
        self.order
            .get(self.tree.parent[node as usize] as usize)
            .copied()
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

    /// The nearest block that dominates both.
    pub fn common(&self, a: Block, b: Block) -> Option<Block> {
        let node = meet(&self.tree.parent, self.node(a)?, self.node(b)?);
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
    tree: Tree,
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
        let mut starts = vec![0, 0];
        let mut preds: Vec<u32> = Vec::new();
        for &block in &order {
            preds.extend(cfg.successors(block).iter().map(|to| node[to.index()]));
            if exits[block.index()] {
                preds.push(0);
            }
            starts.push(preds.len());
        }
        let tree = Tree::new(order.len() + 1, |node| {
            &preds[starts[node]..starts[node + 1]]
        });
        Self { tree, order, node }
    }

    /// The nearest strict postdominator; none when that is the end of the function.
    pub fn immediate(&self, block: Block) -> Option<Block> {
        let node = *self.node.get(block.index()).filter(|&&node| node != NONE)?;
        let up = self.tree.parent[node as usize];
        if up == 0 || up == NONE {
            None
        } else {
            self.order.get(up as usize - 1).copied()
        }
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
