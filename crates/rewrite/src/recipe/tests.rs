//! What each recipe makes of a small program, as Metal. `codegen`'s judge compares what is computed.

use super::{Candidate, Geometry, Number, RefusalKind, Step, apply};
use assay_launch::Formula;

/// A program with buffers `o` and `x`, a number `n` and a two-dimensional position.
pub(super) fn candidate(body: &str) -> Candidate {
    let text = format!(
        "module \"m\"\n\
         kernel \"k\" f0 {{\n\
             \"o\" buffer 0 param 0 space device read_write type \"float\" size 4 align 4 noalias\n\
             \"x\" buffer 1 param 1 space device read type \"float\" size 4 align 4 noalias\n\
             \"n\" buffer 2 param 2 space constant read type \"uint\" size 4 align 4 buffer_size 4 noalias\n\
             \"g\" builtin thread_position_in_grid type \"uint2\"\n}}\n\
         function f0 \"k\" -> void {{\n\
         a0 = 0x1 0x6\n\
         a1 = 0x2 0x5\n\
         domains 0x7\n\
         b0(v0: ptr.device, v1: ptr.device, v2: ptr.constant):\n\
             v3: v3i32 = call thread_position_in_grid()\n\
             v4: i32 = extract v3, i32 0\n\
             v5: i32 = extract v3, i32 1\n\
             v6: i32 = load v2 align 4\n{body}}}\n"
    );
    let mut geometry = Geometry::threads("N, M", "16, 16").expect("a geometry");
    geometry.numbers.push(Number {
        buffer: 2,
        offset: 0,
        value: Formula::parse("K").expect("a formula"),
        added: false,
    });
    geometry.sizes.insert("K".to_owned(), 16);
    Candidate {
        module: assay_ssa::parse(&text).expect("a program"),
        kernel: "k".to_owned(),
        geometry,
    }
}

/// `o[x + y] = x[x + y] + 1`, without a guard.
const MAP: &str = "    v7: i32 = add v4, v5\n\
    \x20   v8: ptr.device = ptr_add v1 + zext v7 * 4\n\
    \x20   v9: f32 = load v8 align 4 alias a1\n\
    \x20   v10: f32 = fadd v9, f32 1.0\n\
    \x20   v11: ptr.device = ptr_add v0 + zext v7 * 4\n\
    \x20   store v11, v10 align 4 alias a0\n\
    \x20   return\n";

/// A sum of products over `n` rounds: `x[y * n + i] * x[i * n + x]`.
const CONTRACTION: &str = "    v7: i32 = mul v5, v6\n\
    \x20   jump b1(i32 0, f32 0.0)\n\
    b1(v8: i32, v9: f32):\n\
    \x20   v10: i1 = icmp ult v8, v6\n\
    \x20   branch v10, b2, b3\n\
    b2:\n\
    \x20   v11: i32 = add v7, v8\n\
    \x20   v12: ptr.device = ptr_add v1 + zext v11 * 4\n\
    \x20   v13: f32 = load v12 align 4 alias a1\n\
    \x20   v14: i32 = mul v8, v6\n\
    \x20   v15: i32 = add v14, v4\n\
    \x20   v16: ptr.device = ptr_add v1 + zext v15 * 4\n\
    \x20   v17: f32 = load v16 align 4 alias a1\n\
    \x20   v18: f32 = fma v13, v17, v9\n\
    \x20   v19: i32 = add v8, i32 1\n\
    \x20   jump b1(v19, v18)\n\
    b3:\n\
    \x20   v20: i32 = add v7, v4\n\
    \x20   v21: ptr.device = ptr_add v0 + zext v20 * 4\n\
    \x20   store v21, v9 align 4 alias a0\n\
    \x20   return\n";

/// Where a row is largest.
const ARGMAX: &str = "    v11: i32 = mul v4, v6\n\
    \x20   jump b1(i32 0, i32 0, f32 0xff800000)\n\
    b1(v7: i32, v8: i32, v9: f32):\n\
    \x20   v10: i1 = icmp ult v7, v6\n\
    \x20   branch v10, b2, b3\n\
    b2:\n\
    \x20   v12: i32 = add v11, v7\n\
    \x20   v13: ptr.device = ptr_add v1 + zext v12 * 4\n\
    \x20   v14: f32 = load v13 align 4 alias a1\n\
    \x20   v15: i1 = fcmp ogt v14, v9\n\
    \x20   v16: f32 = select v15, v14, v9\n\
    \x20   v17: i32 = select v15, v7, v8\n\
    \x20   v18: i32 = add v7, i32 1\n\
    \x20   jump b1(v18, v17, v16)\n\
    b3:\n\
    \x20   v19: ptr.device = ptr_add v0 + zext v4 * 4\n\
    \x20   store v19, v8 align 4 alias a0\n\
    \x20   return\n";

/// The sum of a row, by a pointer that walks along it.
const WALK: &str = "    v7: i32 = mul v4, v6\n\
    \x20   v8: ptr.device = ptr_add v1 + zext v7 * 4\n\
    \x20   v9: ptr.device = ptr_add v8 + zext v6 * 4\n\
    \x20   v10: i1 = icmp eq v6, i32 0\n\
    \x20   branch v10, b2(f32 0.0), b1(f32 0.0, v8)\n\
    b1(v11: f32, v12: ptr.device):\n\
    \x20   v13: f32 = load v12 align 4\n\
    \x20   v14: f32 = fadd v11, v13\n\
    \x20   v15: ptr.device = ptr_add v12 + 4\n\
    \x20   v16: i1 = icmp eq v15, v9\n\
    \x20   branch v16, b2(v14), b1(v14, v15)\n\
    b2(v17: f32):\n\
    \x20   v18: ptr.device = ptr_add v0 + zext v4 * 4\n\
    \x20   store v18, v17 align 4 alias a0\n\
    \x20   return\n";

/// The Metal that steps make, with the new grid and threadgroup.
fn rewritten(body: &str, steps: &str) -> Result<(String, String), super::Refusal> {
    let mut candidate = candidate(body);
    for step in steps.split('+') {
        let step: Step = step.parse().expect("a step");
        candidate = apply(&candidate, &step)?.candidate;
    }
    let grid = candidate.geometry.grid_threads();
    let grid: Vec<&str> = grid.iter().map(Formula::text).collect();
    Ok((candidate.print().expect("Metal"), grid.join(", ")))
}

fn check(body: &str, steps: &str, grid: &str, parts: &[&str]) {
    let (text, made) = rewritten(body, steps).expect("it applies");
    assert_eq!(made, grid, "{steps}");
    for part in parts {
        assert!(text.contains(part), "{steps} lacks {part}:\n{text}");
    }
}

#[test]
fn swapped_axes_exchange_positions_and_extents() {
    check(CONTRACTION, "swap-axes:x,y", "M, N, 1", &["g.x * n"]);
    let refusal = rewritten(MAP, "swap-axes:x").expect_err("one axis");
    assert_eq!(refusal.kind, RefusalKind::Parameter);
}

#[test]
fn a_coarsened_thread_guards_its_stores_and_nothing_else() {
    let (text, grid) = rewritten(MAP, "coarsen:x=2,strided").expect("it applies");
    assert_eq!(grid, "ceil_div(N, 2), M, 1");
    assert_eq!(text.matches("if (").count(), 1, "{text}");
    assert!(
        text.contains("constant uint& grid_x [[buffer(3)]]"),
        "{text}"
    );
    let refusal = rewritten(MAP, "coarsen:z=2").expect_err("z is not read");
    assert_eq!(refusal.kind, RefusalKind::NothingToDo);
}

#[test]
fn neighbours_become_vectors_where_all_are_inside() {
    let parts = ["packed_float4", "grid_x"];
    check(
        MAP,
        "coarsen:x=4,block+vectorize",
        "ceil_div(N, 4), M, 1",
        &parts,
    );
    let refusal = rewritten(MAP, "vectorize").expect_err("one element");
    assert_eq!(refusal.kind, RefusalKind::NothingToDo);
}

#[test]
fn a_special_version_stands_beside_the_general_one() {
    let parts = ["== 16u", "unroll(full)"];
    check(
        CONTRACTION,
        "specialize:buffer=2,value=16",
        "N, M, 1",
        &parts,
    );
}

#[test]
fn lanes_of_a_simdgroup_add_up_a_row() {
    let parts = ["simd_sum(", "+ 32u"];
    check(CONTRACTION, "simdgroup-rows:rows=4", "N * 32, M, 1", &parts);
}

#[test]
fn the_place_of_the_largest_is_that_of_the_lane_that_found_it_first() {
    let parts = ["simd_max(", "simd_min("];
    check(ARGMAX, "simdgroup-rows:rows=4", "N * 32, M, 1", &parts);
    // A place that the loop itself looks at is not taken along.
    let looking = ARGMAX.replace("add v11, v7", "add v8, v7");
    let refusal = rewritten(&looking, "simdgroup-rows:rows=4").expect_err("it is looked at");
    assert_eq!(refusal.kind, RefusalKind::NothingToDo);
    // How often a larger one was found depends on the order.
    let counting = "v20: i32 = zext v15\n    v17: i32 = add v8, v20";
    let counting = ARGMAX.replace("v17: i32 = select v15, v7, v8", counting);
    let refusal = rewritten(&counting, "simdgroup-rows:rows=4").expect_err("it is counted");
    assert_eq!(refusal.kind, RefusalKind::NothingToDo);
}

#[test]
fn a_pointer_that_walks_is_a_number_of_rounds() {
    let parts = ["simd_sum(", "+ 32u"];
    check(WALK, "simdgroup-rows:rows=4", "N * 32, M, 1", &parts);
    // One that stands still, or goes as far as what it reads says, is none.
    for step in ["ptr_add v12 + 0", "ptr_add v12 + zext v19 * 4"] {
        let body = WALK.replace("ptr_add v12 + 4", step).replace(
            "v14: f32 = fadd v11, v13\n",
            "v14: f32 = fadd v11, v13\n    v19: i32 = bitcast v13\n",
        );
        let refusal = rewritten(&body, "simdgroup-rows:rows=4").expect_err(step);
        assert_eq!(refusal.kind, RefusalKind::NothingToDo, "{step}");
    }
}

#[test]
fn the_loop_must_be_there_for_what_works_on_loops() {
    for steps in [
        "stage:k=16",
        "block",
        "matrices",
        "simdgroup-rows",
        "specialize:buffer=2,value=16",
    ] {
        let refusal = rewritten(MAP, steps).expect_err("there is no loop");
        assert_eq!(
            refusal.kind,
            RefusalKind::NothingToDo,
            "{steps}: {}",
            refusal.why
        );
    }
}

#[test]
fn a_persistent_thread_goes_on_until_the_grid_is_done() {
    let parts = ["< grid_x", "threads_per_grid"];
    check(MAP, "persistent:groups=64", "min(N, 1024), M, 1", &parts);
}
