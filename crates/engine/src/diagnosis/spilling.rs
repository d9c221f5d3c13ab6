//! Weighs `spilling` where a launch was executed: accesses to the stack, which lies in device memory.

use super::look::{Found, Look, advice, seen};
use assay_predict::execution::Space;
use assay_predict::removal;
use assay_predict::seen::SeenAccess;

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Found>) {
    let stack = look.seen.accesses.iter();
    let stack: Vec<&SeenAccess> = stack
        .filter(|one| one.access.space == Space::Stack)
        .collect();
    if stack.is_empty() {
        return;
    }
    let offsets = look.heaviest(stack.iter().map(|one| (one.offset(), one.executions)));
    let times: f64 = stack.iter().map(|one| one.executions).sum();
    out.push(Found {
        message: format!("a threadgroup goes to the stack {times:.0} times: registers or a private array do not fit"),
        seen: vec![seen("stack accesses of a threadgroup", times, 0.0)],
        without: Some(removal::without_stack(look.sampled, &look.seen)),
        cure: advice("index private arrays with constants, or keep fewer values alive"),
        offsets,
        ..Found::default()
    });
}
