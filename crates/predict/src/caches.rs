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

/// Lines that cross the border of a shared cache of `lines` lines during a dispatch.
///
/// `total` is what the whole command buffer touches: when that fits and the state is warm,
/// nothing crosses. What does not fit crosses once, and again as often as reuse is farther
/// apart than the cache reaches: the slope of the footprint curve where it leaves the cache.
/// But `in_flight` threadgroups run at once and come to what they share at about the same
/// time: together they fetch it once, however small the cache.
pub(crate) fn traffic(
    footprint: &Footprint,
    lines: f64,
    in_flight: f64,
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
    let each = slope_at(footprint, lines).min(shared(footprint, in_flight));
    let again = (each * groups as f64 - whole).max(0.0);
    let again = again * beyond(whole, lines, knee);
    whole * first + again
}

/// Lines per threadgroup that `in_flight` of them fetch together.
fn shared(footprint: &Footprint, in_flight: f64) -> f64 {
    let mut before = (0.0, 0.0);
    for &(groups, lines) in &footprint.curve {
        let groups = groups as f64;
        if groups >= in_flight {
            let share = (in_flight - before.0) / (groups - before.0).max(1.0);
            let together = before.1 + (lines - before.1) * share;
            return together / in_flight.max(1.0);
        }
        before = (groups, lines);
    }
    before.1 / before.0.max(1.0)
}

/// Share of `touched` lines that a cache of `lines` lines does not keep: 0 well below its
/// capacity, 1 well above.
pub(crate) fn beyond(touched: f64, lines: f64, knee: f64) -> f64 {
    if touched <= 0.0 {
        return 0.0;
    }
    1.0 / (1.0 + (lines / touched).powf(knee))
}

/// New lines per threadgroup where the footprint curve reaches `lines`; 0 when it never does.
fn slope_at(footprint: &Footprint, lines: f64) -> f64 {
    let steps = footprint.curve.windows(2);
    for pair in steps {
        let [(n0, lines0), (n1, lines1)] = [pair[0], pair[1]];
        if lines1 >= lines && n1 > n0 {
            return (lines1 - lines0).max(0.0) / (n1 - n0) as f64;
        }
    }
    match footprint.curve.as_slice() {
        [(1, only)] if *only > lines => *only,
        _ => 0.0,
    }
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
        assert!(traffic(&small, 10_000.0, 1.0, (1000.0, Cache::Warm), 6.0) < 1.0);
        assert_eq!(
            traffic(&small, 10_000.0, 1.0, (1000.0, Cache::Cold), 6.0),
            1000.0
        );
        assert!(traffic(&small, 100.0, 1.0, (1000.0, Cache::Warm), 6.0) > 999.0);
    }

    #[test]
    fn panels_are_read_again_when_the_cache_cannot_hold_them() {
        // 64 rows of 64 threadgroups: each row of threadgroups reads its own panel of 100
        // lines and all of the other matrix, 100 lines per threadgroup.
        let curve = [(1, 200.0), (64, 6500.0), (4096, 12_800.0)];
        let of = |lines, in_flight| {
            let state = (12_800.0, Cache::Cold);
            traffic(&footprint(&curve), lines, in_flight, state, 8.0)
        };
        assert!(of(20_000.0, 1.0) < 14_000.0);
        assert!(of(1000.0, 1.0) > 400_000.0);
        // Eight rows of threadgroups at a time read the other matrix once.
        let together = of(1000.0, 512.0);
        assert!((50_000.0..70_000.0).contains(&together), "{together}");
    }
}
