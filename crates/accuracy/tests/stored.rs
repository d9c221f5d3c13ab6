//! Accuracy of the constants as they are, on stored executions: no download, no compiler.

use assay_accuracy::judge::chip;
use assay_accuracy::pairs::{band, called, pairs};
use assay_accuracy::ranking::{mean_called, mean_pick};
use assay_accuracy::report::{CLASSES, Judged, Row, transferred, with_constants};
use assay_accuracy::stats::factor;
use assay_accuracy::{Set, store::Store};
use assay_chip::{Chip, Parameter};
use assay_predict::{Cache, CommandBuffer, Constants, Execution, predict};

/// What predictions must reach; where they do not, a little above what `make accuracy` shows:
/// a change that makes them worse is noticed.
const M2: f64 = 1.20;
const M2_TAU: f64 = 0.87;
const M2_CLASS: f64 = 1.30;
const M1_PRO: f64 = 1.35;
const M1_PRO_CALLED: f64 = 0.87;
const M1_PRO_PICK: f64 = 0.90;
const M1_MAX: f64 = 1.30;
const M1_MAX_TILES: f64 = 1.55;
const M1: f64 = 1.35;
const M3: f64 = 1.35;

const STORE: &[u8] = include_bytes!("../data/executions.json.gz");

fn store() -> Store {
    Store::from_bytes(STORE).expect("stored executions are readable")
}

fn constants() -> Constants {
    Constants::of(&chip(Set::MetalBench).unwrap().0)
}

fn factor_of(judged: &Judged, belongs: fn(&Row) -> bool) -> f64 {
    let rows = judged.rows.iter().filter(|row| belongs(row));
    let ratios: Vec<f64> = rows.map(|row| row.ratio).collect();
    factor(&ratios)
}

#[test]
fn stored_executions_are_small_and_complete() {
    let store = store();
    assert!(STORE.len() < 2 << 20, "{} bytes", STORE.len());
    assert_eq!(store.of(Set::MetalBench).len(), 65);
    assert!(store.of(Set::MetalSci).len() >= 300);
    assert_eq!(store.of(Set::GemmMetal).len(), 14);
    assert_eq!(store.of(Set::Bkvogel).len(), 13);
    assert_eq!(store.of(Set::AppleNumerical).len(), 53);
    assert_eq!(store.of(Set::Crynux).len(), 65);
}

#[test]
fn kernels_of_an_m2_are_predicted() {
    let judged = with_constants(&store(), Set::MetalBench, &constants()).unwrap();
    let all = factor_of(&judged, |_| true);
    assert!(all < M2, "factor {all:.3}");
    assert!(judged.kendall() > M2_TAU, "τ {:.3}", judged.kendall());
    for (name, belongs) in CLASSES {
        let class = factor_of(&judged, belongs);
        assert!(class < M2_CLASS, "{name}: factor {class:.3}");
    }
}

#[test]
fn variants_on_an_m1_pro_are_predicted_and_ranked() {
    let judged = transferred(&store(), Set::MetalSci, &constants()).unwrap();
    let all = factor_of(&judged, |_| true);
    assert!(all < M1_PRO, "factor {all:.3}");
    let rankings = judged.ranking(constants().pair_tie);
    let (called, pick) = (mean_called(&rankings), mean_pick(&rankings));
    assert!(called > M1_PRO_CALLED, "{called:.3} of the pairs called");
    assert!(pick > M1_PRO_PICK, "picks run at {pick:.3}");
}

#[test]
fn ratios_of_variants_lie_in_their_band_and_calls_are_right() {
    let constants = constants();
    let judged = transferred(&store(), Set::MetalSci, &constants).unwrap();
    let variants = judged.variants();
    let pairs = pairs(&variants);
    let band = band(&pairs, 0.8);
    let off = (band / constants.band_pair).ln().abs();
    assert!(
        off < 0.1,
        "80 % of ratios within {band:.3}, not {}",
        constants.band_pair
    );
    // Calls of pairs that are nearly a tie are weaker.
    for (tie, least) in [(constants.pair_tie, 0.75), (1.03, 0.77)] {
        let (_, right) = called(&pairs, tie);
        assert!(
            right > least,
            "{right:.3} of the calls beyond {tie} are right"
        );
    }
}

#[test]
fn other_chips_are_predicted_by_the_constants_of_the_m2() {
    let bars = [
        (Set::Bkvogel, M1_MAX),
        (Set::AppleNumerical, M1),
        (Set::Crynux, M1_MAX_TILES),
    ];
    for (set, bar) in bars {
        let judged = transferred(&store(), set, &constants()).unwrap();
        let all = factor_of(&judged, |_| true);
        assert!(all < bar, "{set}: factor {all:.3}");
    }
}

#[test]
fn products_on_an_m3_are_predicted_by_the_constants_of_its_generation() {
    let of_m3 = Constants::of(&chip(Set::GemmMetal).unwrap().0);
    let judged = with_constants(&store(), Set::GemmMetal, &of_m3).unwrap();
    let all = factor_of(&judged, |_| true);
    assert!(all < M3, "factor {all:.3}");
}

#[test]
fn a_prediction_does_not_depend_on_the_number_of_threads() {
    let store = store();
    let once = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let judge = || with_constants(&store, Set::MetalBench, &constants()).unwrap();
        pool.build().unwrap().install(judge).ratios()
    };
    assert_eq!(once(1), once(3));
}

/// Some dispatches of every set.
fn dispatches() -> Vec<(String, Execution)> {
    let store = store();
    let cases = store.cases.into_iter().step_by(7);
    let first = cases.filter_map(|case| Some((case.id, case.executions.into_iter().next()?)));
    first.collect()
}

fn time(execution: &Execution, chip: &Chip) -> f64 {
    let buffer = CommandBuffer::of(execution);
    let found = predict(&buffer, chip, &Constants::of(chip), Cache::Warm);
    found.expect("a prediction").time_us
}

#[test]
fn smaller_caches_make_nothing_faster() {
    let chip = Chip::named("m2").unwrap();
    for (id, execution) in dispatches() {
        let mut before = time(&execution, &chip);
        let mut smaller = chip.clone();
        for _ in 0..4 {
            for parameter in [Parameter::L2Kib, Parameter::SlcMib] {
                smaller.set(parameter, smaller.get(parameter).unwrap() / 2.0);
            }
            let now = time(&execution, &smaller);
            // Which of two simdgroups comes first may change.
            assert!(now > 0.97 * before, "{id}: {before} µs, then {now}");
            before = before.max(now);
        }
    }
}

#[test]
fn the_order_and_the_numbers_of_buffers_do_not_matter() {
    let chip = Chip::named("m1-pro").unwrap();
    for (id, execution) in dispatches() {
        let mut other = execution.clone();
        other.footprint.buffers.reverse();
        for buffer in &mut other.footprint.buffers {
            buffer.buffer = buffer.buffer.wrapping_add(17);
        }
        let (one, other) = (time(&execution, &chip), time(&other, &chip));
        assert!((one / other - 1.0).abs() < 1e-9, "{id}: {one} and {other}");
    }
}

#[test]
fn twice_the_grid_takes_about_twice_as_long() {
    let chip = Chip::named("m2").unwrap();
    for (id, execution) in dispatches() {
        let groups = execution.threadgroups();
        // A grid that does not fill the chip has room; one whose threadgroups differ is not the same twice.
        if groups < 400 || execution.order.len() > 1 {
            continue;
        }
        let mut twice = execution.clone();
        twice.grid[2] *= 2;
        let lines = execution.lines();
        twice.footprint.curve.push((2 * groups, 2.0 * lines));
        for buffer in &mut twice.footprint.buffers {
            buffer.read *= 2.0;
            buffer.written *= 2.0;
        }
        let ratio = time(&twice, &chip) / time(&execution, &chip);
        // Beyond what a cache holds, the same work takes longer.
        assert!((1.0..6.0).contains(&ratio), "{id}: {ratio}");
    }
}
