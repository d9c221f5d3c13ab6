//! Every kernel of the registry, in every element type, through the gate on the CPU.
//!
//! `KERNELS=softmax,cumsum` takes only these; `THOROUGH=1` takes all sizes but the reference ones, three trials each.

mod common;

use assay_bench::gate::{self, Plan};
use assay_bench::registry::{Kernel, Registry};
use assay_bench::runner::Loaded;
use assay_device::Device;

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
