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

/// What a kernel does at the quick sizes: operations at most, and bytes of device memory.
fn counted(device: &mut CpuDevice, registry: &Registry, case: &Case) -> (u64, u64) {
    let kernel = registry.kernel(&case.kernel).unwrap();
    let source = registry.source(kernel, None).unwrap();
    let mut loaded = Loaded::compile(device, &source.path, &source.text).unwrap();
    let given = inputs::random(case, 1, Kind::Usual);
    let buffers = Buffers::new(device, case, &given, Guards::Pattern).unwrap();
    let (mut operations, mut bytes) = (0, 0);
    for dispatch in loaded.dispatches(device, case, &buffers).unwrap() {
        let counts = device.count_run(&dispatch, Sample::All).unwrap();
        for (class, count) in &counts.instructions {
            // Of a simdgroup's instruction: 32 lanes that may each multiply and add, or the products of two 8 × 8
            // matrices.
            operations += count
                * match class.name() {
                    "issue" | "complex" | "reduction" | "prefix" => 64,
                    "matrix" => 1024,
                    _ => 0,
                };
        }
        let traffic = counts.device.traffic;
        bytes += traffic.bytes_loaded + traffic.bytes_stored;
    }
    buffers.release(device).unwrap();
    (operations, bytes)
}

#[test]
fn no_formula_counts_more_than_the_kernel_does() {
    let Some(mut device) = common::device() else {
        return;
    };
    let registry = Registry::embedded().unwrap();
    let mut failures = Vec::new();
    for kernel in registry.kernels() {
        let case = Case::new(kernel, "quick", kernel.dtypes[0]).unwrap();
        let (operations, bytes) = counted(&mut device, registry, &case);
        if case.flops > operations || case.bytes > bytes {
            failures.push(format!(
                "{}: {} operations of at most {operations}, {} bytes of {bytes}",
                kernel.name, case.flops, case.bytes
            ));
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

/// Nothing is reported of kernels that are right, in programs made to be checked. Compiling each for it takes a while: one in four,
/// and all with `THOROUGH=1`.
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
