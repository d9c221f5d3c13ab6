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
    let mut order: Vec<Vec<BlockId>> = vec![Vec::new(); cfg.functions().len()];
    for &id in dominators.order().iter().rev() {
        if let Some(own) = order.get_mut(cfg.function_of(id)) {
            own.push(id);
        }
    }
    let mut search = Search {
        cfg,
        dominators,
        order,
        ways: vec![None; cfg.blocks().len()],
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
    /// Blocks of each function, last first.
    order: Vec<Vec<BlockId>>,
    ways: Vec<Option<Paths>>,
}

impl Search<'_> {
    fn function(&mut self, entry: BlockId, depth: u32) -> Paths {
        let number = self.cfg.function_of(entry);
        if let Some(Some(done)) = self.functions.get(number) {
            return *done;
        }
        // Taken away while it is worked on: a call back into it is recursion.
        let Some(order) = self.order.get_mut(number).map(std::mem::take) else {
            return unknown_callee();
        };
        if order.is_empty() {
            return unknown_callee();
        }
        // Backwards over the graph without its back edges.
        for &id in &order {
            let Some(block) = self.cfg.block(id) else {
                continue;
            };
            let mut best: Option<Paths> = None;
            let here = self.dominators.place(id);
            for edge in block.edges() {
                if self.dominators.place(edge.to) <= here {
                    continue;
                }
                let Some(Some(way)) = self.ways.get(edge.to.index()) else {
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
                let inner = if depth < DEEPEST_CALL {
                    self.function(callee, depth + 1)
                } else {
                    unknown_callee()
                };
                found.shortest.add_times(&inner.shortest, weight);
                found.longest.add_times(&inner.longest, weight);
            }
            if let Some(slot) = self.ways.get_mut(id.index()) {
                *slot = Some(found);
            }
        }
        let found = self
            .ways
            .get(entry.index())
            .copied()
            .flatten()
            .unwrap_or_default();
        if let Some(slot) = self.functions.get_mut(number) {
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
