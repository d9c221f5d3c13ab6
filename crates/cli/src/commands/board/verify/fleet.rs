//! `assay board verify --fleet`: records of machines elsewhere, run again by workers there.
//!
//! A worker of the record's pool examines and times the board's source. Its runs count only if it is the same device: the
//! board's words for it must be the same.

use super::{Again, Args, Report};
use crate::commands::board::location;
use crate::commands::fleet::line::Line;
use crate::commands::fleet::submit::Session;
use crate::context::Context;
use crate::failure::Failure;
use assay_board::verify::judge;
use assay_board::{Board, Entry, Wire};
use assay_fleet::{Answer, Ending, Submission};
use assay_sweep::Saver;
use assay_sweep::verify::Compared;
use std::sync::Arc;

/// What workers said about one entry.
#[derive(Default)]
struct Said {
    findings: Vec<String>,
    notes: Vec<String>,
    samples: Vec<Vec<f64>>,
}

pub(super) fn run(
    args: &Args,
    board: &Board,
    saver: &mut Saver,
    context: &Context,
) -> Result<Report, Failure> {
    if args.fleet.detach {
        return Err(
            Failure::usage("a verification waits for its answers").advice("leave --detach out")
        );
    }
    let session = Session::open(&args.fleet)?;
    let pools = session.pools(&args.fleet, context)?;
    let mut filter = args.selection.filter(true);
    filter.kernels.clone_from(&args.names);
    let found = board.entries(&filter).map_err(location::failure)?;
    let mut asked: Vec<(Entry, Said)> = Vec::new();
    let (mut submissions, mut places) = (Vec::new(), Vec::new());
    for entry in found {
        let Some(pool) = pools.iter().find(|pool| is_of(&entry, pool)) else {
            continue;
        };
        for _ in 0..args.rounds {
            places.push(asked.len());
            submissions.push(Arc::new(job(args, &entry, pool)));
        }
        asked.push((entry, Said::default()));
    }
    if asked.is_empty() {
        return Err(Failure::input(format!(
            "nothing of {} on the board is of a pool among {}",
            args.names.join(", "),
            pools.join(", ")
        )));
    }
    session.evaluate(submissions, context, |place, answer| {
        let said = places.get(place).and_then(|place| asked.get_mut(*place));
        match said {
            Some((entry, said)) => take(entry, said, answer, saver),
            None => Ok(()),
        }
    })?;
    let mut results = Vec::new();
    for (entry, said) in asked {
        let earlier = board.samples(&entry).map_err(location::failure)?;
        let judged = judge(&earlier, &said.samples);
        results.push(Again {
            kernel: entry.kernel,
            dtype: entry.dtype,
            size_set: entry.size_set,
            device: entry.device.name,
            origin: if entry.device.origin == "host" {
                "host"
            } else {
                "measured"
            },
            source_hash: entry.source_hash,
            right: said.findings.is_empty(),
            findings: said.findings,
            notes: said.notes,
            compared: judged.map(|judged| Compared::new(&judged, &said.samples)),
        });
    }
    Ok(Report {
        seed: None,
        results,
    })
}

/// Returns true if workers of a pool are machines like the entry's: the chip, its generation, or `cpu` for host times.
fn is_of(entry: &Entry, pool: &str) -> bool {
    match &entry.device.chip {
        Some(chip) => chip == pool || chip.split('-').next() == Some(pool),
        None => entry.device.origin == "host" && pool == "cpu",
    }
}

fn job(args: &Args, entry: &Entry, pool: &str) -> Submission {
    let mut line = Line::default();
    line.bytes(
        "source.metal",
        entry.source.clone().unwrap_or_default().as_bytes(),
    );
    let mut words = vec![
        "bench".to_owned(),
        entry.kernel.clone(),
        "--source=source.metal".to_owned(),
        format!("--sizes={}", entry.size_set),
        format!("--dtype={}", entry.dtype),
        "--reference=none".to_owned(),
        "--format=json".to_owned(),
    ];
    if args.quick || entry.mode.split(' ').any(|word| word == "quick") {
        words.push("--quick".to_owned());
    }
    let mut submission = line.job(&args.fleet, words, pool);
    submission.job.fresh = true;
    submission
}

fn take(entry: &Entry, said: &mut Said, answer: Answer, saver: &mut Saver) -> Result<(), Failure> {
    let worker = answer.machine.worker;
    let (output, outcomes) = match answer.ending {
        Ending::Done {
            output, outcomes, ..
        } => (output, outcomes),
        other => {
            let why = other.trouble().unwrap_or_default();
            said.notes.push(format!("{worker}: {why}"));
            return Ok(());
        }
    };
    let document: serde_json::Value = serde_json::from_str(&output).unwrap_or_default();
    let findings = document["kernels"][0]["findings"].as_array();
    for finding in findings.into_iter().flatten() {
        let text = finding.as_str().unwrap_or_default();
        said.findings.push(format!("{worker}: {text}"));
    }
    for line in outcomes.lines() {
        let wire: Result<Wire, _> = serde_json::from_str(line);
        let Some(Ok(outcome)) = wire.ok().map(Wire::outcome) else {
            continue;
        };
        if outcome.device() != entry.device.name {
            let note = format!("{worker} is another device ({})", outcome.device());
            said.notes.push(note);
            continue;
        }
        said.samples.push(outcome.samples().to_vec());
        saver.record(&outcome.with_job(answer.job.clone()))?;
    }
    Ok(())
}
