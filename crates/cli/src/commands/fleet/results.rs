//! `assay fleet results`: answers of jobs that nobody waited for.

use super::access::AccessArgs;
use super::look::Format;
use super::{failure, runtime};
use crate::commands::board::location;
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use crate::interrupt;
use assay_board::Wire;
use assay_fleet::{Answer, Ending, Fleet};
use assay_report::envelope::Envelope;
use assay_report::table::{Column, Table};
use assay_sweep::Saver;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

/// Collect answers of jobs that were submitted with --detach
///
/// Runs that were measured go on the board, each once, however often they are collected. Without names every job of yours is
/// shown whose answer the server keeps. The output of one job: assay fleet jobs --job ID.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  assay bench softmax --fleet nats://macs.example:4222 --key alice.nk --detach > jobs.txt
  assay fleet results --key alice.nk --wait - < jobs.txt
  assay fleet results --key alice.nk 4FqZ81kPpQ --format json")]
pub(super) struct Args {
    /// Jobs; - reads them from standard input, a name per line
    #[arg(value_name = "ID")]
    jobs: Vec<String>,

    #[command(flatten)]
    access: AccessArgs,

    /// Wait until all of them have an answer
    #[arg(long, requires = "jobs")]
    wait: bool,

    /// The board [default: $ASSAY_BOARD, or board.db in your data folder]
    #[arg(long, value_name = "FILE")]
    board: Option<PathBuf>,

    /// Put nothing on the board
    #[arg(long)]
    no_save: bool,

    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// The document of `assay fleet results`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Document {
    answers: Vec<Row>,
    /// Jobs that have no answer yet, or are not yours.
    waiting: Vec<String>,
    /// What became of measured runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    saved: Option<String>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Row {
    job: String,
    /// `done`, `refused`, `cancelled`, `timed-out` or `gave-up`.
    ending: String,
    worker: String,
    /// True if it was known from the same question.
    cached: bool,
    /// How often the job was delivered.
    deliveries: u64,
    /// Seconds that the worker was at it, by its own clock.
    seconds: f64,
    /// The command's exit code, if it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<u8>,
    /// What the command printed: a document, or text.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<serde_json::Value>,
    /// Why there is no output.
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<String>,
}

/// How often answers are looked for while they are waited for.
const LOOK: Duration = Duration::from_secs(1);
/// Answers that are listed where no jobs are named.
const MOST: usize = 1000;

pub(super) fn run(args: &Args, context: &Context) -> CommandResult {
    let access = args.access.access()?;
    interrupt::cooperate();
    let runtime = runtime()?;
    let fleet = runtime.block_on(Fleet::connect(&access)).map_err(failure)?;
    let mut left = match args.jobs.is_empty() {
        true => runtime.block_on(fleet.answered(MOST)).map_err(failure)?,
        false => named(&args.jobs)?,
    };
    // What is only listed is not saved: nobody said that these runs are meant for this board.
    let mut saver = match args.no_save || args.jobs.is_empty() {
        true => Saver::nowhere(),
        false => location::saver(args.board.as_deref(), context)?,
    };
    let mut rows = Vec::new();
    loop {
        let mut waiting = Vec::new();
        for job in std::mem::take(&mut left) {
            match runtime.block_on(fleet.answer(&job)).map_err(failure)? {
                Some(answer) => {
                    save(&answer, &job, &mut saver)?;
                    rows.push(Row::new(job, answer));
                }
                None => waiting.push(job),
            }
        }
        left = waiting;
        if left.is_empty() || !args.wait || interrupt::requested() {
            break;
        }
        std::thread::sleep(LOOK);
    }
    let document = Document {
        answers: rows,
        waiting: left,
        saved: saver.told(),
    };
    let text = match args.format {
        Format::Json => Envelope::new("assay.fleet-results", 1, &document).to_json(),
        Format::Text => text(&document, context),
    };
    context.write(&text)?;
    Ok(if document.waiting.is_empty() {
        Outcome::Fine
    } else {
        Outcome::Missing
    })
}

/// The jobs that were named, each once, in their order.
fn named(words: &[String]) -> Result<Vec<String>, Failure> {
    let mut seen = BTreeSet::new();
    let mut jobs = Vec::new();
    let mut add = |word: &str| {
        if !assay_fleet::names::is_token(word) {
            return Err(Failure::usage(format!("{word:?} is no name of a job")));
        }
        if seen.insert(word.to_owned()) {
            jobs.push(word.to_owned());
        }
        Ok(())
    };
    for word in words {
        if word != "-" {
            add(word)?;
            continue;
        }
        for line in std::io::stdin().lines() {
            let line = line?;
            if !line.trim().is_empty() {
                add(line.trim())?;
            }
        }
    }
    Ok(jobs)
}

/// Puts an answer's runs on the board. What was known before decides no record.
fn save(answer: &Answer, job: &str, saver: &mut Saver) -> Result<(), Failure> {
    let Ending::Done { outcomes, .. } = &answer.ending else {
        return Ok(());
    };
    for line in outcomes.lines() {
        let wire: Result<Wire, _> = serde_json::from_str(line);
        let Ok(wire) = wire else { continue };
        let known = answer.cached || answer.job != job;
        let wire = if known { wire.without_race() } else { wire };
        if let Ok(outcome) = wire.outcome() {
            saver.record(&outcome.with_job(answer.job.clone()))?;
        }
    }
    Ok(())
}

impl Row {
    fn new(job: String, answer: Answer) -> Self {
        let trouble = answer.ending.trouble();
        let ending = answer.ending.name().to_owned();
        let (code, output) = match answer.ending {
            Ending::Done {
                code,
                output,
                error,
                ..
            } => {
                let text = error.unwrap_or(output);
                let value = serde_json::from_str(&text);
                (Some(code), Some(value.unwrap_or_else(|_| text.into())))
            }
            _ => (None, None),
        };
        Self {
            cached: answer.cached || answer.job != job,
            job,
            ending,
            worker: answer.machine.worker,
            deliveries: answer.deliveries,
            seconds: answer.seconds,
            code,
            output,
            trouble,
        }
    }
}

fn text(document: &Document, context: &Context) -> String {
    let mut text = String::new();
    if document.answers.is_empty() {
        text += "No answers.\n";
    } else {
        let columns = [
            Column::left("job"),
            Column::left("ended").shrink(),
            Column::right("exit"),
            Column::left("worker"),
            Column::right("took"),
        ];
        let mut table = Table::new(columns).painter(context.painter);
        for row in &document.answers {
            let known = if row.cached { ", known before" } else { "" };
            let ended = row.trouble.clone().unwrap_or_else(|| row.ending.clone());
            table.row([
                row.job.clone(),
                format!("{ended}{known}"),
                row.code.map_or(String::new(), |code| code.to_string()),
                row.worker.clone(),
                format!("{:.2} s", row.seconds),
            ]);
        }
        text += &table.render(context.width);
    }
    if !document.waiting.is_empty() {
        text += &format!("\nWithout an answer: {}\n", document.waiting.join(" "));
    }
    if let Some(saved) = &document.saved {
        text += &format!("\n{saved}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_current() {
        crate::schema::check::<super::Document>("assay.fleet-results", 1);
    }
}
