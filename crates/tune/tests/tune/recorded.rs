//! Searches and claims on tuning spaces that were measured completely: convolution on five GPUs.

use assay_tune::replay::{Calibration, Plan, Recorded, Report, calibrate};
use assay_tune::search::Strategy;

const GPUS: [&str; 5] = ["A100", "A4000", "MI250X", "W6600", "W7800"];

fn spaces() -> Vec<(String, Recorded)> {
    let read = |name: &str| {
        let path = assay_fixtures::path(&format!("tuning/convolution-{name}.json.gz"));
        let bytes = std::fs::read(path).expect("a fixture");
        (
            name.to_owned(),
            Recorded::read(&bytes).expect("a recorded space"),
        )
    };
    GPUS.into_iter().map(read).collect()
}

fn plan(strategy: Strategy, model_error: Option<f64>) -> Plan {
    Plan {
        strategy,
        evaluations: vec![25, 50, 100],
        seeds: 20,
        model_error,
    }
}

#[test]
fn without_a_model_the_search_closes_the_gap_that_random_search_leaves() {
    let spaces = spaces();
    assert!(spaces.iter().all(|(_, space)| space.space.len() == 4362));
    let report = Report::new(&spaces, &plan(Strategy::Gaussian, None));
    let mean = &report.mean.closed;
    assert!(
        mean[0] >= 0.12 && mean[1] >= 0.30 && mean[2] >= 0.45,
        "{mean:?}"
    );
}

#[test]
fn random_search_reaches_what_order_statistics_say() {
    let spaces = spaces();
    let report = Report::new(&spaces, &plan(Strategy::Random, None));
    let mut searched = Vec::new();
    for (_, space) in &spaces {
        searched.push(assay_tune::replay::replay(
            space,
            &Plan {
                seeds: 200,
                ..plan(Strategy::Random, None)
            },
        ));
    }
    for (place, expected) in report.mean.random.iter().enumerate() {
        let mean = searched
            .iter()
            .map(|fractions| fractions[place])
            .sum::<f64>()
            / 5.0;
        assert!((mean - expected).abs() < 0.015, "{mean} {expected}");
    }
}

#[test]
fn with_a_model_that_errs_by_a_third_the_search_is_near_the_optimum() {
    for strategy in [Strategy::Tpe, Strategy::TpePolish] {
        let spaces = spaces();
        let plan = plan(strategy, Some(0.35));
        let fractions = spaces
            .iter()
            .map(|(_, space)| assay_tune::replay::replay(space, &plan));
        let fractions: Vec<Vec<f64>> = fractions.collect();
        let mean = |place: usize| fractions.iter().map(|f| f[place]).sum::<f64>() / 5.0;
        assert!(
            mean(0) >= 0.92 && mean(1) >= 0.96,
            "{} {}",
            mean(0),
            mean(1)
        );
    }
}

#[test]
fn claimed_gains_are_true_and_not_timid() {
    let spaces: Vec<Recorded> = spaces().into_iter().map(|(_, space)| space).collect();
    // A hundred searches tell a share to within four percent.
    for (evaluations, least) in [(25, 0.76), (50, 0.8)] {
        let claims = calibrate(
            &spaces,
            &Calibration {
                strategy: Strategy::Gaussian,
                evaluations,
                seeds: 20,
                model_error: 0.2,
            },
        );
        assert!(
            claims.not_above >= least && claims.median >= 0.7,
            "{evaluations}: {claims:?}"
        );
        // What nobody corrects is nearly always too good to be true.
        assert!(claims.unshrunk_not_above < 0.3, "{evaluations}: {claims:?}");
    }
}
