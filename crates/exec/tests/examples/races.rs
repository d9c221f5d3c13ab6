//! What is a race and what only looks like one, with the lines and threads of both sides.

use crate::common::program_of;
use assay_exec::{Bindings, Buffer, Grid, Limits, Report};

const HEAD: &str = "#include <metal_stdlib>
using namespace metal;
constant auto relaxed = memory_order_relaxed;
kernel void k(device volatile uint *x [[buffer(0)]], device uint *out [[buffer(1)]], uint i [[thread_position_in_grid]],
              uint t [[thread_index_in_threadgroup]], uint s [[simdgroup_index_in_threadgroup]],
              uint l [[thread_index_in_simdgroup]], uint g [[threadgroup_position_in_grid]]) {
    threadgroup volatile uint m[64]; device atomic_uint *a = (device atomic_uint *)x;
";
/// Lines before the body.
const LINES: usize = 7;

/// A line of the body, counted from 1.
fn line(place: Option<&String>) -> usize {
    let place = place.map_or("", |place| place);
    let line = place.split(':').nth(1).and_then(|line| line.parse().ok());
    line.unwrap_or(0usize).saturating_sub(LINES)
}

/// A report as `kind: action line/thread, other action line/thread`.
fn short(report: &Report) -> String {
    let location = report.location.as_ref();
    let mine = format!(
        "{} {}/{}",
        location.map_or("", |location| location.action),
        line(report.place.as_ref()),
        report.thread[0]
    );
    let other = report.other.as_ref().map(|other| {
        let line = line(other.place.as_ref());
        format!(", {} {line}/{}", other.action, other.thread[0])
    });
    format!(
        "{}: {mine}{}",
        report.kind.name(),
        other.unwrap_or_default()
    )
}

/// Runs bodies in two threadgroups of 64 threads; buffers start as zeros. Gives what is not as expected.
fn compare(cases: &[(&str, &[&str])]) {
    let mut wrong = String::new();
    for (body, expected) in cases {
        let text = format!("{HEAD}{body}\n}}");
        let Some(program) = program_of(&text, "k.metal", "k") else {
            return;
        };
        let mut bindings = Bindings::new();
        bindings.set(0, Buffer::zeroed(4096));
        bindings.set(1, Buffer::zeroed(4096));
        let reports = program.check(&Grid::line(128, 64), &mut bindings, &Limits::default());
        let found: Vec<String> = reports.expect("no fault").iter().map(short).collect();
        if found != *expected {
            wrong += &format!("{body}\n  {found:?}\n  instead of {expected:?}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn who_stores_the_same_as_others_still_changes_the_value() {
    compare(&[
        // Another simdgroup reads what lanes of the first have stored together.
        (
            "if (s == 0) m[t & 3] = 7;\nelse out[i] = m[t & 3];",
            &["race: read 2/32, write 1/0"],
        ),
        // The same, of memory that holds the number by chance: nobody has written it.
        (
            "if (s == 0) m[t & 3] = 0;\nelse out[i] = m[t & 3];",
            &["race: read 2/32, write 1/0"],
        ),
        // Both store, each its own number.
        ("m[t & 3] = s + 1;", &["race: write 1/32, write 1/0"]),
        // Another simdgroup stores the same by another instruction.
        (
            "if (s == 0) m[t & 3] = 7;\nthreadgroup_barrier(mem_flags::mem_none);\nif (s == 1) m[t & 3] = 7;",
            &["race: write 3/32, write 1/0"],
        ),
        // The last who stored the same goes on to store something else.
        (
            "m[0] = 7;\nif (t == 63) m[0] = 8;",
            &["race: write 2/63, write 1/0"],
        ),
        // The same in device memory that held the number before.
        (
            "x[g] = 0;\nif (t == 63) x[g] = 8;",
            &["race: write 2/63, write 1/0"],
        ),
        // One of those that store the same has read before the others.
        (
            "m[t] = 3; threadgroup_barrier(mem_flags::mem_threadgroup);\nif (t == 0) out[i] = m[0];\nm[0] = 7;",
            &["race: write 3/1, read 2/0"],
        ),
        // Lanes that did not store, of the simdgroup that did.
        (
            "if (l < 4) m[s] = s + 1;\nif (l >= 4) out[i] = m[s];",
            &["race: read 2/4, write 1/0"],
        ),
        // Vectors that overlap, with different numbers and with the same.
        (
            "volatile threadgroup packed_uint2 *v = (volatile threadgroup packed_uint2 *)(m + t % 32);\nif (s == 0) { v->x = t; v->y = t; }",
            &["race: write 2/0, write 2/1"],
        ),
    ]);
}

#[test]
fn storing_the_same_is_no_race() {
    compare(&[
        ("m[t & 3] = 7;", &[]),
        ("x[0] = 7;", &[]),
        // Each reads back what it has stored itself.
        ("m[t & 3] = 7;\nout[i] = m[t & 3];", &[]),
        // Not a change, as the number is there already: a race of equal values, and told as one.
        (
            "m[t] = 5; threadgroup_barrier(mem_flags::mem_threadgroup);\nm[(t + 1) & 63] = 5;\nout[i] = m[t];",
            &["equal-race: write 2/63, read 3/0"],
        ),
        // In order by a barrier.
        (
            "m[t & 3] = 7; threadgroup_barrier(mem_flags::mem_threadgroup);\nout[i] = m[0];\nthreadgroup_barrier(mem_flags::mem_threadgroup); m[0] = 8;",
            &[],
        ),
        // One simdgroup's lanes, in order by its own barrier.
        (
            "m[s] = s + 1; simdgroup_barrier(mem_flags::mem_threadgroup);\nif (l == 5) m[s] = 9;\nsimdgroup_barrier(mem_flags::mem_threadgroup); out[i] = m[s];",
            &[],
        ),
        // A collective orders the lanes of a simdgroup too.
        (
            "m[s] = s + 1; uint n = simd_sum(t);\nif (l == 5) m[s] = n;",
            &[],
        ),
        // Bytes side by side in one word.
        (
            "volatile threadgroup uchar *b = (volatile threadgroup uchar *)m; b[t] = t;\nthreadgroup_barrier(mem_flags::mem_threadgroup); out[i] = b[63 - t];",
            &[],
        ),
    ]);
}

#[test]
fn barriers_order_what_they_say() {
    compare(&[
        (
            "m[t] = t; threadgroup_barrier(mem_flags::mem_device);\nout[i] = m[63 - t];",
            &["race: read 2/0, write 1/63"],
        ),
        (
            "m[t] = t; threadgroup_barrier(mem_flags::mem_none);\nout[i] = m[63 - t];",
            &["race: read 2/0, write 1/63"],
        ),
        (
            "m[t] = 99; threadgroup_barrier(mem_flags::mem_threadgroup);\nm[t] = t; simdgroup_barrier(mem_flags::mem_threadgroup);\nout[i] = m[63 - t];",
            &["race: write 2/32, read 3/31", "race: read 3/32, write 2/31"],
        ),
        (
            "m[t] = t; simdgroup_barrier(mem_flags::mem_device);\nout[i] = m[t ^ 1];",
            &["race: read 2/0, write 1/1"],
        ),
        (
            "x[i] = t; threadgroup_barrier(mem_flags::mem_threadgroup);\nout[i] = x[i ^ 32];",
            &["race: read 2/0, write 1/32"],
        ),
        (
            "x[i] = t; threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);\nout[i] = x[i ^ 32];",
            &[],
        ),
        // Read by one simdgroup, then written by the other.
        (
            "m[t] = t; threadgroup_barrier(mem_flags::mem_threadgroup);\nout[i] = m[t ^ 32];\nm[t] = t + 1;",
            &["race: read 2/32, write 3/0", "race: write 3/32, read 2/0"],
        ),
    ]);
}

#[test]
fn atomics_race_with_plain_accesses_only() {
    compare(&[
        // A thread that stores without, and then goes on with the others.
        (
            "if (t == 0) x[g] = 5;\natomic_fetch_add_explicit(a + g, 1, relaxed);",
            &["race: atomic access 2/1, write 1/0"],
        ),
        // The last who added reads what others may still add to.
        (
            "atomic_fetch_add_explicit(a + g, 1, relaxed);\nif (t == 63) out[i] = x[g];",
            &["race: read 2/63, atomic access 1/31"],
        ),
        (
            "atomic_fetch_add_explicit(a + g, 1, relaxed); threadgroup_barrier(mem_flags::mem_device);\nif (t == 63) out[i] = x[g];",
            &[],
        ),
        // Reading is no writing, atomic or not.
        (
            "out[i] = atomic_load_explicit(a + g, relaxed);\nout[i] += x[g];",
            &[],
        ),
        (
            "if (s == 0) out[i] = atomic_load_explicit(a + g, relaxed);\nelse if (t == 32) x[g] = t;",
            &["race: write 2/32, atomic access 1/0"],
        ),
        (
            "if (s == 0) out[i] = atomic_load_explicit(a + g, relaxed);\nelse atomic_store_explicit(a + g, t, relaxed);",
            &[],
        ),
        // Of another threadgroup: who reads without may, who writes may not.
        (
            "if (g == 0) atomic_fetch_add_explicit(a, 1, relaxed);\nelse out[i] = x[0];",
            &[],
        ),
        (
            "if (g == 0) atomic_fetch_add_explicit(a, 1, relaxed);\nelse if (t == 0) x[0] = 3;",
            &["group-race: write 2/64, atomic access 1/63"],
        ),
        // Written without before it was added to, in the same threadgroup.
        (
            "if (i == 0) x[0] = 1; threadgroup_barrier(mem_flags::mem_device);\nif (g == 0) atomic_fetch_add_explicit(a, 1, relaxed);\nelse if (t == 0) out[i] = x[0];",
            &["group-race: read 3/64, write 1/0"],
        ),
    ]);
}

#[test]
fn threadgroups_race_by_plain_writes() {
    compare(&[
        ("x[t] = i + 1;", &["group-race: write 1/64, write 1/0"]),
        (
            "if (g == 0) x[t] = 7;\nthreadgroup_barrier(mem_flags::mem_none);\nif (g == 1) x[t] = 7;",
            &["group-race: write 3/64, write 1/0"],
        ),
        (
            "if (g == 0) out[i] = x[t];\nelse x[t] = 7;",
            &["group-race: write 2/64, read 1/0"],
        ),
        // Also if it stores what is there, in either order.
        (
            "if (g == 0) out[i] = x[t];\nelse x[t] = 0;",
            &["group-race: write 2/64, read 1/0"],
        ),
        (
            "if (g == 1) out[i] = x[t];\nelse x[t] = 0;",
            &["group-race: read 1/64, write 2/0"],
        ),
        // The other threadgroup has stored the same, and who reads here has not.
        (
            "if (t == 0) x[0] = 7;\nif (i == 105) out[i] = x[0];",
            &["race: read 2/105, write 1/64"],
        ),
        ("out[i] = x[t]; x[64 + i] = 1;", &[]),
    ]);
}

/// What all simdgroups access by a rule is looked at together; that must not miss what each by itself would show.
#[test]
fn accesses_by_a_rule_race_like_any_other() {
    let met = "threadgroup_barrier(mem_flags::mem_threadgroup);";
    let row = format!("m[t] = t; {met}\nout[i] = m[l];\nm[t] = 3;");
    let rows = format!(
        "m[t] = t; {met}\nout[i] = m[l] + m[l & 15] + m[l & 16] + m[s * 32 + (l & 16)];\n{met} m[t] = 4;\nout[i] += m[t];"
    );
    compare(&[
        // One number for all, one row for all, one number for each simdgroup and for each half.
        ("m[t] = t;\nout[i] = m[5];", &["race: read 2/0, write 1/5"]),
        ("m[t] = t;\nout[i] = m[l];", &["race: read 2/32, write 1/0"]),
        ("m[t] = t;\nout[i] = m[s];", &["race: read 2/1, write 1/0"]),
        (
            "m[t] = t;\nout[i] = m[t & ~15u];",
            &["race: read 2/1, write 1/0"],
        ),
        (&row, &["race: read 2/32, write 3/0"]),
        (&rows, &[]),
        // Rows of device memory.
        ("x[i] = t;\nout[i] = x[i] + 1;", &[]),
        (
            "x[i] = t; threadgroup_barrier(mem_flags::mem_device);\nout[i] = x[g * 64 + l];",
            &[],
        ),
        (
            "x[i] = t + 1;\nout[i] = x[g * 64 + l];",
            &["race: read 2/32, write 1/0"],
        ),
        (
            "x[i] = t; threadgroup_barrier(mem_flags::mem_device);\nout[i] = x[l];",
            &["group-race: read 2/64, write 1/0"],
        ),
        (
            "out[i] = x[t]; threadgroup_barrier(mem_flags::mem_device);\nx[i] = t;",
            &["group-race: read 1/64, write 2/0"],
        ),
    ]);
}
