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
use assay_agx::{AccessKind, Class, Format, RegSet, Space};

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
    let moved = |id: InsnId| main.charges.get(id.index()).map_or(0, |c| c.device_bytes);
    let all: u32 = region.iter().map(|&id| moved(id)).sum();
    let floats: Vec<InsnId> = region
        .iter()
        .copied()
        .filter(|&id| moves_floats(look, &region, id))
        .collect();
    let of_floats: u32 = floats.iter().map(|&id| moved(id)).sum();
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

/// Returns true if an access loads 32-bit words that single-precision arithmetic reads, or stores what it made.
fn moves_floats(look: &Look<'_>, region: &[InsnId], id: InsnId) -> bool {
    let access = look.insn(id).and_then(|insn| insn.memory());
    let Some(access) = access.filter(|access| access.space == Space::Device) else {
        return false;
    };
    if access.format != Some(Format::I32) {
        return false;
    }
    let mut data = RegSet::EMPTY;
    if let Some(reg) = access.data {
        data.insert_range(reg.half_range());
    }
    let is_float = |other: InsnId| {
        let insn = look.insn(other);
        insn.is_some_and(|insn| insn.class() == Class::Float32)
    };
    match access.kind {
        AccessKind::Load => {
            for &other in region.iter().filter(|&&other| other > id) {
                if is_float(other) && look.reads(other).intersects(&data) {
                    return true;
                }
                if look.writes(other).intersects(&data) {
                    break;
                }
            }
            false
        }
        AccessKind::Store => {
            let mut before = region.iter().rev().filter(|&&other| other < id);
            let maker = before.find(|&&other| look.writes(other).intersects(&data));
            maker.is_some_and(|&maker| is_float(maker))
        }
        _ => false,
    }
}
