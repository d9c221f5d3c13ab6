//! `assay fleet jobs`, `workers`, `cancel`, `retry` and `top`.

use super::access::AccessArgs;
use super::{failure, runtime};
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use crate::interrupt;
use assay_fleet::{Fleet, Overview, WorkerState};
use assay_report::envelope::Envelope;
use assay_report::number;
use assay_report::table::{Column, Table};
use serde::Serialize;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// For people
    Text,
    /// For programs; follows the document's schema under schemas/
    Json,
}

/// Show what waits, and what was given up
///
/// A lane is the jobs of one submitter and priority in a pool, those that run included. Jobs that were given up can be tried
/// again: assay fleet retry.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  assay fleet jobs --server nats://macs.example:4222 --key alice.nk
  assay fleet jobs --key alice.nk --job 4FqZ81kPpQ")]
pub(super) struct JobsArgs {
    #[command(flatten)]
    access: AccessArgs,

    /// Show the answer of one job of yours
    #[arg(long, value_name = "ID")]
    job: Option<String>,

    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Show who works
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  assay fleet workers --server nats://macs.example:4222 --key alice.nk")]
pub(super) struct WorkersArgs {
    #[command(flatten)]
    access: AccessArgs,

    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Say that a job of yours is no longer wanted
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  assay fleet cancel 4FqZ81kPpQ --key alice.nk")]
pub(super) struct CancelArgs {
    /// Jobs
    #[arg(required = true, value_name = "ID")]
    jobs: Vec<String>,

    #[command(flatten)]
    access: AccessArgs,
}

/// Submit a job of yours again that was given up
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  assay fleet retry 4FqZ81kPpQ --key alice.nk")]
pub(super) struct RetryArgs {
    /// Jobs; assay fleet jobs lists them
    #[arg(required = true, value_name = "ID")]
    jobs: Vec<String>,

    #[command(flatten)]
    access: AccessArgs,
}

/// Watch workers and queues
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  assay fleet top --server nats://macs.example:4222 --key alice.nk
  assay fleet top --key alice.nk --times 1")]
pub(super) struct TopArgs {
    #[command(flatten)]
    access: AccessArgs,

    /// Seconds between two looks
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3600))]
    every: u64,

    /// End after so many looks
    #[arg(long, value_name = "N")]
    times: Option<u64>,
}

/// The document of `assay fleet jobs` and `workers`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Document {
    pools: Vec<String>,
    workers: Vec<Row>,
    lanes: Vec<Lane>,
    /// Answers that the server keeps.
    results: u64,
    /// Questions whose answers are known.
    known: u64,
    given_up: Vec<GivenUp>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Row {
    name: String,
    pool: String,
    device: String,
    version: String,
    /// Chip, cores, memory, system, compiler, as far as they are known.
    facts: std::collections::BTreeMap<String, String>,
    /// The job that it is at.
    job: Option<String>,
    answered: u64,
    /// Those among them that ended otherwise than with a command that ran.
    failed: u64,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Lane {
    pool: String,
    priority: String,
    submitter: String,
    /// Jobs that wait or run.
    jobs: u64,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct GivenUp {
    pool: String,
    submitter: String,
    job: String,
}

impl From<Overview> for Document {
    fn from(overview: Overview) -> Self {
        Self {
            pools: overview.pools,
            workers: overview
                .workers
                .into_iter()
                .map(|worker| Row {
                    name: worker.machine.worker,
                    pool: worker.pool,
                    device: worker.machine.device,
                    version: worker.machine.version,
                    facts: worker.machine.facts,
                    job: worker.running.map(|running| running.job),
                    answered: worker.answered,
                    failed: worker.failed,
                })
                .collect(),
            lanes: overview
                .lanes
                .into_iter()
                .map(|lane| Lane {
                    pool: lane.pool,
                    priority: lane.priority.name().to_owned(),
                    submitter: lane.submitter,
                    jobs: lane.jobs,
                })
                .collect(),
            results: overview.results,
            known: overview.known,
            given_up: overview
                .dead
                .into_iter()
                .map(|(pool, submitter, job)| GivenUp {
                    pool,
                    submitter,
                    job,
                })
                .collect(),
        }
    }
}

fn overview(access: &AccessArgs) -> Result<Overview, Failure> {
    let access = access.access()?;
    let found = runtime()?.block_on(async { Fleet::connect(&access).await?.overview().await });
    found.map_err(failure)
}

pub(super) fn jobs(args: &JobsArgs, context: &Context) -> CommandResult {
    if let Some(id) = &args.job {
        return one(id, args, context);
    }
    let found = overview(&args.access)?;
    let text = match args.format {
        Format::Json => Envelope::new("assay.fleet", 1, Document::from(found)).to_json(),
        Format::Text => queue_text(&found, context),
    };
    context.write(&text)?;
    Ok(Outcome::Fine)
}

/// The answer of one job.
fn one(id: &str, args: &JobsArgs, context: &Context) -> CommandResult {
    let access = args.access.access()?;
    let answer = runtime()?.block_on(async { Fleet::connect(&access).await?.answer(id).await });
    let Some(answer) = answer.map_err(failure)? else {
        return Err(
            Failure::input(format!("no job {id} of yours has an answer"))
                .advice("it may wait or run: assay fleet jobs, assay fleet workers"),
        );
    };
    let text = match &answer.ending {
        assay_fleet::Ending::Done { output, error, .. } => match error {
            Some(error) => error.clone(),
            None => output.clone(),
        },
        other => other.trouble().unwrap_or_default(),
    };
    context.note(&format!(
        "{} on {} in {:.1} s, delivered {} times",
        answer.ending.name(),
        answer.machine.worker,
        answer.seconds,
        answer.deliveries
    ));
    context.write(&text)?;
    Ok(Outcome::Fine)
}

pub(super) fn workers(args: &WorkersArgs, context: &Context) -> CommandResult {
    let found = overview(&args.access)?;
    let text = match args.format {
        Format::Json => Envelope::new("assay.fleet", 1, Document::from(found)).to_json(),
        Format::Text => workers_text(&found, context),
    };
    context.write(&text)?;
    Ok(Outcome::Fine)
}

fn workers_text(found: &Overview, context: &Context) -> String {
    if found.workers.is_empty() {
        return "Nobody works: assay fleet worker starts one.\n".to_owned();
    }
    let columns = [
        Column::left("worker"),
        Column::left("pool"),
        Column::left("device"),
        Column::left("machine").shrink(),
        Column::left("assay"),
        Column::right("answered"),
        Column::right("failed"),
        Column::left("at").shrink(),
    ];
    let mut table = Table::new(columns).painter(context.painter);
    for worker in &found.workers {
        table.row([
            worker.machine.worker.clone(),
            worker.pool.clone(),
            worker.machine.device.clone(),
            hardware(worker),
            worker.machine.version.clone(),
            number::grouped(worker.answered),
            number::grouped(worker.failed),
            at(worker),
        ]);
    }
    table.render(context.width)
}

/// The chip or processor of a worker.
pub(super) fn hardware(worker: &WorkerState) -> String {
    let facts = &worker.machine.facts;
    let machine = facts.get("chip").or_else(|| facts.get("processor"));
    machine.cloned().unwrap_or_default()
}

/// What a worker is at.
pub(super) fn at(worker: &WorkerState) -> String {
    match &worker.running {
        Some(running) => format!(
            "{} for {}, {:.0} s",
            running.what, running.submitter, running.seconds
        ),
        None => "idle".to_owned(),
    }
}

fn queue_text(found: &Overview, context: &Context) -> String {
    let mut text = String::new();
    if found.lanes.is_empty() {
        text += "Nothing waits.\n";
    } else {
        let columns = [
            Column::left("pool"),
            Column::left("priority"),
            Column::left("submitter").shrink(),
            Column::right("jobs"),
        ];
        let mut table = Table::new(columns).painter(context.painter);
        for lane in &found.lanes {
            table.row([
                lane.pool.clone(),
                lane.priority.name().to_owned(),
                lane.submitter.clone(),
                number::grouped(lane.jobs),
            ]);
        }
        text += &table.render(context.width);
    }
    text += &format!(
        "\n{} answers are kept, {} questions are known.\n",
        number::grouped(found.results),
        number::grouped(found.known)
    );
    if !found.dead.is_empty() {
        let columns = [
            Column::left("given up"),
            Column::left("pool"),
            Column::left("submitter").shrink(),
        ];
        let mut table = Table::new(columns).painter(context.painter);
        for (pool, submitter, job) in &found.dead {
            table.row([job.clone(), pool.clone(), submitter.clone()]);
        }
        text += &format!(
            "\n{}assay fleet retry ID submits one again.\n",
            table.render(context.width)
        );
    }
    text
}

pub(super) fn cancel(args: &CancelArgs, context: &Context) -> CommandResult {
    let access = args.access.access()?;
    let done = runtime()?.block_on(async {
        let fleet = Fleet::connect(&access).await?;
        for job in &args.jobs {
            fleet.cancel(job).await?;
        }
        Ok(())
    });
    done.map_err(failure)?;
    context.write(&format!("Asked to cancel {}.\n", args.jobs.join(", ")))?;
    Ok(Outcome::Fine)
}

pub(super) fn retry(args: &RetryArgs, context: &Context) -> CommandResult {
    let access = args.access.access()?;
    let done = runtime()?.block_on(async {
        let fleet = Fleet::connect(&access).await?;
        let mut text = String::new();
        for job in &args.jobs {
            text += &format!("{job} is submitted again as {}\n", fleet.retry(job).await?);
        }
        Ok(text)
    });
    context.write(&done.map_err(failure)?)?;
    Ok(Outcome::Fine)
}

pub(super) fn top(args: &TopArgs, context: &Context) -> CommandResult {
    let access = args.access.access()?;
    interrupt::cooperate();
    let runtime = runtime()?;
    let fleet = runtime.block_on(Fleet::connect(&access)).map_err(failure)?;
    let mut before: Option<u64> = None;
    for look in 0..args.times.unwrap_or(u64::MAX) {
        let found = runtime.block_on(fleet.overview()).map_err(failure)?;
        let rate = before.map_or(String::new(), |before| {
            let more = found.results.saturating_sub(before) as f64 / args.every as f64;
            format!("  {more:.1} answers/s")
        });
        before = Some(found.results);
        // A pipe gets one page after the other.
        if context.painter.is_colour() {
            crate::terminal::clear()?;
        }
        context.write(&format!(
            "{}{rate}\n\n{}\n{}",
            access.server,
            workers_text(&found, context),
            queue_text(&found, context)
        ))?;
        if args.times == Some(look + 1) {
            break;
        }
        for _ in 0..args.every * 20 {
            if interrupt::requested() {
                return Ok(Outcome::Fine);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    Ok(Outcome::Fine)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_current() {
        crate::schema::check::<super::Document>("assay.fleet", 1);
    }
}
