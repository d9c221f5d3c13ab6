//! Loops without an end are stopped.

use super::both;
use assay_exec::{Bindings, Buffer, FaultKind, Grid, Limits, Program, RunError};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const ENDLESS: &str = "module \"m\"
kernel \"k\" f0 {
    \"out\" buffer 0 param 0 space device read_write type \"int\" size 4 align 4
}
function f0 \"k\" -> void {
b0(v0: ptr.device):
    jump b1(i32 0)
b1(v1: i32):
    v2: i32 = add v1, i32 1
    store v0, v2 align 4
    jump b1(v2)
}
";

fn run(program: &Program, limits: &Limits<'_>) -> FaultKind {
    let mut bindings = Bindings::new();
    bindings.set(0, Buffer::zeroed(4));
    match program.run(&Grid::line(64, 64), &mut bindings, limits) {
        Err(RunError::Fault(fault)) => fault.kind,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_endless_loop_ends_at_its_limit() {
    let Some([plain, native]) = both(ENDLESS, [64, 1, 1]) else {
        return;
    };
    let limits = Limits {
        max_steps: 10_000,
        ..Limits::default()
    };
    for program in [plain, native] {
        let kind = run(&program, &limits);
        assert!(matches!(kind, FaultKind::TooManySteps { .. }), "{kind:?}");
    }
}

#[test]
fn an_endless_loop_ends_on_request() {
    let Some([_, native]) = both(ENDLESS, [64, 1, 1]) else {
        return;
    };
    let cancel = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            cancel.store(true, Ordering::Relaxed);
        });
        let limits = Limits {
            cancel: Some(&cancel),
            ..Limits::default()
        };
        assert_eq!(run(&native, &limits), FaultKind::Cancelled);
    });
}
