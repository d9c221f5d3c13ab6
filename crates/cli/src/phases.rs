//! How long the steps of a command took on this machine, for `-v`.

use crate::context::{Context, Verbosity};
use crate::progress;
use std::time::Duration;

pub(crate) use assay_engine::Phases;

/// Steps that whoever listens is told about.
pub(crate) fn told() -> Phases {
    Phases::told(progress::stage)
}

/// Says on standard error how long each step took, when `-v` asked for it.
pub(crate) fn show(phases: &Phases, context: &Context) {
    if context.verbosity < Verbosity::Verbose {
        return;
    }
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    for (name, time) in phases.steps() {
        context.note(&format!("{:>9.2} ms host  {name}", milliseconds(time)));
    }
    if let assay_msl::Sandbox::Missing(why) = assay_msl::sandbox() {
        context.note(&format!("compiled without a sandbox: {why}"));
    }
    let total = phases.steps().map(|(_, time)| time).sum();
    context.note(&format!("{:>9.2} ms host  in all", milliseconds(total)));
}
