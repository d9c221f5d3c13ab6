//! Copies that a simdgroup makes together.

use crate::common::program_of;
use assay_exec::{Bindings, Buffer, Grid, Limits, Report, RunError, Sample};

const HEAD: &str = r#"#include <metal_stdlib>
using namespace metal;
struct _simdgroup_event_t;
using event = thread _simdgroup_event_t *;
event row_in(ulong, ulong, threadgroup void *, const device void *, ulong) __asm("air.simdgroup_async_copy_1d.p3i8.p1i8");
event tile_in(ulong, ulong, threadgroup void *, ulong, ulong, ulong2, const device void *, ulong, ulong, ulong2, long2, int)
    __asm("air.simdgroup_async_copy_2d.p3i8.p1i8");
event tile_out(ulong, ulong, device void *, ulong, ulong, ulong2, const threadgroup void *, ulong, ulong, ulong2, long2, int)
    __asm("air.simdgroup_async_copy_2d.p1i8.p3i8");
void await(int, thread event *) __asm("air.wait_simdgroup_events");
kernel void k(device float *x [[buffer(0)]], device float *y [[buffer(1)]], uint t [[thread_position_in_grid]],
              uint s [[simdgroup_index_in_threadgroup]]) {
    threadgroup float m[64]; event e[1];
"#;

fn floats(len: usize) -> Buffer {
    let values: Vec<f32> = (0..len).map(|i| i as f32).collect();
    Buffer::from_slice(&values)
}

fn bindings() -> Bindings {
    let mut bindings = Bindings::new();
    bindings.set(0, floats(256));
    bindings.set(1, Buffer::zeroed(64 * 4));
    bindings
}

type Checked = Result<Vec<Report>, RunError>;

/// What a body leaves in `y`, with and without checking, and what checking says.
fn results(body: &str) -> Option<(Vec<f32>, Checked)> {
    let program = program_of(&format!("{HEAD}{body}\n}}"), "k.metal", "k")?;
    let grid = Grid::line(64, 64);
    let (mut plain, mut checked) = (bindings(), bindings());
    let ran = program.run(&grid, &mut plain, &Limits::default());
    let reports = program.check(&grid, &mut checked, &Limits::default());
    let [left, right] = [plain, checked].map(|mut all| all.take(1).map(|y| y.to_vec::<f32>()));
    if ran.is_ok() {
        assert_eq!(left, right, "{body}");
    }
    Some((left.unwrap_or_default(), reports))
}

#[test]
fn tiles_go_in_and_out() {
    // Eight by four numbers of a source sixteen wide that ends after seven by three, and out again.
    for (mode, to_edge) in [(0, false), (1, true)] {
        let body = format!(
            "if (s == 0) {{ e[0] = tile_in(4, 4, m, 8, 1, ulong2(8, 4), x + 64, 16, 1, ulong2(7, 3), long2(0), {mode}); await(1, e);
             e[0] = row_in(4, 4, m + 32, x, 32); await(1, e); }}
             threadgroup_barrier(mem_flags::mem_threadgroup);
             if (s == 1) {{ e[0] = tile_out(4, 4, y, 16, 1, ulong2(8, 4), m, 8, 1, ulong2(8, 4), long2(0), 0); await(1, e); }}
             threadgroup_barrier(mem_flags::mem_device); if (t < 4) y[t * 16 + 8] = m[32 + t];"
        );
        let Some((found, reports)) = results(&body) else {
            return;
        };
        assert_eq!(reports, Ok(vec![]));
        let expected = |at: usize| {
            let (x, y) = (at % 16, at / 16);
            let inside = x < 7 && y < 3;
            match x {
                8 => y as f32,
                9.. => 0.0,
                _ if inside || to_edge => (64 + y.min(2) * 16 + x.min(6)) as f32,
                _ => 0.0,
            }
        };
        assert_eq!(found, (0..64).map(expected).collect::<Vec<f32>>(), "{mode}");
    }
}

#[test]
fn an_offset_moves_the_source() {
    let body = "if (s == 0) { e[0] = tile_in(4, 4, m, 8, 1, ulong2(8, 4), x, 16, 1, ulong2(16, 16), long2(3, -1), 0); await(1, e); }
        threadgroup_barrier(mem_flags::mem_threadgroup); if (t < 32) y[t] = m[t];";
    let Some((found, reports)) = results(body) else {
        return;
    };
    assert_eq!(reports, Ok(vec![]));
    let expected = |t: usize| match t / 8 {
        0 => 0.0,
        y => ((y - 1) * 16 + t % 8 + 3) as f32,
    };
    assert_eq!(&found[..32], (0..32).map(expected).collect::<Vec<f32>>());
}

#[test]
fn copies_are_checked_and_counted() {
    let kinds = |body: &str| {
        let reports = results(body)?.1.expect("no fault");
        let kinds = reports.iter().map(|report| report.kind.name());
        Some(kinds.collect::<Vec<_>>())
    };
    let copy = "if (s == 0) { e[0] = row_in(4, 4, m, x, 64); await(1, e); }";
    let met = "threadgroup_barrier(mem_flags::mem_threadgroup);";
    let Some(early) = kinds(&format!("{copy} y[t] = m[63 - t];")) else {
        return;
    };
    assert_eq!(early, ["race"]);
    assert_eq!(
        kinds(&format!("{copy} {met} y[t] = m[63 - t];")),
        Some(vec![])
    );
    let beyond = copy.replace("64)", "65)");
    assert_eq!(kinds(&beyond), Some(vec!["out-of-bounds"]));
    let text = format!("{HEAD}{copy} {met} y[t] = m[t];\n}}");
    let Some(program) = program_of(&text, "k.metal", "k") else {
        return;
    };
    let (mut all, limits) = (bindings(), Limits::default());
    let counts = program.count(&Grid::line(64, 64), &mut all, &limits, Sample::All);
    let counts = counts.expect("no fault");
    assert_eq!(counts.device.traffic.bytes_loaded, 64 * 4);
    assert_eq!(counts.threadgroup.traffic.bytes_stored, 64 * 4);
    // One that would go on for ever ends with the limit of steps.
    let endless = "e[0] = tile_in(4, 4, m, 0, 1, ulong2(1, ~0ul), x, 0, 1, ulong2(1, ~0ul), long2(0), 0); await(1, e);";
    let Some(program) = program_of(&format!("{HEAD}{endless}\n}}"), "k.metal", "k") else {
        return;
    };
    let limits = Limits {
        max_steps: 100_000,
        ..Limits::default()
    };
    let ran = program.run(&Grid::line(64, 64), &mut bindings(), &limits);
    assert!(matches!(ran, Err(RunError::Fault(_))), "{ran:?}");
}
