//! What enters the board, and what becomes of it.

mod common;

use assay_bench::Dtype;
use assay_bench::gate::{Finding, Verdict, What};
use assay_bench::registry::Case;
use assay_board::{
    Board, Filter, Outcome, Provenance, Raced, Refused, Standing, Subject, Timed, Wire,
};
use assay_device::Origin;
use common::{
    BUILT_IN, attempt, challenge, kernel, mac, measurement, outcome, pc, right, source, times,
};

fn board() -> (common::Fresh, Board) {
    let folder = common::Fresh::new();
    let board = folder.open();
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
fn the_record_goes_only_to_another_source_that_was_faster_in_turns() {
    let (_folder, mut board) = board();
    let run = outcome("relu", "first", times(1, 2.0), mac());
    assert_eq!(board.record(&run).unwrap().standing, Standing::First);
    let mut challenge = |text: &str, holder: &str, seed, faster| {
        let run = challenge("relu", text, holder, seed, faster, mac());
        board.record(&run).unwrap().standing
    };
    assert!(matches!(
        challenge("same speed", "first", 2, 1.0),
        Standing::Tie(_)
    ));
    assert!(matches!(
        challenge("worse", "first", 3, 0.8),
        Standing::Slower(_)
    ));
    assert_eq!(
        challenge("first", "first", 4, 2.0),
        Standing::Again { runs: 2 }
    );
    let Standing::Record(change) = challenge("better", "first", 5, 1.3) else {
        panic!("not a record")
    };
    assert!(change.comparison.ratio.low > 1.2, "{change:?}");
    assert!(change.old > 1.2 * change.new, "{change:?}");
    // A race against a source that no longer holds the record decides nothing.
    assert_eq!(challenge("late", "first", 6, 9.0), Standing::Unraced);
    let holders = board.entries(&Filter::default()).unwrap();
    let better = source("better").hash;
    assert_eq!(holders.len(), 1);
    assert_eq!((&holders[0].source_hash, holders[0].runs), (&better, 1));
    let beaten = holders[0].beaten.unwrap();
    assert!((beaten.old_ms / beaten.new_ms - beaten.ratio).abs() < 0.1);
    let everyone = Filter {
        all: true,
        ..Filter::default()
    };
    assert_eq!(board.entries(&everyone).unwrap().len(), 5);
    assert_eq!(board.runs().unwrap(), 6);
}

/// Runs at other times say nothing about each other, however fast: the machine may have been quieter.
#[test]
fn a_run_that_was_not_in_turns_with_the_holder_takes_no_record() {
    let (_folder, mut board) = board();
    let mut record = |text: &str, seed, ms| {
        let run = outcome("relu", text, times(seed, ms), mac());
        board.record(&run).unwrap().standing
    };
    assert_eq!(record("old", 1, 2.0), Standing::First);
    assert_eq!(record("new", 2, 1.0), Standing::Unraced);
    // One race is not enough: one in several hundred is won by luck.
    let mut once = challenge("relu", "new", "old", 3, 1.3, mac());
    let raced = |rounds| Raced {
        holder: source("old").hash,
        rounds,
        holder_is_sound: true,
    };
    let round = (times(4, 2.0), times(5, 1.5));
    once = once.with_race(raced(vec![round.clone()]));
    assert!(matches!(
        board.record(&once).unwrap().standing,
        Standing::Tie(_)
    ));
    let disagreeing = once.with_race(raced(vec![round, (times(6, 2.0), times(7, 2.0))]));
    assert!(matches!(
        board.record(&disagreeing).unwrap().standing,
        Standing::Tie(_)
    ));
}

#[test]
fn a_holder_that_is_wrong_now_loses_its_record() {
    let (_folder, mut board) = board();
    let run = outcome("relu", "cheat", times(1, 0.1), mac());
    board.record(&run).unwrap();
    let run = outcome("relu", "honest", times(2, 2.0), mac()).with_race(Raced {
        holder: source("cheat").hash,
        rounds: Vec::new(),
        holder_is_sound: false,
    });
    assert_eq!(board.record(&run).unwrap().standing, Standing::Succeeds);
    let holders = board.entries(&Filter::default()).unwrap();
    assert_eq!(holders[0].source_hash, source("honest").hash);
}

/// Identical sources in races whose noise is that of a busy machine.
#[test]
fn of_1000_identical_challengers_none_takes_the_record() {
    let (_folder, mut board) = board();
    let run = outcome("relu", "holder", times(1, 2.0), mac());
    board.record(&run).unwrap();
    let records = (0..1000).filter(|seed| {
        let run = challenge("relu", "twin", "holder", 10_000 * seed, 1.0, mac());
        let standing = board.record(&run).unwrap().standing;
        matches!(standing, Standing::Record(_))
    });
    assert_eq!(records.count(), 0);
}

#[test]
fn what_a_result_is_worth_keeps_it_from_competing() {
    let (_folder, mut board) = board();
    let case = Case::new(kernel("relu"), "reference", Dtype::F32).unwrap();
    let measured = measurement(Origin::Host, times(1, 2.0));
    let cheap = Provenance {
        description: "tolerance 0.99, a thousand times the operations",
        foreign: true,
        ..BUILT_IN
    };
    let quick = Provenance {
        quick: true,
        ..BUILT_IN
    };
    let seeded = Provenance {
        seeded: true,
        ..BUILT_IN
    };
    for provenance in [BUILT_IN, quick, cheap, seeded] {
        let source = source("text");
        let subject = Subject {
            kernel: kernel("relu"),
            source: &source,
            case: &case,
            provenance,
        };
        let run = Outcome::new(subject, &right(Dtype::F32), &measured, pc()).unwrap();
        assert_eq!(board.record(&run).unwrap().standing, Standing::First);
    }
    let modes: Vec<String> = board
        .entries(&Filter::default())
        .unwrap()
        .into_iter()
        .map(|entry| entry.mode)
        .collect();
    assert!(modes.contains(&String::new()), "{modes:?}");
    assert!(modes.contains(&"quick".to_owned()), "{modes:?}");
    assert!(modes.contains(&"foreign".to_owned()), "{modes:?}");
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
        provenance: BUILT_IN,
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
    let mut unseen = measured.clone();
    unseen.examined.compared = 0;
    let mut wrong_when_timed = measured.clone();
    wrong_when_timed.examined.wrong = Some("1 of 262144 wrong".to_owned());
    let refused =
        |verdict: &Verdict, measured| Outcome::new(subject, verdict, measured, pc()).unwrap_err();
    assert!(matches!(refused(&wrong, &measured), Refused::Wrong(_)));
    assert_eq!(refused(&untried, &measured), Refused::Unexamined);
    assert_eq!(refused(&right(Dtype::F16), &measured), Refused::OtherType);
    assert_eq!(refused(&right(Dtype::F32), &unsteady), Refused::Unsteady);
    assert_eq!(refused(&right(Dtype::F32), &unseen), Refused::Unexamined);
    assert!(matches!(
        refused(&right(Dtype::F32), &wrong_when_timed),
        Refused::WrongWhenTimed(_)
    ));
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

#[test]
fn a_job_is_on_the_board_once_however_often_it_is_answered() {
    let (_folder, mut board) = board();
    let answer = outcome("relu", "text", times(1, 2.0), mac()).with_job("job-1");
    let first = board.record(&answer).unwrap();
    assert_eq!(first.standing, Standing::First);
    let again = board.record(&answer).unwrap();
    assert_eq!((again.run, again.standing), (first.run, Standing::Known));
    let other = outcome("relu", "text", times(2, 2.0), mac()).with_job("job-2");
    assert!(matches!(
        board.record(&other).unwrap().standing,
        Standing::Again { runs: 2 }
    ));
    assert_eq!(board.runs().unwrap(), 2);
    assert_eq!(board.run_of_job("job-1").unwrap(), Some(first.run));
    assert_eq!(board.run_of_job("job-3").unwrap(), None);
}

#[test]
fn an_outcome_arrives_as_it_was_sent() {
    let (_folder, mut board) = board();
    board
        .record(&outcome("relu", "old", times(1, 2.0), mac()))
        .unwrap();
    let sent = challenge("relu", "new", "old", 7, 1.3, mac())
        .with_remarks(vec!["odd".to_owned()])
        .with_reference(Timed {
            name: "mlx".to_owned(),
            samples: times(2, 3.0),
        });
    let text = serde_json::to_string(&Wire::from(&sent)).unwrap();
    let read: Wire = serde_json::from_str(&text).unwrap();
    let arrived = read.clone().outcome().unwrap();
    assert_eq!(arrived, sent);
    let holders = board.holders("relu", "f32", "reference").unwrap();
    let held = holders
        .iter()
        .find_map(|holder| holder.at(arrived.place()))
        .unwrap();
    assert_eq!(held.text, "old");
    // What was known before decides nothing.
    let known = read.without_race().outcome().unwrap();
    assert_eq!(board.record(&known).unwrap().standing, Standing::Unraced);
    assert!(matches!(
        board.record(&arrived).unwrap().standing,
        Standing::Record(_)
    ));
    for (from, to) in [
        ("\"f32\"", "\"f64\""),
        ("\"host\"", "\"moon\""),
        ("\"measured\"", "\"modelled\""),
    ] {
        let altered = text.replace(from, to);
        let read: Result<Wire, _> = serde_json::from_str(&altered);
        assert!(
            altered == text || read.unwrap().outcome().is_err(),
            "{from}"
        );
    }
}

#[test]
fn a_copy_holds_the_same_and_is_made_into_an_empty_board_only() {
    let (_folder, mut board) = board();
    for seed in 0..12 {
        let text = format!("source {}", seed % 4);
        let run = outcome(
            "softmax",
            &text,
            times(seed, 2.0),
            if seed % 3 == 0 { pc() } else { mac() },
        );
        board.record(&run).unwrap();
    }
    board
        .record(&challenge("softmax", "fast", "source 1", 50, 1.5, mac()))
        .unwrap();
    let other = tempfile::tempdir().unwrap();
    let mut file = Board::open(other.path().join("copy.db")).unwrap();
    let copied = board.copy_to(&mut file).unwrap();
    assert_eq!(copied.digest, board.digest().unwrap());
    assert_eq!(file.runs().unwrap(), 13);
    let all = Filter {
        all: true,
        with_sources: true,
        ..Filter::default()
    };
    assert_eq!(file.entries(&all).unwrap(), board.entries(&all).unwrap());
    // And back, into a new one.
    let third = common::Fresh::new();
    let mut back = third.open();
    file.copy_to(&mut back).unwrap();
    assert_eq!(back.digest().unwrap(), copied.digest);
    // Both are written on after a copy.
    for board in [&mut file, &mut back] {
        board
            .record(&outcome("relu", "more", times(99, 2.0), mac()))
            .unwrap();
        assert_eq!(board.runs().unwrap(), 14);
    }
    let error = board.copy_to(&mut back).unwrap_err();
    assert!(
        matches!(error, assay_board::Error::NotEmpty { runs: 14, .. }),
        "{error}"
    );
    assert_ne!(back.digest().unwrap(), copied.digest);
}
