//! Makes the control tree of a function.
//!
//! The method is the dominator-tree translation of reducible graphs (N. Ramsey,
//! *Beyond Relooper*, 2022), with one change for SIMT: a block reached from inside a
//! loop but not part of it is placed after the loop, not inside the arm that leaves.
//! So lanes that leave a loop early wait for the others, and meet before the code
//! behind the loop (a barrier, perhaps) runs.
//!
//! Every block is placed exactly once; nothing is duplicated and no variable is added.
//! A block is placed under its *parent*: its immediate dominator, or, when it lies
//! outside a loop that holds that dominator, the header of the outermost such loop. A
//! block with several forward predecessors, and one behind a loop, follows a scope that
//! its predecessors leave; any other block stands where its only predecessor branches
//! to it.

use crate::control::{Arm, Item, Label, Region, Tree, edge};
use assay_ssa::analysis::{Cfg, Dominators, LoopId, Loops};
use assay_ssa::{Block, Function, IdMap, InstData, Value};

/// Nesting beyond this is refused instead of overflowing the stack.
const DEEPEST: usize = 800;

/// Beyond this depth an arm that could be nested is laid flat, with a leave in its place.
const NESTED_GLADLY: usize = 100;

/// Why a function has no control tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StructurizeError {
    /// A cycle with several entries: no loop header dominates it.
    Irreducible {
        /// The block a backward edge goes to.
        target: Block,
    },
    /// A `switch`: lower it to branches first.
    Switch {
        /// The block that ends with it.
        block: Block,
    },
    /// More nested than any program should be.
    TooDeep,
    /// A block without terminator, or a function without blocks.
    Malformed,
}

impl std::fmt::Display for StructurizeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Irreducible { target } => {
                write!(
                    f,
                    "irreducible control flow: the cycle through {target} has several entries"
                )
            }
            Self::Switch { block } => write!(f, "{block} ends with a switch; lower it first"),
            Self::TooDeep => write!(f, "control flow is nested more than {DEEPEST} deep"),
            Self::Malformed => write!(f, "the function has no entry or a block has no terminator"),
        }
    }
}

impl std::error::Error for StructurizeError {}

/// The control tree of `function`, which must have no switches.
pub fn structurize(function: &Function) -> Result<Tree, StructurizeError> {
    let entry = function.entry().ok_or(StructurizeError::Malformed)?;
    let cfg = Cfg::new(function);
    let dominators = Dominators::new(&cfg, function);
    let places = Places::new(function, &cfg, &dominators)?;
    let left = IdMap::with_len(false, function.num_blocks());
    let mut maker = Maker {
        function,
        cfg: &cfg,
        places: &places,
        left,
    };
    let body = maker.subtree(entry, None, 0)?.region;
    Ok(Tree { body })
}

/// Where blocks are placed.
struct Places {
    /// Blocks that follow a scope placed under a block, in order; behind the loop if the block heads one.
    followers: IdMap<Block, Vec<Block>>,
    /// The same, inside the loop that the block heads.
    inner_followers: IdMap<Block, Vec<Block>>,
    /// Blocks that follow a scope.
    is_follower: IdMap<Block, bool>,
    /// Blocks a backward edge goes to.
    is_header: IdMap<Block, bool>,
}

impl Places {
    fn new(
        function: &Function,
        cfg: &Cfg,
        dominators: &Dominators,
    ) -> Result<Self, StructurizeError> {
        let count = function.num_blocks();
        let mut places = Places {
            followers: IdMap::with_len(Vec::new(), count),
            inner_followers: IdMap::with_len(Vec::new(), count),
            is_follower: IdMap::with_len(false, count),
            is_header: IdMap::with_len(false, count),
        };
        let loops = Loops::new(cfg, dominators, function);
        if loops.is_irreducible() {
            let target = second_entry(cfg, dominators).ok_or(StructurizeError::Malformed)?;
            return Err(StructurizeError::Irreducible { target });
        }
        for (_, found) in loops.iter() {
            places.is_header[found.header] = true;
        }
        for &block in cfg.order() {
            let Some(dominator) = dominators.immediate(block) else {
                continue;
            };
            let behind = left_loop(block, dominator, &loops).map(|id| loops.get(id).header);
            let parent = behind.unwrap_or(dominator);
            let position = cfg.position(block);
            let forward = cfg
                .predecessors(block)
                .iter()
                .filter(|&&pred| cfg.is_reached(pred) && cfg.position(pred) < position)
                .count();
            if forward > 1 || behind.is_some() {
                places.is_follower[block] = true;
                let own = loops.innermost(parent).filter(|_| places.is_header[parent]);
                let inner = own.is_some_and(|id| loops.contains(id, block));
                let list = if inner {
                    &mut places.inner_followers
                } else {
                    &mut places.followers
                };
                list[parent].push(block);
            }
        }
        Ok(places)
    }
}

/// The outermost loop that holds `dominator` but not `block`.
fn left_loop(block: Block, dominator: Block, loops: &Loops) -> Option<LoopId> {
    let mut outermost = None;
    let mut around = loops.innermost(dominator);
    while let Some(id) = around.filter(|&id| !loops.contains(id, block)) {
        outermost = Some(id);
        around = loops.get(id).parent;
    }
    outermost
}

/// A block that a backward edge goes to without dominating where it comes from.
fn second_entry(cfg: &Cfg, dominators: &Dominators) -> Option<Block> {
    cfg.order().iter().copied().find(|&target| {
        cfg.predecessors(target).iter().any(|&pred| {
            let backward = cfg.is_reached(pred) && cfg.position(pred) >= cfg.position(target);
            backward && !dominators.dominates(target, pred)
        })
    })
}

struct Maker<'a> {
    function: &'a Function,
    cfg: &'a Cfg,
    places: &'a Places,
    /// Followers that some item leaves for: only these need a scope.
    left: IdMap<Block, bool>,
}

/// A region, and whether lanes can come out at its end.
struct Built {
    region: Region,
    falls: bool,
}

impl Built {
    fn empty() -> Self {
        Built {
            region: Region::new(),
            falls: true,
        }
    }

    fn push(&mut self, item: Item, falls: bool) {
        self.region.push(item);
        self.falls &= falls;
    }

    fn append(&mut self, other: Built) {
        self.region.extend(other.region);
        self.falls &= other.falls;
    }
}

impl Maker<'_> {
    /// `block` and all that is placed under it. `next` is the block that lanes reach by
    /// falling off the end of the region.
    fn subtree(
        &mut self,
        mut block: Block,
        next: Option<Block>,
        depth: usize,
    ) -> Result<Built, StructurizeError> {
        if depth > DEEPEST {
            return Err(StructurizeError::TooDeep);
        }
        let mut out = Built::empty();
        loop {
            let followers = &self.places.followers[block];
            if followers.is_empty() && !self.places.is_header[block] {
                let Some(going_on) = self.flat(block, next, depth, &mut out)? else {
                    return Ok(out);
                };
                block = going_on;
                continue;
            }
            let first = followers.first().copied().or(next);
            let mut built = if self.places.is_header[block] {
                self.repeated(block, depth)?
            } else {
                self.chain(block, first, depth)?
            };
            let Some((&last, before)) = followers.split_last() else {
                out.append(built);
                return Ok(out);
            };
            built = self.followed(built, before, Some(last), depth)?;
            out.append(self.scoped(built, last));
            block = last;
        }
    }

    /// The loop that `header` heads.
    fn repeated(&mut self, header: Block, depth: usize) -> Result<Built, StructurizeError> {
        let followers = &self.places.inner_followers[header];
        let first = followers.first().copied().or(Some(header));
        let built = self.chain(header, first, depth + 1)?;
        let body = self.followed(built, followers, Some(header), depth)?.region;
        let item = Item::Loop {
            label: Label(header),
            body,
        };
        Ok(Built {
            region: vec![item],
            falls: false,
        })
    }

    /// `built`, then each follower behind the scope that ends before it. Lanes that come
    /// out of the last one are at `next`.
    fn followed(
        &mut self,
        mut built: Built,
        followers: &[Block],
        next: Option<Block>,
        depth: usize,
    ) -> Result<Built, StructurizeError> {
        for (position, &follower) in followers.iter().enumerate() {
            built = self.scoped(built, follower);
            let after = followers.get(position + 1).copied().or(next);
            built.append(self.subtree(follower, after, depth + 1)?);
        }
        Ok(built)
    }

    /// `built` inside the scope that ends before `follower`, if anything leaves for it.
    fn scoped(&self, built: Built, follower: Block) -> Built {
        if !self.left[follower] {
            return built;
        }
        let scope = Item::Scope {
            label: Label(follower),
            body: built.region,
        };
        Built {
            region: vec![scope],
            falls: true,
        }
    }

    /// A block that nothing is placed under but one arm of its branch, if that arm can
    /// follow it without being nested: the block is added and the arm's target returned.
    /// Otherwise the whole branch is added. Long chains so need no deep recursion.
    fn flat(
        &mut self,
        block: Block,
        next: Option<Block>,
        depth: usize,
        out: &mut Built,
    ) -> Result<Option<Block>, StructurizeError> {
        let terminator = self
            .function
            .insts(block)
            .last()
            .ok_or(StructurizeError::Malformed)?;
        let (leaving, going_on) = match *self.function.inst(*terminator) {
            InstData::Jump { .. } if self.in_place(block, Arm::Then).is_some() => (None, Arm::Then),
            InstData::Branch { cond, .. } => {
                let in_place = [Arm::Then, Arm::Otherwise].map(|arm| self.in_place(block, arm));
                match in_place {
                    [None, Some(_)] => (Some((cond, Arm::Then)), Arm::Otherwise),
                    [Some(_), None] => (Some((cond, Arm::Otherwise)), Arm::Then),
                    _ => {
                        return self
                            .chain(block, next, depth)
                            .map(|built| finish(out, built));
                    }
                }
            }
            _ => {
                return self
                    .chain(block, next, depth)
                    .map(|built| finish(out, built));
            }
        };
        if let Some((cond, arm)) = leaving {
            let next = next.filter(|_| depth < NESTED_GLADLY);
            let left = self.branch(block, arm, next, depth)?;
            if left.falls {
                // The arm ends where the region ends, so the other one is nested beside it.
                let built = self.chain(block, next, depth)?;
                return Ok(finish(out, built));
            }
            out.push(Item::Run(block), true);
            let (then, otherwise) = match arm {
                Arm::Then => (left.region, Region::new()),
                Arm::Otherwise => (Region::new(), left.region),
            };
            out.push(
                Item::If {
                    cond,
                    then,
                    otherwise,
                },
                true,
            );
        } else {
            out.push(Item::Run(block), true);
        }
        self.pass(block, going_on, out)?;
        Ok(self.in_place(block, going_on))
    }

    /// The target of an edge when it is placed right there, not at a label.
    fn in_place(&self, from: Block, arm: Arm) -> Option<Block> {
        let target = edge(self.function, from, arm)?.block;
        let forward = self.cfg.position(target) > self.cfg.position(from);
        (forward && !self.places.is_follower[target]).then_some(target)
    }

    /// Adds the passing of values along an edge, if there are any.
    fn pass(&self, from: Block, arm: Arm, out: &mut Built) -> Result<(), StructurizeError> {
        let call = edge(self.function, from, arm).ok_or(StructurizeError::Malformed)?;
        if !self.function.list_values(call.args).is_empty() {
            out.push(Item::Pass { from, arm }, true);
        }
        Ok(())
    }

    /// A block and its branch.
    fn chain(
        &mut self,
        block: Block,
        next: Option<Block>,
        depth: usize,
    ) -> Result<Built, StructurizeError> {
        let mut out = Built::empty();
        out.push(Item::Run(block), true);
        let terminator = self
            .function
            .insts(block)
            .last()
            .ok_or(StructurizeError::Malformed)?;
        match *self.function.inst(*terminator) {
            InstData::Jump { .. } => out.append(self.branch(block, Arm::Then, next, depth)?),
            InstData::Branch { cond, .. } => {
                let then = self.branch(block, Arm::Then, next, depth)?;
                let otherwise = self.branch(block, Arm::Otherwise, next, depth)?;
                out.append(parted(cond, then, otherwise));
            }
            InstData::Return { value } => out.push(Item::Return(value), false),
            InstData::Unreachable => out.push(Item::Unreachable, false),
            InstData::Switch { .. } => return Err(StructurizeError::Switch { block }),
            _ => return Err(StructurizeError::Malformed),
        }
        Ok(out)
    }

    /// What an edge does: pass values, then fall through, go to a label, or go on in place.
    fn branch(
        &mut self,
        from: Block,
        arm: Arm,
        next: Option<Block>,
        depth: usize,
    ) -> Result<Built, StructurizeError> {
        let mut out = Built::empty();
        self.pass(from, arm, &mut out)?;
        if let Some(target) = self.in_place(from, arm) {
            out.append(self.subtree(target, next, depth + 1)?);
            return Ok(out);
        }
        let target = edge(self.function, from, arm)
            .ok_or(StructurizeError::Malformed)?
            .block;
        if next == Some(target) {
            // The end of the region is where the edge goes.
        } else if self.cfg.position(target) <= self.cfg.position(from) {
            out.push(Item::Repeat(Label(target)), false);
        } else {
            self.left[target] = true;
            out.push(Item::Leave(Label(target)), false);
        }
        Ok(out)
    }
}

fn finish(out: &mut Built, built: Built) -> Option<Block> {
    out.append(built);
    None
}

/// An `if`, flat where possible: when one arm does not come out at the end, the other
/// follows it instead of being nested.
fn parted(cond: Value, then: Built, otherwise: Built) -> Built {
    let empty = Region::new;
    let (item, rest) = if !then.falls {
        (
            Item::If {
                cond,
                then: then.region,
                otherwise: empty(),
            },
            otherwise,
        )
    } else if !otherwise.falls {
        (
            Item::If {
                cond,
                then: empty(),
                otherwise: otherwise.region,
            },
            then,
        )
    } else if then.region.is_empty() && otherwise.region.is_empty() {
        return Built::empty();
    } else {
        let item = Item::If {
            cond,
            then: then.region,
            otherwise: otherwise.region,
        };
        (item, Built::empty())
    };
    let mut out = Built::empty();
    out.push(item, true);
    out.append(rest);
    out
}
