//! Broken kernels are caught at the line that is wrong, and whatever else happens the reports are the same every time.

use crate::common::{program_of, random};
use assay_exec::{Bindings, Buffer, Grid, Limits, Report, ReportKind, RunError};
use std::path::Path;

/// What a kernel of `examples/broken` says about itself.
struct Broken {
    name: String,
    text: String,
    grid: Grid,
    buffers: Vec<usize>,
    kind: String,
    line: usize,
}

fn broken() -> Vec<Broken> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/broken");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy();
        let text = std::fs::read_to_string(&path).expect("a text");
        let dispatch = text.lines().find(|line| line.starts_with("// dispatch:"));
        let numbers: Vec<u32> = dispatch
            .expect("a dispatch")
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|number| number.parse().ok())
            .collect();
        let expectations: Vec<(usize, &str)> = text
            .lines()
            .enumerate()
            .filter_map(|(line, text)| Some((line + 1, text.split_once("// expect: ")?.1)))
            .collect();
        let [(line, kind)] = expectations[..] else {
            panic!("{name}: one line is wrong");
        };
        all.push(Broken {
            name: name.to_string(),
            grid: Grid::line(numbers[0], numbers[1]),
            buffers: numbers[2..].iter().map(|&n| n as usize).collect(),
            kind: kind.to_owned(),
            line,
            text: text.clone(),
        });
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

impl Broken {
    fn reports(&self) -> Option<Vec<Report>> {
        let program = program_of(&self.text, &format!("{}.metal", self.name), &self.name)?;
        let mut bindings = Bindings::new();
        for (index, &len) in (0..).zip(&self.buffers) {
            bindings.set(index, Buffer::from_slice(&random(index + 1, len)));
        }
        let reports = program.check(&self.grid, &mut bindings, &Limits::default());
        Some(reports.unwrap_or_else(|error| panic!("{}: {error}", self.name)))
    }
}

/// Whether a place is that line, with or without a column.
fn is_at(known: &str, line: &str) -> bool {
    let with_column = || {
        known
            .rsplit_once(':')
            .is_some_and(|(known, _)| known.ends_with(line))
    };
    known.ends_with(line) || with_column()
}

#[test]
fn every_broken_kernel_is_caught_at_its_line() {
    let mut kinds = Vec::new();
    for broken in broken() {
        let Some(reports) = broken.reports() else {
            return;
        };
        let place = format!("{}.metal:{}", broken.name, broken.line);
        let right = |report: &&Report| {
            report.kind.name() == broken.kind
                && report.kernel == broken.name
                && report
                    .place
                    .as_ref()
                    .is_some_and(|known| is_at(known, &place))
        };
        let all: Vec<String> = reports.iter().map(Report::to_string).collect();
        let found = reports.iter().find(right);
        let found = found.unwrap_or_else(|| panic!("{} at {place} not in {all:#?}", broken.kind));
        assert!(
            reports.iter().all(|report| report.kind == found.kind),
            "something else too: {all:#?}"
        );
        kinds.push(found.kind);
        let in_memory = !matches!(
            found.kind,
            ReportKind::DivergentBarrier | ReportKind::InactiveLane | ReportKind::PartialMatrix
        );
        assert_eq!(found.location.is_some(), in_memory, "{found}");
        let two = matches!(found.kind, ReportKind::Race | ReportKind::GroupRace);
        assert_eq!(found.other.is_some(), two, "{found}");
        assert_eq!(broken.reports(), Some(reports), "the same every time");
    }
    kinds.sort();
    kinds.dedup();
    assert_eq!(kinds.len(), 8, "a kernel for each kind: {kinds:?}");
}

#[test]
fn a_report_names_both_sides() {
    let all = broken();
    let race = all.iter().find(|b| b.name == "missing_barrier");
    let Some(reports) = race.expect("the kernel").reports() else {
        return;
    };
    let report = &reports[0];
    let location = report.location.as_ref().expect("memory");
    let other = report.other.as_ref().expect("another");
    // Thread 32, the first of its simdgroup, writes what thread 31 of the other has read.
    assert_eq!((report.thread, other.thread), ([32, 0, 0], [31, 0, 0]));
    assert_eq!((location.offset, location.size), (32 * 4, 4));
    assert_eq!((location.action, other.action), ("write", "read"));
    let text = report.to_string();
    assert!(text.contains("missing_barrier.metal:13"), "{text}");
    assert!(text.contains("missing_barrier.metal:12"), "{text}");
}

/// Each of 150 reads of memory that nobody has written is reported by itself, as far as there is room.
#[test]
fn many_reports_of_one_kind_do_not_hide_another() {
    let reads: String = (0..150).map(|n| format!("sum += m[{n}];\n")).collect();
    let text = format!(
        "#include <metal_stdlib>\nusing namespace metal;\n\
         kernel void k(device uint *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {{\n\
         threadgroup volatile uint m[256]; uint sum = 0;\n{reads}out[i & 1] = sum + i;\n}}"
    );
    let Some(program) = program_of(&text, "k.metal", "k") else {
        return;
    };
    let mut bindings = Bindings::new();
    bindings.set(0, Buffer::zeroed(64));
    let reports = program.check(&Grid::line(128, 64), &mut bindings, &Limits::default());
    let reports = reports.expect("no fault");
    let of = |kind| reports.iter().filter(|report| report.kind == kind).count();
    assert_eq!(of(ReportKind::Uninitialised), 100);
    assert_ne!(of(ReportKind::Race), 0);
}

/// Two lanes add to one number: each of them reads it before it writes, and the report must not set one against itself.
#[test]
fn a_race_is_between_two_threads() {
    let head = "#include <metal_stdlib>\nusing namespace metal;\n";
    let sources = [
        ("x[i / 2] += 1;", [0, 1]),
        ("float y = x[0]; if (i == 1) x[0] = y + 1;", [1, 0]),
        ("float y = x[0]; if (i == 40) x[0] = y + 1;", [40, 32]),
    ];
    for (body, threads) in sources {
        let text = format!(
            "{head}kernel void k(device volatile float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {{ {body} }}"
        );
        let Some(program) = program_of(&text, "k.metal", "k") else {
            return;
        };
        let mut bindings = Bindings::new();
        bindings.set(0, Buffer::zeroed(1024));
        let reports = program.check(&Grid::line(64, 64), &mut bindings, &Limits::default());
        let reports = reports.expect("no fault");
        assert_eq!(reports[0].kind, ReportKind::Race, "{body}: {reports:?}");
        let other = reports[0].other.as_ref().expect("another");
        let found = [reports[0].thread[0], other.thread[0]];
        assert_eq!(found, threads, "{body}: {}", reports[0]);
    }
}

#[test]
fn padding_is_never_uninitialised() {
    let head = "#include <metal_stdlib>\nusing namespace metal;\nstruct S { char c; int v; };\n";
    let written = "threadgroup_barrier(mem_flags::mem_threadgroup);";
    let threadgroup = format!(
        "threadgroup float3 s[64]; s[t].x = x[i]; s[t].y = 1; s[t].z = 2; {written} float3 v = s[63 - t]; x[i] = v.x + v.y * v.z;"
    );
    let thread = "float3 s[4]; for (int k = 0; k < 4; k++) { s[k].x = x[i]; s[k].y = k; s[k].z = 2; }
        float3 r[4]; for (int k = 0; k < 4; k++) r[(k + i) & 3] = s[k];
        float3x3 m(r[i & 3], r[(i + 1) & 3], float3(0)); float3x3 n[2] = {m, m}; n[i & 1][1] = float3(1);
        x[i] = n[(i >> 1) & 1][i % 3].y;";
    let gap = format!(
        "threadgroup S s[64]; s[t].c = 1; s[t].v = int(i); {written} S q = s[63 - t]; x[i] = q.c + q.v;"
    );
    let missing = format!(
        "threadgroup float3 s[64]; s[t].x = x[i]; s[t].z = 2; {written} float3 v = s[63 - t]; x[i] = v.x + v.y * v.z;"
    );
    let given = |body: &str| {
        let body = body.split_once("s[64]; ").map_or("", |(_, body)| body);
        format!("threadgroup float3 *s = given; {body}")
    };
    let halves = |body: &str| {
        given(body)
            .replace("float3", "half3")
            .replace("given", "halves")
    };
    for (body, expected) in [
        (threadgroup.as_str(), None),
        (thread, None),
        (gap.as_str(), None),
        (missing.as_str(), Some(ReportKind::Uninitialised)),
        (&given(&threadgroup), None),
        (&given(&missing), Some(ReportKind::Uninitialised)),
        (&halves(&threadgroup), None),
        (&halves(&missing), Some(ReportKind::Uninitialised)),
    ] {
        let text = format!(
            "{head}kernel void k(device float *x [[buffer(0)]], threadgroup float3 *given [[threadgroup(0)]], threadgroup half3 *halves [[threadgroup(1)]], uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]) {{ {body} }}"
        );
        let Some(program) = program_of(&text, "k.metal", "k") else {
            return;
        };
        let mut bindings = Bindings::new();
        bindings.set(0, Buffer::zeroed(1024));
        bindings.set_threadgroup_memory(0, 64 * 16);
        bindings.set_threadgroup_memory(1, 64 * 8);
        let reports = program.check(&Grid::line(256, 64), &mut bindings, &Limits::default());
        let reports = reports.expect("no fault");
        let first = reports.first().map(|report| report.kind);
        assert_eq!(first, expected, "{body}: {reports:?}");
    }
}

/// Lanes that returned, that never were, or that have nothing left to do are not missed at a barrier of the simdgroup.
#[test]
fn only_lanes_that_go_on_are_missed_by_their_simdgroup() {
    let head = "#include <metal_stdlib>\nusing namespace metal;\n";
    let barrier = "simdgroup_barrier(mem_flags::mem_device);";
    for (body, threads, found) in [
        (
            format!("if (i >= 40) return; x[i] = 1; {barrier} x[i] += 1;"),
            64,
            None,
        ),
        (
            format!("if (i < 40) {{ x[i] = 1; {barrier} x[i] += 1; }}"),
            64,
            None,
        ),
        (format!("x[i] = 1; {barrier} x[i] += 1;"), 40, None),
        (
            format!("if (i < 40) {{ {barrier} }} x[i] += 1;"),
            64,
            Some(40),
        ),
        (
            format!("if (i < 40) {{ {barrier} }} x[simd_sum(i) & 1] = 1;"),
            64,
            Some(40),
        ),
    ] {
        let text = format!(
            "{head}kernel void k(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {{ {body} }}"
        );
        let Some(program) = program_of(&text, "k.metal", "k") else {
            return;
        };
        let mut bindings = Bindings::new();
        bindings.set(0, Buffer::zeroed(1024));
        let grid = Grid::line(threads, 64);
        let reports = program.check(&grid, &mut bindings, &Limits::default());
        let reports = reports.expect("no fault");
        let missed = reports
            .iter()
            .find(|report| report.kind == ReportKind::DivergentBarrier);
        assert_eq!(
            missed.map(|report| report.thread[0]),
            found,
            "{body}: {reports:?}"
        );
    }
}

/// Sums over a simdgroup ask for numbers beyond its end and do not use them; a lane given by its number must exist.
#[test]
fn lanes_beyond_the_end_are_missed_where_they_are_named() {
    let head = "#include <metal_stdlib>\nusing namespace metal;\n";
    for (call, found) in [
        ("simd_shuffle_down(v, 16)", None),
        ("simd_shuffle_up(v, 3)", None),
        ("simd_shuffle_rotate_down(v, 40)", None),
        ("simd_shuffle(v, 31 - t)", None),
        ("simd_broadcast(v, 31)", None),
        ("simd_shuffle(v, t + 1)", Some(31)),
        ("quad_shuffle(v, t + 1)", Some(3)),
    ] {
        let text = format!(
            "{head}kernel void k(device float *x [[buffer(0)]], ushort t [[thread_index_in_simdgroup]]) {{ float v = t; x[t] = {call}; }}"
        );
        let Some(program) = program_of(&text, "k.metal", "k") else {
            return;
        };
        let mut bindings = Bindings::new();
        bindings.set(0, Buffer::zeroed(1024));
        let reports = program.check(&Grid::line(32, 32), &mut bindings, &Limits::default());
        let reports = reports.expect("no fault");
        assert_eq!(
            reports.first().map(|report| report.thread[0]),
            found,
            "{call}: {reports:?}"
        );
    }
}

#[test]
fn what_is_only_nearly_a_race_is_none() {
    let head = "#include <metal_stdlib>\nusing namespace metal;\n";
    let sources = [
        // All threads store the same number by one instruction.
        "kernel void k(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[0] = 7; }",
        // Atomics order themselves.
        "kernel void k(device atomic_uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { atomic_fetch_add_explicit(&x[i & 1], i, memory_order_relaxed); }",
        // A barrier of the simdgroup orders its lanes.
        "kernel void k(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]], uint l [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]]) { threadgroup float t[64]; t[s * 32 + l] = float(i); simdgroup_barrier(mem_flags::mem_threadgroup); x[i] = t[s * 32 + (l ^ 5)]; }",
        // Device memory, ordered for device memory.
        "kernel void k(device float *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) { x[g * 64 + i] = float(i); threadgroup_barrier(mem_flags::mem_device); float y = x[g * 64 + 63 - i]; threadgroup_barrier(mem_flags::mem_device); x[g * 64 + i] = y; }",
        // Neighbouring bytes are not the same place.
        "kernel void k(device uchar *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = uchar(i * 3); }",
        "kernel void k(device half *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = half(i) + x[i]; }",
    ];
    for source in sources {
        let Some(program) = program_of(&format!("{head}{source}"), "k.metal", "k") else {
            return;
        };
        let mut bindings = Bindings::new();
        bindings.set(0, Buffer::zeroed(1024));
        let reports = program.check(&Grid::line(128, 64), &mut bindings, &Limits::default());
        assert_eq!(reports, Ok(vec![]), "{source}");
    }
}

/// Atomic loads and stores are no races with other atomic accesses, and are with plain ones.
#[test]
fn atomic_loads_and_stores_are_atomic() {
    let head = "#include <metal_stdlib>\nusing namespace metal;\n";
    let relaxed = "memory_order_relaxed";
    let clean = format!(
        "if (atomic_load_explicit(x, {relaxed}) < 100) atomic_fetch_add_explicit(x, 1, {relaxed});
         threadgroup atomic_float s;
         if (t == 0) atomic_store_explicit(&s, 0.0f, {relaxed});
         threadgroup_barrier(mem_flags::mem_threadgroup);
         float e = atomic_load_explicit(&s, {relaxed});
         while (!atomic_compare_exchange_weak_explicit(&s, &e, e + 2, {relaxed}, {relaxed})) {{}}
         atomic_store_explicit(x + 1, int(t), {relaxed});"
    );
    let plain = format!(
        "atomic_fetch_add_explicit(x, 1, {relaxed});
         device int *y = (device int *)x;
         y[2 + t] = y[0];"
    );
    let unwritten = format!(
        "threadgroup atomic_int s;
         if (atomic_load_explicit(&s, {relaxed}) == 7) atomic_store_explicit(x, 1, {relaxed});"
    );
    for (body, expected) in [
        (clean.as_str(), None),
        (plain.as_str(), Some(ReportKind::Race)),
        (unwritten.as_str(), Some(ReportKind::Uninitialised)),
    ] {
        let text = format!(
            "{head}kernel void k(device atomic_int *x [[buffer(0)]], uint t [[thread_position_in_grid]]) {{ {body} }}"
        );
        let Some(program) = program_of(&text, "k.metal", "k") else {
            return;
        };
        let mut bindings = Bindings::new();
        bindings.set(0, Buffer::zeroed(4096));
        let reports = program.check(&Grid::line(64, 64), &mut bindings, &Limits::default());
        let reports = reports.expect("no fault");
        let first = reports.first().map(|report| report.kind);
        assert_eq!(first, expected, "{body}: {reports:?}");
    }
}

#[test]
fn a_second_look_starts_from_the_same_memory() {
    let head = "#include <metal_stdlib>\nusing namespace metal;\n";
    let sources = [
        // Threadgroups that store the same are doubted before they are found right.
        "kernel void k(device uint *x [[buffer(0)]], device uint *y [[buffer(1)]], uint i [[thread_position_in_grid]]) { x[i] += i; y[0] = 0; }",
        // Where a pointer goes is only known when it does.
        "kernel void k(device uint *x [[buffer(0)]], device uint *y [[buffer(1)]], uint i [[thread_position_in_grid]]) { device uint *p = i % 3 ? x : y; p[i] += i; }",
    ];
    for source in sources {
        let Some(program) = program_of(&format!("{head}{source}"), "k.metal", "k") else {
            return;
        };
        let results = |checked: bool| {
            let mut bindings = Bindings::new();
            bindings.set(0, Buffer::zeroed(1024));
            bindings.set(1, Buffer::zeroed(1024));
            let (grid, limits) = (Grid::line(256, 64), Limits::default());
            if checked {
                let reports = program.check(&grid, &mut bindings, &limits);
                assert_eq!(reports, Ok(vec![]), "{source}");
            } else {
                assert!(program.run(&grid, &mut bindings, &limits).is_ok());
            }
            [bindings.take(0), bindings.take(1)].map(|b| b.map(|b| b.bytes().to_vec()))
        };
        assert_eq!(results(true), results(false), "{source}");
    }
}

#[test]
fn checking_obeys_the_limits() {
    let head = "#include <metal_stdlib>\nusing namespace metal;\n";
    let text = format!(
        "{head}kernel void k(device volatile int *x [[buffer(0)]]) {{ while (x[0] == 0) {{ }} x[1] = 1; }}"
    );
    let Some(program) = program_of(&text, "k.metal", "k") else {
        return;
    };
    let run = |limits: &Limits<'_>| {
        let mut bindings = Bindings::new();
        bindings.set(0, Buffer::zeroed(4096));
        program.check(&Grid::line(1, 1), &mut bindings, limits)
    };
    let steps = Limits {
        max_steps: 1000,
        ..Limits::default()
    };
    assert!(matches!(run(&steps), Err(RunError::Fault(_))));
    let flag = std::sync::atomic::AtomicBool::new(true);
    let cancel = Limits {
        cancel: Some(&flag),
        ..Limits::default()
    };
    assert!(matches!(run(&cancel), Err(RunError::Fault(_))));
    let small = Limits {
        max_memory: 8192,
        ..Limits::default()
    };
    assert!(matches!(run(&small), Err(RunError::TooLarge { .. })));
}
