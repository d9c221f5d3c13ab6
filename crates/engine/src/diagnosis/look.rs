//! What rules look at: an executed sample, its prediction, and the time without an effect.

use super::severity;
use crate::Error;
use crate::execution::Pass;
use assay_agx::Program;
use assay_predict::seen::Seen;
use assay_predict::{Cache, CommandBuffer, Execution, Predicted, Sampled, Target, predict};
use assay_profile::{Cure, Finding, SourceLine, TimeGain};
use std::collections::BTreeMap;

/// A dispatch under examination.
pub(super) struct Look<'a> {
    pub(super) program: &'a Program,
    pub(super) sampled: &'a Sampled,
    pub(super) execution: &'a Execution,
    pub(super) predicted: &'a Predicted,
    pub(super) target: &'a Target,
    pub(super) seen: Seen,
    /// The size of the grid is a guess.
    pub(super) guessed: bool,
    state: Cache,
    time_us: f64,
    /// The line that declares the kernel.
    declaration: Option<u32>,
}

/// What a rule found.
#[derive(Default)]
pub(super) struct Found {
    /// Byte offsets of instructions, the heaviest first.
    pub(super) offsets: Vec<u32>,
    /// It is about the kernel as a whole: the line that declares it.
    pub(super) of_kernel: bool,
    pub(super) message: String,
    pub(super) seen: Vec<assay_profile::Seen>,
    /// The same execution without the effect; none where nothing could be removed.
    pub(super) without: Option<Execution>,
    pub(super) cure: Cure,
}

impl<'a> Look<'a> {
    pub(super) fn new(
        pass: &'a Pass,
        sampled: &'a Sampled,
        predicted: &'a Predicted,
        target: &'a Target,
        state: Cache,
        text: Option<&str>,
    ) -> Result<Look<'a>, Error> {
        let mut look = Look {
            program: &pass.program,
            sampled,
            execution: &pass.execution,
            predicted,
            target,
            seen: sampled.seen(),
            guessed: pass.guessed,
            state,
            time_us: 0.0,
            declaration: text.and_then(|text| declaration(text, &pass.program.name)),
        };
        look.time_us = look.time(&pass.execution)?;
        Ok(look)
    }

    fn time(&self, execution: &Execution) -> Result<f64, Error> {
        let buffer = CommandBuffer::of(execution);
        let (chip, constants) = (&self.target.chip, &self.target.constants);
        Ok(predict(&buffer, chip, constants, self.state)?.time_us)
    }

    /// What is gained where the execution is another one. Of the ratio of both times four of five lie in the band of pairs.
    pub(super) fn gain(&self, without: &Execution) -> Result<TimeGain, Error> {
        let time = self.time(without)?;
        let band = self.target.constants.band_pair;
        let saved = |time: f64| (self.time_us - time).max(0.0);
        Ok(TimeGain {
            us: digits(saved(time)),
            share: digits(saved(time) / self.time_us.max(f64::MIN_POSITIVE)),
            low_us: digits(saved(time * band)),
            high_us: digits(saved(time / band)),
        })
    }

    /// File and line of an instruction.
    pub(super) fn line(&self, offset: u32) -> Option<SourceLine> {
        let line = self.program.line_at(offset).filter(|line| line.line != 0)?;
        let file = self.program.files.get(line.file as usize)?;
        Some(SourceLine {
            file: file.clone(),
            line: line.line,
        })
    }

    /// Offsets by what each is worth, those of one source line together, the heaviest line first.
    pub(super) fn heaviest(&self, worth: impl IntoIterator<Item = (u32, f64)>) -> Vec<u32> {
        let mut lines: BTreeMap<(Option<u32>, u32), (f64, Vec<u32>)> = BTreeMap::new();
        for (offset, worth) in worth {
            let line = self.line(offset).map(|source| source.line);
            let key = (line, if line.is_none() { offset } else { 0 });
            let entry = lines.entry(key).or_default();
            entry.0 += worth;
            entry.1.push(offset);
        }
        let mut lines: Vec<(f64, Vec<u32>)> = lines.into_values().collect();
        lines.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        lines.into_iter().flat_map(|(_, offsets)| offsets).collect()
    }

    pub(super) fn finding(
        &self,
        rule: &'static str,
        found: Found,
        weight: Option<TimeGain>,
    ) -> Finding {
        let first = found.offsets.first().copied().unwrap_or(0);
        let mut lines = Vec::new();
        for source in found.offsets.iter().filter_map(|&offset| self.line(offset)) {
            if !lines.contains(&source.line) {
                lines.push(source.line);
            }
        }
        let mut source = self.line(first);
        if found.of_kernel {
            source = self.declaration.map(|line| SourceLine {
                file: self.program.files.first().cloned().unwrap_or_default(),
                line,
            });
            lines.extend(self.declaration);
        }
        Finding {
            rule,
            severity: severity(weight),
            message: found.message,
            range: (first, first.saturating_add(2)),
            source,
            gain: None,
            recipes: assay_profile::recipes(rule),
            lines,
            seen: found.seen,
            weight,
            cure: Some(found.cure).filter(|cure| !cure.advice.is_empty()),
        }
    }
}

/// The line of a source, from 1, in which a kernel is declared.
fn declaration(text: &str, kernel: &str) -> Option<u32> {
    let declares = |line: &str| {
        let named = line.match_indices(kernel).any(|(at, _)| {
            let after = line
                .get(at + kernel.len()..)
                .unwrap_or_default()
                .trim_start();
            let before = line.get(..at).unwrap_or_default();
            after.starts_with('(') && before.ends_with(|c: char| c.is_whitespace() || c == '*')
        });
        named && !line.trim_start().starts_with("//")
    };
    let mut lines = (1..).zip(text.lines());
    lines.find(|(_, line)| declares(line)).map(|(line, _)| line)
}

/// Three significant digits.
pub(super) fn digits(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10f64.powi(2 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

/// A figure with what would do.
pub(super) fn seen(
    name: &'static str,
    value: f64,
    would_do: impl Into<Option<f64>>,
) -> assay_profile::Seen {
    assay_profile::Seen {
        name,
        value: digits(value),
        would_do: would_do.into().map(digits),
    }
}

/// A cure that is advice only.
pub(super) fn advice(text: &str) -> Cure {
    Cure {
        advice: text.to_owned(),
        ..Cure::default()
    }
}
