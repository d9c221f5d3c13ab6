//! A session from its start to its report.

use super::args::{Format, Only, SearchArgs};
use super::location;
use super::model::{self, SharedLedger};
use super::{brief, candidate};
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Kind, Outcome};
use crate::interrupt;
use crate::output::Output;
use crate::prediction::Choice;
use assay_llm::author::Author;
use assay_llm::prompt::Brief;
use assay_predict::{MODEL, Target};
use assay_report::envelope::Envelope;
use assay_report::number::nanoseconds;
use assay_tune::attempts::view::{self, View};
use assay_tune::attempts::{Attempt, Database, Filter, Geometry, NewSession, SessionId, Stage};
use assay_tune::diff;
use assay_tune::fingerprint::Fingerprint;
use assay_tune::report::{About, Report, Setting, text};
use assay_tune::session::{self, Found, Options, Progress, Proposer, Surroundings, Workbench};
use assay_tune::space::Space;
use assay_tune::splice::{beside_original, spliced};
use assay_tune::workbench::{Bench, Compared, Launch, Subject};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

/// A gain no larger than this is a tie.
const TIE: f64 = 1.15;
/// Standard deviations between the middle and the end of a band that holds four of five.
const FOUR_OF_FIVE: f64 = 1.2816;

/// A kernel with its launch: what differs between files and the registry.
pub(super) struct Task<'a, L: Launch> {
    pub(super) subject: Subject<'a>,
    pub(super) launch: &'a L,
    /// The kernel's name for people.
    pub(super) name: String,
    /// Where a patch would be applied.
    pub(super) path: String,
    /// What a session is about, in text.
    pub(super) identity: String,
    pub(super) notes: Vec<String>,
    /// What the arguments are, for language models.
    pub(super) described: Vec<String>,
    /// How far results may be off, for language models.
    pub(super) tolerance: String,
    /// As the user named it.
    pub(super) target: &'a str,
    /// The kernel's share of a recorded program's time.
    pub(super) share: Option<f64>,
    /// A geometry as flags.
    pub(super) flags: &'a dyn Fn(&Geometry, &[Setting]) -> String,
    /// The lines above a new source.
    pub(super) head: &'a dyn Fn(&Report) -> String,
}

/// What was asked for.
pub(super) enum Finished {
    /// A session that ended.
    Session {
        report: Box<Report>,
        /// The winner's number.
        winner: u32,
    },
    /// A candidate that was evaluated for somebody else.
    Candidate(Box<candidate::Document>),
}

/// Runs a session to its report.
pub(super) fn tune<L: Launch>(
    args: &SearchArgs,
    context: &Context,
    task: Task<'_, L>,
    ledger: &SharedLedger,
) -> Result<Finished, Failure> {
    let targets = args.chips().into_iter().map(Choice::one);
    let targets: Vec<Target> = targets.collect::<Result<_, _>>()?;
    let Some(target) = targets.first() else {
        return Err(Failure::usage("--chips names no chip").advice("--chips m1,m2"));
    };
    let space = task.subject.knobs.space().map_err(|error| {
        let kind = match args.restrict.is_empty() && args.knobs.is_empty() {
            true => Kind::Input,
            false => Kind::Usage,
        };
        Failure::new(kind, error.to_string()).advice(error.advice())
    })?;
    if args.only == Some(Only::Knobs) && space.is_none() {
        return Err(Failure::usage(format!("{} has no knobs", task.name))
            .advice("declare some: // assay: tune TM = 1,2,4 in the source, or --knob TM=1,2,4"));
    }
    if args.candidate.is_some() {
        let bench = Bench::new(task.subject, task.launch, &targets, &task.identity);
        let document = candidate::evaluate(args, &bench)?;
        return Ok(Finished::Candidate(Box::new(document)));
    }
    let options = options(args, &targets);
    let space = space.filter(|_| !matches!(args.only, Some(Only::Recipes | Only::Model)));
    let identity = Fingerprint::default()
        .with(task.identity.as_bytes())
        .with(
            format!(
                "{:?} {:?}",
                space.as_ref().map(|it| it.len()),
                task.subject.knobs
            )
            .as_bytes(),
        )
        .with(format!("{:?} {:?} {:?}", args.only, args.tolerance, args.oracle).as_bytes())
        .with(&options.error.to_le_bytes())
        .with(format!("{} {} {}", options.chip, options.model, options.seed).as_bytes())
        .with(&options.evaluations.to_le_bytes())
        .with(args.model.identity().as_bytes());
    let key = identity.text();
    let database = location::path(args.attempts.as_deref());
    let mut database = Database::open(&database).map_err(|error| location::failure(&error))?;
    let session = session_of(args, context, &mut database, &key, &task, &options)?;
    enter(&mut database, session)?;
    let (described, tolerance) = (task.described.clone(), task.tolerance.clone());
    // What results are compared with decides what is proven, besides the kernel and its launch.
    let about = format!("{:?} {:?} {}", args.oracle, args.tolerance, task.identity);
    let bench = Bench::new(task.subject, task.launch, &targets, &about);
    let bar = bar(args, context);
    let brief = match args.model.is_asked() {
        true => brief::brief(&bench, target, &task.name, described, tolerance)?,
        false => Brief::default(),
    };
    let author = model::author(&args.model, context, brief, &bar, ledger)?;
    let work = Search {
        args,
        context,
        bar: &bar,
        space: space.as_ref(),
        options: &options,
        author: author.as_ref(),
        function: &bench.subject().function,
    };
    let found = work.run(&bench, (&mut database, session));
    bar.finish_and_clear();
    let left = database.leave(session);
    let found = found?;
    left.map_err(|error| location::failure(&error))?;
    let mut notes = task.notes;
    notes.extend(asked(author.as_ref(), &found));
    notes.push(match targets.iter().find(|target| target.is_stand_in()) {
        Some(target) => format!("{} runs another instruction set; times are of M1 and M2 code", target.chip.title),
        None => "modelled and proven for this source compiled by assay: Apple's compiler may round and schedule differently".to_owned(),
    });
    let about = About {
        kernel: task.name.clone(),
        chip: args.chips().join(", "),
        session: session.0,
        notes,
        beside: beside(&bench, &found, &targets)?,
    };
    let mut report = Report::new(&found, about, task.flags);
    if report.improved && !report.recipes.is_empty() {
        report.source = (task.head)(&report) + &report.source;
    }
    if let Some(share) = task.share.filter(|_| report.improved) {
        let whole = |gain: f64| 1.0 / (1.0 - share + share / gain);
        report.notes.insert(
            0,
            format!(
                "the program would be at least {:.2} times as fast, predicted {:.2} (modelled): the kernel is {:.1} % of its GPU time",
                whole(report.claimed_gain),
                whole(report.gain),
                share * 100.0
            ),
        );
    }
    save(args, &report)?;
    if let (Some(path), Some(winner)) = (
        &args.patch,
        found.winner.as_ref().filter(|_| report.improved),
    ) {
        let original = found.original.source.as_deref().unwrap_or_default();
        let patched = patched(&bench, original, winner, &report)?;
        let name = task.path.trim_start_matches('/');
        write(path, &diff::unified(name, original, &patched))?;
    }
    if let Some(path) = &args.model.report {
        write_session(&database, session, path)?;
    }
    Ok(Finished::Session {
        report: Box::new(report),
        winner: found.winner.map_or(0, |winner| winner.ordinal),
    })
}

/// Shows what a session found.
pub(super) fn show(args: &SearchArgs, context: &Context, finished: &Finished) -> CommandResult {
    let (report, winner) = match finished {
        Finished::Session { report, winner } => (report, winner),
        Finished::Candidate(document) => {
            context.write(&Envelope::new("assay.tune-candidate", 1, document).to_json())?;
            return Ok(Outcome::Fine);
        }
    };
    let shown = match args.format {
        Format::Text => text(report, context.painter, context.width),
        Format::Json => Envelope::new("assay.tune", 1, report).to_json(),
    };
    context.write(&shown)?;
    if report.improved && args.save.is_none() && args.format == Format::Text {
        context.note(&format!("assay attempts show {winner} prints the source"));
    }
    Ok(Outcome::Fine)
}

/// Takes a session for this process.
fn enter(database: &mut Database, session: SessionId) -> Result<(), Failure> {
    let entered = database.enter(session);
    match entered.map_err(|error| location::failure(&error))? {
        true => Ok(()),
        false => Err(Failure::new(
            Kind::Missing,
            format!("session {} is running in another process", session.0),
        )
        .advice("wait for it, or leave --resume out to start another")),
    }
}

/// What models were asked and what it took.
fn asked(author: Option<&Author>, found: &Found) -> Vec<String> {
    let Some(author) = author else {
        return Vec::new();
    };
    let spent = author.spent();
    let cost = match author.clients.iter().any(|client| client.price.is_some()) {
        true => format!(", ${:.4}", spent.cost()),
        false => String::new(),
    };
    let models: Vec<&str> = author
        .clients
        .iter()
        .map(|client| client.model.as_str())
        .collect();
    let mut notes = vec![format!(
        "{}: {} calls, {} tokens{cost}; prompt {}",
        models.join(", "),
        spent.calls(),
        spent.tokens(),
        author.mode.version()
    )];
    notes.extend(found.end_of_budget.clone());
    notes
}

/// Writes the story of a session.
fn write_session(database: &Database, session: SessionId, path: &Path) -> Result<(), Failure> {
    let filter = Filter {
        session: Some(session),
        ..Filter::default()
    };
    let view = View::attempts(database, &filter).map_err(|error| location::failure(&error))?;
    let page = match path
        .extension()
        .is_some_and(|it| it == "html" || it == "htm")
    {
        true => view::html(&view),
        false => view::markdown(&view),
    };
    let mut output = Output::open(Some(path))?;
    output.write_all(page.as_bytes())?;
    output.finish()
}

fn options(args: &SearchArgs, targets: &[Target]) -> Options {
    let band = |target: &Target| {
        let constants = &target.constants;
        let wider = match target.is_stand_in() {
            true => constants.band_chip,
            false => 1.0,
        };
        constants.band_pair * wider
    };
    let band = targets.iter().map(band).fold(1.0, f64::max);
    let parts = targets.iter();
    let parts = parts.map(|target| format!("{:?} {:?}", target.chip, target.constants));
    let identity = parts.collect::<Vec<_>>().join(" ");
    let identity = assay_tune::fingerprint::of(&identity);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Options {
        seed: args.seed,
        evaluations: args.evaluations as usize,
        // A band of ratios is that of two predictions.
        error: band.ln() / FOUR_OF_FIVE / std::f64::consts::SQRT_2,
        tie: TIE,
        recipes: !matches!(args.only, Some(Only::Knobs | Only::Model)),
        chip: args.chips().join(","),
        model: format!("{MODEL} {}", &identity[..8]),
        now: now.map_or(0, |time| time.as_secs() as i64),
    }
}

fn session_of<L: Launch>(
    args: &SearchArgs,
    context: &Context,
    database: &mut Database,
    key: &str,
    task: &Task<'_, L>,
    options: &Options,
) -> Result<SessionId, Failure> {
    let fail = |error: assay_tune::attempts::Error| location::failure(&error);
    if (args.resume || args.all)
        && let Some(session) = database.newest(key).map_err(fail)?
    {
        return Ok(session);
    }
    if args.resume {
        context.note("note: there is no session of this kernel, launch, seed and evaluations; a new one starts");
    }
    let new = NewSession {
        key,
        kernel: &task.name,
        chip: &options.chip,
        seed: args.seed,
        command: &format!(
            "assay tune {} --seed {} --evaluations {}{}",
            task.target,
            args.seed,
            args.evaluations,
            args.model
                .llm
                .iter()
                .map(|model| format!(" --llm {model}"))
                .collect::<String>()
        ),
        now: options.now,
    };
    database.start(&new).map_err(fail)
}

/// What a search needs besides a workbench and a database.
struct Search<'a> {
    args: &'a SearchArgs,
    #[cfg_attr(
        not(feature = "fleet"),
        allow(dead_code, reason = "the line for other machines")
    )]
    context: &'a Context,
    bar: &'a ProgressBar,
    space: Option<&'a Space>,
    options: &'a Options,
    author: Option<&'a Author>,
    function: &'a str,
}

impl Search<'_> {
    /// Searches, with candidates evaluated here or on other machines.
    fn run<W: Workbench>(
        &self,
        bench: &W,
        attempts: (&mut Database, SessionId),
    ) -> Result<Found, Failure> {
        #[cfg(feature = "fleet")]
        if self.args.fleet.fleet.is_some() {
            let fleet = super::fleet::Fleet::open(bench, self.args, self.context)?;
            return self.run_on(&fleet, attempts);
        }
        self.run_on(bench, attempts)
    }

    fn run_on<W: Workbench>(
        &self,
        bench: &W,
        (database, session): (&mut Database, SessionId),
    ) -> Result<Found, Failure> {
        interrupt::cooperate();
        let start = Instant::now();
        let surroundings = Surroundings {
            database,
            session,
            stop: &|| start.elapsed() >= self.args.budget,
            interrupted: &interrupt::requested,
            progress: &|progress| self.show(progress),
        };
        let proposer = self.author.map(|author| author as &dyn Proposer);
        let found = session::run_with(bench, self.space, self.options, surroundings, proposer);
        found.map_err(|error| match error {
            session::Error::Database(error) => location::failure(&error),
            session::Error::Original(failure) => original_failure(self.function, &failure),
            session::Error::Proposer(why) | session::Error::Away(why) => {
                Failure::new(Kind::Missing, why).advice(format!(
                    "--resume continues session {}; what was finished is kept",
                    session.0
                ))
            }
            session::Error::Interrupted => Failure::new(
                Kind::Interrupted,
                format!("stopped; session {} has what was finished", session.0),
            )
            .advice("--resume continues it"),
        })
    }

    fn show(&self, progress: &Progress) {
        self.bar.set_position(progress.attempts as u64);
        let best = match (progress.original_us, progress.best_us) {
            (Some(original), Some(best)) => {
                format!(
                    "best {} ({:.2}×), ",
                    nanoseconds(best * 1e3),
                    original / best
                )
            }
            _ => String::new(),
        };
        self.bar.set_message(format!("{best}{}", progress.trying));
        crate::progress::count(
            &format!("candidates, {best}{}", progress.trying),
            progress.attempts as u64,
            u64::from(self.args.evaluations),
        );
    }
}

fn bar(args: &SearchArgs, context: &Context) -> ProgressBar {
    if !context.progress {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(u64::from(args.evaluations));
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {elapsed} {wide_msg}");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Why the original itself cannot be tuned.
pub(super) fn original_failure(kernel: &str, failure: &assay_tune::attempts::Failure) -> Failure {
    let why = &failure.why;
    match failure.stage {
        Stage::Oracle => Failure::new(
            Kind::Verdict,
            format!("{kernel}: the oracle disagrees with the original: {why}"),
        )
        .advice("nothing is tuned that is not right: repair the kernel or the oracle"),
        Stage::Check | Stage::Results => Failure::new(
            Kind::Verdict,
            format!("{kernel}: the original does what no kernel may: {why}"),
        )
        .advice("assay run --check says more; repair it first"),
        Stage::Abandoned => Failure::input(format!("{kernel}: {why}")).advice(
            "loops whose end depends on data need that data: --bytes, --buffer I=FILE.npy or index:TYPE:SHAPE:BOUND",
        ),
        Stage::Compile => Failure::input(format!("{kernel}: {why}")),
        _ => Failure::usage(format!("{kernel}: {why}")).advice(
            "every argument needs contents: --buffer I=zeros:f32:SHAPE, --buffer I=random:f32:SHAPE, --bytes I=u32:N",
        ),
    }
}

/// Chips of the generations, which a winner is looked at on besides those that were asked for.
const GENERATIONS: [&str; 4] = ["m1", "m2", "m3-max", "m4"];

/// The winner beside the original: where the claim is about, and at other shapes on other chips.
fn beside<L: Launch>(
    bench: &Bench<'_, L>,
    found: &Found,
    targets: &[Target],
) -> Result<Vec<Compared>, Failure> {
    let Some(winner) = found.winner.as_ref().filter(|_| found.decision.kept) else {
        return Ok(Vec::new());
    };
    let mut others: Vec<Target> = targets.to_vec();
    for name in GENERATIONS {
        if !others.iter().any(|target| target.chip.name == name) {
            others.push(Choice::one(name)?);
        }
    }
    let claimed = bench.claimed(&winner.genome);
    let mut all = claimed.map_err(|failure| Failure::input(failure.why))?;
    let others: Vec<&Target> = others.iter().collect();
    all.extend(bench.elsewhere(&winner.genome, &others));
    Ok(all)
}

/// The original's file with the winner in place of the kernel, or beside it where it only pays under a condition.
fn patched<L: Launch>(
    bench: &Bench<'_, L>,
    original: &str,
    winner: &Attempt,
    report: &Report,
) -> Result<String, Failure> {
    let source = &report.source;
    if winner.genome.steps.is_empty() {
        return Ok(source.clone());
    }
    let refused = |why: &str| {
        Failure::input(format!("--patch: {why}"))
            .advice("--source FILE.metal writes the faster kernel as a file of its own")
    };
    let function = &bench.subject().function;
    let patched = spliced(original, function, source).ok_or_else(|| {
        refused(&format!(
            "{function} is not one definition or instantiation of its file"
        ))
    })?;
    let confirmed = bench.confirm(&patched, &winner.genome);
    confirmed.map_err(|failure| refused(&failure.why))?;
    match report.guard {
        None => Ok(patched),
        Some(_) => beside_original(original, function, source)
            .ok_or_else(|| refused(&format!("{function} is not one definition of its file"))),
    }
}

/// Writes the source that was asked for.
fn save(args: &SearchArgs, report: &Report) -> Result<(), Failure> {
    match args.save.as_ref().filter(|_| report.improved) {
        Some(file) => write(file, &report.source),
        None => Ok(()),
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let mut output = Output::open(Some(path))?;
    output.write_all(text.as_bytes())?;
    output.finish()
}
