//! `assay bench --fleet`: one job per kernel, element type and pool; answers become rows and go on the board.

use super::{Args, Format};
use crate::commands::board::location;
use crate::commands::fleet::line::Line;
use crate::commands::fleet::submit::Session;
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use crate::{confine, input};
use assay_bench::registry::Kernel;
use assay_board::Wire;
use assay_fleet::{Answer, Ending, Submission};
use assay_report::envelope::Envelope;
use assay_sweep::{Environment, OnBoard, Report, Row, Saver, select};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// What was asked of one pool.
struct Asked {
    pool: String,
    kernel: String,
    set: &'static str,
    dtype: String,
    /// Of several runs only the first is shown, and what went wrong in others.
    first: bool,
}

/// What is asked, and the jobs that ask it, in the same order.
type Questions = (Vec<Rc<Asked>>, Vec<Arc<Submission>>);

/// The part of a worker's `assay.bench` document that is used.
#[derive(Deserialize)]
struct Document {
    seed: u64,
    environment: Environment,
    kernels: Vec<Row>,
}

/// What came back from one pool.
#[derive(Default)]
struct Pool {
    seed: u64,
    environment: Option<Environment>,
    workers: BTreeMap<String, usize>,
    cached: usize,
    rows: BTreeMap<usize, Row>,
}

pub(super) fn run(args: &Args, kernels: &select::Kernels<'_>, context: &Context) -> CommandResult {
    if args.kernels.is_some() {
        return Err(
            Failure::usage("--kernels cannot be sent to another machine").advice(
                "workers know the kernels that come with assay; --source sends a source of yours",
            ),
        );
    }
    if args.format == Format::Html {
        return Err(Failure::usage(
            "results of a fleet have no page: text or json",
        ));
    }
    let session = Session::open(&args.fleet)?;
    let pools = session.pools(&args.fleet, context)?;
    let mut saver = match args.no_save || args.no_time {
        true => Saver::nowhere(),
        false => location::saver(args.board.as_deref(), context)?,
    };
    let (asked, submissions) = ask(args, kernels, &pools, &saver, context)?;
    if args.fleet.detach {
        return session.detach(submissions, context);
    }
    let mut found: BTreeMap<String, Pool> = BTreeMap::new();
    let mut answers = Vec::new();
    session.evaluate(submissions, context, |place, answer| {
        let Some(asked) = asked.get(place) else {
            return Ok(());
        };
        let pool = found.entry(asked.pool.clone()).or_default();
        if args.format == Format::Json {
            answers.push(Told::new(asked, &answer));
        }
        take(place, asked, answer, pool, &mut saver)
    })?;
    let saved = saver.told();
    let target = args.target.name();
    let reports = found
        .into_iter()
        .map(|(name, pool)| report(name, pool, target));
    let mut reports: Vec<_> = reports.collect();
    if let Some((_, _, last)) = reports.last_mut() {
        last.saved = saved;
    }
    let (wrong, refused) = reports
        .iter()
        .fold((0, 0), |(wrong, refused), (_, _, report)| {
            (wrong + report.wrong, refused + report.refused)
        });
    let text = match args.format {
        Format::Text | Format::Html => text(&reports, context),
        Format::Json => {
            answers.sort_by(|a, b| {
                (&a.pool, &a.kernel, &a.dtype).cmp(&(&b.pool, &b.kernel, &b.dtype))
            });
            let pools = reports
                .into_iter()
                .map(|(pool, _, report)| InPool { pool, report });
            let document = FleetDocument {
                pools: pools.collect(),
                answers,
            };
            Envelope::new("assay.bench-fleet", 1, &document).to_json()
        }
    };
    context.write(&text)?;
    Ok(match (wrong, refused) {
        (0, 0) => Outcome::Fine,
        (0, _) => Outcome::Unreadable,
        _ => Outcome::Failed,
    })
}

/// The document of `assay bench --fleet --format json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct FleetDocument {
    /// What each pool found.
    pools: Vec<InPool>,
    /// Where each answer comes from.
    answers: Vec<Told>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct InPool {
    pool: String,
    report: Report,
}

/// Where an answer comes from.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Told {
    pool: String,
    kernel: String,
    dtype: String,
    job: String,
    worker: String,
    /// `done`, `refused`, `cancelled`, `timed-out` or `gave-up`.
    ending: String,
    /// True if it was known from the same question.
    cached: bool,
    /// How often the job was delivered.
    deliveries: u64,
    /// Seconds that the worker was at it, by its own clock.
    seconds: f64,
}

impl Told {
    fn new(asked: &Asked, answer: &Answer) -> Self {
        Self {
            pool: asked.pool.clone(),
            kernel: asked.kernel.clone(),
            dtype: asked.dtype.clone(),
            job: answer.job.clone(),
            worker: answer.machine.worker.clone(),
            ending: answer.ending.name().to_owned(),
            cached: answer.cached,
            deliveries: answer.deliveries,
            seconds: answer.seconds,
        }
    }
}

/// One job per pool, kernel and element type.
fn ask(
    args: &Args,
    kernels: &select::Kernels<'_>,
    pools: &[String],
    saver: &Saver,
    context: &Context,
) -> Result<Questions, Failure> {
    let words = context.line.iter().position(|word| word == "bench");
    let words = words.and_then(|place| context.line.get(place + 1..));
    let mut line = Line::read("bench", words.unwrap_or_default())?;
    line.flags.retain(|flag| {
        !["--dtype=", "--source=", "--format="]
            .iter()
            .any(|one| flag.starts_with(one))
    });
    line.inputs.clear();
    line.objects.clear();
    let mut own = None;
    if let Some(path) = &args.source {
        if kernels.sound.len() != 1 {
            return Err(Failure::usage("--source is for one kernel")
                .advice("name the kernel it stands for"));
        }
        let bytes = input::open(path)?;
        let source = assay_sweep::whole(
            path,
            &String::from_utf8_lossy(&bytes),
            kernels.registry.headers(),
            confine::read_to_string,
        );
        let source = source.map_err(Failure::input)?;
        line.bytes("source.metal", source.text.as_bytes());
        line.flags.push("--source=source.metal".to_owned());
        own = Some(source.hash);
    }
    let (mut asked, mut submissions) = (Vec::new(), Vec::new());
    for pool in pools {
        for kernel in &kernels.sound {
            let wanted = kernel
                .dtypes
                .iter()
                .filter(|one| args.dtype.is_empty() || args.dtype.contains(one));
            for dtype in wanted {
                let mut words = vec!["bench".to_owned(), kernel.name.clone()];
                words.extend(line.flags.iter().cloned());
                words.push(format!("--dtype={}", dtype.name()));
                words.push("--format=json".to_owned());
                let mut submission = line.job(&args.fleet, words, pool);
                challenge(
                    &mut submission,
                    args,
                    kernel,
                    dtype.name(),
                    own.as_deref(),
                    saver,
                )?;
                // Many runs are one question: what they have in common is kept once.
                let submission = Arc::new(submission);
                let about = |first: bool| {
                    Rc::new(Asked {
                        pool: pool.clone(),
                        kernel: kernel.name.clone(),
                        set: kernel.set.name(),
                        dtype: dtype.name().to_owned(),
                        first,
                    })
                };
                let (first, other) = (about(true), about(false));
                for run in 0..args.fleet.runs {
                    asked.push(Rc::clone(if run == 0 { &first } else { &other }));
                    submissions.push(Arc::clone(&submission));
                }
            }
        }
    }
    Ok((asked, submissions))
}

/// A source that may take a record brings its holders along, and is measured for this question alone: a pair on one worker.
fn challenge(
    submission: &mut Submission,
    args: &Args,
    kernel: &Kernel,
    dtype: &str,
    own: Option<&str>,
    saver: &Saver,
) -> Result<(), Failure> {
    let (Some(board), Some(_)) = (saver.board(), own) else {
        return Ok(());
    };
    let holders = board.holders(&kernel.name, dtype, &args.sizes);
    let holders = holders.map_err(crate::commands::board::location::failure)?;
    if !holders.is_empty() {
        submission.job.extra = serde_json::to_string(&holders)
            .map_err(|error| Failure::input(format!("holders of records: {error}")))?;
        submission.job.fresh = true;
    }
    Ok(())
}

/// An answer becomes a row, and its run goes on the board.
fn take(
    place: usize,
    asked: &Asked,
    answer: Answer,
    pool: &mut Pool,
    saver: &mut Saver,
) -> Result<(), Failure> {
    *pool
        .workers
        .entry(answer.machine.worker.clone())
        .or_default() += 1;
    pool.cached += usize::from(answer.cached);
    let mut row = match &answer.ending {
        Ending::Done { output, error, .. } => match serde_json::from_str::<Document>(output) {
            Ok(document) => {
                pool.seed = document.seed;
                pool.environment.get_or_insert(document.environment);
                let rows = document.kernels.into_iter();
                let mut rows = rows.filter(|row| row.dtype == asked.dtype || row.dtype.is_empty());
                rows.next()
                    .unwrap_or_else(|| refused(asked, "the answer has no such row"))
            }
            Err(unread) => {
                let told = message(error.as_deref().unwrap_or(output));
                let why = told.unwrap_or_else(|| format!("its answer cannot be read: {unread}"));
                refused(asked, &why)
            }
        },
        other => refused(asked, &other.trouble().unwrap_or_default()),
    };
    if let Ending::Done { outcomes, .. } = &answer.ending {
        for text in outcomes.lines() {
            let wire: Result<Wire, _> = serde_json::from_str(text);
            let Ok(wire) = wire else { continue };
            if wire.about() != (asked.kernel.as_str(), asked.dtype.as_str()) {
                continue;
            }
            let wire = if answer.cached {
                wire.without_race()
            } else {
                wire
            };
            match wire.outcome() {
                Ok(outcome) => {
                    let recorded = saver.record(&outcome.with_job(answer.job.clone()))?;
                    row.board = recorded.map(|recorded| OnBoard::new(&recorded));
                }
                Err(why) => row
                    .findings
                    .push(format!("its run is not on the board: {why}")),
            }
        }
    }
    if asked.first || !row.right {
        pool.rows.insert(place, row);
    }
    Ok(())
}

/// What an error says: a document's message, or its text.
fn message(error: &str) -> Option<String> {
    match serde_json::from_str::<serde_json::Value>(error) {
        Ok(document) => Some(document["error"]["message"].as_str()?.to_owned()),
        Err(_) => Some(error.to_owned()),
    }
}

/// A row for a job that has no other.
fn refused(asked: &Asked, why: &str) -> Row {
    let mut row = Row::refused(&asked.kernel, asked.set, why.to_owned());
    row.dtype.clone_from(&asked.dtype);
    row
}

fn report(name: String, pool: Pool, target: &str) -> (String, String, Report) {
    let environment = pool.environment.unwrap_or_else(Environment::unknown);
    let workers: Vec<String> = pool
        .workers
        .iter()
        .map(|(name, jobs)| format!("{name} ({jobs})"))
        .collect();
    let known = match pool.cached {
        0 => String::new(),
        cached => format!(", {cached} known before"),
    };
    let heading = format!(
        "Pool {name}: {}{known}; {}",
        workers.join(", "),
        environment.device_name
    );
    let rows = pool.rows.into_values().collect();
    let report = Report::new(pool.seed, environment, target, rows, None);
    (name, heading, report)
}

fn text(reports: &[(String, String, Report)], context: &Context) -> String {
    let pages = reports.iter().map(|(_, heading, report)| {
        let heading = context
            .painter
            .paint(assay_report::style::Role::Heading, heading);
        format!("{heading}\n\n{}", report.text(&context.view()))
    });
    pages.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_current() {
        crate::schema::check::<super::FleetDocument>("assay.bench-fleet", 1);
    }
}
