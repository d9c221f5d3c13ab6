//! Who writes the source: a plain translation of the oracle, or a model that is asked until its source passes.

use super::specification::{Candidate, Passed, Specification};
use super::stages::{Refused, examine};
use super::{Args, Document, Tried};
use crate::commands::tune::registry::RegistryLaunch;
use crate::commands::tune::{brief, location, model};
use crate::context::Context;
use crate::failure::{Failure, Kind};
use crate::prediction::Choice;
use crate::source::ThisMachine;
use assay_bench::oracle::{Definition, Language};
use assay_bench::registry::Kernel;
use assay_front::SourceOptions;
use assay_llm::answer;
use assay_llm::author::Author;
use assay_llm::chat::{Message, Request, Role};
use assay_llm::error::Error;
use assay_llm::prompt::{self, Brief};
use assay_predict::{MODEL, Target};
use assay_tune::attempts::{
    Attempt, Call, Database, Failure as TuneFailure, Genome, Geometry, NewSession, Outcome, Phase,
    Prediction, ProposalRow, SessionId, Stage,
};
use assay_tune::fingerprint::Fingerprint;
use assay_tune::knobs::Knobs;
use assay_tune::session::proposer::{Content, Fault};
use assay_tune::session::{Workbench as _, Written};
use assay_tune::workbench::{Bench, Origin, Subject};
use indicatif::ProgressBar;
use std::time::SystemTime;

/// Threads of a threadgroup where nobody says.
const THREADGROUP: &str = "64";

/// Writes the kernel, records what was tried.
pub(super) fn write(
    args: &Args,
    context: &Context,
    specification: &Specification,
) -> Result<Document, Failure> {
    let outline = specification.outline()?;
    let target = Choice::one(&args.chip)?;
    let ledger = model::ledger(&args.model);
    let bar = ProgressBar::hidden();
    let author = model::author(&args.model, context, Brief::default(), &bar, &ledger)?;
    let plain = match author.is_none() {
        true => Some(skeleton(specification, &outline)?),
        false => None,
    };
    let mut log = Log::start(args, specification)?;
    match (author, plain) {
        (Some(author), _) => asked(specification, &outline, &target, &author, &mut log)?,
        (None, Some(candidate)) => {
            log.document.author = "skeleton".to_owned();
            log.tried(specification, &candidate, None, &target)?;
        }
        (None, None) => {}
    }
    log.end()
}

/// The oracle's expression as a plain kernel.
fn skeleton(specification: &Specification, outline: &Kernel) -> Result<Candidate, Failure> {
    if let Some(reference) = &specification.reference {
        let [grid, groups, threadgroup] = reference.geometry.clone();
        return Ok(Candidate {
            technique: "the reference as it is".to_owned(),
            source: reference.renamed(&format!("{}_{}", specification.name, reference.dtype)),
            grid,
            groups,
            threadgroup,
        });
    }
    let Definition::Expression(expression) = &outline.oracle else {
        return Err(Failure::usage(
            "without a model, only an oracle that is an expression becomes a kernel",
        )
        .advice("write oracle = { expression = \"y[i] = …\" }, or name a model with --llm"));
    };
    let name = outline
        .passes
        .first()
        .map_or(specification.name.as_str(), |pass| &pass.function);
    let plain = expression
        .to_metal(name, &outline.arguments, &outline.dtypes)
        .map_err(|why| Failure::input(format!("the specification: {why}")))?;
    Ok(Candidate {
        technique: format!("a plain {}", plain.shape),
        source: plain.source,
        grid: plain.threads,
        groups: Vec::new(),
        threadgroup: vec![THREADGROUP.to_owned()],
    })
}

/// Asks a model until a source passes, rounds or budgets end.
fn asked(
    specification: &Specification,
    outline: &Kernel,
    target: &Target,
    author: &Author,
    log: &mut Log,
) -> Result<(), Failure> {
    let first = description(specification, outline);
    let mut messages = vec![Message {
        role: Role::User,
        text: first,
    }];
    for round in 0..author.rounds {
        let Some(client) = author
            .clients
            .get(round as usize % author.clients.len().max(1))
        else {
            break;
        };
        let request = Request {
            model: client.model.clone(),
            system: prompt::write_system(&brief::chip_facts(&target.chip)),
            messages: messages.clone(),
            max_tokens: client.max_tokens,
            schema: None,
        };
        let reservation = match client.reserve(&author.surroundings, &request) {
            Ok(reservation) => reservation,
            Err(error) => {
                log.document.technique = error.to_string();
                break;
            }
        };
        let made = client.ask(&author.surroundings, &request, reservation);
        let answer = match made.answer {
            Ok(answer) => Ok(answer.text),
            Err(error) if error.is_the_models() => Err(error.to_string()),
            Err(Error::Stopped) => {
                return Err(Failure::new(
                    Kind::Interrupted,
                    "stopped; nothing was written",
                ));
            }
            Err(error) => {
                let failure = Failure::new(Kind::Missing, error.to_string());
                return Err(failure.advised(error.advice()));
            }
        };
        log.document.author.clone_from(&client.model);
        let call = log.called(round, &request, &answer, (made.usage, made.cost))?;
        let (text, refused) = match answer {
            Ok(text) => (text.clone(), log.read(specification, &text, call, target)?),
            Err(why) => (String::new(), Some(TuneFailure::new(Stage::Filter, why))),
        };
        let Some(failure) = refused else {
            break;
        };
        messages = repaired(messages, &text, failure);
    }
    Ok(())
}

/// The conversation so far, the answer, and what was wrong with it. Only the last answer is kept.
fn repaired(messages: Vec<Message>, answer: &str, failure: TuneFailure) -> Vec<Message> {
    let mut messages: Vec<Message> = messages.into_iter().take(1).collect();
    let fault = Fault {
        place: None,
        technique: "the kernel".to_owned(),
        failure,
    };
    if !answer.trim().is_empty() {
        messages.push(Message {
            role: Role::Assistant,
            text: answer.to_owned(),
        });
    }
    let text = prompt::repair(&[fault]);
    match messages.last_mut().filter(|last| last.role == Role::User) {
        Some(last) => last.text = format!("{}\n\n{text}", last.text),
        None => messages.push(Message {
            role: Role::User,
            text,
        }),
    }
    messages
}

/// What a model is told of a specification: what is computed, but no size that is held out.
fn description(specification: &Specification, outline: &Kernel) -> String {
    let mut text = format!(
        "# Specification\n{}: {}\n",
        specification.name, outline.summary
    );
    if let Definition::Expression(expression) = &outline.oracle {
        text += &format!("\nWhat it computes, in exact arithmetic:\n{expression}\n");
    }
    if let Definition::Program(program) = &outline.oracle
        && program.language == Language::Python
    {
        text += &format!(
            "\nWhat it computes, with NumPy:\n```python\n{}\n```\n",
            program.text.trim_end()
        );
    }
    if let Some(reference) = &specification.reference {
        let source = reference.text.trim_end();
        text += &format!(
            "\nWhat it computes, as a reference kernel that may be slow:\n```metal\n{source}\n```\n"
        );
    }
    let name = outline
        .passes
        .first()
        .map_or(specification.name.as_str(), |pass| &pass.function);
    for dtype in &outline.dtypes {
        text += &format!("\nFunction: {name}_{dtype}");
    }
    text += "\n\nArguments:\n";
    for (index, argument) in outline.arguments.iter().enumerate() {
        use assay_launch::template::Role;
        let formulas = |shape: &[assay_launch::Formula]| {
            let texts: Vec<&str> = shape.iter().map(assay_launch::Formula::text).collect();
            texts.join(", ")
        };
        let what = match &argument.role {
            Role::Input { shape, .. } => format!("input [{}]", formulas(shape)),
            Role::Output { shape } => format!("output [{}]", formulas(shape)),
            Role::Scratch { shape } => format!("scratch [{}]", formulas(shape)),
            Role::Scalar { value } => format!("scalar = {}", value.text()),
        };
        let dtype = argument
            .dtype
            .map_or("the variant's type".to_owned(), |dtype| dtype.to_string());
        text += &format!("- buffer {index}: {} ({dtype}), {what}\n", argument.name);
    }
    for (dtype, tolerance) in &outline.tolerances {
        text += &format!(
            "\nTolerance of {dtype}: {:e} relative to what goes into a result, {:e} absolute: {}",
            tolerance.relative, tolerance.absolute, tolerance.reason
        );
    }
    text
}

/// What was tried, in the database and for the report.
struct Log {
    database: Database,
    session: SessionId,
    chip: String,
    now: i64,
    calls: u32,
    document: Document,
}

impl Log {
    fn start(args: &Args, specification: &Specification) -> Result<Log, Failure> {
        let path = location::path(args.attempts.as_deref());
        let fail = |error: assay_tune::attempts::Error| location::failure(&error);
        let mut database = Database::open(&path).map_err(fail)?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_or(0, |time| time.as_secs() as i64);
        let key = Fingerprint::default()
            .with(specification.text.as_bytes())
            .with(b"write")
            .text();
        let session = database.start(&NewSession {
            key: &key,
            kernel: &specification.name,
            chip: &args.chip,
            seed: 0,
            command: &format!("assay write {}", args.spec.display()),
            now,
        });
        let session = session.map_err(fail)?;
        Ok(Log {
            database,
            session,
            chip: args.chip.clone(),
            now,
            calls: 0,
            document: Document {
                kernel: specification.name.clone(),
                author: String::new(),
                technique: String::new(),
                folder: None,
                attempts: Vec::new(),
                seed: None,
                comparisons: 0,
                session: session.0,
            },
        })
    }

    fn called(
        &mut self,
        round: u32,
        request: &Request,
        answer: &Result<String, String>,
        (usage, cost): (assay_llm::chat::Usage, Option<f64>),
    ) -> Result<u32, Failure> {
        let number = self.calls;
        self.calls += 1;
        let call = Call {
            number,
            round,
            model: request.model.clone(),
            prompt: prompt::WRITE.to_owned(),
            request: request.fingerprint(),
            answer: answer.clone(),
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cost,
        };
        let recorded = self.database.record_call(self.session, &call, self.now);
        recorded.map_err(|error| location::failure(&error))?;
        Ok(number)
    }

    /// Reads an answer and tries its source; what was wrong with it, if it did not pass.
    fn read(
        &mut self,
        specification: &Specification,
        text: &str,
        call: u32,
        target: &Target,
    ) -> Result<Option<TuneFailure>, Failure> {
        let parts = answer::source(text, None).and_then(|mut parts| parts.remove(0));
        let proposed = match parts {
            Ok(proposed) => proposed,
            Err(why) => {
                self.document.attempts.push(Tried {
                    technique: String::new(),
                    refused_at: Some("answer".to_owned()),
                    why: Some(why.clone()),
                });
                return Ok(Some(TuneFailure::new(Stage::Filter, why)));
            }
        };
        let Content::Source(written) = proposed.content else {
            return Ok(None);
        };
        let asked = written.geometry;
        let candidate = Candidate {
            technique: proposed.technique,
            source: written.source,
            threadgroup: match asked.threadgroup.is_empty() {
                true => vec![THREADGROUP.to_owned()],
                false => asked.threadgroup,
            },
            grid: asked.grid,
            groups: asked.groups,
        };
        self.tried(specification, &candidate, Some(call), target)
    }

    /// Tries a source by both stages, and records it.
    fn tried(
        &mut self,
        specification: &Specification,
        candidate: &Candidate,
        call: Option<u32>,
        target: &Target,
    ) -> Result<Option<TuneFailure>, Failure> {
        let examined = examine(specification, candidate);
        let (refused_at, failure) = match &examined {
            Ok(_) => (None, None),
            Err((stage, failure)) => (Some((*stage).to_owned()), Some(failure.clone())),
        };
        self.document.attempts.push(Tried {
            technique: candidate.technique.clone(),
            refused_at,
            why: failure.as_ref().map(|failure| failure.why.clone()),
        });
        self.record(specification, candidate, call, &examined, target)?;
        if let Ok(proven) = examined {
            self.document.seed = Some(proven.seed);
            self.document.comparisons = proven.comparisons;
            self.document.technique.clone_from(&candidate.technique);
            let files = specification.files(candidate);
            *specification.passed.borrow_mut() = Some(Passed { files });
        }
        Ok(failure)
    }

    fn record(
        &mut self,
        specification: &Specification,
        candidate: &Candidate,
        call: Option<u32>,
        examined: &Result<super::stages::Proven, Refused>,
        target: &Target,
    ) -> Result<(), Failure> {
        let ordinal = self.document.attempts.len() as u32 - 1;
        let geometry = Geometry {
            grid: candidate.grid.clone(),
            groups: candidate.groups.clone(),
            threadgroup: candidate.threadgroup.clone(),
            ..Geometry::default()
        };
        let written = Written {
            source: candidate.source.clone(),
            geometry: geometry.clone(),
        };
        let (program, outcome) = match examined {
            Err((_, failure)) => (None, Outcome::Failed(failure.clone())),
            Ok(_) => match timed(specification, candidate, target) {
                Ok((program, prediction)) => (Some(program), Outcome::Timed(prediction)),
                Err(failure) => (None, Outcome::Failed(failure)),
            },
        };
        let genome = Genome {
            knobs: Vec::new(),
            steps: vec![written.step()],
        };
        let fail = |error: assay_tune::attempts::Error| location::failure(&error);
        let attempt = Attempt {
            ordinal,
            parent: None,
            phase: Phase::Model,
            genome: genome.clone(),
            program,
            class: None,
            geometry: Some(geometry),
            source: Some(candidate.source.clone()),
            outcome,
        };
        let of = (self.chip.as_str(), MODEL);
        self.database
            .record(self.session, &attempt, of, self.now)
            .map_err(fail)?;
        if let Some(call) = call {
            let row = ProposalRow {
                call,
                place: 0,
                attempt: Some(ordinal),
                technique: candidate.technique.clone(),
                hypothesis: None,
                genome: genome.to_string(),
                source: Some(candidate.source.clone()),
                refusal: None,
            };
            self.database
                .record_proposal(self.session, &row)
                .map_err(fail)?;
        }
        Ok(())
    }

    fn end(mut self) -> Result<Document, Failure> {
        let passed = self.document.seed.is_some();
        let decision = assay_tune::attempts::Decision {
            winner: passed.then(|| self.document.attempts.len() as u32 - 1),
            kept: passed,
            gain: 1.0,
            claimed: 1.0,
            reason: match passed {
                true => "passed both stages".to_owned(),
                false => "no source passed both stages".to_owned(),
            },
        };
        let ended = self.database.decide(self.session, &decision, self.now);
        ended.map_err(|error| location::failure(&error))?;
        Ok(self.document)
    }
}

/// The predicted time of a kernel that passed.
fn timed(
    specification: &Specification,
    candidate: &Candidate,
    target: &Target,
) -> Result<(String, Prediction), TuneFailure> {
    let model = |why: String| TuneFailure::new(Stage::Model, why);
    let kernel = specification.kernel(candidate).map_err(model)?;
    let launch = RegistryLaunch::new(&kernel).map_err(|failure| model(failure.message))?;
    let origin = Origin::Source(candidate.source.clone(), SourceOptions::default());
    let subject = Subject::new(
        &ThisMachine,
        origin,
        &launch.function,
        Vec::new(),
        Knobs::default(),
    );
    let bench = Bench::new(subject, &launch, [target], &specification.text);
    let prepared = bench.prepare(&Genome::default())?;
    let prediction = bench.predict(&prepared)?;
    Ok((prepared.program, prediction))
}
