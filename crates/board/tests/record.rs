//! What enters the board, and what becomes of it.

mod common;

use assay_bench::Dtype;
use assay_bench::gate::{Finding, Verdict, What};
use assay_bench::registry::Case;
use assay_board::{Board, Filter, Outcome, Refused, Standing, Subject, Timed};
use assay_device::Origin;
use common::{attempt, kernel, mac, measurement, outcome, pc, right, source, times};

fn board() -> (tempfile::TempDir, Board) {
    let folder = tempfile::tempdir().unwrap();
    let board = Board::open(folder.path().join("deep/er/board.db")).unwrap();
    (folder, board)
}

#[test]
fn a_run_comes_back_whole() {
    let (_folder, mut board) = board();
    let samples = times(1, 2.0);
    let outcome = outcome("softmax", "kernel", samples.clone(), mac())
        .with_remarks(vec!["odd".to_owned()])
        .with_reference(Timed {
            name: "mlx".to_owned(),
            samples: times(2, 3.0),
        });
    let recorded = board.record(&outcome).unwrap();
    assert_eq!(recorded.standing, Standing::First);
    let filter = Filter {
        with_sources: true,
        ..Filter::default()
    };
    let entries = board.entries(&filter).unwrap();
    let [entry] = entries.as_slice() else {
        panic!("{entries:?}")
    };
    assert_eq!(entry.title(), "softmax f32");
    assert_eq!(entry.source.as_deref(), Some("kernel"));
    assert_eq!((entry.record, entry.runs), (true, 1));
    assert_eq!(entry.device.heading(), "Apple M2, 8 cores (measured)");
    assert_eq!(board.samples(entry).unwrap(), [samples]);
    let run = &entry.run;
    assert_eq!((run.id, run.seed.as_str()), (recorded.run, "7"));
    assert_eq!(run.taken_at, "2023-11-14T22:13:20Z");
    assert_eq!(run.remarks, ["odd"]);
    assert_eq!(run.environment["system"], "macOS 15.1");
    assert!(run.median_low_ms <= run.median_ms && run.median_ms <= run.median_high_ms);
    let reference = run.reference.as_ref().unwrap();
    assert!((1.4..1.6).contains(&reference.speedup), "{reference:?}");
    let roofline = run.roofline.unwrap();
    assert!(roofline > 0.0 && roofline < 1.0, "{roofline}");
}

#[test]
fn the_record_goes_only_to_another_source_that_is_certainly_faster() {
    let (_folder, mut board) = board();
    let mut record = |text: &str, seed, ms| {
        let run = outcome("relu", text, times(seed, ms), mac());
        board.record(&run).unwrap().standing
    };
    assert_eq!(record("first", 1, 2.0), Standing::First);
    assert!(matches!(record("same speed", 2, 2.0), Standing::Tie(_)));
    assert!(matches!(record("worse", 3, 2.5), Standing::Slower(_)));
    assert_eq!(record("first", 4, 1.0), Standing::Again { runs: 2 });
    let Standing::Record(comparison) = record("better", 5, 1.5) else {
        panic!("not a record")
    };
    assert!(comparison.ratio.low > 1.2, "{comparison:?}");
    assert_eq!(record("better", 6, 1.4), Standing::Again { runs: 2 });
    let holders = board.entries(&Filter::default()).unwrap();
    let better = source("better").hash;
    assert_eq!(holders.len(), 1);
    assert_eq!((&holders[0].source_hash, holders[0].runs), (&better, 2));
    let everyone = Filter {
        all: true,
        ..Filter::default()
    };
    assert_eq!(board.entries(&everyone).unwrap().len(), 4);
    assert_eq!(board.runs().unwrap(), 6);
}

/// A source's figure is its middle run, so that a lucky run neither takes a record nor defends one.
#[test]
fn one_lucky_run_among_many_does_not_count() {
    let (_folder, mut board) = board();
    let mut record = |text: &str, seed, ms| {
        let run = outcome("relu", text, times(seed, ms), mac());
        board.record(&run).unwrap().standing
    };
    record("old", 1, 2.0);
    record("new", 2, 2.5);
    record("new", 3, 2.5);
    assert!(matches!(record("new", 4, 1.0), Standing::Slower(_)));
    record("old", 5, 3.0);
    record("old", 6, 3.0);
    assert!(matches!(record("new", 7, 2.5), Standing::Record(_)));
}

#[test]
fn clocks_devices_and_modes_do_not_compete() {
    let (_folder, mut board) = board();
    let cold = assay_board::Setting {
        mode: "cold".to_owned(),
        ..mac()
    };
    for setting in [mac(), pc(), cold] {
        let run = outcome("relu", "text", times(1, 2.0), setting);
        assert_eq!(board.record(&run).unwrap().standing, Standing::First);
    }
    let entries = board.entries(&Filter::default()).unwrap();
    assert_eq!(entries.len(), 3);
    let host = entries.iter().find(|entry| entry.device.origin == "host");
    assert_eq!(host.unwrap().run.roofline, None, "a CPU has no GPU's roof");
}

#[test]
fn only_verified_runs_enter() {
    let case = Case::new(kernel("relu"), "reference", Dtype::F32).unwrap();
    let source = source("text");
    let subject = Subject {
        kernel: kernel("relu"),
        source: &source,
        case: &case,
    };
    let measured = measurement(Origin::Host, times(1, 2.0));
    let mut wrong = right(Dtype::F32);
    wrong.findings.push(Finding {
        size_set: "odd".to_owned(),
        dtype: Dtype::F32,
        seed: 3,
        what: What::Unstable,
    });
    let untried = Verdict {
        tried: Vec::new(),
        ..right(Dtype::F32)
    };
    let mut unsteady = measured.clone();
    unsteady.steady_results = false;
    let refused =
        |verdict: &Verdict, measured| Outcome::new(subject, verdict, measured, pc()).unwrap_err();
    assert!(matches!(refused(&wrong, &measured), Refused::Wrong(_)));
    assert_eq!(refused(&untried, &measured), Refused::Unexamined);
    assert_eq!(refused(&right(Dtype::F16), &measured), Refused::OtherType);
    assert_eq!(refused(&right(Dtype::F32), &unsteady), Refused::Unsteady);
    for samples in [vec![], vec![0.0, 1.0], vec![f64::NAN], vec![f64::INFINITY]] {
        let refused = attempt("relu", "text", samples, pc()).unwrap_err();
        assert_eq!(refused, Refused::NoTime);
    }
}

#[test]
fn filters_choose() {
    let (_folder, mut board) = board();
    for name in ["relu", "softmax", "resnet"] {
        for setting in [mac(), pc()] {
            let run = outcome(name, "text", times(1, 2.0), setting);
            board.record(&run).unwrap();
        }
    }
    let found = |filter: Filter| {
        let entries = board.entries(&filter).unwrap().into_iter();
        let names = entries.map(|entry| format!("{} {}", entry.kernel, entry.device.origin));
        names.collect::<Vec<_>>()
    };
    let list = |text: &str| vec![text.to_owned()];
    let chip = |chip| Filter {
        chips: list(chip),
        ..Filter::default()
    };
    assert_eq!(found(chip("m2")).len(), 3);
    assert_eq!(found(chip("m3")).len(), 0);
    let kernels = Filter {
        kernels: vec!["soft*".to_owned(), "relu".to_owned()],
        devices: list("cpu"),
        ..Filter::default()
    };
    assert_eq!(found(kernels), ["relu host", "softmax host"]);
    let set = Filter {
        sets: list("full"),
        ..Filter::default()
    };
    assert_eq!(found(set), ["resnet measured", "resnet host"]);
    let sizes = Filter {
        sizes: list("odd"),
        ..Filter::default()
    };
    assert!(found(sizes).is_empty());
}
