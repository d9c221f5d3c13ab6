//! Which level of memory answers: misses of L1 from the recorded reuse, traffic beyond the
//! shared caches from the footprint curve.

use crate::execution::{CAPACITIES, Execution, Footprint, capacity};
use crate::predict::Cache;

/// Misses of a cache of `lines` lines, from those recorded for capacities that are powers of two.
pub(crate) fn misses(recorded: &[f32], lines: f64) -> f64 {
    let Some(last) = recorded.last() else {
        return 0.0;
    };
    let level = (lines / capacity(0) as f64).log2();
    if level <= 0.0 {
        return recorded.first().map_or(0.0, |&misses| f64::from(misses));
    }
    let below = level.floor() as usize;
    if below + 1 >= CAPACITIES.min(recorded.len()) {
        return f64::from(*last);
    }
    let share = level - below as f64;
    f64::from(recorded[below]) * (1.0 - share) + f64::from(recorded[below + 1]) * share
}

/// What threadgroups in flight do to a cache they share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct InFlight {
    /// Threadgroups that run at once and use the cache.
    pub(crate) groups: f64,
    /// Lines that one of them touches.
    own: f64,
    /// Lines that they touch together.
    together: f64,
}

impl InFlight {
    /// The first `groups` threadgroups in dispatch order: neighbours share what they have in common.
    pub(crate) fn new(footprint: &Footprint, groups: f64) -> InFlight {
        let own = footprint.curve.first().map_or(0.0, |&(_, lines)| lines);
        let together = touched_by(footprint, groups).max(own);
        InFlight {
            groups: groups.max(1.0),
            own,
            together,
        }
    }

    /// The part of a cache of `lines` lines that one threadgroup has: a cache holds what all touched last, and of that each has
    /// its share. What they have in common counts once.
    pub(crate) fn reach(&self, lines: f64) -> f64 {
        if self.together <= 0.0 {
            return lines;
        }
        lines * (self.own / self.together).min(1.0)
    }

    /// Share of their own accesses that are theirs alone: 1 when they have no line in common.
    fn apart(&self) -> f64 {
        let all = self.groups * self.own;
        if all > 0.0 {
            (self.together / all).min(1.0)
        } else {
            1.0
        }
    }
}

/// Lines that cross the border of a shared cache of `lines` lines during a dispatch.
///
/// `total` is what the whole command buffer touches: when that fits and the state is warm, nothing crosses. What does not fit
/// crosses once, and again as often as reuse is farther apart than the cache reaches. Reuse between threadgroups is the slope
/// of the footprint curve where it leaves the cache; but threadgroups in flight come to what they share at about the same time:
/// together they fetch it once, however small the cache. Reuse inside a threadgroup is recorded: `misses` gives the misses of
/// all threadgroups if each had a cache of so many lines for itself.
pub(crate) fn traffic(
    footprint: &Footprint,
    lines: f64,
    in_flight: &InFlight,
    misses: impl Fn(f64) -> f64,
    (total, state): (f64, Cache),
    knee: f64,
) -> f64 {
    let Some(&(groups, whole)) = footprint.curve.last() else {
        return 0.0;
    };
    let first = match state {
        Cache::Cold => 1.0,
        Cache::Warm => beyond(total.max(whole), lines, knee),
    };
    let each = again_between(footprint, lines, knee).min(in_flight.together / in_flight.groups);
    let between = (each * groups as f64 - whole).max(0.0);
    let between = between * beyond(whole, lines, knee);
    let within = again_within(in_flight, lines, groups as f64, misses, knee);
    whole * first + between + within
}

/// Lines that threadgroups fetch again because they themselves touched too many others since.
fn again_within(
    in_flight: &InFlight,
    lines: f64,
    groups: f64,
    misses: impl Fn(f64) -> f64,
    knee: f64,
) -> f64 {
    let reach = in_flight.reach(lines);
    let largest = capacity(CAPACITIES - 1) as f64;
    let cold = (in_flight.own * groups).min(misses(largest));
    let mut again = (misses(reach.min(largest)) - cold).max(0.0);
    if reach > largest {
        // Reuse farther apart than was recorded is lost until everything fits.
        again *= beyond(in_flight.own, reach, knee);
    }
    again * in_flight.apart()
}

/// Lines that so many threadgroups touch, the first in dispatch order.
fn touched_by(footprint: &Footprint, groups: f64) -> f64 {
    let mut before = (0.0, 0.0);
    for &(count, lines) in &footprint.curve {
        let count = count as f64;
        if count >= groups {
            let share = (groups - before.0) / (count - before.0).max(1.0);
            return before.1 + (lines - before.1) * share;
        }
        before = (count, lines);
    }
    before.1
}

/// Share of `touched` lines that a cache of `lines` lines does not keep: 0 well below its
/// capacity, 1 well above.
pub(crate) fn beyond(touched: f64, lines: f64, knee: f64) -> f64 {
    if touched <= 0.0 {
        return 0.0;
    }
    1.0 / (1.0 + (lines / touched).powf(knee))
}

/// Lines per threadgroup that a cache of `lines` lines does not keep for later ones. Never less for a smaller cache.
fn again_between(footprint: &Footprint, lines: f64, knee: f64) -> f64 {
    let slope = |pair: &[(u64, f64)]| match pair {
        [(n0, lines0), (n1, lines1)] if *lines1 >= lines && n1 > n0 => {
            (lines1 - lines0).max(0.0) / (n1 - n0) as f64
        }
        _ => 0.0,
    };
    let steps = footprint.curve.windows(2).map(slope);
    let own = footprint.curve.first().map_or(0.0, |&(_, own)| own);
    // Smaller than what one threadgroup touches, it keeps nothing for the next.
    steps.fold(own * beyond(own, lines, knee), f64::max)
}

/// Lines that the dispatches of a command buffer touch together: of each buffer the most.
pub(crate) fn together(executions: &[&Execution]) -> f64 {
    let mut buffers: Vec<(u32, f64)> = Vec::new();
    for execution in executions {
        let scale = {
            let footprint = &execution.footprint;
            let sum: f64 = footprint
                .buffers
                .iter()
                .map(|b| b.read.max(b.written))
                .sum();
            if sum > 0.0 {
                execution.lines() / sum
            } else {
                1.0
            }
        };
        for buffer in &execution.footprint.buffers {
            let lines = buffer.read.max(buffer.written) * scale;
            match buffers
                .iter_mut()
                .find(|(known, _)| *known == buffer.buffer)
            {
                Some((_, most)) => *most = most.max(lines),
                None => buffers.push((buffer.buffer, lines)),
            }
        }
    }
    buffers.iter().map(|(_, lines)| lines).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn footprint(curve: &[(u64, f64)]) -> Footprint {
        Footprint {
            curve: curve.to_vec(),
            ..Footprint::default()
        }
    }

    #[test]
    fn misses_between_recorded_capacities_are_interpolated() {
        let recorded = [8.0, 4.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        assert_eq!(misses(&recorded, 8.0), 8.0);
        assert_eq!(misses(&recorded, 16.0), 4.0);
        assert!((2.0..4.0).contains(&misses(&recorded, 24.0)));
        assert_eq!(misses(&recorded, 1e9), 1.0);
        assert_eq!(misses(&[], 64.0), 0.0);
    }

    #[test]
    fn a_small_footprint_stays_in_a_warm_cache() {
        let small = footprint(&[(1, 10.0), (100, 1000.0)]);
        let of = |lines, state| {
            let in_flight = InFlight::new(&small, 1.0);
            traffic(&small, lines, &in_flight, |_| 1000.0, (1000.0, state), 6.0)
        };
        assert!(of(10_000.0, Cache::Warm) < 1.0);
        assert_eq!(of(10_000.0, Cache::Cold), 1000.0);
        assert!(of(100.0, Cache::Warm) > 999.0);
    }

    #[test]
    fn panels_are_read_again_when_the_cache_cannot_hold_them() {
        // 64 rows of 64 threadgroups: each row of threadgroups reads its own panel of 100
        // lines and all of the other matrix, 100 lines per threadgroup.
        let curve = [(1, 200.0), (64, 6500.0), (4096, 12_800.0)];
        let of = |lines, groups| {
            let state = (12_800.0, Cache::Cold);
            let product = footprint(&curve);
            let in_flight = InFlight::new(&product, groups);
            traffic(&product, lines, &in_flight, |_| 0.0, state, 8.0)
        };
        assert!(of(20_000.0, 1.0) < 14_000.0);
        assert!(of(1000.0, 1.0) > 400_000.0);
        // Eight rows of threadgroups at a time read the other matrix once.
        let together = of(1000.0, 512.0);
        assert!((50_000.0..70_000.0).contains(&together), "{together}");
    }
    #[test]
    fn passes_over_rows_that_do_not_fit_come_from_beyond() {
        // 1024 threadgroups go three times over rows of 256 lines of their own.
        let rows = footprint(&[(1, 256.0), (1024, 262_144.0)]);
        let passes = |count: f64, lines: f64| {
            let misses = |reach: f64| match reach {
                256.0.. => 262_144.0,
                _ => count * 262_144.0,
            };
            let in_flight = InFlight::new(&rows, 16.0);
            let state = (262_144.0, Cache::Cold);
            traffic(&rows, lines, &in_flight, misses, state, 6.0)
        };
        // 16 rows in flight: 4096 lines.
        assert_eq!(passes(3.0, 16_384.0), 262_144.0);
        assert_eq!(passes(3.0, 1024.0), 3.0 * 262_144.0);
        assert_eq!(passes(2.0, 1024.0), 2.0 * 262_144.0);
    }

    #[test]
    fn a_smaller_cache_never_has_less_traffic() {
        let curve = [(1, 200.0), (64, 6500.0), (4096, 12_800.0)];
        let product = footprint(&curve);
        for groups in [1.0, 48.0, 512.0] {
            let in_flight = InFlight::new(&product, groups);
            let misses = |reach: f64| 819_200.0 * (1.0 + 32.0 / reach.max(1.0));
            let of = |lines: f64| {
                let state = (12_800.0, Cache::Warm);
                traffic(&product, lines, &in_flight, misses, state, 5.0)
            };
            let mut before = f64::INFINITY;
            for step in 0..160 {
                let now = of(2f64.powf(f64::from(step) / 10.0));
                assert!(now <= before * (1.0 + 1e-9), "{groups} {step}");
                before = now;
            }
        }
    }

    #[test]
    fn a_threadgroup_cut_in_two_has_the_same_reach() {
        // Eight simdgroups of 10 lines each on a core, as one, two or eight threadgroups.
        let lines_of = |groups: f64, own: f64| {
            let apart = footprint(&[(1, own), (1000, 1000.0 * own)]);
            InFlight::new(&apart, groups).reach(128.0) / own
        };
        assert_eq!(lines_of(1.0, 80.0), lines_of(8.0, 10.0));
        // What all have in common takes room once.
        let shared = footprint(&[(1, 40.0), (1000, 40.0)]);
        assert_eq!(InFlight::new(&shared, 8.0).reach(128.0), 128.0);
    }
}
