//! Predecessors, successors and reverse postorder of a function's blocks.

use crate::function::Function;
use crate::id::Id;
use crate::inst::Block;

/// The control-flow graph. Blocks that control never reaches have no place in the order.
#[derive(Clone, Debug)]
pub struct Cfg {
    succ_start: Vec<u32>,
    succs: Vec<Block>,
    pred_start: Vec<u32>,
    preds: Vec<Block>,
    order: Vec<Block>,
    position: Vec<u32>,
}

const UNREACHED: u32 = u32::MAX;

impl Cfg {
    /// Computes the graph.
    pub fn new(function: &Function) -> Self {
        let count = function.num_blocks();
        let mut succ_start = vec![0u32; count + 1];
        let mut in_function = vec![false; count];
        for &block in function.blocks() {
            in_function[block.index()] = true;
        }
        let mut succs = Vec::with_capacity(count * 2);
        let mut pred_start = vec![0u32; count + 2];
        for index in 0..count {
            succ_start[index] = succs.len() as u32;
            if in_function[index] {
                function.for_each_successor(Block::from_index(index), |to| {
                    // A target that is not of this function is the verifier's business.
                    if to.index() < count {
                        succs.push(to);
                        pred_start[to.index() + 2] += 1;
                    }
                });
            }
        }
        succ_start[count] = succs.len() as u32;
        for index in 1..count + 2 {
            pred_start[index] += pred_start[index - 1];
        }
        let mut preds = vec![Block::from_index(0); succs.len()];
        for index in 0..count {
            for edge in succ_start[index]..succ_start[index + 1] {
                let slot = &mut pred_start[succs[edge as usize].index() + 1];
                preds[*slot as usize] = Block::from_index(index);
                *slot += 1;
            }
        }
        let mut cfg = Self {
            succ_start,
            succs,
            pred_start,
            preds,
            order: Vec::new(),
            position: Vec::new(),
        };
        cfg.compute_order(function.entry(), count);
        cfg
    }

    fn compute_order(&mut self, entry: Option<Block>, count: usize) {
        let mut seen = vec![false; count];
        let mut postorder = Vec::with_capacity(count);
        let mut stack: Vec<(Block, usize)> = Vec::new();
        if let Some(entry) = entry {
            seen[entry.index()] = true;
            stack.push((entry, 0));
        }
        while let Some((block, next)) = stack.last_mut() {
            let block = *block;
            // Visiting the last successor first keeps `then` before `else` in the reversed order.
            let succs = self.successors(block);
            match succs.len().checked_sub(*next + 1).map(|at| succs[at]) {
                Some(to) => {
                    *next += 1;
                    if !seen[to.index()] {
                        seen[to.index()] = true;
                        stack.push((to, 0));
                    }
                }
                None => {
                    postorder.push(block);
                    stack.pop();
                }
            }
        }
        postorder.reverse();
        self.position = vec![UNREACHED; count];
        for (position, block) in postorder.iter().enumerate() {
            self.position[block.index()] = position as u32;
        }
        self.order = postorder;
    }

    /// Successors, one per edge.
    #[inline]
    pub fn successors(&self, block: Block) -> &[Block] {
        let index = block.index();
        &self.succs[self.succ_start[index] as usize..self.succ_start[index + 1] as usize]
    }

    /// Predecessors, one per edge (unreached blocks included).
    #[inline]
    pub fn predecessors(&self, block: Block) -> &[Block] {
        let index = block.index();
        &self.preds[self.pred_start[index] as usize..self.pred_start[index + 1] as usize]
    }

    /// Reached blocks in reverse postorder: each before its successors, loops aside.
    #[inline]
    pub fn order(&self) -> &[Block] {
        &self.order
    }

    /// The place of a block in [`order`](Self::order).
    #[inline]
    pub fn position(&self, block: Block) -> Option<u32> {
        self.position
            .get(block.index())
            .copied()
            .filter(|&position| position != UNREACHED)
    }

    /// Whether control can reach a block.
    #[inline]
    pub fn is_reached(&self, block: Block) -> bool {
        self.position(block).is_some()
    }
}
