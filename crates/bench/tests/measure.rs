//! Measuring, on a device whose clock shows what the test says.

mod common;
#[path = "common/wrapped.rs"]
mod wrapped;

use assay_bench::Dtype;
use assay_bench::measure::{self, Cache, Measurement, Plan, WarmUp};
use assay_bench::oracle::Tensor;
use assay_bench::reference::{Clock, Error, OracleReference, Reference};
use assay_bench::registry::{Case, Registry};
use assay_bench::runner::Loaded;
use assay_bench::stats::{Order, Stop, StopRule};
use assay_device::{Extent, Finished, Origin, Time};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use wrapped::Wrapped;

const MICROSECOND: f64 = 1e-6;

const PLAN: Plan = Plan {
    seed: 3,
    warm_up: WarmUp::UntilStable(Duration::from_secs(20)),
    stop: StopRule {
        least: 12,
        most: 40,
        precision: 0.01,
        time: Duration::from_secs(60),
    },
    cache: Cache::Rotating,
};

/// A GPU on which every run takes what a function of its number says, in microseconds.
fn gpu(time: impl Fn(usize) -> f64 + 'static) -> Option<Wrapped> {
    let mut device = Wrapped::new(common::device()?);
    device.facts.origin = Origin::Measured;
    let submitted = Rc::new(Cell::new(0));
    let runs = Rc::clone(&submitted);
    device.on_submit = Box::new(move |mut dispatches| {
        // What empties caches would take a while here.
        dispatches.retain(|one| !matches!(one.extent, Extent::Threads([x, ..]) if x > 1 << 20));
        submitted.set(dispatches.len());
        dispatches
    });
    let mut done = 0;
    device.on_wait = Box::new(move |_| {
        let length = (0..runs.get()).map(|run| time(done + run)).sum::<f64>();
        done += runs.get();
        Finished {
            total: Some(Time {
                length: Duration::from_secs_f64(length * MICROSECOND),
                origin: Origin::Measured,
            }),
            dispatches: Vec::new(),
        }
    });
    Some(device)
}

fn measured(
    device: &mut Wrapped,
    plan: &Plan,
    references: &mut [Box<dyn Reference>],
) -> Measurement {
    let registry = Registry::embedded().expect("a registry");
    let kernel = registry.kernel("relu").expect("relu");
    let source = registry.source(kernel, None).expect("a source");
    let mut loaded = Loaded::compile(device, &source.path, &source.text).expect("compiles");
    let case = Case::new(kernel, "quick", Dtype::F32).expect("a case");
    let measured = measure::measure(device, &mut loaded, &case, plan, references);
    measured.expect("measured").expect("a time")
}

/// A reference whose times are said too; it gives up after some runs.
#[derive(Debug)]
struct Said {
    microseconds: f64,
    clock: Clock,
    runs_left: usize,
    oracle: OracleReference,
}

impl Said {
    fn boxed(microseconds: f64, clock: Clock, runs_left: usize) -> Box<dyn Reference> {
        Box::new(Self {
            microseconds,
            clock,
            runs_left,
            oracle: OracleReference::default(),
        })
    }
}

impl Reference for Said {
    fn name(&self) -> &str {
        "said"
    }
    fn clock(&self) -> Clock {
        self.clock
    }
    fn prepare(&mut self, set: usize, case: &Case, inputs: &[Tensor]) -> Result<(), Error> {
        self.oracle.prepare(set, case, inputs)
    }
    fn run(&mut self, _set: usize, times: usize) -> Result<f64, Error> {
        self.runs_left = self.runs_left.checked_sub(1).ok_or(Error::Gone {
            name: "said".to_owned(),
            why: "no more".to_owned(),
        })?;
        Ok(self.microseconds * times as f64 * MICROSECOND)
    }
    fn outputs(&mut self, set: usize) -> Result<Vec<Vec<u8>>, Error> {
        self.oracle.outputs(set)
    }
    fn forget(&mut self) -> Result<(), Error> {
        self.oracle.forget()
    }
}

#[test]
fn short_runs_are_put_together_and_long_ones_are_not() {
    for (microseconds, batch) in [(10.0, 50), (3.0, 100), (400.0, 2), (900.0, 1)] {
        let Some(mut device) = gpu(move |_| microseconds) else {
            return;
        };
        let measured = measured(&mut device, &PLAN, &mut []);
        assert_eq!(measured.batch, batch, "{microseconds} µs");
        let median = measured.summary.median.value / MICROSECOND;
        assert!((median - microseconds).abs() < 1e-3, "{median}");
        assert_eq!(
            (measured.origin, measured.stop),
            (Origin::Measured, Stop::Precise)
        );
        assert!(measured.steady_results);
    }
}

#[test]
fn warm_up_lasts_until_times_no_longer_fall() {
    // A clock that rises over 20 runs.
    let Some(mut device) = gpu(|run| {
        if run < 20 {
            2000.0 - 50.0 * run as f64
        } else {
            1000.0
        }
    }) else {
        return;
    };
    let measured = measured(&mut device, &PLAN, &mut []);
    assert_eq!(measured.warm_up_stable, Some(true));
    assert!(
        (17..30).contains(&measured.warm_up),
        "{:?}",
        measured.warm_up
    );
    assert!((measured.summary.median.value - 1e-3).abs() < 5e-5);
}

#[test]
fn warm_up_has_its_limits() {
    let endless = |run: usize| 1e6 * 0.8f64.powi(run as i32);
    let Some(mut device) = gpu(endless) else {
        return;
    };
    let plan = Plan {
        warm_up: WarmUp::UntilStable(Duration::ZERO),
        ..PLAN
    };
    assert_eq!(
        measured(&mut device, &plan, &mut []).warm_up_stable,
        Some(false)
    );
    let Some(mut device) = gpu(|_| 1000.0) else {
        return;
    };
    let plan = Plan {
        warm_up: WarmUp::Runs(13),
        ..PLAN
    };
    let measured = measured(&mut device, &plan, &mut []);
    assert_eq!((measured.warm_up, measured.warm_up_stable), (13, None));
}

#[test]
fn a_clock_that_sinks_is_seen() {
    let Some(mut device) = gpu(|run| 1000.0 + 10.0 * run as f64) else {
        return;
    };
    let measured = measured(&mut device, &PLAN, &mut []);
    assert!(
        measured.drift.is_some_and(|drift| drift.is_slowing()),
        "{:?}",
        measured.drift
    );
    assert_eq!(measured.stop, Stop::Samples);
}

#[test]
fn results_that_change_while_it_is_timed_are_seen() {
    let Some(mut device) = gpu(|_| 1000.0) else {
        return;
    };
    let mut reads = 0;
    device.on_read = Box::new(move |bytes| {
        reads += 1;
        if reads > 16 {
            bytes[300] ^= 1;
        }
    });
    assert!(!measured(&mut device, &PLAN, &mut []).steady_results);
}

#[test]
fn references_are_compared_by_a_clock_both_have() {
    for (theirs, order) in [
        (1000.0, Order::Tie),
        (1004.0, Order::Tie),
        (2000.0, Order::SecondFaster),
        (700.0, Order::FirstFaster),
    ] {
        let Some(mut device) = gpu(|run| 1000.0 + (run % 3) as f64) else {
            return;
        };
        let mut references = [Said::boxed(theirs, Clock::Gpu, usize::MAX)];
        let measured = measured(&mut device, &PLAN, &mut references);
        let times = measured.rivals[0].times.as_ref().expect("times");
        let comparison = times.comparison.expect("one clock");
        assert_eq!(comparison.order, order, "{comparison:?}");
        assert!((comparison.ratio.value - theirs / 1001.0).abs() < 1e-9);
        assert_eq!(times.samples.len(), measured.samples.len());
        assert!(times.agreement.as_ref().is_some_and(|one| one.is_right()));
    }
    // A GPU's clock and a CPU that runs the kernel have nothing in common.
    let Some(inner) = common::device() else {
        return;
    };
    let mut references = [Said::boxed(10.0, Clock::Gpu, usize::MAX)];
    let measured = measured(&mut Wrapped::new(inner), &PLAN, &mut references);
    assert_eq!(
        measured.rivals[0].times.as_ref().expect("times").comparison,
        None
    );
}

#[test]
fn a_reference_that_fails_leaves_the_kernels_times() {
    let Some(mut device) = gpu(|_| 1000.0) else {
        return;
    };
    let mut references = [
        Said::boxed(1000.0, Clock::Host, 20),
        Said::boxed(1000.0, Clock::Gpu, usize::MAX),
    ];
    let measured = measured(&mut device, &PLAN, &mut references);
    assert!(measured.samples.len() >= PLAN.stop.least);
    let failure = measured.rivals[0].times.as_ref().expect_err("gone");
    assert_eq!(failure.to_string(), "said: no more");
    assert!(measured.rivals[1].times.is_ok());
}

#[test]
fn cold_samples_are_single_runs_after_caches_were_emptied() {
    let Some(mut device) = gpu(|_| 10.0) else {
        return;
    };
    let plan = Plan {
        cache: Cache::Cold,
        ..PLAN
    };
    let cold = measured(&mut device, &plan, &mut []);
    assert_eq!((cold.batch, cold.cache), (1, Cache::Cold));
    let Some(inner) = common::device() else {
        return;
    };
    let plan = Plan {
        stop: StopRule {
            least: 2,
            most: 2,
            ..PLAN.stop
        },
        ..plan
    };
    let cold = measured(&mut Wrapped::new(inner), &plan, &mut []);
    assert_eq!((cold.origin, cold.samples.len()), (Origin::Host, 2));
}
