//! What a region costs to run, and whether it must not run without lanes.

use crate::lower::control::shape::{Node, visit};
use crate::lower::select::{Code, NodeCode};
use crate::mir::Inst;
use assay_agx::Op;

/// A load or store counts as this many instructions.
const MEMORY_COST: u32 = 10;

fn each_inst<'a>(region: &'a [Node], codes: &'a [Option<NodeCode>], f: &mut impl FnMut(&'a Inst)) {
    visit(region, &mut |node| {
        let (Node::Run { id, .. }
        | Node::Pass { id, .. }
        | Node::Copy { id, .. }
        | Node::If { id, .. }
        | Node::LeaveIf { id, .. }) = node
        else {
            return;
        };
        let code = codes.get(*id).and_then(Option::as_ref);
        for piece in code.map(|code| &code.code[..]).unwrap_or_default() {
            match piece {
                Code::Inst(inst) => f(inst),
                Code::Loop { body, .. } | Code::When { body, .. } => body.iter().for_each(&mut *f),
            }
        }
    });
}

pub(in crate::lower) fn has_barrier(region: &[Node], codes: &[Option<NodeCode>]) -> bool {
    let mut found = false;
    each_inst(region, codes, &mut |inst| {
        found |= is(inst, Op::ThreadgroupBarrier);
    });
    found
}

fn is(inst: &Inst, wanted: Op) -> bool {
    matches!(inst.opcode, crate::mir::Opcode::Machine { op, .. } if op == wanted)
}

pub(in crate::lower) fn cost(region: &[Node], codes: &[Option<NodeCode>]) -> u32 {
    let mut total = 0u32;
    each_inst(region, codes, &mut |inst| {
        let heavy = is(inst, Op::DeviceLoad) || is(inst, Op::Atomic);
        total += if heavy { MEMORY_COST } else { 1 };
    });
    total
}
