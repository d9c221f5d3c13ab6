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
pub(in crate::lower) enum Target {
    /// Behind the scope of this label.
    Behind(Block),
    /// To the next iteration of the loop with this header.
    Again(Block),
    /// Out of the kernel.
    Out,
    /// Behind a scope made here, around one loop.
    Local(usize),
}

/// A piece of control.
#[derive(Clone, Debug)]
pub(in crate::lower) enum Node {
    /// A block's instructions.
    Run { id: usize, block: Block },
    /// The parameters of an edge's target get their values.
    Pass { id: usize, from: Block, arm: Arm },
    /// Values get the values of others, all at once.
    Copy {
        id: usize,
        pairs: Vec<(Value, Value)>,
    },
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
        /// Values that others hold by now.
        held: Vec<(Value, Value)>,
    },
    /// A region whose end lanes can go to.
    Scope { target: Target, body: Vec<Node> },
    /// A region that starts over.
    Loop { header: Block, body: Vec<Node> },
    /// The active lanes go away.
    Leave(Target),
}

/// The tree of a kernel, and how many numbers its nodes have.
pub(in crate::lower) fn shape(tree: &Tree) -> (Vec<Node>, usize) {
    let mut maker = Maker { next: 0 };
    let body = maker.region(&tree.body);
    let around = Around {
        next: Some(Target::Out),
        direct: Some(Target::Out),
        depth: 0,
    };
    let mut locals = 0;
    let body = settle(body, around, &mut locals);
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

/// What is around a region.
#[derive(Clone, Copy)]
struct Around {
    /// Where lanes are after its end.
    next: Option<Target>,
    /// What lanes can leave for without waiting for anything else.
    direct: Option<Target>,
    depth: usize,
}

impl Around {
    /// What is around an arm after whose end lanes are at `next`.
    fn arm(self, next: Option<Target>) -> Around {
        Around {
            next,
            direct: None,
            depth: self.depth + 1,
        }
    }
}

/// Simplifies a region.
fn settle(mut region: Vec<Node>, around: Around, locals: &mut usize) -> Vec<Node> {
    let next = around.next;
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
                let test = Test { id, cond, inverted };
                out.extend(part(test, (then, otherwise), &mut region, around, locals));
            }
            Node::Scope { target, body } => {
                let inside = Around {
                    next: Some(target),
                    direct: Some(target),
                    depth: around.depth + 1,
                };
                let body = settle(body, inside, locals);
                let node = Node::Scope { target, body };
                if leaves(std::slice::from_ref(&node), target) {
                    out.extend(sink(node));
                } else if let Node::Scope { body, .. } = node {
                    out.extend(body);
                }
            }
            Node::Loop { header, body } => match only_exit(&body, header) {
                // Lanes that leave for a place further out wait right behind the loop.
                Some(target) if around.direct != Some(target) && around.depth < DEEPEST => {
                    let local = Target::Local(*locals);
                    *locals += 1;
                    let body = redirected(body, target, local);
                    region.push(Node::Leave(target));
                    region.push(Node::Scope {
                        target: local,
                        body: vec![Node::Loop { header, body }],
                    });
                }
                _ => {
                    let inside = Around {
                        next: Some(Target::Again(header)),
                        direct: around.direct,
                        depth: around.depth + 1,
                    };
                    let body = settle(body, inside, locals);
                    out.push(Node::Loop { header, body });
                }
            },
            other => out.push(other),
        }
    }
    out
}

/// The one place a loop's lanes leave for.
fn only_exit(body: &[Node], header: Block) -> Option<Target> {
    let mut found: Option<Target> = None;
    let mut single = true;
    let mut inner: Vec<Target> = vec![Target::Again(header)];
    visit(body, &mut |node| match node {
        Node::Scope { target, .. } => inner.push(*target),
        Node::Loop { header, .. } => inner.push(Target::Again(*header)),
        _ => {}
    });
    visit(body, &mut |node| {
        if let Node::Leave(target) | Node::LeaveIf { target, .. } = node
            && !inner.contains(target)
        {
            single &= found.is_none_or(|known| known == *target);
            found = Some(*target);
        }
    });
    found.filter(|target| single && is_forward(*target))
}

/// A region whose lanes leave for another place.
fn redirected(region: Vec<Node>, from: Target, to: Target) -> Vec<Node> {
    let all = |region| redirected(region, from, to);
    region
        .into_iter()
        .map(|node| match node {
            Node::Leave(target) if target == from => Node::Leave(to),
            Node::If {
                id,
                cond,
                inverted,
                then,
                otherwise,
            } => Node::If {
                id,
                cond,
                inverted,
                then: all(then),
                otherwise: all(otherwise),
            },
            Node::Scope { target, body } => Node::Scope {
                target,
                body: all(body),
            },
            Node::Loop { header, body } => Node::Loop {
                header,
                body: all(body),
            },
            other => other,
        })
        .collect()
}

type Arms = (Vec<Node>, Vec<Node>);

/// The test of an `if`.
#[derive(Clone, Copy)]
struct Test {
    id: usize,
    cond: Value,
    inverted: bool,
}

impl Test {
    fn leave(self, inverted: bool, copies: Vec<Node>, target: Target) -> Node {
        Node::LeaveIf {
            id: self.id,
            cond: self.cond,
            inverted,
            copies,
            target,
            held: Vec::new(),
        }
    }
}

/// An `if` with what follows it, last first. Gives the node, and leaves what is still to follow.
fn part(
    test: Test,
    (then, otherwise): Arms,
    rest: &mut Vec<Node>,
    around: Around,
    locals: &mut usize,
) -> Option<Node> {
    let next = around.next;
    let at_next = |arm: &[Node]| match arm.last() {
        Some(Node::Leave(target)) => Some(*target) == next,
        _ => false,
    };
    // What follows an arm that goes where the region ends is the other arm.
    let may_absorb =
        |rest: &[Node]| around.depth < DEEPEST && !next.is_some_and(|next| loops_leave(rest, next));
    let (then, otherwise) = match (at_next(&then), at_next(&otherwise)) {
        (true, false) if !ends(&otherwise) && may_absorb(rest) => (then, joined(otherwise, rest)),
        (false, true) if !ends(&then) && may_absorb(rest) => (joined(then, rest), otherwise),
        _ => (then, otherwise),
    };
    // A loop that only some lanes enter, at the end of a scope that it leaves: the others
    // leave before it, and the loop is not nested.
    if let Some(next) = next
        && is_forward(next)
        && around.direct == Some(next)
        && rest.iter().all(|node| matches!(node, Node::Pass { .. }))
    {
        let (enters, inverted) = match (&then[..], &otherwise[..]) {
            (arm, []) => (arm, !test.inverted),
            ([], arm) => (arm, test.inverted),
            _ => (&[][..], test.inverted),
        };
        if matches!(enters.last(), Some(Node::Loop { .. })) && loops_leave(enters, next) {
            let node = test.leave(inverted, rest.drain(..).rev().collect(), next);
            *rest = if then.is_empty() { otherwise } else { then };
            rest.reverse();
            return Some(node);
        }
    }
    let arm = around.arm(if rest.is_empty() { next } else { None });
    let then = settle(then, arm, locals);
    let otherwise = settle(otherwise, arm, locals);
    let (inverted, then, otherwise) = if then.is_empty() {
        (!test.inverted, otherwise, then)
    } else {
        (test.inverted, then, otherwise)
    };
    if then.is_empty() {
        return None;
    }
    if otherwise.is_empty()
        && let Some((Node::Leave(target), copies)) = then.split_last()
        && is_forward(*target)
        && copies.iter().all(|node| matches!(node, Node::Pass { .. }))
    {
        let node = test.leave(inverted, copies.to_vec(), *target);
        return Some(node);
    }
    let node = Node::If {
        id: test.id,
        cond: test.cond,
        inverted,
        then,
        otherwise,
    };
    Some(node)
}

fn joined(mut arm: Vec<Node>, rest: &mut Vec<Node>) -> Vec<Node> {
    arm.extend(rest.drain(..).rev());
    arm
}

fn ends(arm: &[Node]) -> bool {
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
pub(in crate::lower) fn count(region: &[Node], target: Target) -> usize {
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
pub(in crate::lower) fn visit<'a>(region: &'a [Node], f: &mut impl FnMut(&'a Node)) {
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
