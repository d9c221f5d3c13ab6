//! Kernels that are almost right, through the door that models use: none is proven (`tests/almost_right`).

use super::file::FileLaunch;
use crate::launch::{self, Launched};
use crate::prediction::Choice;
use crate::source::ThisMachine;
use crate::toolchain;
use assay_front::SourceOptions;
use assay_launch::Written as WrittenLaunch;
use assay_tune::attempts::{Failure, Genome, Stage};
use assay_tune::knobs::Knobs;
use assay_tune::session::{Level, Workbench as _, Written};
use assay_tune::workbench::{Bench, Launch as _, Origin, Subject, suitable};
use rayon::prelude::*;
use std::path::{Path, PathBuf};

const CHANGES: &str = include_str!("../../../tests/almost_right/changes.txt");

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/almost_right")
}

/// A change that makes a kernel almost right.
struct Change<'a> {
    kernel: &'a str,
    wrong: &'a str,
    old: String,
    new: String,
}

fn changes() -> Vec<Change<'static>> {
    let lines = CHANGES
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| {
            let parts: Vec<&str> = line.split(" | ").collect();
            let [kernel, wrong, old, new] = parts.as_slice() else {
                panic!("not of four parts: {line}");
            };
            let lines = |text: &str| text.replace("\\n", "\n");
            Change {
                kernel,
                wrong,
                old: lines(old),
                new: lines(new),
            }
        })
        .collect()
}

fn source(kernel: &str) -> String {
    std::fs::read_to_string(folder().join(format!("{kernel}.metal"))).unwrap()
}

/// Proves a source in place of a kernel of the folder, level after level, as sessions do.
fn proven(kernel: &str, source: &str, own: &str) -> Result<(), Failure> {
    let limits = |why: String| Failure::new(Stage::Limits, why);
    let origin = Origin::Source(own.to_owned(), SourceOptions::default());
    let subject = Subject::new(&ThisMachine, origin, kernel, Vec::new(), Knobs::default());
    let signature = subject.arguments()?;
    let flags = WrittenLaunch::default();
    let launched = Launched::find(Some(own), kernel, &signature, flags, &launch::files());
    let launched = launched.map_err(|error| limits(error.to_string()))?;
    let launched = launched.ok_or_else(|| limits("no launch".to_owned()))?;
    let mut launch = FileLaunch::new(launched, None).map_err(|failure| limits(failure.message))?;
    launch.plan = suitable(&subject, &launch, &[launch.timed().clone()])?;
    let target = Choice::one("m2").unwrap();
    let bench = Bench::new(subject, &launch, [&target], kernel);
    let written = Written {
        source: source.to_owned(),
        ..Written::default()
    };
    let genome = Genome {
        knobs: Vec::new(),
        steps: vec![bench.offer(&written).unwrap()],
    };
    bench.prepare(&genome)?;
    for level in [Level::Quick, Level::Full, Level::HeldOut] {
        bench.verify(&genome, level)?;
    }
    Ok(())
}

#[test]
fn nothing_that_is_almost_right_is_proven() {
    if toolchain::find().is_err() {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return;
    }
    let all = changes();
    assert!(all.len() >= 40, "{}", all.len());
    let judged: Vec<String> = all
        .par_iter()
        .filter_map(|change| {
            let own = source(change.kernel);
            let found = own.matches(&change.old).count();
            assert!(found > 0, "{}: {} is not there", change.kernel, change.old);
            let changed = own.replace(&change.old, &change.new);
            let name = format!("{}, {}", change.kernel, change.wrong);
            let judged = proven(change.kernel, &changed, &own);
            match judged {
                Ok(()) => Some(format!("{name}: proven")),
                // Refused for what it computes, and not for how it is written.
                Err(failure)
                    if matches!(
                        failure.stage,
                        Stage::Filter | Stage::Compile | Stage::Limits
                    ) =>
                {
                    Some(format!("{name}: {}: {}", failure.stage.name(), failure.why))
                }
                Err(_) => None,
            }
        })
        .collect();
    assert!(judged.is_empty(), "{}", judged.join("\n"));
}

#[test]
fn what_is_right_in_another_order_is_proven() {
    if toolchain::find().is_err() {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return;
    }
    let pairs = [
        (
            "row_sum",
            "for (uint c = 0; c < columns; c++) {\n        sum",
            "for (uint c = columns; c-- > 0;) {\n        sum",
        ),
        (
            "norm",
            "for (uint c = 0; c < columns; c++) {\n        float",
            "for (uint c = columns; c-- > 0;) {\n        float",
        ),
        ("softmax", "* scale;", "/ part[0];"),
        ("argmax", "uint at = 0;", "uint at = 0u;"),
        ("transpose", "g.x >= columns ||", "columns <= g.x ||"),
        ("histogram", "i >= n", "n <= i"),
    ];
    pairs.par_iter().for_each(|(kernel, old, new)| {
        let own = source(kernel);
        assert!(own.contains(old), "{kernel}: {old} is not there");
        proven(kernel, &own.replacen(old, new, 1), &own)
            .unwrap_or_else(|failure| panic!("{kernel}: {}", failure.why));
    });
}
