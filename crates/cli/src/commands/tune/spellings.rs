//! Spellings of one reduction: whatever way a loop is written, the same recipe applies to it and is proven.
//!
//! A seeded generator puts loops, bodies and addresses together. `make test` takes a sample; `THOROUGH=1` all 500.

use super::file::FileLaunch;
use crate::launch::{self, Launched};
use crate::prediction::Choice;
use crate::source::ThisMachine;
use crate::toolchain;
use assay_front::SourceOptions;
use assay_launch::Written;
use assay_launch::random::Random;
use assay_tune::attempts::Genome;
use assay_tune::knobs::Knobs;
use assay_tune::session::{Level, Workbench as _};
use assay_tune::workbench::{Bench, Origin, Subject, suitable};
use rayon::prelude::*;

/// How many there are, and how many a quick run takes.
const ALL: u64 = 500;
const SAMPLE: u64 = 24;

/// Loops over `n` elements: `BODY` sees the element's number as `c`.
const LOOPS: [&str; 12] = [
    "for (uint c = 0; c < n; c++) { BODY }",
    "for (uint c = 0; c != n; ++c) { BODY }",
    "for (int c = 0; c < int(n); ++c) { BODY }",
    "for (uint i = 1; i <= n; i++) { uint c = i - 1; BODY }",
    "uint c = 0; while (c < n) { BODY c++; }",
    "uint c = 0; if (n > 0) { do { BODY c += 1; } while (c < n); }",
    "uint c = 0; while (true) { if (c >= n) break; BODY ++c; }",
    "for (uint i = n; i > 0; i--) { uint c = i - 1; BODY }",
    "uint c = n; while (c-- > 0) { BODY }",
    "for (int c = int(n) - 1; c >= 0; --c) { BODY }",
    "for (int i = 0, last = int(n); i < last; i++) { int c = i; BODY }",
    "const uint last = n; for (uint c = 0; last > c; c++) { BODY }",
];

/// Loops whose variable is a pointer.
const WALKS: [&str; 5] = [
    "for (device const float *p = from; p < from + n; p++) { float v = *p; BODY }",
    "device const float *p = from; device const float *end = from + n; while (p != end) { float v = *p++; BODY }",
    "device const float *p = from; for (uint left = n; left > 0; --left, ++p) { float v = *p; BODY }",
    "device const float *p = from; for (uint k = 0; k < n; k++) { float v = *p; p += 1; BODY }",
    "device const float *p = from; if (n > 0) { do { float v = *p; BODY ++p; } while (p < from + n); }",
];

/// What a round does with the element `v`; `s` is the result.
const BODIES: [(&str, &str); 14] = [
    ("0.0f", "s += v;"),
    ("0.0f", "s = v + s;"),
    ("0.0f", "s -= v;"),
    ("0.0f", "s += v * v;"),
    ("0.0f", "s = fma(v, 0.5f, s);"),
    ("0.0f", "if (v > 0.0f) s += v;"),
    ("0.0f", "s += v > 0.0f ? v : 0.0f;"),
    ("0.0f", "s += fabs(v - 0.5f);"),
    ("-INFINITY", "s = max(s, v);"),
    ("-INFINITY", "s = fmax(v, s);"),
    ("-INFINITY", "if (v > s) s = v;"),
    ("-INFINITY", "s = v > s ? v : s;"),
    ("-INFINITY", "s = s < v ? v : s;"),
    ("INFINITY", "s = min(v, s);"),
];

/// The element's number becomes its value.
const ELEMENTS: [&str; 5] = [
    "float v = x[row * n + c];",
    "float v = from[c];",
    "float v = *(x + row * n + c);",
    "device const float &e = from[c]; float v = e;",
    "float v = x[row * n + uint(c)];",
];

/// How the row is known.
const ROWS: [(&str, &str, &str); 3] = [
    ("uint row [[thread_position_in_grid]]", "", "R"),
    (
        "uint2 g [[thread_position_in_grid]]",
        "uint row = g.x;",
        "R",
    ),
    (
        "uint i [[thread_position_in_grid]]",
        "if (i >= rows) return; const uint row = i;",
        "R",
    ),
];

fn spelling(seed: u64) -> String {
    let mut random = Random::of(0x10095, seed);
    let mut pick = |count: usize| random.below(count as u64) as usize;
    let (start, body) = BODIES[pick(BODIES.len())];
    let (position, row, grid) = ROWS[pick(ROWS.len())];
    let round = format!("{} {body}", ELEMENTS[pick(ELEMENTS.len())]);
    let text = match pick(LOOPS.len() + WALKS.len()) {
        walk if walk >= LOOPS.len() => WALKS[walk - LOOPS.len()].replace("BODY", body),
        counted => LOOPS[counted].replace("BODY", &round),
    };
    format!(
        "#include <metal_stdlib>\nusing namespace metal;\n\
         // assay: launch k --size R=512 --size C=300 --grid {grid} --threadgroup 64 --buffer 0=random:f32:RxC \
         --buffer 1=zeros:f32:R --bytes 2=u32:C --bytes 3=u32:R\n\
         kernel void k(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], constant uint &n [[buffer(2)]],\n    \
         constant uint &rows [[buffer(3)]], {position}) {{\n    {row}\n    \
         device const float *from = x + row * n;\n    float s = {start};\n    {text}\n    y[row] = s;\n}}\n"
    )
}

/// Applies the recipe to a spelling and proves the result at small sizes.
fn proven(source: &str) -> Result<(), String> {
    let origin = Origin::Source(source.to_owned(), SourceOptions::default());
    let subject = Subject::new(&ThisMachine, origin, "k", Vec::new(), Knobs::default());
    let signature = subject.arguments().map_err(|failure| failure.why)?;
    let flags = Written::default();
    let launched = Launched::find(Some(source), "k", &signature, flags, &launch::files());
    let launched = launched.map_err(|error| error.to_string())?;
    let launched = launched.ok_or("no launch")?;
    let mut launch = FileLaunch::new(launched, None).map_err(|failure| failure.message)?;
    let plan = suitable(&subject, &launch, &[]).map_err(|failure| failure.why)?;
    launch.plan = plan;
    let target = Choice::one("m2").map_err(|failure| failure.message)?;
    let bench = Bench::new(subject, &launch, [&target], "spelling");
    let genome = Genome {
        knobs: Vec::new(),
        steps: vec!["simdgroup-rows:rows=4".to_owned()],
    };
    bench.prepare(&genome).map_err(|failure| failure.why)?;
    let verified = bench.verify(&genome, Level::Quick);
    verified.map(|_| ()).map_err(|failure| failure.why)
}

#[test]
fn a_reduction_is_recognised_however_it_is_written() {
    if toolchain::find().is_err() {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return;
    }
    let thorough = std::env::var_os("THOROUGH").is_some();
    let seeds: Vec<u64> = match thorough {
        true => (0..ALL).collect(),
        false => (0..ALL).step_by((ALL / SAMPLE) as usize).collect(),
    };
    let refused: Vec<String> = seeds
        .into_par_iter()
        .filter_map(|seed| {
            let source = spelling(seed);
            let why = proven(&source).err()?;
            Some(format!("{seed}: {why}\n{source}"))
        })
        .collect();
    assert!(
        refused.is_empty(),
        "{} refused\n{}",
        refused.len(),
        refused.join("\n")
    );
}
