//! How long the steps of a command took on this machine, for `-v`.

use crate::context::{Context, Verbosity};
use crate::progress;
use std::time::{Duration, Instant};

/// Host times of named steps.
#[derive(Debug, Default)]
pub(crate) struct Phases {
    steps: Vec<(&'static str, Duration)>,
}

impl Phases {
    /// Does a step and remembers its time; the same name twice is one step.
    pub(crate) fn step<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        progress::stage(name);
        let start = Instant::now();
        let result = work();
        let spent = start.elapsed();
        match self.steps.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += spent,
            None => self.steps.push((name, spent)),
        }
        result
    }

    /// Says on standard error how long each step took, when `-v` asked for it, and what a compiler ran without.
    pub(crate) fn show(&self, context: &Context) {
        if context.verbosity < Verbosity::Verbose {
            return;
        }
        let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
        for (name, time) in &self.steps {
            context.note(&format!("{:>9.2} ms host  {name}", milliseconds(*time)));
        }
        if let assay_msl::Sandbox::Missing(why) = assay_msl::sandbox() {
            context.note(&format!("compiled without a sandbox: {why}"));
        }
        let total = self.steps.iter().map(|(_, time)| *time).sum();
        context.note(&format!("{:>9.2} ms host  in all", milliseconds(total)));
    }
}
