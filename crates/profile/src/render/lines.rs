//! What each line of the source costs.

use super::listing::rows;
use crate::profile::Profile;
use std::collections::BTreeMap;

/// The cost of the instructions that one source line became.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LineCost {
    /// Place of the file in the program's list.
    pub file: u32,
    /// The line, from 1.
    pub line: u32,
    /// How many instructions it became.
    pub instructions: u32,
    /// Loops around the innermost of them.
    pub loop_depth: u32,
    /// Their issue slots, each as often as known trip counts say; unknown costs count nothing.
    pub issue: f64,
    /// Their cycles of the complex unit, likewise.
    pub complex: f64,
    /// Their cycles of the memory unit, likewise.
    pub memory: f64,
    /// Cycles a simdgroup alone stands at waits for what this line loads, likewise.
    pub stall: f64,
    /// How many of the instructions have an unknown cost, which the sums leave out.
    pub unknown: u32,
}

impl LineCost {
    /// What a simdgroup alone spends because of the line: its dearest unit, and stalls. The complex and the memory unit run beside
    /// the issue of other instructions, so the largest of the three counts.
    pub fn time(&self) -> f64 {
        self.issue.max(self.complex).max(self.memory) + self.stall
    }

    /// Adds what the same line costs elsewhere.
    pub(super) fn add(&mut self, other: &LineCost) {
        (self.file, self.line) = (other.file, other.line);
        self.instructions += other.instructions;
        self.loop_depth = self.loop_depth.max(other.loop_depth);
        self.issue += other.issue;
        self.complex += other.complex;
        self.memory += other.memory;
        self.stall += other.stall;
        self.unknown += other.unknown;
    }
}

/// The source lines of the main program, in order of file and line.
///
/// A wait belongs to no line of its own: what it costs is charged to the lines of the
/// loads it waits for, in equal parts.
pub fn lines(profile: &Profile) -> Vec<LineCost> {
    let mut found: BTreeMap<(u32, u32), LineCost> = BTreeMap::new();
    for (_, cost) in lines_by_call(profile) {
        let sum = found.entry((cost.file, cost.line)).or_default();
        sum.add(&cost);
    }
    found.into_values().collect()
}

/// The source lines of the main program, apart by the inlined call that brought them there.
pub(super) fn lines_by_call(profile: &Profile) -> Vec<(Option<u32>, LineCost)> {
    let part = &profile.main;
    let mut found: BTreeMap<(Option<u32>, u32, u32), LineCost> = BTreeMap::new();
    let weight = |block: crate::BlockId| {
        let place = part.blocks.binary_search_by_key(&block, |report| report.id);
        let report = place.ok().and_then(|place| part.blocks.get(place));
        report.map_or(1.0, |report| report.weight)
    };
    let mut known = None;
    for row in rows(part) {
        let times = match known {
            Some((block, times)) if block == row.block => times,
            _ => weight(row.block),
        };
        known = Some((row.block, times));
        let share = row.stall.unwrap_or(0.0) * times / row.waits_for.len().max(1) as f64;
        for &offset in &row.waits_for {
            if let Some(line) = part.place_at(offset) {
                let key = (line.call, line.file, line.line);
                found.entry(key).or_default().stall += share;
            }
        }
        let Some(place) = part.place_at(row.offset) else {
            continue;
        };
        let key = (place.call, place.file, place.line);
        let cost = found.entry(key).or_default();
        cost.instructions += 1;
        cost.loop_depth = cost.loop_depth.max(row.loop_depth);
        cost.issue += row.issue.unwrap_or(0.0) * times;
        let mut is_known = row.issue.is_some();
        let unit = match row.unit {
            "IC" => Some(&mut cost.complex),
            "memory" => Some(&mut cost.memory),
            _ => None,
        };
        if let Some(unit) = unit {
            *unit += row.cycles.unwrap_or(0.0) * times;
            is_known &= row.cycles.is_some();
        }
        cost.unknown += u32::from(!is_known);
    }
    found
        .into_iter()
        .map(|((call, file, line), cost)| (call, LineCost { file, line, ..cost }))
        .collect()
}
