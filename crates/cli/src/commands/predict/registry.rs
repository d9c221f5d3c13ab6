//! Which kernels of the registry were named.

use super::Args;
use crate::context::Context;
use crate::failure::Failure;
use crate::prediction::{Code, Task};
use crate::source;
use assay_bench::registry::{Kernel, Registry, Set};
use assay_sweep::prediction::executions;
use indicatif::{ProgressBar, ProgressStyle};

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum SetName {
    /// Single operations, and convolutions with what follows them
    Common,
    /// Fused operations of neural networks
    Standard,
    /// Whole small models and layers
    Full,
}

impl SetName {
    fn set(self) -> Set {
        match self {
            SetName::Common => Set::Common,
            SetName::Standard => Set::Standard,
            SetName::Full => Set::Full,
        }
    }
}

/// The kernels that were named, executed one after the other.
pub(super) fn tasks(args: &Args, context: &Context) -> Result<Vec<Task>, Failure> {
    let registry = Registry::embedded().map_err(|error| Failure::input(error.to_string()))?;
    let kernels: Vec<&Kernel> = if args.kernels.is_empty() {
        if args.set.is_empty() && !args.all {
            return Err(Failure::usage("no kernel is named").advice(
                "name a file with a launch, kernels of the registry, --set SET or --all; assay bench --list shows \
                 the registry",
            ));
        }
        let wanted = |set: Set| args.all || args.set.iter().any(|name| name.set() == set);
        registry
            .kernels()
            .filter(|kernel| wanted(kernel.set))
            .collect()
    } else {
        let named = args.kernels.iter().map(|name| registry.kernel(name));
        let named: Result<Vec<&Kernel>, _> = named.collect();
        named.map_err(|error| {
            Failure::usage(error.to_string()).advice("assay bench --list shows all kernels")
        })?
    };
    let workspace = source::workspace();
    let bar = progress(kernels.len(), context);
    let mut tasks = Vec::new();
    for kernel in kernels {
        bar.set_message(kernel.name.clone());
        tasks.push(Task {
            kernel: kernel.name.clone(),
            code: Code::Generated,
            executed: executions(
                &workspace,
                registry,
                kernel,
                &args.size_set,
                &args.sampling(),
            ),
        });
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(tasks)
}

fn progress(count: usize, context: &Context) -> ProgressBar {
    if !context.progress || count < 2 {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(count as u64);
    if let Ok(style) = ProgressStyle::with_template("{pos}/{len} {msg}") {
        bar.set_style(style);
    }
    bar
}
