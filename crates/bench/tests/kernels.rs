//! Every kernel of the registry, in every element type, through the gate on the CPU.
//!
//! `KERNELS=softmax,cumsum` takes only these; `THOROUGH=1` takes all sizes but the reference ones, three trials each.

mod common;

use assay_bench::gate::{self, Plan};
use assay_bench::inputs::{self, Kind};
use assay_bench::oracle::Tensor;
use assay_bench::registry::{Case, CaseRole, Kernel, Registry};
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

/// What a kernel does at certain sizes.
struct Work {
    /// Floating-point operations of active lanes.
    flops: f64,
    /// Bytes of the distinct lines of memory that each dispatch touches.
    touched: u64,
}

/// Counts some threadgroups of each dispatch, or all, and takes them for the whole.
fn counted(device: &mut CpuDevice, registry: &Registry, case: &Case, sample: Sample) -> Work {
    let kernel = registry.kernel(&case.kernel).unwrap();
    let source = registry.source(kernel, None).unwrap();
    let mut loaded = Loaded::compile(device, &source.path, &source.text).unwrap();
    let buffers = Buffers::new(device, case, &repeated(kernel, case), Guards::Pattern).unwrap();
    let (mut flops, mut lines) = (0.0, 0);
    for dispatch in loaded.dispatches(device, case, &buffers).unwrap() {
        let counts = device.count_run(&dispatch, sample).unwrap();
        flops += counts.flops as f64 * counts.threadgroups as f64 / counts.sampled as f64;
        lines += counts.device.dispatch_lines;
    }
    buffers.release(device).unwrap();
    Work {
        flops,
        touched: lines * LINE,
    }
}

/// Inputs of the right shapes, whose numbers are those of the quick sizes over and over: what is counted hardly depends
/// on them, and drawing millions takes longer than counting.
fn repeated(kernel: &Kernel, case: &Case) -> Vec<Tensor> {
    let quick = Case::new(kernel, "quick", case.dtype).unwrap();
    let arguments = case.arguments.iter();
    let shapes = arguments.filter_map(|argument| match &argument.role {
        CaseRole::Input { shape, .. } => Some(shape),
        _ => None,
    });
    let tensors = shapes
        .zip(inputs::random(&quick, 1, Kind::Usual))
        .map(|(shape, small)| {
            let numbers = small.values.iter().copied().cycle();
            let numbers = numbers.take(shape.iter().product()).collect();
            Tensor::new(shape.clone(), numbers).unwrap()
        });
    tensors.collect()
}

/// Bytes of a line of memory.
const LINE: u64 = 128;

/// Returns true if a formula covers the lines that the one dispatch of a kernel touches. Buffers begin and end within
/// lines. Several dispatches touch memory again.
fn covers(case: &Case, touched: u64) -> bool {
    let ends = 2 * LINE * case.arguments.len() as u64;
    case.passes.len() > 1 || touched <= case.bytes + ends
}

/// Formulas count the operation, so no kernel does less; and they count all of the memory that has to move, so a kernel
/// touches nothing else.
#[test]
fn formulas_count_no_more_than_kernels_do_and_no_less_than_they_touch() {
    let Some(mut device) = common::device() else {
        return;
    };
    let registry = Registry::embedded().unwrap();
    let mut failures = Vec::new();
    for kernel in registry.kernels() {
        let case = Case::new(kernel, "quick", kernel.dtypes[0]).unwrap();
        let Work { flops, touched } = counted(&mut device, registry, &case, Sample::All);
        if case.flops as f64 > flops
            || case.bytes > touched
            || !(kernel.bytes.is_some() || covers(&case, touched))
        {
            failures.push(format!(
                "{}: {} operations by its formula, {flops} counted; {} bytes by its formula, {touched} touched",
                kernel.name, case.flops, case.bytes
            ));
        }
        // What reads a part of its inputs reads parts of lines, unless rows are whole lines, as at the reference sizes.
        if kernel.bytes.is_some() {
            let case = Case::new(kernel, "reference", kernel.dtypes[0]).unwrap();
            let touched = counted(&mut device, registry, &case, Sample::All).touched;
            if !covers(&case, touched) {
                let (name, bytes) = (&kernel.name, case.bytes);
                failures.push(format!(
                    "{name}: {bytes} bytes by its formula, {touched} touched"
                ));
            }
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

/// A kernel may do so many times the work of its operation.
const USUAL: f64 = 2.0;

/// Threadgroups that are counted at the reference sizes.
const SAMPLE: Sample = Sample::Threadgroups(8);

/// Kernels that do more at the reference sizes: how many times the work of their operation, as counted, and why.
const MORE: &[(&str, &[(&str, f64)])] = &[
    (
        "Metal has no erf: one function of the formula is a polynomial of 18 operations",
        &[("gelu", 4.40), ("bias_gelu", 3.83)],
    ),
    (
        "a scan of a row by 256 threads is three: of four elements, of a simdgroup, of eight simdgroups",
        &[
            ("cumprod", 3.50),
            ("cumsum", 3.50),
            ("cumsum_exclusive", 3.25),
            ("cumsum_reverse", 3.50),
            ("masked_cumsum", 2.25),
        ],
    ),
    (
        "a score is the sum over the lanes of a simdgroup of one or two products each",
        &[("mha_attention", 2.19), ("softmax_attention", 2.20)],
    ),
    (
        "three in four products of a transposed convolution of stride 2 are with the zeros between the inputs",
        &[
            ("conv_transpose2d", 4.13),
            ("conv_transpose2d_clamp_scale_div", 4.05),
            ("conv_transpose2d_sub_tanh", 4.07),
            ("conv_transpose3d_norm_pool_gelu", 3.95),
        ],
    ),
    (
        "a row is searched once for each of the 16 largest, two or three comparisons an element; the operation is one pass",
        &[("top_k", 44.0)],
    ),
];

/// Formulas count all of the operation, so a kernel does little more, unless there is a reason, with what it comes to.
#[test]
fn kernels_do_little_more_than_their_formulas_count() {
    let Some(mut device) = common::device() else {
        return;
    };
    let registry = Registry::embedded().unwrap();
    let mut failures = Vec::new();
    for kernel in registry.kernels() {
        let case = Case::new(kernel, "reference", kernel.dtypes[0]).unwrap();
        // Copies have no operations, though indices may be compared.
        if case.flops == 0 {
            continue;
        }
        let times = counted(&mut device, registry, &case, SAMPLE).flops / case.flops as f64;
        let mut reasons = MORE.iter().flat_map(|(_, kernels)| kernels.iter());
        let known = reasons.find(|(name, _)| *name == kernel.name);
        let agrees = match known {
            Some((_, known)) => (times / known - 1.0).abs() < 0.01,
            None => times <= USUAL,
        };
        if !agrees {
            failures.push(format!("{}: {times:.2} times its formula", kernel.name));
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
