//! Dominators: a block dominates another when every way there leads through it.
//!
//! The iterative algorithm of Cooper, Harvey and Kennedy over reverse postorder. All
//! functions hang under one imaginary root.
//!
//! The program form has dominators too; these are not those. They run over machine
//! code's blocks with several entries, and this crate and that one depend on nothing
//! they could share a graph through: a crate for some sixty lines would cost more.

use crate::BlockId;
use crate::cfg::Cfg;

/// The dominator tree and the order it was computed in.
#[derive(Clone, Debug, Default)]
pub struct Dominators {
    /// Immediate dominator's place in the order; the root's is itself.
    parent: Vec<u32>,
    /// Place of each block in reverse postorder, from 1; 0 is unreachable.
    place: Vec<u32>,
    /// Blocks in reverse postorder; the root is place 0.
    order: Vec<BlockId>,
    /// Depth in the tree by place.
    enter: Vec<u32>,
    leave: Vec<u32>,
}

impl Dominators {
    /// Computes the tree.
    pub fn new(cfg: &Cfg) -> Dominators {
        let order = reverse_postorder(cfg);
        let mut place = vec![0_u32; cfg.blocks().len()];
        for (index, id) in order.iter().enumerate() {
            if let Some(slot) = place.get_mut(id.index()) {
                *slot = index as u32 + 1;
            }
        }
        let parent = parents(cfg, &order, &place);
        let (enter, leave) = number(&parent);
        Dominators {
            parent,
            place,
            order,
            enter,
            leave,
        }
    }

    /// Reachable blocks such that a block comes after its forward predecessors.
    pub fn order(&self) -> &[BlockId] {
        &self.order
    }

    /// Whether `a` dominates `b`. A block dominates itself.
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        let place = |id: BlockId| self.place.get(id.index()).copied().unwrap_or(0) as usize;
        let (a, b) = (place(a), place(b));
        if a == 0 || b == 0 {
            return false;
        }
        let span = |at: usize| Some((*self.enter.get(at)?, *self.leave.get(at)?));
        match (span(a), span(b)) {
            (Some(a), Some(b)) => a.0 <= b.0 && b.1 <= a.1,
            _ => false,
        }
    }

    /// The immediate dominator; `None` for the entry of a function.
    pub fn parent(&self, id: BlockId) -> Option<BlockId> {
        let place = *self.place.get(id.index())? as usize;
        let above = (*self.parent.get(place)?).checked_sub(1)?;
        self.order.get(above as usize).copied()
    }

    /// Place in [`Dominators::order`]; `None` when unreachable.
    pub fn place(&self, id: BlockId) -> Option<usize> {
        (*self.place.get(id.index())? as usize).checked_sub(1)
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

/// Immediate dominators by place; place 0 is the root.
fn parents(cfg: &Cfg, order: &[BlockId], place: &[u32]) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let mut parent = vec![NONE; order.len() + 1];
    parent[0] = 0;
    for function in cfg.functions() {
        if let Some(&at) = place.get(function.index())
            && let Some(slot) = parent.get_mut(at as usize)
            && at != 0
        {
            *slot = 0;
        }
    }
    let meet = |parent: &[u32], mut a: u32, mut b: u32| {
        while a != b {
            while a > b {
                a = parent.get(a as usize).copied().unwrap_or(0);
            }
            while b > a {
                b = parent.get(b as usize).copied().unwrap_or(0);
            }
        }
        a
    };
    let mut changed = true;
    while changed {
        changed = false;
        for (index, &id) in order.iter().enumerate() {
            let at = index + 1;
            if cfg.is_entry(id) {
                continue;
            }
            let mut best = NONE;
            for predecessor in cfg.predecessors(id) {
                let from = place.get(predecessor.index()).copied().unwrap_or(0);
                if from == 0 || parent.get(from as usize).is_none_or(|&p| p == NONE) {
                    continue;
                }
                best = if best == NONE {
                    from
                } else {
                    meet(&parent, best, from)
                };
            }
            if let Some(slot) = parent.get_mut(at)
                && *slot != best
            {
                *slot = best;
                changed = true;
            }
        }
    }
    parent
}

/// Numbers the tree so that dominance is containment of intervals.
fn number(parent: &[u32]) -> (Vec<u32>, Vec<u32>) {
    // A parent comes before its children in the order, so sizes add up backwards.
    let mut size = vec![1_u32; parent.len()];
    for index in (1..parent.len()).rev() {
        let add = size[index];
        if let Some(total) = parent
            .get(index)
            .and_then(|&above| size.get_mut(above as usize))
        {
            *total += add;
        }
    }
    let mut enter = vec![0_u32; parent.len()];
    let mut leave = size.clone();
    let mut next = vec![1_u32; parent.len()];
    for index in 1..parent.len() {
        let above = parent[index] as usize;
        let Some(free) = next.get_mut(above) else {
            continue;
        };
        let start = *free;
        *free += size[index];
        enter[index] = start;
        leave[index] = start + size[index];
        next[index] = start + 1;
    }
    (enter, leave)
}
