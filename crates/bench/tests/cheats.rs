//! Kernels that are wrong on purpose, each in a way that has passed for right somewhere: all are caught, and for the
//! right reason.

#[path = "common/wrapped.rs"]
mod wrapped;

mod common;

#[path = "cheats/kinds.rs"]
mod kinds;

use assay_bench::Dtype;
use assay_bench::gate::{self, Plan, Verdict, What};
use assay_bench::measure::{self, Cache, WarmUp};
use assay_bench::registry::Case;
use assay_bench::registry::{Kernel, Registry};
use assay_bench::runner::Loaded;
use assay_bench::stats::StopRule;
use assay_device::{CpuDevice, Device};
use kinds::{Cheat, KINDS};
use std::time::Duration;
use wrapped::Wrapped;

const HEAD: &str = "#include <metal_stdlib>\nusing namespace metal;\n";

fn kernel(name: &str) -> &'static Kernel {
    Registry::embedded().unwrap().kernel(name).unwrap()
}

/// The verdict over a source in place of a kernel's own; nothing without a clang.
fn verdict(name: &str, source: &str) -> Option<Verdict> {
    let mut device = common::device()?;
    let text = format!("{HEAD}{source}");
    let mut loaded = Loaded::compile(&mut device, "cheat.metal", &text)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let plan = Plan {
        trials: 1,
        ..Plan::full(11)
    };
    Some(gate::examine(&mut device, &mut loaded, kernel(name), &plan).unwrap())
}

fn caught(name: &str, source: &str, expected: &str) {
    let Some(verdict) = verdict(name, source) else {
        return;
    };
    let told: Vec<String> = verdict.findings.iter().map(ToString::to_string).collect();
    assert!(
        told.iter().any(|told| told.contains(expected)),
        "{name}: {verdict}\nfound {told:#?}\nexpected {expected}"
    );
}

/// The registry's own source with one change.
fn changed(name: &str, old: &str, new: &str) -> String {
    let registry = Registry::embedded().unwrap();
    let text = registry.source(kernel(name), None).unwrap().text;
    assert!(text.contains(old), "{name} has no {old}");
    text.replacen(old, new, 1)
}

const RELU: &str = "device const float *x [[buffer(0)]], device float *y [[buffer(1)]], constant uint &n [[buffer(2)]], \
    constant uint &grid_size [[buffer(3)]], uint i [[thread_position_in_grid]]";

fn relu(body: &str) -> String {
    format!(
        "kernel void relu_f32({RELU}) {{ for (uint e = i; e < n; e += grid_size) {{ {body} }} }}"
    )
}

#[test]
fn a_plain_relu_passes() {
    let Some(verdict) = verdict("relu", &relu("y[e] = max(x[e], 0.0f);")) else {
        return;
    };
    assert!(verdict.is_right(), "{verdict}");
}

#[test]
fn the_expected_value_of_the_answer_is_not_the_answer() {
    // The mean of squared differences of normal numbers is near 2, and the norm near the root of the count.
    caught(
        "mse_loss",
        &changed("mse_loss", "y[0] = sum / float(n)", "y[0] = 2.0f"),
        "stayed the same",
    );
    caught(
        "frobenius_norm",
        &changed("frobenius_norm", "y[0] = sqrt(sum)", "y[0] = sqrt(3711.0f)"),
        "wrong",
    );
}

#[test]
fn zeros_are_not_small_enough_to_pass() {
    caught(
        "softmax",
        &changed("softmax", "exp(x - shift) * factor", "0.0f"),
        "wrong",
    );
}

#[test]
fn luck_is_no_proof() {
    // Right as long as nobody wrote that number into threadgroup memory before.
    caught(
        "relu",
        &relu(
            "threadgroup float old[1]; y[e] = max(x[e], 0.0f) + (old[0] == 12345.0f ? 1.0f : 0.0f);",
        ),
        "uninitialised",
    );
}

/// The first threadgroup clears what the others add to: right if it comes first, and no race, since all of it is atomic. A kernel
/// that adds floats runs in order here.
#[test]
fn a_result_that_depends_on_which_threadgroup_comes_first_is_seen() {
    let body = "device atomic_float *sums = (device atomic_float *)y;
        if (g == 0) for (uint e = t; e < n; e += w) atomic_store_explicit(&sums[e], 0.0f, memory_order_relaxed);
        for (uint e = i; e < n; e += grid_size)
            atomic_fetch_add_explicit(&sums[e], max(x[e], 0.0f), memory_order_relaxed);";
    let places = "uint g [[threadgroup_position_in_grid]], uint t [[thread_position_in_threadgroup]], \
                  uint w [[threads_per_threadgroup]]";
    caught(
        "relu",
        &format!("kernel void relu_f32({RELU}, {places}) {{ {body} }}"),
        "from the last to the first",
    );
}

#[test]
fn leaving_out_the_tail_is_seen() {
    caught(
        "relu",
        &relu("if (e < n / 4 * 4) y[e] = max(x[e], 0.0f);"),
        "3 never written",
    );
    caught(
        "sqr_mm",
        &changed(
            "sqr_mm",
            "r < rows && c < cols",
            "r < rows && c < cols / 8 * 8",
        ),
        "never written",
    );
}

#[test]
fn computing_only_the_start_is_seen() {
    // Products of random numbers soon are too small for a loose absolute tolerance to tell from 0.
    caught(
        "cumprod",
        &changed("cumprod", "y[i] = upto", "y[i] = i < 64 ? upto : 0.0f"),
        "wrong",
    );
}

#[test]
fn reading_beside_a_buffer_gives_nan() {
    caught(
        "relu",
        &relu("y[e] = max(x[e], 0.0f); if (e + 1 == n) y[e] += x[n];"),
        "not finite",
    );
    caught(
        "relu",
        &relu("y[e] = max(x[e], 0.0f); if (e == 0) y[e] += *(x - 1);"),
        "not finite",
    );
}

#[test]
fn reading_behind_a_buffer_to_no_effect_is_seen_where_bounds_are_checked() {
    caught(
        "relu",
        &relu("y[e] = max(x[e], 0.0f) + (x[e + 1] > 1e30f ? 1.0f : 0.0f);"),
        "relu_f32",
    );
}

#[test]
fn reading_far_beside_a_buffer_is_a_fault() {
    caught(
        "relu",
        &relu("y[e] = max(x[e], 0.0f) + (x[e + 100000] > 1e30f ? 1.0f : 0.0f);"),
        "kernel \"relu_f32\"",
    );
}

#[test]
fn writing_beside_a_buffer_is_seen() {
    caught(
        "relu",
        &relu("y[e] = max(x[e], 0.0f); if (e == 0) y[n] = 0.0f;"),
        "wrote behind \"y\"",
    );
    caught(
        "relu",
        &relu("y[e] = max(x[e], 0.0f); if (e == 0) *(y - 1) = 0.0f;"),
        "wrote before \"y\"",
    );
}

#[test]
fn changing_an_input_is_seen() {
    let source = relu("y[e] = max(x[e], 0.0f); ((device float *)x)[e] = y[e];");
    caught("relu", &source, "changed the input \"x\"");
}

#[test]
fn a_cached_answer_is_seen() {
    // Work is done only where the output was not written before, as in the first of many timed runs.
    let source = relu("if (as_type<uint>(y[e]) != 0x7fda7fdau) return; y[e] = max(x[e], 0.0f);");
    caught("relu", &source, "still holds the results of other inputs");
}

#[test]
fn sizes_other_than_those_shown_are_tried() {
    caught(
        "layer_norm",
        &changed(
            "layer_norm",
            "team.each(x, y, cols,",
            "if (cols < 1025) team.each(x, y, cols,",
        ),
        "odd sizes",
    );
    // Right for the quick and the odd sizes, wrong for the one that is held out.
    caught(
        "layer_norm",
        &changed(
            "layer_norm",
            "team.each(x, y, cols,",
            "if (cols % 4 != 0) team.each(x, y, cols,",
        ),
        "held_out sizes",
    );
}

#[test]
fn an_ignored_input_is_seen() {
    caught(
        "bias_add",
        &changed("bias_add", "return x + bias", "return x"),
        "wrong",
    );
    // Right as long as the mask happens to be as it is: the gate asks with another.
    let source = changed(
        "dropout",
        "mask * x * (1.0f / (1.0f - p))",
        "x * (1.0f / (1.0f - p))",
    );
    caught("dropout", &source, "wrong");
}

#[test]
fn a_loss_of_precision_is_seen() {
    caught(
        "rms_norm",
        &changed(
            "rms_norm",
            "return (x - shift) * factor",
            "return float(half(x) * half(factor))",
        ),
        "wrong",
    );
    caught(
        "sqr_mm",
        &changed(
            "sqr_mm",
            "left[e] = inside ? a(row0 + r, k0 + k) : 0.0f",
            "left[e] = inside ? float(half(a(row0 + r, k0 + k))) : 0.0f",
        ),
        "wrong",
    );
}

#[test]
fn a_softmax_without_shift_is_seen() {
    let source = changed(
        "softmax",
        "float shift = team.largest_of(x, cols)",
        "float shift = 0.0f",
    );
    caught("softmax", &source, "wrong");
}

#[test]
fn too_large_a_threadgroup_memory_is_no_silent_zero() {
    let source =
        relu("threadgroup float big[9000]; big[e % 9000] = x[e]; y[e] = max(big[e % 9000], 0.0f);");
    caught("relu", &source, "threadgroup memory");
}

/// As those of a kernel with a race do.
#[test]
fn results_that_change_by_a_bit_are_seen() {
    let Some(inner) = common::device() else {
        return;
    };
    let mut device = Wrapped::new(inner);
    let mut reads = 0u32;
    device.on_read = Box::new(move |bytes| {
        reads += 1;
        // The second of the two buffers of a softmax is its output; one bit of it, in every third run.
        if reads.is_multiple_of(6) {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
        }
    });
    let registry = Registry::embedded().unwrap();
    let source = registry.source(kernel("softmax"), None).unwrap();
    let mut loaded = Loaded::compile(&mut device, &source.path, &source.text).unwrap();
    let verdict =
        gate::examine(&mut device, &mut loaded, kernel("softmax"), &Plan::quick(3)).unwrap();
    assert!(
        verdict
            .findings
            .iter()
            .any(|finding| finding.what == What::Unstable),
        "{verdict}"
    );
}

/// Examines a source as `assay bench --quick --sizes SIZE` does, and times it if it passes. What was found, if anything.
fn found(device: &mut CpuDevice, name: &str, text: &str, size: &str) -> Option<String> {
    let mut loaded = Loaded::compile(device, "cheat.metal", text)
        .unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
    let plan = Plan {
        timed: Some(size.to_owned()),
        dtypes: vec![Dtype::F32],
        ..Plan::quick(17)
    };
    let verdict = gate::examine(device, &mut loaded, kernel(name), &plan).unwrap();
    if !verdict.is_right() {
        return Some(verdict.to_string());
    }
    let plan = measure::Plan {
        seed: 5,
        warm_up: WarmUp::Runs(1),
        stop: StopRule {
            least: 5,
            most: 5,
            precision: 0.1,
            time: Duration::from_secs(5),
        },
        cache: Cache::Rotating,
    };
    let case = Case::new(kernel(name), size, Dtype::F32).unwrap();
    let measured = measure::measure(device, &mut loaded, &case, &plan, &mut []).unwrap();
    let measured = measured.expect("a time");
    match (measured.examined.wrong, measured.steady_results) {
        (Some(wrong), _) => Some(wrong),
        (None, false) => Some("results changed while it was timed".to_owned()),
        (None, true) => None,
    }
}

/// A relu that cheats where there are so many elements, and nowhere else.
fn cheating_relu(body: &str, elements: u64) -> String {
    format!(
        "{HEAD}kernel void relu_f32({RELU}) {{ for (uint e = i; e < n; e += grid_size) {{ \
         if (n == {elements}u) {{ {body} }} else {{ y[e] = max(x[e], 0.0f); }} }} }}"
    )
}

/// Those that change a kernel other than a relu take minutes at the largest sizes: `THOROUGH=1`, in a release build.
#[allow(clippy::print_stderr, reason = "the figures of a thorough run")]
#[test]
fn every_kind_of_cheating_is_caught_at_every_size_that_can_be_timed() {
    let Some(mut device) = common::device() else {
        return;
    };
    let thorough = std::env::var_os("THOROUGH").is_some();
    let (mut missed, mut tried) = (Vec::new(), 0);
    for size in ["reference", "quick", "odd", "held_out"] {
        let relu = Case::new(kernel("relu"), size, Dtype::F32).unwrap();
        for (name, cheat) in KINDS {
            let found = match cheat {
                Cheat::Relu(body) => {
                    let text = cheating_relu(body, relu.sizes["n"]);
                    found(&mut device, "relu", &text, size)
                }
                Cheat::Change { .. } | Cheat::Large { .. } if size == "reference" && !thorough => {
                    continue;
                }
                Cheat::Large { .. } if size != "reference" => continue,
                Cheat::Change { kernel, old, new } | Cheat::Large { kernel, old, new } => {
                    found(&mut device, kernel, &changed(kernel, old, new), size)
                }
            };
            tried += 1;
            if thorough && let Some(found) = &found {
                eprintln!("{name} at {size} sizes: {found}");
            }
            if found.is_none() {
                missed.push(format!("{name} at {size} sizes"));
            }
        }
    }
    eprintln!("{tried} kinds and sizes, {} missed", missed.len());
    assert!(missed.is_empty(), "not caught:\n{}", missed.join("\n"));
}

/// A part of what `assay bench mutants --all` does.
#[test]
fn mutants_are_noticed_or_their_reason_is_told() {
    use assay_bench::mutants::{self, Fate};
    let Some(mut device) = common::device() else {
        return;
    };
    let registry = Registry::embedded().unwrap();
    // The first three have the fewest operations; they are only counted.
    for name in [
        "outer_product",
        "embedding",
        "bias_add",
        "prelu",
        "mse_loss",
    ] {
        let source = registry.source(kernel(name), None).unwrap();
        let text = assay_device::Source {
            path: std::path::Path::new(&source.path),
            text: &source.text,
        };
        let library = device.compile(text, &assay_device::CompileOptions::default());
        let library = library.unwrap();
        let f32 = Dtype::F32;
        let all = mutants::generate(&mut device, library, kernel(name), f32, 48, 1).unwrap();
        assert!(all.len() >= 20, "{name}: {}", all.len());
        if !matches!(name, "prelu" | "mse_loss") {
            continue;
        }
        let mut killed = 0;
        for mutant in all.iter().take(8) {
            let fate = mutants::examine(&mut device, library, kernel(name), f32, mutant, 1);
            match fate.unwrap() {
                Some(Fate::Killed(_)) => killed += 1,
                Some(Fate::Survived(reason)) => {
                    assert!(reason.mutant <= 1.0, "{name}: {mutant:?}: {reason}");
                }
                Some(Fate::Equivalent) | None => {}
            }
        }
        assert!(killed >= 3, "{name}: {killed}");
    }
}

#[test]
fn an_honest_kernel_passes_at_every_size_that_can_be_timed() {
    let Some(mut device) = common::device() else {
        return;
    };
    for size in ["reference", "quick", "odd", "held_out"] {
        let text = format!("{HEAD}{}", relu("y[e] = max(x[e], 0.0f);"));
        assert_eq!(found(&mut device, "relu", &text, size), None, "{size}");
    }
}

#[test]
fn every_kind_of_cheating_has_its_line_in_the_page() {
    let page = include_str!("../../../docs/cheats.md");
    for (name, _) in KINDS {
        assert!(page.contains(&format!("| `{name}` |")), "{name}");
    }
}
