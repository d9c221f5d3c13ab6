//! GPU ticks to host nanoseconds, from pairs of readings of both clocks.
//!
//! Two clocks that started at different moments and run at different rates are related by
//! a slope and an offset, which takes two readings; a ratio of two absolute readings, the
//! usual short cut, is wrong by the difference of their starts. The fit here follows a
//! window of the last minute, so it keeps up with drift. Its slope is the weighted median
//! of the slopes between any two pairs (Theil and Sen), and a pair that does not fit the
//! line so far is left out. If three of the last four pairs agree on another line, the
//! clock was really changed (sleep, GPU restart) and the fit starts anew from those.
//!
//! A tick counter narrower than 64 bits wraps. When ticks go backwards and adding a
//! multiple of 2^32, 2^40, 2^48, 2^56 or 2^64 puts the pair on the line, that is what
//! happened.

use crate::sample::ERROR_TIMESTAMP;

/// Pairs kept for the fit; older ones are thinned out beyond that.
const WINDOW: usize = 32;
/// Pairs older than this no longer say how the clocks run now.
const WINDOW_NS: i128 = 60_000_000_000;
/// How far a good pair may lie off: the two clocks are not read at the same instant.
const JITTER_NS: f64 = 20_000.0;
/// Difference in rate that two oscillators may develop, as a share.
const DRIFT: f64 = 1e-4;
const WIDTHS: [u32; 5] = [32, 40, 48, 56, 64];
/// Pairs looked at when the line no longer fits.
const RECENT: usize = 4;

/// What a conversion rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockQuality {
    /// No pair: one tick is taken for one nanosecond.
    #[default]
    Assumed,
    /// One pair: its ratio, right only if both clocks started together.
    SinglePair,
    /// Slope and offset from two or more pairs.
    Fitted,
}

impl ClockQuality {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            ClockQuality::Assumed => "assumed_1_to_1",
            ClockQuality::SinglePair => "single_pair_ratio",
            ClockQuality::Fitted => "fitted",
        }
    }
}

/// A conversion from ticks to nanoseconds; a plain value, so a batch converts with one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockFit {
    /// What it rests on.
    pub quality: ClockQuality,
    /// Nanoseconds per tick.
    pub ns_per_tick: f64,
    /// Largest distance of a pair used from the line.
    pub spread_ns: u64,
    anchor_ns: i128,
    anchor_ticks: i128,
    width: Option<u32>,
}

impl Default for ClockFit {
    fn default() -> Self {
        ClockFit {
            quality: ClockQuality::Assumed,
            ns_per_tick: 1.0,
            spread_ns: 0,
            anchor_ns: 0,
            anchor_ticks: 0,
            width: None,
        }
    }
}

impl ClockFit {
    /// Host time of a tick count. Times before the host clock's zero become 0.
    ///
    /// ```
    /// let recorder = assay_timing::Recorder::new();
    /// // 24 ticks a microsecond, and a GPU clock that started 5 s later than the host's.
    /// recorder.record_clock_pair(6_000_000_000, 24_000_000);
    /// recorder.record_clock_pair(7_000_000_000, 48_000_000);
    /// assert_eq!(recorder.clock().to_ns(36_000_000), 6_500_000_000);
    /// ```
    pub fn to_ns(&self, ticks: u64) -> u64 {
        if self.quality == ClockQuality::Assumed {
            return ticks;
        }
        let mut ticks = i128::from(ticks);
        if let Some(width) = self.width {
            ticks += nearest_turn(self.anchor_ticks - ticks, width);
        }
        let ns = self.line(ticks);
        u64::try_from(ns.max(0)).unwrap_or(u64::MAX)
    }

    fn line(&self, ticks: i128) -> i128 {
        let delta = (ticks - self.anchor_ticks) as f64 * self.ns_per_tick;
        self.anchor_ns.saturating_add(delta.round() as i128)
    }

    fn ticks_at(&self, ns: i128) -> i128 {
        let delta = (ns - self.anchor_ns) as f64 / self.ns_per_tick;
        self.anchor_ticks.saturating_add(delta.round() as i128)
    }
}

/// The multiple of 2^width nearest to `distance`.
fn nearest_turn(distance: i128, width: u32) -> i128 {
    let turn = 1i128 << width;
    (distance + turn / 2).div_euclid(turn) * turn
}

/// How many pairs were used and what was wrong with the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockCounts {
    /// Pairs the fit took in.
    pub accepted: u64,
    /// Pairs with a zero or all-ones reading.
    pub unreadable: u64,
    /// Pairs that did not fit, a clock that went backwards among them.
    pub outliers: u64,
    /// Times the tick counter wrapped.
    pub wraps: u64,
    /// Times the fit was started anew because the clocks had changed.
    pub restarts: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Point {
    ns: i128,
    /// Turns of the counter included.
    ticks: i128,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    point: Point,
    accepted: bool,
}

/// Follows the relation of two clocks from pair to pair.
#[derive(Debug, Default)]
pub(crate) struct ClockSync {
    window: Vec<Point>,
    /// The last pairs as they came, good or not, without turns.
    recent: Vec<Seen>,
    turns: i128,
    fit: ClockFit,
    counts: ClockCounts,
}

impl ClockSync {
    pub(crate) fn fit(&self) -> ClockFit {
        self.fit
    }

    pub(crate) fn counts(&self) -> ClockCounts {
        self.counts
    }

    /// Takes a pair of readings in, or counts why not.
    pub(crate) fn add(&mut self, cpu_ns: u64, gpu_ticks: u64) {
        if [cpu_ns, gpu_ticks]
            .iter()
            .any(|&v| v == 0 || v == ERROR_TIMESTAMP)
        {
            self.counts.unreadable += 1;
            return;
        }
        let raw = Point {
            ns: i128::from(cpu_ns),
            ticks: i128::from(gpu_ticks),
        };
        let last = self.recent.last().copied();
        if last.is_some_and(|last| last.point == raw) {
            return;
        }
        let point = self.unwrap(raw, last);
        let accepted = self.fits(point);
        if self.recent.len() == RECENT {
            self.recent.remove(0);
        }
        self.recent.push(Seen {
            point: raw,
            accepted,
        });
        if accepted {
            self.counts.accepted += 1;
            self.turns = point.ticks - raw.ticks;
            self.push(point);
        } else {
            self.counts.outliers += 1;
            self.restart_if_clocks_changed();
        }
    }

    /// The pair with the turns of a wrapping counter added.
    fn unwrap(&mut self, raw: Point, last: Option<Seen>) -> Point {
        let plain = Point {
            ticks: raw.ticks + self.turns,
            ..raw
        };
        let went_back = last.is_some_and(|last| raw.ticks < last.point.ticks);
        if !went_back || self.window.len() < 2 || self.fits(plain) {
            return plain;
        }
        let expected = self.fit.ticks_at(raw.ns);
        let seen = last.map_or(0, |last| last.point.ticks).max(raw.ticks);
        let known = self.fit.width;
        for width in WIDTHS {
            let possible = known.is_none_or(|known| known == width) && seen < 1i128 << width;
            let turned = Point {
                ticks: raw.ticks + nearest_turn(expected - raw.ticks, width),
                ..raw
            };
            if possible && turned.ticks > plain.ticks && self.fits(turned) {
                self.fit.width = Some(width);
                self.counts.wraps += 1;
                return turned;
            }
        }
        plain
    }

    /// Whether a pair agrees with the line so far.
    fn fits(&self, point: Point) -> bool {
        let Some(last) = self.window.last() else {
            return true;
        };
        if point.ns <= last.ns || point.ticks <= last.ticks {
            return false;
        }
        let Some(first) = self.window.first().filter(|_| self.window.len() > 1) else {
            return true;
        };
        let elapsed = (point.ns - last.ns) as f64;
        let baseline = (last.ns - first.ns) as f64;
        let off = (self.fit.line(point.ticks) - point.ns).unsigned_abs() as f64;
        off <= tolerance(elapsed, baseline)
    }

    fn push(&mut self, point: Point) {
        if self.window.len() == WINDOW {
            // Every second one goes: the window then spans twice the time.
            let mut keep = false;
            self.window.retain(|_| {
                keep = !keep;
                keep
            });
        }
        self.window.push(point);
        while self.window.len() > 2 && point.ns - self.window[0].ns > WINDOW_NS {
            self.window.remove(0);
        }
        self.refit();
    }

    /// Three of the last four pairs that agree with each other, and not with the line,
    /// become the new line.
    fn restart_if_clocks_changed(&mut self) {
        let [.., a, b, c] = self.recent[..] else {
            return;
        };
        let before = self.recent.len().checked_sub(4).map(|at| self.recent[at]);
        let mut triples = vec![[a, b, c]];
        if let Some(before) = before {
            triples.extend([[before, b, c], [before, a, c]]);
        }
        // A long-standing line is only given up for pairs that all contradict it.
        let young = self.window.len() <= 3;
        let agreed = triples.into_iter().find(|triple| {
            let fresh = young || triple.iter().all(|seen| !seen.accepted);
            fresh && in_line(triple.map(|seen| seen.point))
        });
        let Some(triple) = agreed else { return };
        let newly_used = triple.iter().filter(|seen| !seen.accepted).count() as u64;
        self.counts.outliers = self.counts.outliers.saturating_sub(newly_used);
        self.counts.accepted += newly_used;
        self.counts.restarts += 1;
        self.turns = 0;
        self.window.clear();
        self.window.extend(triple.map(|seen| seen.point));
        for seen in &mut self.recent {
            seen.accepted = true;
        }
        self.refit();
    }

    /// Draws the line through the window.
    fn refit(&mut self) {
        let width = self.fit.width;
        self.fit = match self.window[..] {
            [] => ClockFit::default(),
            [one] => ClockFit {
                quality: ClockQuality::SinglePair,
                ns_per_tick: one.ns as f64 / one.ticks as f64,
                anchor_ns: one.ns,
                anchor_ticks: one.ticks,
                ..ClockFit::default()
            },
            [.., last] => fit_line(&self.window, last),
        };
        self.fit.width = width;
    }
}

fn tolerance(elapsed: f64, baseline: f64) -> f64 {
    // The line's own uncertainty grows with the distance it is extended over.
    JITTER_NS * (1.0 + elapsed / baseline.max(1.0)) + DRIFT * elapsed
}

fn in_line([a, b, c]: [Point; 3]) -> bool {
    let rising = |from: Point, to: Point| to.ns > from.ns && to.ticks > from.ticks;
    if !rising(a, b) || !rising(b, c) {
        return false;
    }
    let slope = (c.ns - a.ns) as f64 / (c.ticks - a.ticks) as f64;
    let expected = a.ns as f64 + (b.ticks - a.ticks) as f64 * slope;
    let span = (c.ns - a.ns) as f64;
    (expected - b.ns as f64).abs() <= tolerance(span, span)
}

/// The line of the weighted median slope, through the median of the offsets.
fn fit_line(window: &[Point], anchor: Point) -> ClockFit {
    let mut slopes: Vec<(f64, f64)> = Vec::with_capacity(window.len() * window.len() / 2);
    for (at, from) in window.iter().enumerate() {
        for to in &window[at + 1..] {
            let ticks = (to.ticks - from.ticks) as f64;
            slopes.push(((to.ns - from.ns) as f64 / ticks, ticks));
        }
    }
    let ns_per_tick = weighted_median(&mut slopes);
    let offset = |point: &Point| {
        (point.ns - anchor.ns) as f64 - (point.ticks - anchor.ticks) as f64 * ns_per_tick
    };
    let mut offsets: Vec<(f64, f64)> = window.iter().map(|point| (offset(point), 1.0)).collect();
    let middle = weighted_median(&mut offsets);
    let spread = window
        .iter()
        .map(|point| (offset(point) - middle).abs())
        .fold(0.0, f64::max);
    ClockFit {
        quality: ClockQuality::Fitted,
        ns_per_tick,
        spread_ns: spread.round() as u64,
        anchor_ns: anchor.ns + middle.round() as i128,
        anchor_ticks: anchor.ticks,
        width: None,
    }
}

/// The value with half of the weight on either side.
fn weighted_median(values: &mut [(f64, f64)]) -> f64 {
    values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let half = values.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    for (value, weight) in values.iter() {
        sum += weight;
        if sum >= half {
            return *value;
        }
    }
    values.last().map_or(0.0, |(value, _)| *value)
}

#[cfg(all(test, not(loom)))]
mod tests;
