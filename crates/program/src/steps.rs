//! Steps of a program: tokens, iterations.

use crate::recorded::{Recorded, Step};
use crate::simulate::Run;
use assay_trace::document::StepTimes;
use std::fmt;

/// How steps are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Steps {
    /// So many of equally many dispatches.
    Count(u64),
    /// A step begins with a dispatch whose kernel, label, debug group or command buffer matches, unless the one before it did.
    Pattern(String),
}

impl std::str::FromStr for Steps {
    type Err = String;

    fn from_str(text: &str) -> Result<Steps, String> {
        match text.trim().parse::<u64>() {
            Ok(0) => Err("expected a number of steps, or a name with * for any text".to_owned()),
            Ok(count) => Ok(Steps::Count(count)),
            Err(_) if text.trim().is_empty() => {
                Err("expected a number of steps, or a name with * for any text".to_owned())
            }
            Err(_) => Ok(Steps::Pattern(text.trim().to_owned())),
        }
    }
}

impl fmt::Display for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Steps::Count(_) => f.write_str("their number"),
            Steps::Pattern(pattern) => f.write_str(pattern),
        }
    }
}

impl Steps {
    /// The first slots of steps.
    fn starts(&self, recorded: &Recorded, run: &Run) -> Vec<usize> {
        let slots = &run.slots;
        let pattern = match self {
            Steps::Count(count) => {
                let count = (*count).min(slots.len() as u64);
                let at =
                    |n: u64| (u128::from(n) * slots.len() as u128 / u128::from(count)) as usize;
                return (0..count).map(at).collect();
            }
            Steps::Pattern(pattern) => pattern,
        };
        let matches = |text: &str| fast_glob::glob_match(pattern, text);
        let (mut starts, mut before) = (Vec::new(), false);
        let mut label = "";
        let mut heads = recorded.steps.iter().enumerate().peekable();
        for (at, slot) in slots.iter().enumerate() {
            while let Some((_, step)) = heads.next_if(|(place, _)| *place <= slot.step as usize) {
                if let Step::CommandBuffer(head) = step {
                    label = &head.label;
                }
            }
            let here = match recorded.steps.get(slot.step as usize) {
                Some(Step::Dispatch(dispatch)) => {
                    let kernel = recorded.kernel(dispatch.launch);
                    [&*kernel, &*dispatch.label, &*dispatch.group, label]
                        .into_iter()
                        .any(matches)
                }
                _ => matches(label),
            };
            if here && !before {
                starts.push(at);
            }
            before = here;
        }
        starts
    }

    /// Times of the steps; none where there is none. What is before the first step is not counted.
    pub fn times(&self, recorded: &Recorded, run: &Run) -> Option<StepTimes> {
        let starts = self.starts(recorded, run);
        let first = *starts.first()?;
        let begin = |slot: usize| {
            run.slots
                .get(slot)
                .map_or(run.total_us, |slot| slot.start_us - slot.gap_us)
        };
        let ends = starts.iter().skip(1).copied().chain([run.slots.len()]);
        let each = starts
            .iter()
            .zip(ends)
            .map(|(start, end)| begin(end) - begin(*start));
        let each: Vec<f64> = each.collect();
        let count = each.len() as f64;
        let mean = each.iter().sum::<f64>() / count;
        let (low, high) = run.band(mean);
        Some(StepTimes {
            by: self.to_string(),
            count: each.len() as u64,
            mean_ms: mean / 1e3,
            low_ms: low / 1e3,
            high_ms: high / 1e3,
            min_ms: each.iter().copied().fold(f64::INFINITY, f64::min) / 1e3,
            max_ms: each.iter().copied().fold(0.0, f64::max) / 1e3,
            per_second: 1e6 / mean.max(f64::MIN_POSITIVE),
            dispatches: (run.slots.len() - first) as f64 / count,
        })
    }
}
