//! `assay attempts`: what assay tune has tried.

use super::tune::location;
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use assay_report::envelope::Envelope;
use assay_rewrite::recipe::RECIPES;
use assay_tune::attempts::view::{self, View};
use assay_tune::attempts::{Database, Filter, SessionId, Stage};
use assay_tune::diff;
use std::path::PathBuf;

/// Show what assay tune has tried: sessions, attempts, what became of them
///
/// Without options, all sessions. An option that selects attempts looks at the newest session, or the one of --session. Failed
/// attempts are kept too, with the stage they failed at and why.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  assay attempts
  assay attempts --best 10
  assay attempts --session 3 --tree
  assay attempts --recipe coarsen --best 5
  assay attempts --failed results
  assay attempts --by model
  assay attempts --session 3 --format markdown -o session.md
  assay attempts show 17
  assay attempts diff 0 17
  assay attempts --session 3 --format html -o session.html
  assay attempts --session 3 --format t4 -o results.json

Environment:
  ASSAY_ATTEMPTS  the database of attempts, instead of attempts.db in your data folder"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    place: Place,

    /// Sessions of kernels whose name contains this
    #[arg(long, value_name = "TEXT")]
    kernel: Option<String>,

    /// The N fastest, fastest first
    #[arg(long, value_name = "N")]
    best: Option<usize>,

    /// Attempts with a step of this recipe
    #[arg(long, value_name = "RECIPE", value_parser = recipe)]
    recipe: Option<String>,

    /// Attempts that failed, at any stage or at this one
    #[arg(long, value_name = "STAGE", num_args = 0..=1, default_missing_value = "any", value_parser = stage)]
    failed: Option<Failed>,

    /// Each attempt below the one it was made of
    #[arg(long)]
    tree: bool,

    /// Calls, tokens, proposals and successes of each language model, over all sessions or the one of --session
    #[arg(long, value_enum, value_name = "WHAT")]
    by: Option<By>,

    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, clap::Args)]
struct Place {
    /// The session [default: the newest]
    #[arg(long, value_name = "N")]
    session: Option<i64>,

    /// The database of attempts
    #[arg(long, value_name = "FILE")]
    attempts: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Print the source of an attempt
    Show {
        /// The attempt
        attempt: u32,

        #[command(flatten)]
        place: Place,
    },
    /// Print the difference between the sources of two attempts; 0 is the original
    Diff {
        /// The one before
        before: u32,

        /// The one after
        after: u32,

        #[command(flatten)]
        place: Place,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum By {
    /// The language model that proposed
    Model,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failed {
    Any,
    At(Stage),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs; follows schemas/assay.attempts.json
    Json,
    /// The story of every attempt and call, for reviews
    Markdown,
    /// For spreadsheets
    Csv,
    /// For Kernel Tuner and tools that read its results
    T4,
    /// One page: times, tree, terms, sources
    Html,
}

fn recipe(text: &str) -> Result<String, String> {
    match RECIPES.iter().any(|recipe| recipe.id == text) {
        true => Ok(text.to_owned()),
        false => {
            let ids: Vec<&str> = RECIPES.iter().map(|recipe| recipe.id).collect();
            Err(format!("recipes are {}", ids.join(", ")))
        }
    }
}

fn stage(text: &str) -> Result<Failed, String> {
    if text == "any" {
        return Ok(Failed::Any);
    }
    Stage::named(text).map(Failed::At).ok_or_else(|| {
        let names: Vec<&str> = Stage::ALL.iter().map(|stage| stage.name()).collect();
        format!("stages are {}", names.join(", "))
    })
}

impl Place {
    fn open(&self) -> Result<Database, Failure> {
        let path = location::path(self.attempts.as_deref());
        Database::open_to_read(&path).map_err(|error| location::failure(&error))
    }

    /// The attempts of the session; an error if there is none.
    fn view(&self, database: &Database, filter: Filter) -> Result<View, Failure> {
        let filter = Filter {
            session: self.session.map(SessionId),
            ..filter
        };
        let view = View::attempts(database, &filter);
        let view = view.map_err(|error| location::failure(&error))?;
        let sessions = View::sessions(database).map_err(|error| location::failure(&error))?;
        let known = |id: i64| sessions.sessions.iter().any(|session| session.id == id);
        match self.session {
            Some(id) if !known(id) => Err(Failure::usage(format!("there is no session {id}"))
                .advice("assay attempts shows all")),
            _ => Ok(view),
        }
    }

    /// The source of an attempt.
    fn source(&self, attempt: u32) -> Result<String, Failure> {
        let database = self.open()?;
        let view = self.view(&database, Filter::default())?;
        let found = view.attempts.into_iter().find(|row| row.ordinal == attempt);
        let found = found.ok_or_else(|| {
            Failure::usage(format!("there is no attempt {attempt}"))
                .advice("assay attempts --best 10 shows some; --session N another session's")
        })?;
        found
            .source
            .filter(|source| !source.is_empty())
            .ok_or_else(|| Failure::input(format!("attempt {attempt} has no source")))
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    let text = match &args.command {
        Some(Command::Show { attempt, place }) => place.source(*attempt)?,
        Some(Command::Diff {
            before,
            after,
            place,
        }) => {
            let name = format!("attempt-{before}-{after}.metal");
            diff::unified(&name, &place.source(*before)?, &place.source(*after)?)
        }
        None => queried(args, context)?,
    };
    context.write(&text)?;
    Ok(Outcome::Fine)
}

fn queried(args: &Args, context: &Context) -> Result<String, Failure> {
    let database = args.place.open()?;
    if args.by == Some(By::Model) {
        let session = args.place.session.map(SessionId);
        let view = View::models(&database, session, args.kernel.as_deref());
        let view = view.map_err(|error| location::failure(&error))?;
        return Ok(match args.format {
            Format::Json => Envelope::new("assay.attempts", 1, &view).to_json(),
            _ => view::models(&view, context.painter, context.width),
        });
    }
    let selects = args.place.session.is_some()
        || args.best.is_some()
        || args.recipe.is_some()
        || args.failed.is_some()
        || args.tree
        || !matches!(args.format, Format::Text | Format::Json);
    if !selects {
        let mut view = View::sessions(&database).map_err(|error| location::failure(&error))?;
        if let Some(part) = &args.kernel {
            view.sessions
                .retain(|session| session.kernel.contains(part.as_str()));
        }
        return Ok(match args.format {
            Format::Json => Envelope::new("assay.attempts", 1, &view).to_json(),
            _ => view::sessions(&view, context.painter, context.width),
        });
    }
    let filter = Filter {
        kernel: args.kernel.clone(),
        recipe: args.recipe.clone(),
        stage: match args.failed {
            Some(Failed::At(stage)) => Some(stage),
            _ => None,
        },
        best: args.best,
        ..Filter::default()
    };
    let mut view = args.place.view(&database, filter)?;
    if args.failed == Some(Failed::Any) {
        view.attempts.retain(|row| row.time().is_none());
    }
    Ok(match args.format {
        Format::Json => Envelope::new("assay.attempts", 1, &view).to_json(),
        Format::Csv => view::csv(&view),
        Format::T4 => view::t4(&view),
        Format::Html => view::html(&view),
        Format::Markdown => view::markdown(&view),
        Format::Text if args.tree => view::tree(&view, context.painter),
        Format::Text => view::table(&view, context.painter, context.width),
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_current() {
        crate::schema::check::<assay_tune::attempts::view::View>("assay.attempts", 1);
    }
}
