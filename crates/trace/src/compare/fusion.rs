//! Whether work was fused: by how many dispatches a step has, and by the names of kernels.
//!
//! Fewer dispatches alone are no proof: a step may have lost work, or do it in larger
//! batches. Names tell the difference. A fused run has kernels the other one lacks, and
//! lacks (or runs less often) those they replace; a compiler often writes the names of the
//! operations into the name of the kernel (`CompiledMultiplySigmoid`, `fused_mlp`).

use super::document::{Fusion, KernelChange, Metric};
use crate::analysis::document::{Analysis, Label};
use crate::analysis::labels::{UNLABELLED, is_default, label_family};
use crate::analysis::stats::rounded;
use std::collections::{BTreeMap, BTreeSet};

/// Executions must change by this much before anything is said about fusion.
const FUSED: f64 = 0.1;
/// Names listed of a kind.
const SHOWN: usize = 6;

/// Dispatches per step by kernel.
type Kernels = BTreeMap<String, f64>;

pub(super) fn judge(
    metrics: &[Metric],
    a: &Analysis,
    b: &Analysis,
    scale: (f64, f64),
    per_step: bool,
) -> Fusion {
    // Kernels of single dispatches where both runs time them, else what encoders are called.
    let dispatches = !a.kernels.is_empty() && !b.kernels.is_empty();
    let rows = |analysis: &Analysis, by: f64| match dispatches {
        true => by_name(&analysis.kernels, by, str::to_owned),
        false => by_name(&analysis.families, by, operation),
    };
    let names = Names {
        before: rows(a, scale.0),
        after: rows(b, scale.1),
        counted: if dispatches {
            "dispatches"
        } else {
            "encoder executions"
        },
        per: if per_step { "per step" } else { "per run" },
    };
    let happened = names.happened();
    let single = dispatches.then(|| per_dispatch(&names, a, b, scale));
    let effect = effect(metrics, happened, single.flatten());
    Fusion {
        happened: happened.to_owned(),
        evidence: names.evidence(),
        counted: names.counted.to_owned(),
        kernels: names.changes(),
        ..effect
    }
}

/// The operation a label names: its encoder's part, or its command buffer's where the encoder
/// has none of its own.
fn operation(label: &str) -> String {
    if is_default(label) {
        return UNLABELLED.to_owned();
    }
    let family = label_family(label);
    match family.rsplit_once(':') {
        Some((buffer, encoder)) if is_default(encoder) => buffer.trim().to_owned(),
        Some((_, encoder)) => encoder.trim().to_owned(),
        None => family,
    }
}

fn by_name(rows: &[Label], by: f64, name: impl Fn(&str) -> String) -> Kernels {
    let mut out = Kernels::new();
    for row in rows {
        *out.entry(name(&row.label)).or_default() += row.count as f64 / by;
    }
    out
}

/// Words of a name in lower case: `CompiledMultiplyAdd` and `fused_multiply_add` have
/// `multiply` and `add` in common.
fn words(name: &str) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    let mut word = String::new();
    let mut lower_before = false;
    for character in name.chars() {
        let boundary = !character.is_alphanumeric() || (character.is_uppercase() && lower_before);
        if boundary && !word.is_empty() {
            out.insert(std::mem::take(&mut word));
        }
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        }
        lower_before = character.is_lowercase() || character.is_ascii_digit();
    }
    if !word.is_empty() {
        out.insert(word);
    }
    out
}

struct Names {
    before: Kernels,
    after: Kernels,
    counted: &'static str,
    per: &'static str,
}

impl Names {
    fn ratio(&self) -> Option<f64> {
        let sum = |kernels: &Kernels| kernels.values().sum::<f64>();
        let before = sum(&self.before);
        (before > 0.0).then(|| sum(&self.after) / before)
    }

    fn only<'a>(of: &'a Kernels, not: &'a Kernels) -> impl Iterator<Item = (&'a String, f64)> {
        let lacks = |(name, _): &(&String, &f64)| !not.contains_key(*name);
        of.iter().filter(lacks).map(|(name, &count)| (name, count))
    }

    /// Operations of the first run whose words stand in a new kernel's name.
    fn parts(&self, kernel: &str) -> Vec<&str> {
        let words_of_kernel = words(kernel);
        let inside = |name: &&String| {
            let own = words(name);
            name.as_str() != kernel && !own.is_empty() && own.is_subset(&words_of_kernel)
        };
        self.before
            .keys()
            .filter(inside)
            .map(String::as_str)
            .collect()
    }

    /// Returns true if a kernel's name says that it is a fusion.
    fn reads_fused(&self, kernel: &str) -> bool {
        let words = words(kernel);
        words
            .iter()
            .any(|word| word == "fused" || word == "compiled")
            || self.parts(kernel).len() >= 2
    }

    fn happened(&self) -> &'static str {
        let Some(ratio) = self.ratio() else {
            return "unknown";
        };
        if ratio >= 1.0 - FUSED {
            return "no";
        }
        let unnamed = |kernels: &Kernels| kernels.keys().all(|name| name == UNLABELLED);
        if unnamed(&self.before) || unnamed(&self.after) {
            return "unknown";
        }
        let mut new = Names::only(&self.after, &self.before).peekable();
        if new.peek().is_none() {
            return "no";
        }
        match new.any(|(name, _)| self.reads_fused(name)) {
            true => "yes",
            false => "likely",
        }
    }

    fn listed<'a>(&self, kernels: impl Iterator<Item = (&'a String, f64)>) -> String {
        let mut all: Vec<(&String, f64)> = kernels.collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
        let more = all.len().saturating_sub(SHOWN);
        let first = all.iter().take(SHOWN);
        let mut text: Vec<String> = first
            .map(|(name, count)| format!("{} ({} {})", shown(name), figure(*count), self.per))
            .collect();
        if more > 0 {
            text.push(format!("{more} more"));
        }
        text.join(", ")
    }

    fn evidence(&self) -> Vec<String> {
        let Some(ratio) = self.ratio() else {
            return Vec::new();
        };
        let sum = |kernels: &Kernels| figure(kernels.values().sum());
        let mut out = vec![format!(
            "{} {} {} before, {} after: {ratio:.2} times as many",
            sum(&self.before),
            self.counted,
            self.per,
            sum(&self.after)
        )];
        let gone = self.listed(Names::only(&self.before, &self.after));
        let new = self.listed(Names::only(&self.after, &self.before));
        for (word, list) in [("new", new), ("gone", gone)] {
            if !list.is_empty() {
                out.push(format!("{word}: {list}"));
            }
        }
        let kept = self.before.iter().filter_map(|(name, &before)| {
            let &after = self.after.get(name)?;
            let changed = (after - before).abs() > before * FUSED;
            let (before, after) = (figure(before), figure(after));
            changed.then(|| format!("{} ({before} → {after} {})", shown(name), self.per))
        });
        let kept: Vec<String> = kept.take(SHOWN).collect();
        if !kept.is_empty() {
            out.push(format!("in both, but not as often: {}", kept.join(", ")));
        }
        for (kernel, _) in Names::only(&self.after, &self.before).take(SHOWN) {
            let parts = self.parts(kernel);
            if parts.len() >= 2 {
                let parts = parts.join(", ");
                out.push(format!("the name {} is made of {parts}", shown(kernel)));
            }
        }
        if self.before.contains_key(UNLABELLED) || self.after.contains_key(UNLABELLED) {
            out.push(
                "some work has no label: names are only as good as the labels (MLX sets them when built with MLX_METAL_DEBUG=ON)"
                    .to_owned(),
            );
        }
        out
    }

    fn changes(&self) -> Vec<KernelChange> {
        let names: BTreeSet<&String> = self.before.keys().chain(self.after.keys()).collect();
        let count = |kernels: &Kernels, name: &String| kernels.get(name).copied().map(rounded);
        let change = |name: &String| KernelChange {
            kernel: name.clone(),
            before: count(&self.before, name),
            after: count(&self.after, name),
        };
        names.into_iter().map(change).collect()
    }
}

/// A name as a sentence has it. Compiled kernels have names of hundreds of characters that differ at their ends; the list of changes has all.
fn shown(name: &str) -> String {
    const START: usize = 30;
    const END: usize = 18;
    let count = name.chars().count();
    if count <= START + END + 1 {
        return name.to_owned();
    }
    let start: String = name.chars().take(START).collect();
    let end: String = name.chars().skip(count - END).collect();
    format!("{start}…{end}")
}

/// A count, without digits that say nothing.
fn figure(count: f64) -> String {
    if (count - count.round()).abs() < 0.05 {
        format!("{count:.0}")
    } else {
        format!("{count:.1}")
    }
}

/// How many times as many dispatches there are, and how many times as long each: an encoder may hold fewer of them than before.
fn per_dispatch(
    names: &Names,
    a: &Analysis,
    b: &Analysis,
    (before, after): (f64, f64),
) -> Option<(f64, f64)> {
    let sum = |rows: &[Label], by: f64| rows.iter().map(|row| row.total_ms).sum::<f64>() / by;
    let counts = names.ratio().filter(|ratio| *ratio > 0.0)?;
    let time = sum(&b.kernels, after) / sum(&a.kernels, before);
    time.is_finite()
        .then(|| (rounded(counts), rounded(time / counts)))
}

/// What having fewer dispatches was worth.
fn effect(metrics: &[Metric], happened: &str, single: Option<(f64, f64)>) -> Fusion {
    let ratio = |name: &str| {
        let metric = metrics.iter().find(|metric| metric.metric == name)?;
        let (before, after) = metric.before.zip(metric.after)?;
        (before > 0.0).then(|| rounded(after / before))
    };
    let (executions, mean) = match single {
        Some((count, mean)) => (Some(count), Some(mean)),
        None => (ratio("executions"), ratio("mean")),
    };
    let busy = ratio("busy");
    let time = ratio("time");
    let (state, explanation) = match (executions, mean, busy) {
        (Some(executions), Some(mean), Some(busy)) if executions < 1.0 - FUSED => {
            let bytes = ratio("bytes");
            let bytes = bytes.map(|bytes| format!(", {bytes:.2} times the bytes"));
            let figures = format!(
                "{:.2} times as many executions, each {mean:.2} times as long{}, {busy:.2} times the GPU time, {:.2} times the run time",
                executions,
                bytes.unwrap_or_default(),
                time.unwrap_or(1.0)
            );
            let longer = mean > 1.0;
            match (busy <= 1.02, time.is_none_or(|time| time <= 1.02), longer) {
                _ if happened == "no" => (
                    "no",
                    format!(
                        "fewer executions of the same kernels: work was left out or batched, not fused: {figures}"
                    ),
                ),
                (true, true, true) => (
                    "working",
                    format!("fewer and longer executions, and less in total: {figures}"),
                ),
                (true, true, false) => (
                    "working",
                    format!("fewer executions and less in total: {figures}"),
                ),
                (false, true, _) => (
                    "partly",
                    format!("fewer executions and a shorter run, but more GPU time: {figures}"),
                ),
                _ => (
                    "no",
                    format!("fewer executions, but not less time: {figures}"),
                ),
            }
        }
        (Some(executions), ..) if executions > 1.0 + FUSED => (
            "no",
            format!(
                "the second run has more executions ({executions:.2} times as many), not fewer"
            ),
        ),
        _ => (
            "not applicable",
            "both runs have about the same number of executions".to_owned(),
        ),
    };
    Fusion {
        state: state.to_owned(),
        explanation,
        happened: String::new(),
        counted: String::new(),
        executions_ratio: executions,
        mean_ratio: mean,
        busy_ratio: busy,
        kernels: Vec::new(),
        evidence: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernels(rows: &[(&str, f64)]) -> Kernels {
        let row = |&(name, count): &(&str, f64)| (name.to_owned(), count);
        rows.iter().map(row).collect()
    }

    fn happened(before: &[(&str, f64)], after: &[(&str, f64)]) -> &'static str {
        let names = Names {
            before: kernels(before),
            after: kernels(after),
            counted: "dispatches",
            per: "per step",
        };
        names.happened()
    }

    #[test]
    fn fusion_needs_fewer_dispatches_and_new_names() {
        let eager = [("multiply", 28.0), ("sigmoid", 28.0), ("matmul", 56.0)];
        for (after, expected) in [
            (
                &[("CompiledMultiplySigmoid", 28.0), ("matmul", 56.0)][..],
                "yes",
            ),
            (&[("swiglu", 28.0), ("matmul", 56.0)][..], "likely"),
            // The same kernels, fewer times: batched or left out.
            (
                &[("multiply", 7.0), ("sigmoid", 7.0), ("matmul", 14.0)][..],
                "no",
            ),
            (
                &[
                    ("fused_multiply", 28.0),
                    ("sigmoid", 28.0),
                    ("matmul", 56.0),
                ][..],
                "no",
            ),
            (&[(UNLABELLED, 20.0)][..], "unknown"),
        ] {
            assert_eq!(happened(&eager, after), expected, "{after:?}");
        }
    }

    #[test]
    fn labels_name_operations() {
        assert_eq!(operation("layer 7:qkv"), "qkv");
        assert_eq!(operation("decode:Compute Command 0"), "decode");
        assert_eq!(operation("Command Buffer 0:Compute Command 3"), UNLABELLED);
    }
}
