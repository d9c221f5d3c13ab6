//! What the format of registry entries offers beyond what the kernels of the repository need.

mod common;

use assay_bench::Dtype;
use assay_bench::gate::{self, Plan};
use assay_bench::registry::{Case, Registry};
use assay_bench::runner::Loaded;

/// The first of several elements of each thread through threadgroup memory of a size given at the dispatch.
const SOURCE: &str = "#include <metal_stdlib>
using namespace metal;
#include \"floor.h\"
constant uint per_thread [[function_constant(3)]];

kernel void relu_f32(device const float *x [[buffer(0)]],
                     device float *y [[buffer(1)]],
                     constant uint &n [[buffer(2)]],
                     threadgroup float *held [[threadgroup(0)]],
                     uint i [[thread_position_in_grid]],
                     uint t [[thread_position_in_threadgroup]]) {
    for (uint j = 0; j < per_thread; ++j) {
        uint e = i * per_thread + j;
        held[t] = e < n ? x[e] : 0.0f;
        if (e < n) y[e] = floor_at_zero(held[t]);
    }
}
";

const ENTRY: &str = r#"
summary = "relu, with everything the format has"
oracle = "relu"
arguments = [
  { name = "x", role = "input", shape = ["n"] },
  { name = "y", role = "output", shape = ["n"] },
]
constants = [{ name = "per_thread", index = 3, value = "each" }]

[sizes]
reference = { n = 4096, each = 4 }
quick = { n = 301, each = 3 }
odd = { n = 97, each = 5 }
odd-2 = { n = 1001, each = 1 }
held_out = { n = 513, each = 7 }

[[passes]]
arguments = ["x", "y", "=n"]
threads = ["ceil_div(n, each)"]
threadgroup = ["64"]
threadgroup_memory = ["64 * 4"]

[tolerance.f32]
relative = 0.0
absolute = 0.0
reason = "numbers are picked"

[cost]
flops = "n"
"#;

fn registry(source: &str) -> Registry {
    let header = "#pragma once\ninline float floor_at_zero(float x) { return max(x, 0.0f); }\n";
    Registry::from_files([
        ("common/relu/kernel.toml", ENTRY),
        ("common/relu/relu.metal", source),
        ("include/floor.h", header),
    ])
    .unwrap()
}

#[test]
fn constants_threadgroup_memory_headers_and_further_size_sets_reach_the_device() {
    let Some(mut device) = common::device() else {
        return;
    };
    let registry = registry(SOURCE);
    let kernel = registry.kernel("relu").unwrap();
    let source = registry.source(kernel, None).unwrap();
    let mut loaded = Loaded::compile(&mut device, &source.path, &source.text).unwrap();
    let verdict = gate::examine(&mut device, &mut loaded, kernel, &Plan::full(1)).unwrap();
    assert!(verdict.is_right(), "{verdict}");
    let tried = |name: &str| verdict.tried.iter().any(|tried| tried.size_set == name);
    assert!(tried("odd") && tried("odd-2") && tried("held_out"));
}

#[test]
fn constants_follow_the_sizes() {
    let registry = registry(SOURCE);
    let kernel = registry.kernel("relu").unwrap();
    let case = Case::new(kernel, "odd", Dtype::F32).unwrap();
    assert_eq!(case.constants, [(3, "per_thread".to_owned(), 5)]);
    assert_eq!(case.passes[0].threadgroup_memory, [256]);
    let error = Case::new(kernel, "odd", Dtype::F16).unwrap_err();
    assert_eq!(error.to_string(), "there is no f16 variant; there are f32");
}
