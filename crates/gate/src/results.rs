//! What a kernel computed beside what it computed before, from the same inputs.

use crate::examine::Examination;
use crate::report::Level;
use crate::right::Right;
use crate::rules;
use crate::snapshot::{Contents, Kernel, RunResult};

/// A buffer that holds something else.
struct Wrong {
    /// Which, where, and how it differs.
    words: String,
    /// Of floats, how many units of the last place at most.
    ulps: Option<u64>,
}

impl Examination<'_> {
    /// Compares every run with that of the base, and variations of the launch that the kernel was made for.
    pub(crate) fn results(&mut self) {
        let Some(base) = self.base else { return };
        let mut wrong = Vec::new();
        // What is wrong with the launch as it is written need not be told again for each of its variations.
        let mut problems = self.problems.iter();
        let mut told = usize::from(problems.any(|problem| problem.level == Level::Error));
        for after in &self.head.results {
            let Some(before) = base.results.iter().find(|one| one.is_like(after)) else {
                continue;
            };
            if before.stopped.is_some() {
                continue;
            }
            if after.stopped.is_some() {
                // One variation is enough to say what is wrong.
                if told == 0 {
                    self.stops(after);
                }
                told += 1;
                continue;
            }
            if self.head.has_oracle {
                if told == 0 && before.wrong.is_empty() && !after.wrong.is_empty() {
                    self.oracle_says(after);
                    told += 1;
                }
            } else if before.inputs != after.inputs && !after.trial.is_empty() {
                // A variation varies an argument that is new, too.
            } else if before.has_inputs_of(after) {
                wrong.extend(self.differing(base, before, after));
            } else {
                self.notes.push(
                    "its inputs are others than before: results were not compared".to_owned(),
                );
            }
        }
        if base.results.is_empty() && !self.head.results.is_empty() && !self.head.has_oracle {
            self.notes
                .push("it was not run before: results were not compared".to_owned());
        }
        self.notes.dedup();
        self.computes_otherwise(&wrong);
    }

    /// A variation that the kernel was clean with, and is not any more.
    fn stops(&mut self, after: &RunResult) {
        let Some(failed) = &after.stopped else { return };
        if let Some(reason) = self.accepted("check") {
            self.notes.push(format!("findings accepted: {reason}"));
            return;
        }
        let message = format!(
            "is not clean{}, and was before: {}",
            after.at(),
            failed.message
        );
        let place = failed.place.clone();
        let place = place.or_else(|| self.blame()?.changed());
        let changed = self.blame().and_then(|blame| blame.changed());
        let advice = match changed {
            Some(changed) => format!("the kernel changed at {changed}"),
            None => format!("if it is meant to be: {}", self.accept("check")),
        };
        self.problem(rules::NOT_CLEAN, Level::Error, place, message, advice);
    }

    fn oracle_says(&mut self, after: &RunResult) {
        let place = self.blame().and_then(|blame| blame.changed());
        let message = format!("{}, and was right before", after.wrong);
        let advice = "the oracle is in [oracle] of assay.toml".to_owned();
        self.problem(rules::WRONG_RESULT, Level::Error, place, message, advice);
    }

    /// Buffers of a run that hold something else than those of another.
    fn differing(&self, base: &Kernel, before: &RunResult, after: &RunResult) -> Vec<Wrong> {
        let mut wrong = Vec::new();
        for buffer in &after.buffers {
            let old = before.buffers.iter().find(|one| one.is_of(buffer));
            match old {
                Some(old) if old.hash == buffer.hash => {}
                // An argument that is new has nothing to be compared with.
                None if after.inputs != before.inputs => {}
                old => wrong.extend(self.wrong(base, (before, old), (after, buffer))),
            }
        }
        let gone = before.buffers.iter().filter(|old| {
            let is_output = after.buffers.iter().any(|one| one.is_of(old));
            !is_output && (after.inputs == before.inputs || after.given.contains_key(&old.name))
        });
        wrong.extend(gone.map(|old| Wrong {
            words: format!(
                "buffer {} (\"{}\") is not written{}",
                old.index,
                old.name,
                after.at()
            ),
            ulps: None,
        }));
        wrong
    }

    /// A buffer whose bytes are others, unless that is within what the group allows.
    fn wrong(
        &self,
        base: &Kernel,
        (before, old): (&RunResult, Option<&Contents>),
        (after, buffer): (&RunResult, &Contents),
    ) -> Option<Wrong> {
        let allowed = match self.group.map(|group| group.right) {
            Some(Right::Ulp(ulps)) => Some(u64::from(ulps)),
            _ => None,
        };
        let differs = old.zip(self.judge.explain).and_then(|(old, explain)| {
            let sides = [(base, before, old), (self.head, after, buffer)];
            explain(sides, allowed.is_some())
        });
        let differs = differs.unwrap_or_default();
        if allowed
            .zip(differs.ulps)
            .is_some_and(|(most, ulps)| ulps <= most)
        {
            return None;
        }
        let words = match differs.words.as_str() {
            "" => String::new(),
            words => format!(": {words}"),
        };
        let (index, name) = (buffer.index, &buffer.name);
        Some(Wrong {
            words: format!("buffer {index} (\"{name}\") differs{}{words}", after.at()),
            ulps: differs.ulps,
        })
    }

    fn computes_otherwise(&mut self, wrong: &[Wrong]) {
        let [first, more @ ..] = wrong else { return };
        self.results_differ = true;
        if let Some(reason) = self.accepted("result") {
            self.notes
                .push(format!("another result accepted: {reason}"));
            return;
        }
        let mut message = format!("computes something else than before: {}", first.words);
        if !more.is_empty() {
            message += &format!(" (and {} more)", more.len());
        }
        let place = self.blame().and_then(|blame| blame.changed());
        let most = wrong.iter().map(|one| one.ulps).max().flatten();
        let all_near = wrong.iter().all(|one| one.ulps.is_some());
        let ulps = match most.filter(|ulps| all_near && *ulps <= FEW_ULPS) {
            Some(ulps) => format!("result = \"{ulps}ulp\" in its group, "),
            None => String::new(),
        };
        let advice = format!(
            "if it is meant to be: {ulps}an oracle in [oracle], or {}",
            self.accept("result")
        );
        self.problem(rules::WRONG_RESULT, Level::Error, place, message, advice);
    }
}

/// Units of the last place that another order of operations explains.
const FEW_ULPS: u64 = 64;
