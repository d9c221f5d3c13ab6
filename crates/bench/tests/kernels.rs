//! Every kernel of the registry, in every element type, on the CPU against its oracle.
//!
//! `KERNELS=softmax,cumsum` takes only these, `SIZES=odd` other sizes than the quick ones.

mod common;

use assay_bench::gate::Comparison;
use assay_bench::inputs::{self, Kind};
use assay_bench::oracle::{self, Call};
use assay_bench::registry::{Case, CaseRole, Kernel, Registry};
use assay_bench::runner::Loaded;
use assay_device::Device;

fn check(
    device: &mut dyn Device,
    loaded: &mut Loaded,
    case: &Case,
    oracle: &str,
    kind: Kind,
) -> Result<(), String> {
    let inputs = inputs::random(case, 1, kind);
    let outcome = loaded
        .run(device, case, &inputs)
        .map_err(|error| error.to_string())?;
    if let Some(damage) = outcome.damage.first() {
        return Err(damage.to_string());
    }
    let scalars: Vec<(String, f64)> = case
        .arguments
        .iter()
        .filter_map(|argument| match argument.role {
            CaseRole::Scalar { value } => Some((argument.name.clone(), value)),
            _ => None,
        })
        .collect();
    let call = Call {
        sizes: &case.sizes,
        scalars: &scalars,
        inputs: &inputs,
    };
    let oracle = oracle::named(oracle).ok_or_else(|| format!("no oracle {oracle}"))?;
    let answers = oracle(&call).map_err(|error| error.to_string())?;
    for (bytes, answer) in outcome.outputs.iter().zip(&answers) {
        let comparison = Comparison::new(bytes, case.dtype, answer, &case.tolerance);
        if !comparison.is_right() {
            return Err(comparison.to_string());
        }
    }
    assert_eq!(outcome.outputs.len(), answers.len());
    Ok(())
}

fn check_kernel(
    device: &mut dyn Device,
    registry: &Registry,
    kernel: &Kernel,
    sizes: &str,
) -> Result<(), String> {
    let source = registry
        .source(kernel, None)
        .map_err(|error| error.to_string())?;
    let mut loaded =
        Loaded::compile(device, &source.path, &source.text).map_err(|error| error.to_string())?;
    for dtype in &kernel.dtypes {
        let case = Case::new(kernel, sizes, *dtype).map_err(|error| error.to_string())?;
        let told = |kind: &str, why: String| format!("{dtype}, {kind}: {why}");
        check(device, &mut loaded, &case, &kernel.oracle, Kind::Usual)
            .map_err(|why| told("usual", why))?;
        if inputs::has_extremes(&case) {
            check(device, &mut loaded, &case, &kernel.oracle, Kind::Extreme)
                .map_err(|why| told("extreme", why))?;
        }
    }
    Ok(())
}

#[test]
fn every_kernel_agrees_with_its_oracle() {
    let Some(mut device) = common::device() else {
        return;
    };
    let registry = Registry::embedded().unwrap();
    let only = std::env::var("KERNELS").unwrap_or_default();
    let only: Vec<&str> = only.split(',').filter(|name| !name.is_empty()).collect();
    let sizes = std::env::var("SIZES").unwrap_or("quick".to_owned());
    let mut failures = Vec::new();
    for kernel in registry
        .kernels()
        .filter(|kernel| only.is_empty() || only.contains(&kernel.name.as_str()))
    {
        if let Err(why) = check_kernel(&mut device, registry, kernel, &sizes) {
            failures.push(format!("{}: {why}", kernel.name));
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}
