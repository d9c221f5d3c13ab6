//! How long the steps of a question took on this machine.

use std::time::Duration;

#[cfg(not(target_arch = "wasm32"))]
use std::time::Instant;
#[cfg(target_arch = "wasm32")]
use web_time::Instant;

/// Host times of named steps.
#[derive(Debug, Default)]
pub struct Phases {
    steps: Vec<(&'static str, Duration)>,
    /// Told when a step begins.
    begun: Option<fn(&str)>,
}

impl Phases {
    /// Steps that are told to a function as they begin.
    pub fn told(begun: fn(&str)) -> Phases {
        Phases {
            steps: Vec::new(),
            begun: Some(begun),
        }
    }

    /// Does a step and remembers its time; the same name twice is one step.
    pub fn step<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        if let Some(begun) = self.begun {
            begun(name);
        }
        let start = Instant::now();
        let result = work();
        let spent = start.elapsed();
        match self.steps.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += spent,
            None => self.steps.push((name, spent)),
        }
        result
    }

    /// The steps with their times.
    pub fn steps(&self) -> impl Iterator<Item = (&'static str, Duration)> + '_ {
        self.steps.iter().copied()
    }
}
