//! Addresses that stand in memory, and faults that a dispatch goes on after.

use crate::common::program_of;
use assay_exec::{
    Bindings, Buffer, Fault, FaultKind, Forgiven, Grid, Limits, RunError, resident_address,
};

const SOURCE: &str = "#include <metal_stdlib>
using namespace metal;
struct Parts { device float *first; constant float *second; };
kernel void follow(device Parts *parts [[buffer(0)]], device float *sum [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    sum[i] = parts->first[i] + parts->second[i];
    parts->first[i] = -1.0f;
}
kernel void scale(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] *= 2.0f; }
kernel void outside(device float *x [[buffer(0)]], device float *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[i] = x[int(i) - 2] + 1.0f;
    x[i + 30] = 7.0f;
}
";

fn counted() -> Buffer {
    Buffer::from_slice(&(0..32).map(|n| n as f32).collect::<Vec<f32>>())
}

#[test]
fn a_kernel_follows_addresses_as_far_as_the_allocation() {
    let Some(program) = program_of(SOURCE, "k.metal", "follow") else {
        return;
    };
    assert!(program.follows_pointers());
    let run = |threads: u32| {
        let (mut first, mut second) = (vec![1.0f32; 32], vec![2.0f32; 64]);
        let mut bindings = Bindings::new();
        // SAFETY: the vectors outlive the bindings, and nothing else accesses them meanwhile.
        unsafe {
            let lent = |floats: &mut Vec<f32>| {
                Buffer::lent(floats.as_mut_ptr().cast(), floats.len() * 4, true)
            };
            bindings.set_resident(5, lent(&mut first), "buffer \"first\"");
            bindings.set_resident(900, lent(&mut second), "buffer \"second\"");
        }
        let parts = [resident_address(5), resident_address(900) + 64];
        bindings.set(0, Buffer::from_slice(&parts));
        bindings.set(1, Buffer::zeroed(256));
        let result = program.run(&Grid::line(threads, 32), &mut bindings, &Limits::default());
        let sum = bindings.take(1).map(|sum| sum.to_vec::<f32>());
        (result, sum.unwrap_or_default(), first)
    };
    let (result, sum, first) = run(32);
    assert!(result.is_ok() && sum[..32] == [3.0; 32] && first == [-1.0; 32]);
    let Err(RunError::Fault(fault)) = run(33).0 else {
        panic!("one number more is outside");
    };
    assert!(
        matches!(&fault.kind, FaultKind::OutOfBounds { offset: 128, target, .. } if target.contains("first")),
        "{fault}"
    );
}

#[test]
fn a_resident_can_be_bound_too() {
    let Some(program) = program_of(SOURCE, "k.metal", "scale") else {
        return;
    };
    assert!(!program.follows_pointers());
    let mut floats = vec![1.0f32; 40];
    let mut bindings = Bindings::new();
    // SAFETY: as above.
    let lent = unsafe { Buffer::lent(floats.as_mut_ptr().cast(), 160, true) };
    bindings.set_resident(3, lent, "floats");
    bindings.share_resident(0, 3, 32);
    let grid = Grid::line(32, 32);
    assert!(
        program
            .run(&grid, &mut bindings, &Limits::default())
            .is_ok()
    );
    assert_eq!((floats[7], floats[8], floats[39]), (1.0, 2.0, 2.0));
}

#[test]
fn forgiven_accesses_do_not_happen_and_the_rest_does() {
    let Some(program) = program_of(SOURCE, "k.metal", "outside") else {
        return;
    };
    let mut bindings = Bindings::new();
    bindings.set(0, counted());
    bindings.set(1, Buffer::zeroed(128));
    let forgiven = Forgiven::default();
    let limits = Limits {
        forgiven: Some(&forgiven),
        ..Limits::default()
    };
    assert!(
        program
            .run(&Grid::line(32, 32), &mut bindings, &limits)
            .is_ok()
    );
    let floats = |index| {
        bindings
            .get(index)
            .map(Buffer::to_vec::<f32>)
            .unwrap_or_default()
    };
    let y = floats(1);
    assert_eq!(y[..4], [1.0, 1.0, 1.0, 2.0]);
    let x = floats(0);
    assert_eq!((x[29], x[30], x[31]), (29.0, 7.0, 7.0));
    let faults: Vec<Fault> = forgiven.into_faults();
    let kinds: Vec<i64> = faults
        .iter()
        .map(|fault| match fault.kind {
            FaultKind::OutOfBounds { offset, .. } => offset,
            _ => 0,
        })
        .collect();
    assert_eq!((faults[0].thread, kinds), ([0, 0, 0], vec![-8, 128]));
}
