use super::*;

/// A pair of clocks: the GPU's runs at `rate` ticks per second from `start` ticks on, and
/// readings are off by up to a microsecond.
struct Clocks {
    rate: f64,
    start: f64,
    width: u32,
}

impl Clocks {
    fn ticks(&self, ns: u64) -> u64 {
        let ticks = self.start + ns as f64 * self.rate / 1e9;
        (ticks as u128 % (1u128 << self.width)) as u64
    }

    fn feed(&self, sync: &mut ClockSync, times: impl IntoIterator<Item = u64>) {
        for (n, ns) in times.into_iter().enumerate() {
            let jitter = (n as u64 * 7919) % 1000;
            sync.add(ns + jitter, self.ticks(ns));
        }
    }
}

const SECOND: u64 = 1_000_000_000;

fn apple() -> Clocks {
    // 24 MHz, and an epoch far from the host's.
    Clocks {
        rate: 24e6,
        start: 9e12,
        width: 64,
    }
}

#[track_caller]
fn check_conversion(sync: &ClockSync, clocks: &Clocks, ns: u64, tolerance_ns: u64) {
    let found = sync.fit().to_ns(clocks.ticks(ns));
    assert!(found.abs_diff(ns) <= tolerance_ns, "{ns} became {found}");
}

#[test]
fn without_a_pair_ticks_are_nanoseconds_and_marked_so() {
    let sync = ClockSync::default();
    assert_eq!(sync.fit().to_ns(12_345), 12_345);
    assert_eq!(sync.fit().to_ns(u64::MAX), u64::MAX);
    assert_eq!(sync.fit().quality, ClockQuality::Assumed);
}

#[test]
fn one_pair_gives_its_ratio_and_says_so() {
    let mut sync = ClockSync::default();
    sync.add(2_000, 1_000);
    assert_eq!((sync.fit().to_ns(500), sync.fit().to_ns(0)), (1_000, 0));
    assert_eq!(sync.fit().quality, ClockQuality::SinglePair);
}

#[test]
fn readings_of_zero_or_all_ones_are_no_pairs() {
    let mut sync = ClockSync::default();
    for (cpu, gpu) in [(0, 1_000), (2_000, 0), (u64::MAX, 5), (5, u64::MAX)] {
        sync.add(cpu, gpu);
    }
    assert_eq!(sync.fit().to_ns(7), 7);
    assert_eq!(sync.counts().unreadable, 4);
}

#[test]
fn two_pairs_give_slope_and_offset_whatever_the_epochs() {
    let (mut sync, clocks) = (ClockSync::default(), apple());
    clocks.feed(&mut sync, [5 * SECOND, 6 * SECOND]);
    assert_eq!(sync.fit().quality, ClockQuality::Fitted);
    for ns in [4 * SECOND, 5 * SECOND + 123_456, 8 * SECOND] {
        check_conversion(&sync, &clocks, ns, 3_000);
    }
}

#[test]
fn more_pairs_make_jitter_matter_less() {
    let (mut sync, clocks) = (ClockSync::default(), apple());
    clocks.feed(&mut sync, (1..=200).map(|n| n * SECOND / 10));
    assert_eq!(sync.counts().outliers, 0);
    check_conversion(&sync, &clocks, 19 * SECOND, 1_100);
    let error = (sync.fit().ns_per_tick - 1e9 / 24e6).abs() * 24e6 / 1e9;
    assert!(error < 1e-6, "relative error of the slope {error}");
}

#[test]
fn a_bad_pair_is_left_out_wherever_it_stands() {
    for bad in 0..8 {
        let (mut sync, clocks) = (ClockSync::default(), apple());
        for n in 0..8u64 {
            let ns = (n + 1) * SECOND;
            // Half a second off is far, and in either direction.
            let off = if n == bad { 12_000_000 } else { 0 };
            sync.add(ns, clocks.ticks(ns) + off);
        }
        check_conversion(&sync, &clocks, 9 * SECOND, 2_000);
        let counts = sync.counts();
        assert!(
            counts.outliers + counts.restarts >= 1,
            "bad pair {bad} went unnoticed: {counts:?}"
        );
    }
}

#[test]
fn clocks_that_go_backwards_are_counted_and_do_no_harm() {
    let (mut sync, clocks) = (ClockSync::default(), apple());
    clocks.feed(&mut sync, (1..=10).map(|n| n * SECOND));
    sync.add(4 * SECOND, clocks.ticks(11 * SECOND));
    sync.add(11 * SECOND, clocks.ticks(3 * SECOND));
    assert_eq!(sync.counts().outliers, 2);
    check_conversion(&sync, &clocks, 12 * SECOND, 3_000);
}

#[test]
fn the_fit_follows_clocks_that_were_set_anew() {
    let (mut sync, clocks) = (ClockSync::default(), apple());
    clocks.feed(&mut sync, (1..=10).map(|n| n * SECOND));
    let restarted = Clocks {
        start: 1000.0,
        ..apple()
    };
    restarted.feed(&mut sync, (11..=14).map(|n| n * SECOND));
    assert_eq!(sync.counts().restarts, 1);
    check_conversion(&sync, &restarted, 15 * SECOND, 3_000);
}

#[test]
fn a_counter_that_wraps_is_followed_through_every_turn() {
    // 32 bits at 1 GHz turn every 4.3 s.
    let clocks = Clocks {
        rate: 1e9,
        start: 3e9,
        width: 32,
    };
    let mut sync = ClockSync::default();
    clocks.feed(&mut sync, (1..=20).map(|n| n * SECOND));
    assert_eq!(sync.counts().outliers, 0);
    assert!(sync.counts().wraps >= 4, "{:?}", sync.counts());
    // Around the last pairs, before and after the turn in between.
    for ns in [
        18 * SECOND,
        19 * SECOND + SECOND / 2,
        20 * SECOND + SECOND / 3,
    ] {
        check_conversion(&sync, &clocks, ns, 3_000);
    }
}

#[test]
fn a_counter_of_64_bits_may_wrap_too() {
    let clocks = Clocks {
        rate: 1e9,
        start: (u64::MAX - 3 * SECOND) as f64,
        width: 64,
    };
    let mut sync = ClockSync::default();
    clocks.feed(&mut sync, (1..=6).map(|n| n * SECOND));
    assert_eq!((sync.counts().wraps, sync.counts().outliers), (1, 0));
    check_conversion(&sync, &clocks, 6 * SECOND, 5_000);
}

#[test]
fn slow_drift_is_followed() {
    let mut sync = ClockSync::default();
    let mut ticks = 1e12;
    let mut expected = 0;
    for n in 1..=600u64 {
        // From 24 MHz up by 20 parts in a million over ten minutes.
        ticks += 24e6 * (1.0 + 20e-6 * n as f64 / 600.0);
        sync.add(n * SECOND, ticks as u64);
        expected = n * SECOND;
    }
    let found = sync.fit().to_ns(ticks as u64);
    assert!(found.abs_diff(expected) < 50_000, "{found} for {expected}");
    assert_eq!(sync.counts().outliers, 0);
}

#[test]
fn any_pairs_at_all_are_survived() {
    let extremes = [1, 2, 1000, u64::MAX / 2, u64::MAX - 1];
    let mut sync = ClockSync::default();
    for (n, cpu) in extremes.iter().cycle().take(500).enumerate() {
        let gpu = extremes[(n * n + n / 7) % extremes.len()];
        sync.add(*cpu, gpu);
        for ticks in extremes {
            let _ = sync.fit().to_ns(ticks);
        }
    }
    let counts = sync.counts();
    assert!(counts.accepted + counts.outliers > 0);
}
