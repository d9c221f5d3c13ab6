//! Values that loops hand on.
//!
//! A loop with a test before it has two ways to what follows: past the loop with the
//! starting values, and out of it with the last ones. Both are what the loop's own
//! parameters hold if these are set before the test and before each way out. Then what
//! follows takes them from there, once, instead of being handed copies each time around.

use crate::lower::control::shape::{Node, Target, count, visit};
use assay_opt::control::{Arm, edge};
use assay_ssa::{BinaryOp, Block, Function, IdMap, IdSet, InstData, Value, ValueDef};

/// How far a condition is looked into.
const DEEP: u32 = 6;

struct Exits<'a> {
    function: &'a Function,
    uses: &'a IdMap<Value, u32>,
    /// The blocks a block parameter is used in.
    used_in: IdMap<Value, Vec<Block>>,
    next: usize,
}

/// Rewrites the loops of a region; gives it back with the number of the next node.
pub(in crate::lower) fn hand_on(
    region: Vec<Node>,
    next: usize,
    function: &Function,
    uses: &IdMap<Value, u32>,
) -> (Vec<Node>, usize) {
    let mut used_in: IdMap<Value, Vec<Block>> = IdMap::with_len(Vec::new(), function.num_values());
    for &block in function.blocks() {
        for &inst in function.insts(block) {
            function.for_each_operand(inst, |value| {
                if matches!(function.def(value), ValueDef::Param(..))
                    && used_in[value].last() != Some(&block)
                {
                    used_in[value].push(block);
                }
            });
        }
    }
    let mut exits = Exits {
        function,
        uses,
        used_in,
        next,
    };
    let region = exits.region(region);
    (region, exits.next)
}

impl Exits<'_> {
    fn region(&mut self, region: Vec<Node>) -> Vec<Node> {
        let mut out = Vec::with_capacity(region.len());
        for node in region {
            match node {
                Node::If {
                    id,
                    cond,
                    inverted,
                    then,
                    otherwise,
                } => out.push(Node::If {
                    id,
                    cond,
                    inverted,
                    then: self.region(then),
                    otherwise: self.region(otherwise),
                }),
                Node::Loop { header, body } => out.push(Node::Loop {
                    header,
                    body: self.region(body),
                }),
                Node::Scope { target, body } => {
                    let mut body = self.region(body);
                    let after = self.scope(target, &mut body);
                    out.push(Node::Scope { target, body });
                    out.extend(after);
                }
                other => out.push(other),
            }
        }
        out
    }

    fn args(&self, pass: &Node) -> Option<(Block, Vec<Value>)> {
        let Node::Pass { from, arm, .. } = pass else {
            return None;
        };
        let call = edge(self.function, *from, *arm)?;
        Some((call.block, self.function.list_values(call.args).to_vec()))
    }

    /// Rewrites `… leave if (copies); …; pass to the loop; loop` and gives what follows.
    fn scope(&mut self, target: Target, body: &mut Vec<Node>) -> Option<Node> {
        if count(body, target) != 2 {
            return None;
        }
        let guard = body.iter().position(|node| {
            matches!(node, Node::LeaveIf { target: to, copies, .. }
                if *to == target && copies.len() == 1)
        })?;
        let Some(Node::Loop { header, .. }) = body.last() else {
            return None;
        };
        let header = *header;
        let start = body.len().checked_sub(2).filter(|&at| at > guard)?;
        let pairs = self.matched(target, header, body, guard, start)?;
        // Nothing in between computes a starting value.
        let (_, starts) = self.args(body.get(start)?)?;
        let mut between: IdSet<Block> = IdSet::new();
        visit(body.get(guard + 1..start)?, &mut |node| {
            if let Node::Run { block, .. } = node {
                between.insert(*block);
            }
        });
        let blocks = self.function.inst_blocks();
        let computed = starts.iter().any(|&value| {
            self.function
                .def_block(value, &blocks)
                .is_some_and(|block| between.contains(block))
        });
        if computed {
            return None;
        }
        let initial = body.remove(start);
        if let Some(Node::LeaveIf { copies, .. }) = body.get_mut(guard) {
            *copies = vec![initial];
        }
        if let Some(Node::Loop { body, .. }) = body.last_mut()
            && let Some(back) = body.pop()
            && let Some(mut leave) = body.pop()
        {
            let nexts = self.args(&back);
            if let Node::LeaveIf { copies, held, .. } = &mut leave {
                copies.clear();
                // The next values are where the loop's parameters are.
                if let Some((to, args)) = nexts {
                    let params = self.function.params(to).iter().copied();
                    *held = args.into_iter().zip(params).collect();
                }
            }
            body.push(back);
            body.push(leave);
        }
        self.next += 1;
        Some(Node::Copy {
            id: self.next - 1,
            pairs,
        })
    }

    /// For each parameter of what follows, the loop's parameter that holds it.
    fn matched(
        &self,
        target: Target,
        header: Block,
        body: &[Node],
        guard: usize,
        start: usize,
    ) -> Option<Vec<(Value, Value)>> {
        let Target::Behind(follower) = target else {
            return None;
        };
        let Some(Node::LeaveIf { copies, .. }) = body.get(guard) else {
            return None;
        };
        let (to, past) = self.args(copies.first()?)?;
        let (into, starts) = self.args(body.get(start)?)?;
        let Some(Node::Loop { body, .. }) = body.last() else {
            return None;
        };
        let [.., leave, back] = &body[..] else {
            return None;
        };
        let Node::LeaveIf {
            cond,
            copies,
            target: out,
            ..
        } = leave
        else {
            return None;
        };
        let [copy] = &copies[..] else {
            return None;
        };
        let (left_for, lasts) = self.args(copy)?;
        let (again, nexts) = self.args(back)?;
        let fits = *out == target
            && to == follower
            && left_for == follower
            && into == header
            && again == header
            && matches!(
                back,
                Node::Pass {
                    arm: Arm::Then | Arm::Otherwise,
                    ..
                }
            );
        if !fits || self.reads(*cond, header, DEEP) || self.escapes(header, body) {
            return None;
        }
        let params = self.function.params(header);
        let mut pairs = Vec::new();
        for (index, &wanted) in self.function.params(follower).iter().enumerate() {
            if self.uses[wanted] == 0 {
                continue;
            }
            let (first, last) = (*past.get(index)?, *lasts.get(index)?);
            let found = params
                .iter()
                .enumerate()
                .find(|(at, _)| starts.get(*at) == Some(&first) && nexts.get(*at) == Some(&last));
            pairs.push((wanted, *found?.1));
        }
        // Parameters nobody else uses would have no registers to be copied from.
        let kept = pairs.iter().all(|(_, from)| self.uses[*from] > 0);
        (kept && !pairs.is_empty()).then_some(pairs)
    }

    /// Whether a condition, or what may be taken along with it, reads a parameter of the
    /// loop: these have their next values by then.
    fn reads(&self, value: Value, header: Block, deep: u32) -> bool {
        match self.function.def(value) {
            ValueDef::Param(block, _) => block == header,
            ValueDef::Result(inst) => {
                let followed = matches!(
                    self.function.inst(inst),
                    InstData::IntCompare { .. }
                        | InstData::FloatCompare { .. }
                        | InstData::Cast { .. }
                        | InstData::Unary { .. }
                        | InstData::Extract { .. }
                        | InstData::Insert { .. }
                        | InstData::Shuffle { .. }
                        | InstData::Construct { .. }
                        | InstData::Binary { .. }
                        | InstData::Call { .. }
                );
                if !followed {
                    return false;
                }
                if deep == 0 {
                    return true;
                }
                // Sums and the like are computed where they stand; only logic on truth
                // values, halves of words and signs of floats are taken along.
                let computed = match self.function.inst(inst) {
                    InstData::Binary {
                        op: BinaryOp::And | BinaryOp::LShr | BinaryOp::AShr,
                        ..
                    } => false,
                    InstData::Binary { .. } => self.function.ty(value) != assay_ssa::Type::I1,
                    InstData::Call { .. } => !self.function.ty(value).is_float(),
                    _ => false,
                };
                if computed {
                    return false;
                }
                let mut found = false;
                self.function.for_each_operand(inst, |operand| {
                    found |= self.reads(operand, header, deep - 1);
                });
                found
            }
            _ => false,
        }
    }

    /// Whether a parameter of the loop is used outside it.
    fn escapes(&self, header: Block, body: &[Node]) -> bool {
        let mut inside: IdSet<Block> = IdSet::new();
        visit(body, &mut |node| {
            if let Node::Run { block, .. } = node {
                inside.insert(*block);
            }
        });
        self.function.params(header).iter().any(|&param| {
            self.used_in[param]
                .iter()
                .any(|&block| !inside.contains(block))
        })
    }
}
