//! Which dispatches are streamed, and that they leave what the interpreter leaves.

use super::Plan;
use crate::{Bindings, Buffer, Grid, Limits, Options, Program, SimdLevel};

const WIDTH: u32 = 4 * 32 + 13;
const HEIGHT: u32 = 3;

/// A kernel over two buffers, `v0` and `v1`. `v3` is a thread's column, `v4` its row, `v5` its number.
fn compile(body: &str, level: SimdLevel) -> Program {
    let text = format!(
        "module \"m\"\n\
         kernel \"k\" f0 {{\n\
             \"a\" buffer 0 param 0 space device read_write type \"float\" size 4 align 4\n\
             \"b\" buffer 1 param 1 space device read_write type \"float\" size 4 align 4\n}}\n\
         function f0 \"k\" -> void {{\n\
         b0(v0: ptr.device, v1: ptr.device):\n\
             v2: v3i32 = call thread_position_in_grid()\n\
             v3: i32 = extract v2, i32 0\n\
             v4: i32 = extract v2, i32 1\n\
             v6: i32 = mul v4, i32 {WIDTH}\n\
             v5: i32 = add v6, v3\n\
             v8: ptr.device = ptr_add v0 + v5 * 4\n\
             v9: ptr.device = ptr_add v1 + v5 * 4\n\
             {body}\n}}\n"
    );
    let mut module = assay_ssa::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assay_opt::pipeline::optimize(&mut module).expect("optimises");
    let options = Options {
        simd: level,
        ..Options::default()
    };
    Program::compile(&module, "k", &options).expect("compiles")
}

fn bindings() -> Bindings {
    let count = WIDTH * HEIGHT + 1;
    let numbers = |factor: u32| (0..count).map(move |at| (at * factor % 91) as f32 - 40.0);
    let mut bindings = Bindings::new();
    bindings.set(0, Buffer::from_slice(&numbers(7).collect::<Vec<_>>()));
    bindings.set(1, Buffer::from_slice(&numbers(11).collect::<Vec<_>>()));
    bindings
}

fn contents(bindings: &Bindings) -> Vec<Vec<u8>> {
    let buffers = (0..2).filter_map(|index| bindings.get(index));
    buffers.map(|buffer| buffer.bytes().to_vec()).collect()
}

/// Returns true if the dispatch is streamed. Then it leaves what the interpreter leaves.
fn is_streamed(body: &str) -> bool {
    let grid = Grid::threads([WIDTH, HEIGHT, 1], [32, 1, 1]);
    let limits = Limits::default();
    let mut streamed = false;
    for level in SimdLevel::available() {
        let program = compile(body, level);
        let mut run = bindings();
        let job = program.job(&grid, &mut run, &limits).expect("a job");
        streamed = Plan::of(&job).is_some();
        drop(job);
        if !streamed {
            return false;
        }
        program.run(&grid, &mut run, &limits).expect("runs");
        let mut checked = bindings();
        program
            .check(&grid, &mut checked, &limits)
            .expect("is checked");
        assert_eq!(contents(&run), contents(&checked), "{level:?} {body}");
    }
    streamed
}

#[test]
fn elementwise_kernels_are_streamed() {
    assert!(is_streamed(
        "v10: f32 = load v8 align 4\n v11: f32 = load v9 align 4\n v12: f32 = fma v10, f32 3.0, v11\n\
         store v9, v12 align 4\n return"
    ));
    assert!(is_streamed(
        "v10: f32 = load v8 align 4\n store v9, v10 align 4\n return"
    ));
}

#[test]
fn a_value_that_is_overwritten_in_memory_is_kept() {
    // A swap: both loads come before both stores.
    assert!(is_streamed(
        "v10: f32 = load v8 align 4\n v11: f32 = load v9 align 4\n store v8, v11 align 4\n\
         store v9, v10 align 4\n return"
    ));
    // The old number is used after the new one is stored.
    assert!(is_streamed(
        "v10: f32 = load v8 align 4\n v11: f32 = fadd v10, f32 1.0\n store v8, v11 align 4\n\
         v12: f32 = fmul v10, v11\n store v9, v12 align 4\n return"
    ));
}

#[test]
fn positions_are_numbers_too() {
    assert!(is_streamed(
        "v10: f32 = utof v3\n v11: f32 = load v8 align 4\n v12: f32 = fmul v10, v11\n\
         store v9, v12 align 4\n return"
    ));
}

#[test]
fn bytes_and_shorts_are_streamed_through_registers() {
    assert!(is_streamed(
        "v10: ptr.device = ptr_add v0 + v5 * 2\n v11: i16 = load v10 align 2\n\
         v12: ptr.device = ptr_add v1 + v5 * 1\n v13: i8 = trunc v11\n store v12, v13 align 1\n return"
    ));
}

#[test]
fn threads_that_access_each_others_numbers_are_interpreted() {
    // The neighbour's number.
    assert!(!is_streamed(
        "v10: i32 = add v5, i32 1\n v11: ptr.device = ptr_add v0 + v10 * 4\n v12: f32 = load v11 align 4\n\
         store v9, v12 align 4\n store v8, v12 align 4\n return"
    ));
    // All rows write the same numbers.
    assert!(!is_streamed(
        "v10: ptr.device = ptr_add v1 + v3 * 4\n store v10, f32 1.0 align 4\n return"
    ));
    // Numbers that overlap.
    assert!(!is_streamed(
        "v10: ptr.device = ptr_add v1 + v5 * 1\n store v10, i16 7 align 1\n return"
    ));
}

#[test]
fn a_branch_that_threads_take_differently_is_interpreted() {
    let branch = |bound: u32| {
        is_streamed(&format!(
            "v10: i1 = icmp ult v3, i32 {bound}\n branch v10, b1, b2\nb1:\n\
             v11: f32 = load v8 align 4\n store v9, v11 align 4\n jump b2\nb2:\n return"
        ))
    };
    assert!(branch(WIDTH));
    assert!(branch(0));
    assert!(!branch(WIDTH - 1));
}

#[test]
fn what_could_fault_is_interpreted() {
    let program = compile(
        "v10: f32 = load v8 align 4\n store v9, v10 align 4\n return",
        SimdLevel::detect(),
    );
    let (grid, limits) = (
        Grid::threads([WIDTH, HEIGHT, 1], [32, 1, 1]),
        Limits::default(),
    );
    let mut short = bindings();
    short.set(1, Buffer::zeroed((WIDTH * HEIGHT - 1) as usize * 4));
    let fault = program
        .run(&grid, &mut short, &limits)
        .unwrap_err()
        .to_string();
    assert!(fault.contains("140"), "the last thread's column: {fault}");
}
