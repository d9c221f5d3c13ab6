//! Structured control: which lanes run what, and where they meet again.
//!
//! A simdgroup runs its 32 threads in lockstep with a mask of active lanes. A graph
//! of blocks does not say where lanes that went different ways come together again;
//! this tree does. Its rules are all there is to know about reconvergence:
//!
//! * A [`Region`] runs its items in order. An item is skipped when no lane is active.
//! * [`Item::If`] runs `then` with the lanes for which the condition holds and
//!   `otherwise` with the rest. Afterwards the lanes of both that did not leave are
//!   active together.
//! * [`Item::Scope`] runs its body; lanes that [left](Item::Leave) it wait at its end
//!   and are active again after it.
//! * [`Item::Loop`] runs its body again and again. Lanes that reach the end of the
//!   body, and lanes that [repeat](Item::Repeat), start over together; the loop ends
//!   when no lane is left in it. Lanes only get out by leaving a scope around the loop
//!   or by returning.
//! * [`Item::Return`] takes lanes out for good.
//!
//! Values travel along edges: [`Item::Pass`] gives the parameters of a block the
//! arguments of one branch, all at once, for the active lanes.

use assay_ssa::{Block, BlockCall, Function, InstData, Value};
use std::fmt::Write as _;

/// What a lane can leave or repeat: the block that follows a scope, or a loop's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Label(
    /// The block control goes to.
    pub Block,
);

/// Which way out of a block an edge is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arm {
    /// The only successor, or the one taken when the condition holds.
    Then,
    /// The one taken when it does not.
    Otherwise,
}

/// Items that run in order.
pub type Region = Vec<Item>;

/// A piece of structured control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// The instructions of a block, without its terminator.
    Run(Block),
    /// Give the parameters of the target of an edge their values.
    Pass {
        /// The block the edge leaves.
        from: Block,
        /// Which edge.
        arm: Arm,
    },
    /// Part the active lanes by a condition.
    If {
        /// An `i1`, per lane.
        cond: Value,
        /// Runs where it holds.
        then: Region,
        /// Runs where it does not.
        otherwise: Region,
    },
    /// A region whose end lanes can skip to.
    Scope {
        /// The block that follows it.
        label: Label,
        /// What runs inside.
        body: Region,
    },
    /// A region that starts over at its end.
    Loop {
        /// Its header.
        label: Label,
        /// One iteration.
        body: Region,
    },
    /// The active lanes wait at the end of the enclosing scope with this label.
    Leave(Label),
    /// The active lanes wait for the next iteration of the enclosing loop with this label.
    Repeat(Label),
    /// The active lanes are done; `None` for the end of a function without result.
    Return(Option<Value>),
    /// Control never gets here.
    Unreachable,
}

/// The structured control of one function.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Tree {
    /// What the function does, from its entry.
    pub body: Region,
}

/// The target and the arguments of an edge.
pub fn edge(function: &Function, from: Block, arm: Arm) -> Option<BlockCall> {
    let terminator = *function.insts(from).last()?;
    match (function.inst(terminator), arm) {
        (InstData::Jump { target }, Arm::Then) => Some(*target),
        (InstData::Branch { then, .. }, Arm::Then) => Some(*then),
        (InstData::Branch { otherwise, .. }, Arm::Otherwise) => Some(*otherwise),
        _ => None,
    }
}

impl Tree {
    /// The tree as indented text, for tests and for `assay ir`.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        write_region(&mut out, &self.body, 0);
        out
    }
}

fn write_region(out: &mut String, region: &[Item], depth: usize) {
    for item in region {
        write_item(out, item, depth);
    }
}

fn write_item(out: &mut String, item: &Item, depth: usize) {
    let pad = "  ".repeat(depth);
    // Writing to a string cannot fail.
    let _ = match item {
        Item::Run(block) => writeln!(out, "{pad}run {block}"),
        Item::Pass {
            from,
            arm: Arm::Then,
        } => writeln!(out, "{pad}pass {from} then"),
        Item::Pass {
            from,
            arm: Arm::Otherwise,
        } => writeln!(out, "{pad}pass {from} otherwise"),
        Item::Leave(label) => writeln!(out, "{pad}leave {}", label.0),
        Item::Repeat(label) => writeln!(out, "{pad}repeat {}", label.0),
        Item::Return(None) => writeln!(out, "{pad}return"),
        Item::Return(Some(value)) => writeln!(out, "{pad}return {value}"),
        Item::Unreachable => writeln!(out, "{pad}unreachable"),
        Item::Scope { label, .. } => writeln!(out, "{pad}scope {}", label.0),
        Item::Loop { label, .. } => writeln!(out, "{pad}loop {}", label.0),
        Item::If { cond, .. } => writeln!(out, "{pad}if {cond}"),
    };
    match item {
        Item::Scope { body, .. } | Item::Loop { body, .. } => write_region(out, body, depth + 1),
        Item::If {
            then, otherwise, ..
        } => {
            write_region(out, then, depth + 1);
            if !otherwise.is_empty() {
                let _ = writeln!(out, "{pad}else");
                write_region(out, otherwise, depth + 1);
            }
        }
        _ => {}
    }
}
