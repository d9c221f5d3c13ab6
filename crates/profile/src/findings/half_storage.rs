//! Floats in memory could be halves.
//!
//! ## What it does
//! Finds code that is bound by the bytes it moves and moves mostly 32-bit floats: loads whose results go into
//! single-precision arithmetic, stores of its results.
//!
//! ## Why it matters
//! Half precision is no faster as arithmetic on M1 and M2, but it is half the bytes. Where bytes decide, storing the
//! arrays as `half` nearly doubles the speed, even if everything is still computed in `float`: converting an operand is
//! free in most instructions.
//!
//! ## What to do
//! Where the range (65504 at most) and three significant digits suffice, declare the arrays `device half *` and keep sums and
//! intermediate values in `float`. Compare the results with those of `float` before relying on it.
//!
//! ## Gain
//! Half the cycles of the memory unit that these loads and stores take.

use super::{Finding, Look, Metric, Severity, finding};
use crate::{BoundKind, InsnId};
use assay_agx::{AccessKind, Class, Format, Space};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Finding>) {
    let (bounds, hot) = look.profile.verdict();
    let bytes = [BoundKind::CoreBytes, BoundKind::DeviceBytes];
    if !bounds
        .verdict
        .is_some_and(|verdict| bytes.contains(&verdict))
    {
        return;
    }
    let main = look.main();
    let region: Vec<InsnId> = match hot {
        Some(report) => main.body(report),
        None => look.executed().map(|(id, _)| id).collect(),
    };
    let moved = |id: InsnId| {
        let charge = main.charges.get(id.index());
        charge.map_or(0, |charge| u64::from(charge.device_bytes))
    };
    let all: u64 = region.iter().map(|&id| moved(id)).sum();
    let floats = float_accesses(look, &region);
    let of_floats: u64 = floats.iter().map(|&id| moved(id)).sum();
    let (Some(&first), Some(&last)) = (floats.first(), floats.last()) else {
        return;
    };
    if of_floats * 4 < all * 3 {
        return;
    }
    let cycles = |id: InsnId| main.charges.get(id.index()).and_then(|c| c.cycles);
    let saved: f64 = floats
        .iter()
        .filter_map(|&id| cycles(id))
        .map(f64::from)
        .sum();
    let message = format!(
        "{} of {} device bytes a simdgroup moves are floats, in {}: as half they would be {}",
        of_floats,
        all,
        match floats.len() {
            1 => "1 access".to_owned(),
            count => format!("{count} accesses"),
        },
        of_floats / 2
    );
    let gain = Some((Metric::Memory, saved / 2.0));
    out.push(finding(look, Severity::Low, (first, last), message, gain));
}

/// The accesses that load 32-bit words which single-precision arithmetic reads, or store what it made, in order. One pass:
/// for each half-register the load its value comes from, and whether arithmetic made it.
fn float_accesses(look: &Look<'_>, region: &[InsnId]) -> Vec<InsnId> {
    let mut loaded: BTreeMap<u16, InsnId> = BTreeMap::new();
    let mut made: BTreeSet<u16> = BTreeSet::new();
    let mut floats = vec![false; look.main().code.len()];
    let mut mark = |id: InsnId| {
        if let Some(slot) = floats.get_mut(id.index()) {
            *slot = true;
        }
    };
    for &id in region {
        let insn = look.insn(id);
        let arithmetic = insn.is_some_and(|insn| insn.class() == Class::Float32);
        let access = insn.and_then(|insn| insn.memory());
        let access = access.filter(|a| a.space == Space::Device && a.format == Some(Format::I32));
        if arithmetic {
            let read = look.reads(id);
            for half in read.iter() {
                loaded.get(&half).copied().into_iter().for_each(&mut mark);
            }
        }
        if let Some(access) = access.filter(|access| access.kind == AccessKind::Store)
            && let Some(data) = access.data
            && made.contains(&data.half_range().start)
        {
            mark(id);
        }
        let is_load = access.is_some_and(|access| access.kind == AccessKind::Load);
        for half in look.writes(id).iter() {
            loaded.remove(&half);
            made.remove(&half);
            if is_load {
                loaded.insert(half, id);
            }
            if arithmetic {
                made.insert(half);
            }
        }
    }
    let is_float = |id: &InsnId| floats.get(id.index()) == Some(&true);
    region.iter().copied().filter(is_float).collect()
}
