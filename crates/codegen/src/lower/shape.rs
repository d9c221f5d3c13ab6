//! The control tree, prepared for the execution mask.
//!
//! The tree says where lanes meet. Here it is put into the shape that costs the fewest
//! mask instructions: what follows an arm that leaves becomes the other arm, leaving for
//! the place that comes next anyway disappears, and scopes that nobody leaves go away.
//! Every node gets a number, under which selection keeps its code.

use assay_opt::control::{Arm, Item, Label, Tree};
use assay_ssa::{Block, Value};

/// Deeper nesting is left as it is.
const DEEPEST: usize = 96;

/// Where lanes go that leave the straight path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Target {
    /// Behind the scope of this label.
    Behind(Block),
    /// To the next iteration of the loop with this header.
    Again(Block),
    /// Out of the kernel.
    Out,
}

/// A piece of control.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// A block's instructions.
    Run { id: usize, block: Block },
    /// The parameters of an edge's target get their values.
    Pass { id: usize, from: Block, arm: Arm },
    /// Part the lanes.
    If {
        id: usize,
        cond: Value,
        /// The arms are exchanged.
        inverted: bool,
        then: Vec<Node>,
        otherwise: Vec<Node>,
    },
    /// Some lanes go away; `copies` are values they take with them, which the others may
    /// compute too.
    LeaveIf {
        id: usize,
        cond: Value,
        inverted: bool,
        copies: Vec<Node>,
        target: Target,
    },
    /// A region whose end lanes can go to.
    Scope { target: Target, body: Vec<Node> },
    /// A region that starts over.
    Loop { header: Block, body: Vec<Node> },
    /// The active lanes go away.
    Leave(Target),
}

/// The tree of a kernel, and how many numbers its nodes have.
pub(super) fn shape(tree: &Tree) -> (Vec<Node>, usize) {
    let mut maker = Maker { next: 0 };
    let body = maker.region(&tree.body);
    let body = settle(body, Some(Target::Out), 0);
    let body = if leaves(&body, Target::Out) {
        vec![Node::Scope {
            target: Target::Out,
            body,
        }]
    } else {
        body
    };
    (body, maker.next)
}

struct Maker {
    next: usize,
}

impl Maker {
    fn id(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    fn region(&mut self, items: &[Item]) -> Vec<Node> {
        items.iter().filter_map(|item| self.node(item)).collect()
    }

    fn node(&mut self, item: &Item) -> Option<Node> {
        let label = |label: &Label| label.0;
        Some(match item {
            Item::Run(block) => Node::Run {
                id: self.id(),
                block: *block,
            },
            Item::Pass { from, arm } => Node::Pass {
                id: self.id(),
                from: *from,
                arm: *arm,
            },
            Item::If {
                cond,
                then,
                otherwise,
            } => Node::If {
                id: self.id(),
                cond: *cond,
                inverted: false,
                then: self.region(then),
                otherwise: self.region(otherwise),
            },
            Item::Scope { label: to, body } => Node::Scope {
                target: Target::Behind(label(to)),
                body: self.region(body),
            },
            Item::Loop { label: to, body } => Node::Loop {
                header: label(to),
                body: self.region(body),
            },
            Item::Leave(to) => Node::Leave(Target::Behind(label(to))),
            Item::Repeat(to) => Node::Leave(Target::Again(label(to))),
            Item::Return(_) => Node::Leave(Target::Out),
            // Nobody gets here; whatever follows is as good as anything.
            Item::Unreachable => return None,
        })
    }
}

/// Simplifies a region after whose end lanes are at `next`.
fn settle(mut region: Vec<Node>, next: Option<Target>, depth: usize) -> Vec<Node> {
    let mut out: Vec<Node> = Vec::new();
    region.reverse();
    while let Some(node) = region.pop() {
        match node {
            // Nothing runs behind a leave.
            Node::Leave(target) => {
                if Some(target) != next {
                    out.push(Node::Leave(target));
                }
                break;
            }
            Node::If {
                id,
                cond,
                inverted,
                then,
                otherwise,
            } => {
                let arms = (then, otherwise);
                let rest: Vec<Node> = region.drain(..).rev().collect();
                let (node, rest) = part(id, cond, inverted, arms, rest, next, depth);
                out.extend(node);
                region = rest;
                region.reverse();
            }
            Node::Scope { target, body } => {
                // Lanes that leave a last scope are where the region ends.
                let body = settle(body, Some(target), depth + 1);
                let node = Node::Scope { target, body };
                if leaves(std::slice::from_ref(&node), target) {
                    out.extend(sink(node));
                } else if let Node::Scope { body, .. } = node {
                    out.extend(body);
                }
            }
            Node::Loop { header, body } => {
                let body = settle(body, Some(Target::Again(header)), depth + 1);
                out.push(Node::Loop { header, body });
            }
            other => out.push(other),
        }
    }
    out
}

type Arms = (Vec<Node>, Vec<Node>);

/// An `if` with what follows it. Gives the node and what is still to follow.
fn part(
    id: usize,
    cond: Value,
    inverted: bool,
    (then, otherwise): Arms,
    rest: Vec<Node>,
    next: Option<Target>,
    depth: usize,
) -> (Option<Node>, Vec<Node>) {
    let goes = |arm: &[Node]| match arm.last() {
        Some(Node::Leave(target)) => Some(*target),
        _ => None,
    };
    let at_next = |arm: &[Node]| next.is_some() && goes(arm) == next;
    // What follows an arm that goes where the region ends is the other arm.
    let may_absorb = depth < DEEPEST && !next.is_some_and(|next| loops_leave(&rest, next));
    let (then, otherwise, rest) = match (at_next(&then), at_next(&otherwise)) {
        (true, false) if may_absorb && !otherwise_ends(&otherwise) => {
            (then, joined(otherwise, rest), Vec::new())
        }
        (false, true) if may_absorb && !otherwise_ends(&then) => {
            (joined(then, rest), otherwise, Vec::new())
        }
        _ => (then, otherwise, rest),
    };
    let inner = if rest.is_empty() { next } else { None };
    let then = settle(then, inner, depth + 1);
    let otherwise = settle(otherwise, inner, depth + 1);
    let (inverted, then, otherwise) = if then.is_empty() {
        (!inverted, otherwise, then)
    } else {
        (inverted, then, otherwise)
    };
    if then.is_empty() {
        return (None, rest);
    }
    if otherwise.is_empty()
        && let Some((Node::Leave(target), copies)) = then.split_last()
        && is_forward(*target)
        && copies.iter().all(|node| matches!(node, Node::Pass { .. }))
    {
        let node = Node::LeaveIf {
            id,
            cond,
            inverted,
            copies: copies.to_vec(),
            target: *target,
        };
        return (Some(node), rest);
    }
    let node = Node::If {
        id,
        cond,
        inverted,
        then,
        otherwise,
    };
    (Some(node), rest)
}

fn joined(mut arm: Vec<Node>, rest: Vec<Node>) -> Vec<Node> {
    arm.extend(rest);
    arm
}

fn otherwise_ends(arm: &[Node]) -> bool {
    matches!(arm.last(), Some(Node::Leave(_)))
}

/// Parameters of a block ahead are not live before it, so anyone may write them.
fn is_forward(target: Target) -> bool {
    !matches!(target, Target::Again(_))
}

/// A scope around a loop with a single way out: what goes along that way is copied
/// behind the scope, once.
fn sink(mut scope: Node) -> Vec<Node> {
    let mut after = Vec::new();
    if let Node::Scope { target, body } = &mut scope
        && count(body, *target) == 1
        && let Some(Node::Loop { body, .. }) = body.last_mut()
    {
        let wanted = *target;
        let found = body.iter_mut().find_map(|node| match node {
            Node::LeaveIf { copies, target, .. } if *target == wanted => Some(copies),
            _ => None,
        });
        if let Some(copies) = found {
            after = std::mem::take(copies);
        }
    }
    let mut out = vec![scope];
    out.extend(after);
    out
}

/// How many places leave for `target`.
pub(super) fn count(region: &[Node], target: Target) -> usize {
    let mut total = 0;
    visit(region, &mut |node| match node {
        Node::Leave(to) | Node::LeaveIf { target: to, .. } if *to == target => total += 1,
        _ => {}
    });
    total
}

fn leaves(region: &[Node], target: Target) -> bool {
    count(region, target) > 0
}

/// Whether a loop in the region leaves for `target`.
fn loops_leave(region: &[Node], target: Target) -> bool {
    let mut found = false;
    visit(region, &mut |node| {
        if let Node::Loop { body, .. } = node {
            found |= leaves(body, target);
        }
    });
    found
}

/// Calls `f` with every node of a region.
pub(super) fn visit<'a>(region: &'a [Node], f: &mut impl FnMut(&'a Node)) {
    let mut work: Vec<&'a Node> = region.iter().rev().collect();
    while let Some(node) = work.pop() {
        f(node);
        match node {
            Node::If {
                then, otherwise, ..
            } => work.extend(otherwise.iter().rev().chain(then.iter().rev())),
            Node::Scope { body, .. } | Node::Loop { body, .. } => work.extend(body.iter().rev()),
            Node::LeaveIf { copies, .. } => work.extend(copies.iter().rev()),
            _ => {}
        }
    }
}
