//! A dispatch that is interpreted goes on with machine code once there is some.

use super::compiler;
use assay_exec::{Bindings, Buffer, Grid, Limits, NativeState, Options, Program};
use std::sync::Arc;
use std::time::Duration;

/// Each thread adds numbers for a while, and writes the sum.
const SLOW: &str = "module \"m\"
kernel \"k\" f0 {
    \"out\" buffer 0 param 0 space device read_write type \"uint\" size 4 align 4
}
function f0 \"k\" -> void {
b0(v0: ptr.device):
    v20: v3i32 = call thread_position_in_grid()
    v1: i32 = extract v20, i32 0
    jump b1(i32 0, v1)
b1(v2: i32, v3: i32):
    v4: i32 = mul v3, i32 1664525
    v5: i32 = add v4, i32 1013904223
    v6: i32 = add v2, i32 1
    v7: i1 = icmp ult v6, i32 2000
    branch v7, b1(v6, v5), b2(v5)
b2(v8: i32):
    v9: i64 = zext v1
    v10: ptr.device = ptr_add v0 + v9 * 4
    store v10, v8 align 4
    return
}
";

fn run(program: &Program, threads: u32) -> Vec<u8> {
    let mut bindings = Bindings::new();
    bindings.set(0, Buffer::zeroed(threads as usize * 4));
    let grid = Grid::line(threads, 64);
    let limits = Limits::default();
    program
        .run(&grid, &mut bindings, &limits)
        .expect("no fault");
    bindings.take(0).expect("the buffer").bytes().to_vec()
}

#[test]
fn a_dispatch_goes_on_with_machine_code() {
    let Some(compiler) = compiler() else { return };
    let module = assay_ssa::parse(SLOW).expect("a program");
    assay_ssa::verify(&module).expect("a sound program");
    let options = Options {
        native: true,
        ..Options::default()
    };
    let plain = Program::compile(&module, "k", &Options::default()).expect("compiled");
    let native = Program::compile(&module, "k", &options).expect("compiled");
    native.make_native_later(Arc::new(compiler.clone()), Duration::ZERO);
    // Long enough for clang to be ready before its end, on a slow machine too: some seconds of interpreting.
    let threads = 1 << 19;
    let found = run(&native, threads);
    // Only where clang takes longer than all that.
    while native.native_state([64, 1, 1]) == NativeState::InTheMaking {
        std::thread::sleep(Duration::from_millis(20));
    }
    let state = native.native_state([64, 1, 1]);
    assert!(matches!(state, NativeState::Ready(_)), "{state:?}");
    assert!(found == run(&native, threads));
    // The interpreter's word on a part of it.
    let part = 1 << 14;
    assert!(found[..part as usize * 4] == run(&plain, part));
    let last = |bytes: &[u8]| bytes[bytes.len() - 4..].to_vec();
    assert_ne!(last(&found), [0; 4]);
}

#[test]
fn what_is_short_stays_interpreted() {
    let Some(compiler) = compiler() else { return };
    let module = assay_ssa::parse(SLOW).expect("a program");
    let options = Options {
        native: true,
        ..Options::default()
    };
    let program = Program::compile(&module, "k", &options).expect("compiled");
    program.make_native_later(Arc::new(compiler.clone()), Duration::from_secs(3600));
    run(&program, 256);
    assert_eq!(program.native_state([64, 1, 1]), NativeState::NotWorth);
}

#[test]
fn what_is_timed_no_longer_changes() {
    let Some(compiler) = compiler() else { return };
    let module = assay_ssa::parse(SLOW).expect("a program");
    let options = Options {
        native: true,
        ..Options::default()
    };
    // What is too short for it, and what is being made.
    for worth in [Duration::from_secs(3600), Duration::ZERO] {
        let program = Program::compile(&module, "k", &options).expect("compiled");
        program.make_native_later(Arc::new(compiler.clone()), worth);
        run(&program, 256);
        program.settle_native([64, 1, 1]);
        let state = program.native_state([64, 1, 1]);
        assert!(matches!(state, NativeState::Ready(_)), "{state:?}");
    }
    // Nobody asked for machine code.
    let plain = Program::compile(&module, "k", &options).expect("compiled");
    plain.settle_native([64, 1, 1]);
    assert_eq!(plain.native_state([64, 1, 1]), NativeState::NotWorth);
}
