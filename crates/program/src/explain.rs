//! What a program's GPU time consists of, for the report.

use crate::hazards;
use crate::kernels::Kernels;
use crate::recorded::{Recorded, Step};
use crate::simulate::{Run, SlotKind};
use crate::steps::Steps;
use assay_trace::document::{
    ChipTime, CopyTimes, GroupTime, HostPace, KernelTime, Program, RemadePipelines,
    SmallDispatches, Unpredicted,
};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Explains a program on the first of some chips.
pub(crate) fn explain(
    recorded: &Recorded,
    kernels: &Kernels,
    run: &Run,
    (all, steps): (&[Run], Option<&Steps>),
) -> Program {
    let by_kernel = kernel_times(recorded, run);
    let copies: Vec<u64> = run.slots.iter().filter_map(copied).collect();
    let copy_us: f64 = run
        .slots
        .iter()
        .filter(|slot| copied(slot).is_some())
        .fold(0.0, |sum, slot| sum + slot.end_us - slot.start_us);
    let converting = by_kernel.iter().filter(|kernel| converts(&kernel.kernel));
    let (converted, converting_ms) = converting.fold((0, 0.0), |(count, ms), kernel| {
        (count + kernel.dispatches, ms + kernel.total_ms)
    });
    let [read_bytes, written_bytes] = bytes(run);
    Program {
        basis: "modelled".to_owned(),
        chip: run.target.chip.title.to_owned(),
        gpu_ms: run.total_us / 1e3,
        low_ms: run.low_us / 1e3,
        high_ms: run.high_us / 1e3,
        kernels_ms: by_kernel.iter().fold(0.0, |sum, one| sum + one.total_ms),
        copies_ms: copy_us / 1e3,
        overhead_ms: run.overhead_us / 1e3,
        dispatches: recorded.dispatches().count() as u64,
        read_bytes,
        written_bytes,
        launches: recorded.launches.len() as u64,
        executed: recorded.process.executed,
        chips: all
            .iter()
            .map(|run| chip_time(recorded, run, steps))
            .collect(),
        copies: CopyTimes {
            blits: copies.len() as u64,
            blit_bytes: copies.iter().sum(),
            kernels: converted,
            kernels_ms: converting_ms,
        },
        groups: group_times(recorded, run),
        steps: steps.and_then(|steps| steps.times(recorded, run)),
        host: host(recorded, run),
        small: small(run),
        needless: hazards::needless(recorded, kernels, run),
        overwritten: hazards::overwritten(recorded, kernels, run),
        remade: remade(recorded),
        unpredicted: unpredicted(recorded, run),
        kernels: by_kernel,
    }
}

fn copied(slot: &crate::Slot) -> Option<u64> {
    match slot.kind {
        SlotKind::Copy(bytes) => Some(bytes),
        SlotKind::Dispatch(_) => None,
    }
}

/// Bytes that all dispatches and copies read, and that they write: each once within a dispatch.
fn bytes(run: &Run) -> [u64; 2] {
    let of_slot = |slot: &crate::Slot| match slot.kind {
        SlotKind::Copy(bytes) => [bytes as f64; 2],
        SlotKind::Dispatch(launch) => {
            let price = run.prices.get(launch as usize).and_then(Option::as_ref);
            price.map_or([0.0; 2], |price| price.bytes)
        }
    };
    let add = |all: [f64; 2], one: [f64; 2]| [all[0] + one[0], all[1] + one[1]];
    let both = run.slots.iter().map(of_slot).fold([0.0; 2], add);
    both.map(|bytes| bytes.round() as u64)
}

/// Returns true if a kernel's name says that it copies or converts.
fn converts(kernel: &str) -> bool {
    let lower = kernel.to_ascii_lowercase();
    let words = ["copy", "cpy", "cast", "contiguous", "convert"];
    words.iter().any(|word| lower.contains(word))
}

fn needed_us(recorded: &Recorded, run: &Run) -> Option<f64> {
    let dispatches = recorded.dispatches().count();
    (dispatches > 0 && run.total_us > 0.0).then(|| run.total_us / dispatches as f64)
}

fn chip_time(recorded: &Recorded, run: &Run, steps: Option<&Steps>) -> ChipTime {
    let steps = steps.and_then(|steps| steps.times(recorded, run));
    ChipTime {
        chip: run.target.chip.name.to_owned(),
        gpu_ms: run.total_us / 1e3,
        low_ms: run.low_us / 1e3,
        high_ms: run.high_us / 1e3,
        step_ms: steps.map(|steps| steps.mean_ms),
        host_us: needed_us(recorded, run),
        stand_in: run.target.is_stand_in(),
    }
}

fn host(recorded: &Recorded, run: &Run) -> HostPace {
    let (mut spent, mut waits, mut count) = (0u64, 0, 0u64);
    for step in &recorded.steps {
        match step {
            Step::CommandBuffer(one) => spent += one.committed_ns.saturating_sub(one.created_ns),
            Step::Dispatch(_) => count += 1,
            Step::Waited(_) => waits += 1,
            _ => {}
        }
    }
    HostPace {
        needed_us: needed_us(recorded, run),
        encoded_us: (count > 0).then(|| spent as f64 / 1e3 / count as f64),
        waits,
    }
}

fn kernel_times(recorded: &Recorded, run: &Run) -> Vec<KernelTime> {
    #[derive(Default)]
    struct Sum {
        dispatches: u64,
        launches: Vec<u32>,
        us: f64,
        roof: f64,
        limits: FxHashMap<&'static str, f64>,
    }
    let mut sums: BTreeMap<Arc<str>, Sum> = BTreeMap::new();
    for slot in &run.slots {
        let SlotKind::Dispatch(launch) = slot.kind else {
            continue;
        };
        let Some(Some(price)) = run.prices.get(launch as usize) else {
            continue;
        };
        let sum = sums.entry(recorded.kernel(launch)).or_default();
        let us = slot.end_us - slot.start_us;
        sum.dispatches += 1;
        sum.us += us;
        sum.roof += price.roof_us.min(us);
        *sum.limits.entry(price.limited_by).or_default() += us;
        if !sum.launches.contains(&launch) {
            sum.launches.push(launch);
        }
    }
    let whole = run.total_us.max(f64::MIN_POSITIVE);
    let row = |(kernel, sum): (Arc<str>, Sum)| {
        let limit = sum
            .limits
            .iter()
            .max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(a.0)));
        let known = sum.us > 0.0 && sum.roof > 0.0;
        KernelTime {
            kernel: kernel.to_string(),
            dispatches: sum.dispatches,
            launches: sum.launches.len() as u64,
            total_ms: sum.us / 1e3,
            share: sum.us / whole,
            mean_us: sum.us / sum.dispatches.max(1) as f64,
            limited_by: limit.map_or("", |(name, _)| name).to_owned(),
            of_roof: known.then(|| sum.roof / sum.us),
            program_gain: known.then(|| (sum.us - sum.roof) / whole),
        }
    };
    let mut rows: Vec<KernelTime> = sums.into_iter().map(row).collect();
    rows.sort_by(|a, b| b.total_ms.total_cmp(&a.total_ms));
    rows
}

fn group_times(recorded: &Recorded, run: &Run) -> Vec<GroupTime> {
    let mut sums: BTreeMap<String, (u64, f64)> = BTreeMap::new();
    for slot in &run.slots {
        if let Some(Step::Dispatch(dispatch)) = recorded.steps.get(slot.step as usize) {
            let parts = [&*dispatch.label, &*dispatch.group];
            let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            let sum = sums.entry(parts.join("/")).or_default();
            *sum = (sum.0 + 1, sum.1 + slot.end_us - slot.start_us);
        }
    }
    if sums.keys().all(String::is_empty) {
        return Vec::new();
    }
    let row = |(label, (dispatches, us)): (String, (u64, f64))| GroupTime {
        label: match label.is_empty() {
            true => "(unlabelled)".to_owned(),
            false => label,
        },
        dispatches,
        total_ms: us / 1e3,
        share: us / run.total_us.max(f64::MIN_POSITIVE),
    };
    let mut rows: Vec<GroupTime> = sums.into_iter().map(row).collect();
    rows.sort_by(|a, b| b.total_ms.total_cmp(&a.total_ms));
    rows
}

/// Dispatches that are shorter than the gap to the next.
fn small(run: &Run) -> SmallDispatches {
    let between = run.target.constants.between_us;
    let mut small = SmallDispatches {
        count: 0,
        own_ms: 0.0,
        gaps_ms: 0.0,
    };
    for pair in run.slots.windows(2) {
        let [one, next] = pair else { continue };
        let own = one.end_us - one.start_us;
        if copied(one).is_none() && own < between && next.gap_us > 0.0 {
            small.count += 1;
            small.own_ms += own / 1e3;
            small.gaps_ms += next.gap_us / 1e3;
        }
    }
    small
}

fn remade(recorded: &Recorded) -> RemadePipelines {
    let again = recorded.pipelines.iter().zip(&recorded.same);
    let again = again.filter(|(pipeline, first)| pipeline.id != **first);
    let (count, ns) = again.fold((0, 0u64), |(count, ns), (pipeline, _)| {
        let [from, to] = pipeline.made_ns;
        (count + 1, ns.saturating_add(to.saturating_sub(from)))
    });
    RemadePipelines {
        count,
        host_ms: ns as f64 / 1e6,
    }
}

fn unpredicted(recorded: &Recorded, run: &Run) -> Vec<Unpredicted> {
    let mut sums: BTreeMap<(Arc<str>, &str), u64> = BTreeMap::new();
    for dispatch in recorded.dispatches() {
        if let Some(why) = run.unpriced.get(&dispatch.launch) {
            let key = (recorded.kernel(dispatch.launch), why.as_str());
            *sums.entry(key).or_default() += 1;
        }
    }
    let row = |((kernel, reason), dispatches): ((Arc<str>, &str), u64)| Unpredicted {
        kernel: kernel.to_string(),
        dispatches,
        reason: reason.to_owned(),
    };
    let mut rows: Vec<Unpredicted> = sums.into_iter().map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.dispatches));
    rows
}
