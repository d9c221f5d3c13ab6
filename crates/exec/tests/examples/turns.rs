//! Threads that wait for others: all get on, and a loop that nothing can end is named.

use crate::common::program_of;
use assay_exec::{Bindings, Buffer, FaultKind, Grid, Limits, RunError};

const SOURCE: &str = "#include <metal_stdlib>
using namespace metal;
#define ARGS device atomic_uint *n [[buffer(0)]], device uint *x [[buffer(1)]], uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]
kernel void grid_barrier(ARGS, uint groups [[threadgroups_per_grid]]) {
    x[i] = i;
    threadgroup_barrier(mem_flags::mem_device);
    if (t == 0) {
        atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
        while (atomic_load_explicit(n, memory_order_relaxed) < groups) {}
    }
    threadgroup_barrier(mem_flags::mem_device);
    x[i] += atomic_load_explicit(n, memory_order_relaxed);
}
kernel void another_simdgroup(ARGS) {
    threadgroup atomic_uint flag;
    if (t == 0) atomic_store_explicit(&flag, 0, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < 32) {
        while (atomic_load_explicit(&flag, memory_order_relaxed) == 0) {}
    } else {
        atomic_store_explicit(&flag, 1, memory_order_relaxed);
    }
    x[i] = 2;
}
kernel void never(ARGS) {
    while (atomic_load_explicit(n, memory_order_relaxed) < 1000) {}
    x[i] = 1;
}
";

const THREADS: u32 = 64 * 40;

/// Runs a kernel on one thread of the CPU, or checks it; nothing without a compiler.
fn outcome(kernel: &str, check: bool) -> Option<(Result<(), RunError>, Vec<u32>)> {
    let program = program_of(SOURCE, "turns.metal", kernel)?;
    let mut bindings = Bindings::new();
    bindings.set(0, Buffer::from_slice(&[0u32; 4]));
    bindings.set(1, Buffer::from_slice(&vec![0u32; THREADS as usize]));
    let (grid, limits) = (Grid::line(THREADS, 64), Limits::default());
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let ended = one.expect("a thread").install(|| match check {
        true => program.check(&grid, &mut bindings, &limits).map(|_| ()),
        false => program.run(&grid, &mut bindings, &limits).map(|_| ()),
    });
    let x = bindings.get(1).map(|buffer| buffer.to_vec::<u32>());
    Some((ended, x.unwrap_or_default()))
}

#[test]
fn threadgroups_meet_on_one_thread() {
    let Some((ended, x)) = outcome("grid_barrier", false) else {
        return;
    };
    assert_eq!(ended, Ok(()));
    let groups = THREADS / 64;
    assert!((0..).zip(&x).all(|(i, &x)| x == i + groups));
}

#[test]
fn simdgroups_wait_for_each_other() {
    for check in [false, true] {
        let Some((ended, x)) = outcome("another_simdgroup", check) else {
            return;
        };
        assert_eq!(ended, Ok(()));
        assert!(x.iter().all(|&x| x == 2));
    }
}

/// Checking runs threadgroups one after the other, so they cannot meet.
#[test]
fn a_loop_that_nothing_ends_is_named() {
    for (kernel, check, line) in [
        ("never", false, 26),
        ("never", true, 26),
        ("grid_barrier", true, 9),
    ] {
        let Some((ended, _)) = outcome(kernel, check) else {
            return;
        };
        let Err(RunError::Fault(fault)) = ended else {
            panic!("{kernel}: {ended:?}");
        };
        assert_eq!(fault.kind, FaultKind::NoProgress, "{kernel}");
        let place = fault.place.expect("a place");
        assert!(
            place.starts_with(&format!("turns.metal:{line}")),
            "{kernel}: {place}"
        );
    }
}
