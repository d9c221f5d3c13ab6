//! What programs of any form have in common as graphs: typed ids, sets of them, dominator trees, natural loops.
//!
//! The program form (`assay-ssa`), machine code (`assay-profile`) and the code generator have blocks of their own and
//! number them as they like. The algorithms here know only numbers: nodes in reverse postorder, the root first.
//!
//! ```
//! use assay_graph::{DominatorTree, Edges};
//! // 0 → 1 → 2 → 1, 1 → 3
//! let mut edges = Edges::default();
//! for predecessors in [&[][..], &[0, 2], &[1], &[1]] {
//!     edges.push(predecessors.iter().copied());
//! }
//! let tree = DominatorTree::new(&edges);
//! assert!(tree.dominates(1, 3) && !tree.dominates(2, 3));
//! ```

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

mod bits;
mod dominators;
pub mod id;
mod loops;

pub use bits::BitSet;
pub use dominators::{DominatorTree, Edges};
pub use id::{Id, IdMap, IdSet, IdVec};
pub use loops::{LoopNest, NestedLoop};
