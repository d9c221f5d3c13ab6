//! Bounds: each the time a region would take if only one thing limited it.
//!
//! All are modelled cycles per simdgroup on its scheduler. The largest is the verdict;
//! for each bound the report says what the region would cost without it.

use crate::cost::{Costs, Cycles, number};
use assay_chip::{Chip, Parameter};

/// What can limit a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BoundKind {
    /// Issue slots of the scheduler.
    Issue,
    /// Cycles of the complex unit.
    Complex,
    /// Latency of arithmetic along dependences, shared by the resident simdgroups.
    Dependence,
    /// Latency of memory at its waits, shared by the resident simdgroups.
    MemoryLatency,
    /// Bytes between the core and its own memories.
    CoreBytes,
    /// Bytes of device memory, if no cache holds any of them.
    DeviceBytes,
}

impl BoundKind {
    /// All of them.
    pub const ALL: [BoundKind; 6] = [
        BoundKind::Issue,
        BoundKind::Complex,
        BoundKind::Dependence,
        BoundKind::MemoryLatency,
        BoundKind::CoreBytes,
        BoundKind::DeviceBytes,
    ];

    /// In a word or two, for tables.
    pub const fn short(self) -> &'static str {
        match self {
            BoundKind::Issue => "issue",
            BoundKind::Complex => "IC",
            BoundKind::Dependence => "dependence",
            BoundKind::MemoryLatency => "latency",
            BoundKind::CoreBytes => "core bytes",
            BoundKind::DeviceBytes => "device bytes",
        }
    }

    /// In a few words.
    pub const fn name(self) -> &'static str {
        match self {
            BoundKind::Issue => "instruction issue",
            BoundKind::Complex => "complex unit (IC)",
            BoundKind::Dependence => "dependence latency",
            BoundKind::MemoryLatency => "memory latency",
            BoundKind::CoreBytes => "bytes on the core",
            BoundKind::DeviceBytes => "bytes from memory, if no cache helps",
        }
    }
}

/// One bound.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bound {
    /// What limits.
    pub kind: BoundKind,
    /// Cycles if nothing else did.
    pub cycles: Cycles,
    /// The largest of the other bounds: the cost without this one.
    pub without: f64,
}

/// The bounds of a region, its verdict and what one simdgroup alone takes.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bounds {
    /// All bounds that could be computed, largest first. [`BoundKind::DeviceBytes`]
    /// depends on caches and decides the verdict only of code that streams.
    pub bounds: Vec<Bound>,
    /// The largest bound; absent when an instruction's cost is unknown.
    pub verdict: Option<BoundKind>,
    /// Whether bytes of device memory that are touched once take longer than anything on the core: no cache helps with them.
    pub streaming: bool,
    /// Bytes of device memory a thread moves that no other touches, each once, as far as the code shows.
    pub streamed_bytes_per_thread: f64,
    /// Bytes of device memory a thread moves.
    pub device_bytes_per_thread: f64,
    /// Float operations per byte of device memory; absent when none is moved.
    pub intensity: Option<f64>,
    /// Float operations per cycle as a share of the scheduler's most, at the estimate, or at the rate of device memory where
    /// that decides.
    pub peak_share: Option<f64>,
    /// Why there is no verdict.
    pub refused: Option<String>,
    /// Cycles one simdgroup takes when it runs alone.
    pub alone: Cycles,
    /// Simdgroups that share a scheduler at this occupancy.
    pub simdgroups_per_scheduler: Option<f64>,
    /// Modelled cycles per simdgroup at this occupancy: the largest bound, or `alone`
    /// shared, whichever is larger.
    pub estimate: Option<f64>,
    /// The share of device bytes caches must hold for the verdict to stand; absent
    /// when it stands without any, and where code streams.
    pub cache_share_needed: Option<f64>,
}

impl Bounds {
    /// One of the bounds.
    pub fn get(&self, kind: BoundKind) -> Option<&Bound> {
        self.bounds.iter().find(|bound| bound.kind == kind)
    }

    /// The verdict in a sentence.
    pub fn sentence(&self) -> String {
        let Some(verdict) = self.verdict else {
            return self.refused.clone().unwrap_or_default();
        };
        let cycles = self.get(verdict).map_or(0.0, |bound| bound.cycles.known);
        let without = self.get(verdict).map_or(0.0, |bound| bound.without);
        if verdict == BoundKind::DeviceBytes {
            return self.bandwidth_sentence(without);
        }
        let mut text = format!(
            "{}: {} modelled cycles per simdgroup; {} without it",
            verdict.name(),
            number(cycles),
            number(without)
        );
        if let (Some(share), Some(bytes)) =
            (self.cache_share_needed, self.get(BoundKind::DeviceBytes))
        {
            text += &format!(
                ". Unless caches serve {:.0} % of its bytes, memory bandwidth decides instead ({} cycles)",
                share * 100.0,
                number(bytes.cycles.known)
            );
        }
        text
    }
}

impl Bounds {
    /// The verdict of code that streams.
    fn bandwidth_sentence(&self, without: f64) -> String {
        let next = self
            .bounds
            .iter()
            .find(|b| b.kind != BoundKind::DeviceBytes);
        let (own, all) = (self.streamed_bytes_per_thread, self.device_bytes_per_thread);
        let bytes = match own < all {
            true => format!(
                "{} of {} bytes a thread are touched once as far as the code shows; at least",
                number(own),
                number(all)
            ),
            false => format!(
                "{} bytes a thread, each touched once as far as the code shows;",
                number(own)
            ),
        };
        let all_bytes = self.get(BoundKind::DeviceBytes);
        let cycles = all_bytes.map_or(0.0, |bound| bound.cycles.known) * own / all;
        format!(
            "memory bandwidth: {bytes} {} modelled cycles per simdgroup, {} ({}) if the data lies in a cache already",
            number(cycles),
            number(without),
            next.map_or("nothing", |bound| bound.kind.name())
        )
    }

    /// What waiting for memory does to a simdgroup that runs alone, and how many must
    /// share the scheduler to hide it; nothing when something else limits it even then.
    /// `stalls` are the cycles it waits.
    pub fn latency_sentence(&self, stalls: f64) -> Option<String> {
        let count = self.simdgroups_per_scheduler.filter(|&count| count > 0.0)?;
        let alone = |kind: BoundKind| {
            let cycles = self.get(kind).map_or(0.0, |bound| bound.cycles.known);
            match kind {
                BoundKind::Dependence | BoundKind::MemoryLatency => cycles * count,
                _ => cycles,
            }
        };
        let throughput = [BoundKind::Issue, BoundKind::Complex, BoundKind::CoreBytes];
        let others = throughput.map(alone).into_iter().fold(0.0, f64::max);
        let latency = alone(BoundKind::MemoryLatency);
        if stalls <= 0.0 || others <= 0.0 || latency <= others.max(alone(BoundKind::Dependence)) {
            return None;
        }
        let needed = (latency / others).ceil();
        let spare = others * count - latency;
        let hidden = match count < needed {
            true => "is not hidden",
            false => "is hidden",
        };
        let mut text = format!(
            "memory latency {hidden}: a simdgroup alone waits {} of its {} cycles, even if every load hits the first \
             cache; {} sharing a scheduler cover that, and there are {}{}",
            number(stalls),
            number(self.alone.known),
            number(needed),
            if count < needed { "only " } else { "" },
            number(count)
        );
        if spare > 0.0 {
            text += &format!(
                ": enough until loads take {} cycles longer",
                number(spare.floor())
            );
        }
        Some(text)
    }
}

/// What the bounds are made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    /// Sums over the region.
    pub costs: Costs,
    /// In-order time with arithmetic latencies only.
    pub arithmetic: Cycles,
    /// In-order time with memory latencies only.
    pub memory: Cycles,
    /// In-order time with both.
    pub alone: Cycles,
    /// Bytes of device memory that are touched once, as far as the code shows.
    pub streamed: f64,
}

/// Float operations a scheduler can do in a cycle: a multiply-add in each of 32 lanes.
pub(crate) const PEAK_FLOPS_PER_CYCLE: f64 = 64.0;

/// Bytes of device memory per cycle and scheduler when every core pulls.
pub fn device_rate(chip: &Chip) -> Option<f64> {
    let per_second = chip.get(Parameter::DramGbs)? * 1e9;
    let cycles = chip.get(Parameter::ClockGhz)? * 1e9;
    let schedulers = chip.get(Parameter::Cores)? * chip.get(Parameter::SchedulersPerCore)?;
    Some(per_second / cycles / schedulers)
}

/// Computes the bounds of a region with so many simdgroups on its scheduler.
pub(crate) fn bounds(chip: &Chip, region: &Region, simdgroups: Option<f64>) -> Bounds {
    let costs = &region.costs;
    let mut found = vec![
        (BoundKind::Issue, costs.issue),
        (BoundKind::Complex, costs.ic),
        (BoundKind::CoreBytes, costs.memory),
    ];
    if let Some(simdgroups) = simdgroups.filter(|&count| count > 0.0) {
        let share = 1.0 / simdgroups;
        found.push((BoundKind::Dependence, region.arithmetic * share));
        found.push((BoundKind::MemoryLatency, region.memory * share));
    }
    let device = device_rate(chip).map(|rate| costs.device_bytes / rate);
    if let Some(device) = device {
        let cycles = Cycles {
            known: device,
            unknown: costs.unsized_accesses,
        };
        found.push((BoundKind::DeviceBytes, cycles));
    }
    // Equal bounds keep this order, so issue wins a tie with what merely repeats it.
    found.sort_by(|a, b| b.1.known.total_cmp(&a.1.known));
    let decides = |kind: BoundKind| kind != BoundKind::DeviceBytes;
    let largest_but = |kind: BoundKind| {
        found
            .iter()
            .filter(|(other, _)| *other != kind && decides(*other))
            .map(|(_, cycles)| cycles.known)
            .fold(0.0, f64::max)
    };
    let largest = found.iter().find(|(kind, _)| decides(*kind)).copied();
    let streamed = device_rate(chip).map_or(0.0, |rate| region.streamed / rate);
    let streaming = largest.is_some_and(|(_, cycles)| streamed > cycles.known);
    let verdict = match streaming {
        true => Some(BoundKind::DeviceBytes),
        false => largest.map(|(kind, _)| kind),
    };
    let refused = (costs.issue.unknown > 0).then(|| {
        format!(
            "no verdict: {} of {} instructions have no known cost",
            costs.issue.unknown,
            number(costs.instructions)
        )
    });
    let shared = simdgroups
        .filter(|&count| count > 0.0)
        .map_or(region.alone.known, |count| region.alone.known / count);
    let estimate = largest.map(|(_, cycles)| cycles.known.max(shared));
    let time = if streaming { Some(streamed) } else { estimate };
    Bounds {
        verdict: verdict.filter(|_| refused.is_none()),
        streaming,
        streamed_bytes_per_thread: region.streamed / crate::cost::LANES,
        device_bytes_per_thread: costs.device_bytes / crate::cost::LANES,
        intensity: (costs.device_bytes > 0.0).then(|| costs.flops / costs.device_bytes),
        peak_share: time
            .filter(|&time| time > 0.0 && refused.is_none())
            .map(|time| costs.flops / time / PEAK_FLOPS_PER_CYCLE),
        cache_share_needed: device
            .filter(|_| !streaming)
            .zip(estimate)
            .filter(|(device, estimate)| device > estimate && *device > 0.0)
            .map(|(device, estimate)| 1.0 - estimate / device),
        estimate: estimate.filter(|_| refused.is_none()),
        refused,
        alone: region.alone,
        simdgroups_per_scheduler: simdgroups,
        bounds: found
            .iter()
            .map(|&(kind, cycles)| Bound {
                kind,
                cycles,
                without: largest_but(kind),
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A loop like the naive matrix product's: 64 cycles of latency against 16 of bytes.
    fn naive(simdgroups: f64) -> Bounds {
        let cycles = |known| Cycles { known, unknown: 0 };
        let bound = |kind, known| Bound {
            kind,
            cycles: cycles(known),
            without: 0.0,
        };
        Bounds {
            bounds: vec![
                bound(BoundKind::CoreBytes, 16.0),
                bound(BoundKind::Issue, 9.0),
                bound(BoundKind::MemoryLatency, 72.0 / simdgroups),
                bound(BoundKind::Dependence, 15.0 / simdgroups),
            ],
            alone: cycles(77.0),
            simdgroups_per_scheduler: Some(simdgroups),
            ..Bounds::default()
        }
    }

    #[test]
    fn latency_is_told_with_what_hides_it() {
        assert_eq!(
            naive(8.0).latency_sentence(62.0).as_deref(),
            Some(
                "memory latency is hidden: a simdgroup alone waits 62 of its 77 cycles, even if every load hits the first \
                 cache; 5 sharing a scheduler cover that, and there are 8: enough until loads take 56 cycles longer"
            )
        );
        let few = naive(2.0).latency_sentence(62.0).unwrap_or_default();
        assert!(
            few.starts_with("memory latency is not hidden")
                && few.ends_with("5 sharing a scheduler cover that, and there are only 2"),
            "{few}"
        );
        assert_eq!(naive(8.0).latency_sentence(0.0), None);
    }
}
