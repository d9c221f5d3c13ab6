//! Dominator trees: Cooper, Harvey and Kennedy's iteration over reverse postorder.

const NONE: u32 = u32::MAX;

/// Lists of nodes, one per node: the predecessors of each.
#[derive(Clone, Debug)]
pub struct Edges {
    starts: Vec<u32>,
    nodes: Vec<u32>,
}

impl Default for Edges {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl Edges {
    /// No lists, with room for so many.
    pub fn with_capacity(nodes: usize) -> Self {
        let mut starts = Vec::with_capacity(nodes + 1);
        starts.push(0);
        Self {
            starts,
            nodes: Vec::with_capacity(nodes * 2),
        }
    }

    /// Adds the list of the next node.
    pub fn push(&mut self, list: impl IntoIterator<Item = u32>) {
        self.nodes.extend(list);
        self.starts.push(self.nodes.len() as u32);
    }

    /// The list of a node; empty for a node that is not there.
    #[inline]
    pub fn of(&self, node: usize) -> &[u32] {
        match self.starts.get(node..node + 2) {
            Some(&[start, end]) => &self.nodes[start as usize..end as usize],
            _ => &[],
        }
    }

    /// Number of lists.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns true if there is no list.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A dominator tree over nodes numbered in reverse postorder, root 0.
#[derive(Clone, Debug, Default)]
pub struct DominatorTree {
    /// Immediate dominator of each node; the root's is itself.
    parent: Vec<u32>,
    /// Entry and exit numbers of a walk over the tree: `a` dominates `b` when `b`'s span lies in `a`'s.
    span: Vec<(u32, u32)>,
}

impl DominatorTree {
    /// Computes the tree from the predecessors of each node. Numbers that name no node count for nothing.
    pub fn new(predecessors: &Edges) -> Self {
        let count = predecessors.len();
        let mut parent = vec![NONE; count];
        if let Some(root) = parent.first_mut() {
            *root = 0;
        }
        let mut changed = true;
        while changed {
            changed = false;
            for node in 1..count {
                let mut best = NONE;
                for &pred in predecessors.of(node) {
                    if parent.get(pred as usize).is_some_and(|&up| up != NONE) {
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

    /// Returns true if every path from the root to `b` passes `a`. A node dominates itself.
    #[inline]
    pub fn dominates(&self, a: u32, b: u32) -> bool {
        match (self.span.get(a as usize), self.span.get(b as usize)) {
            (Some(a), Some(b)) => a.0 <= b.0 && b.1 <= a.1,
            _ => false,
        }
    }

    /// The first and last number of a walk over the tree below a node: those of the nodes that it dominates lie between.
    #[inline]
    pub fn span(&self, node: u32) -> Option<(u32, u32)> {
        self.span.get(node as usize).copied()
    }

    /// The immediate dominator; none for the root and for nodes that are not there.
    #[inline]
    pub fn parent(&self, node: u32) -> Option<u32> {
        let parent = *self.parent.get(node as usize)?;
        (node != 0 && parent != NONE).then_some(parent)
    }

    /// The nearest node that dominates both.
    pub fn common(&self, a: u32, b: u32) -> u32 {
        meet(&self.parent, a, b)
    }
}

fn meet(parent: &[u32], mut a: u32, mut b: u32) -> u32 {
    let up = |node: u32| parent.get(node as usize).copied().unwrap_or(0);
    while a != b {
        while a > b {
            a = up(a);
        }
        while b > a {
            b = up(b);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(predecessors: &[&[u32]]) -> DominatorTree {
        let mut edges = Edges::default();
        for list in predecessors {
            edges.push(list.iter().copied());
        }
        DominatorTree::new(&edges)
    }

    #[test]
    fn where_two_ways_meet_their_fork_dominates() {
        // 0 forks to 1 and 2, which meet in 3.
        let tree = tree(&[&[], &[0], &[0], &[1, 2]]);
        assert_eq!(tree.parent(3), Some(0));
        assert!(tree.dominates(0, 3) && tree.dominates(3, 3));
        assert!(!tree.dominates(1, 3) && !tree.dominates(3, 1));
        assert_eq!(tree.common(1, 2), 0);
        assert_eq!(tree.parent(0), None);
    }

    #[test]
    fn nodes_that_are_not_there_are_no_mistake() {
        let tree = tree(&[&[], &[0, 9]]);
        assert_eq!(tree.parent(1), Some(0));
        assert!(!tree.dominates(9, 1));
        assert!(DominatorTree::new(&Edges::default()).parent(0).is_none());
    }
}
