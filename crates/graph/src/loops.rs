//! Natural loops and how they nest.
//!
//! A back edge leads to a node that dominates its source; the loop is everything that reaches the back edge without
//! passing the header. Loops with the same header are one. Inner loops are found first, and an outer loop steps over
//! them whole, so that the work is linear in the size of the graph.

use crate::{DominatorTree, Edges};

/// A loop, by node numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NestedLoop {
    /// The node every way into the loop passes.
    pub header: u32,
    /// Nodes that go back to the header, each once, in the order of the header's predecessors.
    pub latches: Vec<u32>,
    /// The loop around it, by its place among [`LoopNest::loops`].
    pub parent: Option<u32>,
    /// 1 for an outermost loop.
    pub depth: u32,
}

/// The loops of a graph.
#[derive(Clone, Debug, Default)]
pub struct LoopNest {
    /// Inner loops before the loops around them.
    pub loops: Vec<NestedLoop>,
    /// The innermost loop of each node, by its place among the loops.
    pub innermost: Vec<Option<u32>>,
}

impl LoopNest {
    /// Finds the loops of nodes numbered in reverse postorder.
    pub fn new(predecessors: &Edges, tree: &DominatorTree) -> Self {
        let mut nest = Self {
            loops: Vec::new(),
            innermost: vec![None; predecessors.len()],
        };
        // Headers from the back of the order: inner loops before the loops around them.
        for header in (0..predecessors.len() as u32).rev() {
            let mut latches: Vec<u32> = Vec::new();
            for &from in predecessors.of(header as usize) {
                if tree.dominates(header, from) && !latches.contains(&from) {
                    latches.push(from);
                }
            }
            if !latches.is_empty() {
                nest.add(predecessors, tree, header, latches);
            }
        }
        // Outer loops have higher numbers than the loops in them.
        for index in (0..nest.loops.len()).rev() {
            let parent = nest.loops[index].parent;
            let above = parent.map_or(0, |parent| nest.loops[parent as usize].depth);
            nest.loops[index].depth = above + 1;
        }
        nest
    }

    /// Walks back from the latches to the header; nodes already in an inner loop stand for that whole loop.
    fn add(&mut self, predecessors: &Edges, tree: &DominatorTree, header: u32, latches: Vec<u32>) {
        let id = self.loops.len() as u32;
        let mut work = latches.clone();
        self.loops.push(NestedLoop {
            header,
            latches,
            parent: None,
            depth: 1,
        });
        while let Some(node) = work.pop() {
            // What the header does not dominate is entered by another way, too: no part of a natural loop.
            if !tree.dominates(header, node) {
                continue;
            }
            match self.outermost(node) {
                None => {
                    self.innermost[node as usize] = Some(id);
                    if node != header {
                        work.extend(predecessors.of(node as usize));
                    }
                }
                Some(inner) if inner == id => {}
                Some(inner) => {
                    let inner = &mut self.loops[inner as usize];
                    inner.parent = Some(id);
                    let entry = inner.header;
                    let entering = predecessors.of(entry as usize).iter();
                    work.extend(entering.filter(|&&from| !tree.dominates(entry, from)));
                }
            }
        }
        let own = &mut self.innermost[header as usize];
        *own = own.or(Some(id));
    }

    /// The outermost loop found so far around a node.
    fn outermost(&self, node: u32) -> Option<u32> {
        let mut id = (*self.innermost.get(node as usize)?)?;
        while let Some(parent) = self.loops[id as usize].parent {
            id = parent;
        }
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nest(predecessors: &[&[u32]]) -> LoopNest {
        let mut edges = Edges::default();
        for list in predecessors {
            edges.push(list.iter().copied());
        }
        LoopNest::new(&edges, &DominatorTree::new(&edges))
    }

    #[test]
    fn an_inner_loop_is_found_before_the_loop_around_it() {
        // 0 → 1 ⇄ 2 ⇄ 3, out by 4.
        let nest = nest(&[&[], &[0, 2], &[1, 3], &[2], &[1]]);
        let headers: Vec<u32> = nest.loops.iter().map(|found| found.header).collect();
        assert_eq!(headers, [2, 1]);
        assert_eq!((nest.loops[0].parent, nest.loops[0].depth), (Some(1), 2));
        assert_eq!(nest.innermost, [None, Some(1), Some(0), Some(0), None]);
    }

    #[test]
    fn a_cycle_with_two_entries_is_no_loop() {
        // 0 → 1, 0 → 2, 1 ⇄ 2.
        let nest = nest(&[&[], &[0, 2], &[0, 1]]);
        assert!(nest.loops.is_empty());
    }
}
