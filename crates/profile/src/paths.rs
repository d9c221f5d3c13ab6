//! Shortest and longest ways through a program.
//!
//! Costs are those of the whole simdgroup: code that lanes skip by mask alone is still
//! issued; only jumps save it. A loop counts as often as its trip count says, once when
//! that is unknown; calls count their function.

use crate::cfg::{Cfg, End};
use crate::cost::{Costs, Cycles};
use crate::dominators::Dominators;
use crate::loops::Loops;
use crate::{BlockId, LoopId};

/// Shortest and longest way, by issue slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Paths {
    /// The cheapest.
    pub shortest: Costs,
    /// The dearest.
    pub longest: Costs,
}

/// How often each block runs when the entry runs once: the product of the trip counts
/// around it, unknown ones as 1.
pub fn weights(cfg: &Cfg, loops: &Loops, trips: &[Option<u64>]) -> Vec<f64> {
    (0..cfg.blocks().len())
        .map(|index| {
            loops
                .around(BlockId::new(index))
                .map(|id| trips_of(trips, id))
                .product()
        })
        .collect()
}

pub(crate) fn trips_of(trips: &[Option<u64>], id: LoopId) -> f64 {
    trips
        .get(id.index())
        .copied()
        .flatten()
        .map_or(1.0, |trips| trips as f64)
}

/// Calls deeper than this are not followed; recursion ends here too.
const DEEPEST_CALL: u32 = 16;

/// Finds both ways.
pub fn paths(cfg: &Cfg, dominators: &Dominators, block_costs: &[Costs], weights: &[f64]) -> Paths {
    let Some(&entry) = cfg.functions().first() else {
        return Paths::default();
    };
    let mut search = Search {
        cfg,
        dominators,
        block_costs,
        weights,
        functions: vec![None; cfg.functions().len()],
    };
    search.function(entry, 0)
}

struct Search<'a> {
    cfg: &'a Cfg,
    dominators: &'a Dominators,
    block_costs: &'a [Costs],
    weights: &'a [f64],
    functions: Vec<Option<Paths>>,
}

impl Search<'_> {
    fn function(&mut self, entry: BlockId, depth: u32) -> Paths {
        let number = self.cfg.functions().iter().position(|&id| id == entry);
        if let Some(Some(done)) = number.and_then(|number| self.functions.get(number)) {
            return *done;
        }
        // Backwards over the graph without its back edges.
        let count = self.cfg.blocks().len();
        let mut ways: Vec<Option<Paths>> = vec![None; count];
        for &id in self.dominators.order().iter().rev() {
            let Some(block) = self.cfg.block(id) else {
                continue;
            };
            let mut best: Option<Paths> = None;
            let here = self.dominators.place(id);
            for edge in block.edges() {
                if self.dominators.place(edge.to) <= here {
                    continue;
                }
                let Some(Some(way)) = ways.get(edge.to.index()) else {
                    continue;
                };
                best = Some(match best {
                    None => *way,
                    Some(other) => Paths {
                        shortest: cheaper(&other.shortest, &way.shortest),
                        longest: dearer(&other.longest, &way.longest),
                    },
                });
            }
            let mut found = best.unwrap_or_default();
            let own = self
                .block_costs
                .get(id.index())
                .copied()
                .unwrap_or_default();
            let weight = self.weights.get(id.index()).copied().unwrap_or(1.0);
            found.shortest.add_times(&own, weight);
            found.longest.add_times(&own, weight);
            if let End::Call(Some(callee)) = block.end {
                let inner = if depth < DEEPEST_CALL && callee != entry {
                    self.function(callee, depth + 1)
                } else {
                    unknown_callee()
                };
                found.shortest.add_times(&inner.shortest, weight);
                found.longest.add_times(&inner.longest, weight);
            }
            if let Some(slot) = ways.get_mut(id.index()) {
                *slot = Some(found);
            }
        }
        let found = ways
            .get(entry.index())
            .copied()
            .flatten()
            .unwrap_or_default();
        if let Some(slot) = number.and_then(|number| self.functions.get_mut(number)) {
            *slot = Some(found);
        }
        found
    }
}

/// A recursive call: its depth is not known.
fn unknown_callee() -> Paths {
    let costs = Costs {
        issue: Cycles::UNKNOWN,
        ..Costs::default()
    };
    Paths {
        shortest: costs,
        longest: costs,
    }
}

fn cheaper(a: &Costs, b: &Costs) -> Costs {
    if b.issue.known < a.issue.known {
        *b
    } else {
        *a
    }
}

fn dearer(a: &Costs, b: &Costs) -> Costs {
    if b.issue.known > a.issue.known {
        *b
    } else {
        *a
    }
}
