//! Every kernel of the registry, in every element type, through the gate on the CPU.
//!
//! `KERNELS=softmax,cumsum` takes only these; `THOROUGH=1` takes all sizes but the reference ones, three trials each.

mod common;

use assay_bench::gate::{self, Plan};
use assay_bench::inputs::{self, Kind};
use assay_bench::registry::{Case, Kernel, Registry};
use assay_bench::runner::{Buffers, Guards, Loaded};
use assay_device::{CpuDevice, Device, Sample};

fn examine(
    device: &mut dyn Device,
    registry: &Registry,
    kernel: &Kernel,
    plan: &Plan,
) -> Result<(), String> {
    let source = registry
        .source(kernel, None)
        .map_err(|error| error.to_string())?;
    let mut loaded =
        Loaded::compile(device, &source.path, &source.text).map_err(|error| error.to_string())?;
    let verdict =
        gate::examine(device, &mut loaded, kernel, plan).map_err(|error| error.to_string())?;
    if verdict.is_right() {
        Ok(())
    } else {
        Err(verdict.to_string())
    }
}

#[test]
fn every_kernel_passes_the_gate() {
    let Some(mut device) = common::device() else {
        return;
    };
    let registry = Registry::embedded().unwrap();
    let only = std::env::var("KERNELS").unwrap_or_default();
    let only: Vec<&str> = only.split(',').filter(|name| !name.is_empty()).collect();
    let plan = match std::env::var_os("THOROUGH") {
        Some(_) => Plan::full(2),
        None => Plan::quick(1),
    };
    let mut failures = Vec::new();
    for kernel in registry
        .kernels()
        .filter(|kernel| only.is_empty() || only.contains(&kernel.name.as_str()))
    {
        if let Err(why) = examine(&mut device, registry, kernel, &plan) {
            failures.push(format!("{}: {why}", kernel.name));
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

/// What a kernel does: floating-point operations of active lanes, and bytes of device memory.
fn counted(device: &mut CpuDevice, registry: &Registry, case: &Case) -> (u64, u64) {
    let kernel = registry.kernel(&case.kernel).unwrap();
    let source = registry.source(kernel, None).unwrap();
    let mut loaded = Loaded::compile(device, &source.path, &source.text).unwrap();
    let given = inputs::random(case, 1, Kind::Usual);
    let buffers = Buffers::new(device, case, &given, Guards::Pattern).unwrap();
    let (mut flops, mut bytes) = (0, 0);
    for dispatch in loaded.dispatches(device, case, &buffers).unwrap() {
        let counts = device.count_run(&dispatch, Sample::All).unwrap();
        flops += counts.flops;
        let traffic = counts.device.traffic;
        bytes += traffic.bytes_loaded + traffic.bytes_stored;
    }
    buffers.release(device).unwrap();
    (flops, bytes)
}

/// A kernel may do so many times the work of its operation, unless a reason is known.
const USUAL: f64 = 2.0;

/// Why kernels do more than their operation at the quick sizes, how many times as much at most, and which.
const MORE: &[(&str, f64, &[&str])] = &[
    (
        "rows of 301 are reduced by 256 threads, step by step, and some passes take a row again",
        3.6,
        &[
            "argmax",
            "add_norm",
            "batch_norm",
            "cross_entropy_loss",
            "fused_add_rms_norm",
            "group_norm",
            "layer_norm",
            "log_softmax",
            "log_softmax_cross_entropy",
            "masked_softmax",
            "rms_norm",
            "softmax",
            "variance",
        ],
    ),
    (
        "maps of 42 elements are reduced by as many threads as rows of hundreds",
        7.2,
        &["instance_norm"],
    ),
    (
        "a function of the operation is a polynomial, or several functions, in the kernel",
        4.5,
        &["bias_gelu", "gelu", "log", "rope_embedding"],
    ),
    (
        "scans of rows are trees: log2 of the width for each element",
        12.0,
        &[
            "cumprod",
            "cumsum",
            "cumsum_exclusive",
            "cumsum_reverse",
            "masked_cumsum",
        ],
    ),
    (
        "a row is searched once for each of the k largest; the operation is counted as one pass",
        23.0,
        &["top_k"],
    ),
    (
        "whole tiles are computed, of which small matrices fill a part",
        13.0,
        &[
            "attention_scores",
            "batch_mm",
            "conv1d",
            "conv3d",
            "conv3d_div_pool_sum",
            "conv3d_multi_act_bias",
            "conv3d_softmax_pool",
            "conv_transpose2d",
            "conv_transpose2d_clamp_scale_div",
            "conv_transpose2d_sub_tanh",
            "conv_transpose3d_norm_pool_gelu",
            "fused_qkv_projection",
            "gelu_linear",
            "linear_bias",
            "llama_attention",
            "llama_decoder_layer",
            "matmul_gelu_softmax",
            "matmul_sub_mul_relu",
            "mha_attention",
            "rect_mm",
            "rms_norm_linear",
            "scaled_dot_product",
            "silu_linear",
            "softmax_attention",
            "sqr_mm",
            "swiglu",
            "transformer_block",
        ],
    ),
];

/// Formulas count the operation, so no kernel does less; and none does much more without a known reason. A reason that
/// is no longer needed is an error too.
#[test]
fn formulas_agree_with_counting() {
    let Some(mut device) = common::device() else {
        return;
    };
    let registry = Registry::embedded().unwrap();
    let mut failures = Vec::new();
    for kernel in registry.kernels() {
        let case = Case::new(kernel, "quick", kernel.dtypes[0]).unwrap();
        let (flops, bytes) = counted(&mut device, registry, &case);
        let reason = MORE
            .iter()
            .find(|(_, _, kernels)| kernels.contains(&kernel.name.as_str()));
        let most = reason.map_or(USUAL, |(_, most, _)| *most);
        // Copies have no operations, though indices may be compared.
        let times = if case.flops == 0 {
            1.0
        } else {
            flops as f64 / case.flops as f64
        };
        let needless = reason.is_some() && times <= USUAL;
        if case.flops > flops || case.bytes > bytes || times > most || needless {
            failures.push(format!(
                "{}: {} operations by its formula, {flops} counted ({times:.2}, at most {most}); {} bytes of {bytes}",
                kernel.name, case.flops, case.bytes
            ));
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

/// Nothing is reported of kernels that are right, in programs made to be checked. Compiling each for it takes a while: one in four,
/// and all with `THOROUGH=1`.
#[allow(clippy::print_stdout, reason = "the figures of a thorough run")]
#[test]
fn checking_finds_nothing_in_kernels_that_are_right() {
    let Some(mut device) = common::checking_device() else {
        return;
    };
    let registry = Registry::embedded().unwrap();
    let (mut failures, mut checked) = (Vec::new(), 0);
    let step = if std::env::var_os("THOROUGH").is_some() {
        1
    } else {
        4
    };
    for kernel in registry.kernels().step_by(step) {
        let source = registry.source(kernel, None).unwrap();
        let mut loaded = Loaded::compile(&mut device, &source.path, &source.text).unwrap();
        for &dtype in &kernel.dtypes {
            let case = Case::new(kernel, "quick", dtype).unwrap();
            let given = inputs::random(&case, 1, Kind::Usual);
            let buffers = Buffers::new(&mut device, &case, &given, Guards::None).unwrap();
            for dispatch in loaded.dispatches(&mut device, &case, &buffers).unwrap() {
                let reports = device.check_run(&dispatch).unwrap();
                let reports = reports.into_iter().map(|report| report.to_string());
                failures.extend(reports.map(|report| format!("{} {dtype}: {report}", kernel.name)));
            }
            buffers.release(&mut device).unwrap();
            checked += 1;
        }
    }
    println!("{checked} launches checked");
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}
