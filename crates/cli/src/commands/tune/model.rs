//! Language models of a command line: providers with their keys, prices and budgets.

use super::model_args::ModelArgs;
use crate::context::Context;
use crate::failure::{Failure, Kind};
use crate::input;
use crate::interrupt;
use assay_llm::author::Author;
use assay_llm::backoff::Backoff;
use assay_llm::budget::{Ledger, Limits, Price};
use assay_llm::cassette::{Cassette, Kind as CassetteKind, Recorder};
use assay_llm::client::{Client, Event, Surroundings};
use assay_llm::prompt::Brief;
use assay_llm::provider::Provider;
use assay_llm::provider::command::Command;
use indicatif::ProgressBar;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long a user's command may take for an answer.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(900);

/// What all calls of a command spend from.
pub(crate) type SharedLedger = Arc<Mutex<Ledger>>;

/// The budgets of a command line, nothing spent.
pub(crate) fn ledger(args: &ModelArgs) -> SharedLedger {
    Arc::new(Mutex::new(Ledger::new(Limits {
        calls: args.max_calls,
        tokens: args.max_tokens,
        cost: args.max_cost,
    })))
}

/// The models of a command line; none if it names none.
pub(crate) fn author(
    args: &ModelArgs,
    context: &Context,
    brief: Brief,
    bar: &ProgressBar,
    ledger: &SharedLedger,
) -> Result<Option<Author>, Failure> {
    if !args.is_asked() {
        return Ok(None);
    }
    let mut clients = Vec::new();
    for text in &args.llm {
        let (model, provider) = provider(args, context, text)?;
        clients.push(client(args, model, provider)?);
    }
    if let Some(line) = &args.llm_command {
        let provider = Box::new(Command {
            line: line.clone(),
            timeout: COMMAND_TIMEOUT,
        });
        clients.push(client(args, "command".to_owned(), provider)?);
    }
    let recorder = match &args.llm_record {
        Some(path) => Some(Recorder::open(path).map_err(|error| {
            Failure::input(format!("--llm-record {}: {error}", path.display()))
        })?),
        None => None,
    };
    Ok(Some(Author {
        clients,
        surroundings: Surroundings {
            ledger: Arc::clone(ledger),
            backoff: backoff(),
            recorder,
            watch: watch(bar),
        },
        mode: args.llm_mode.into(),
        rounds: match args.llm.iter().any(|name| name == "replay:demo") {
            // The demonstration has so many answers.
            true => args.rounds.min(assay_llm::demo::ROUNDS),
            false => args.rounds,
        },
        jobs: args.jobs,
        brief,
    }))
}

/// Pauses between repeated calls. `ASSAY_LLM_PAUSE` in seconds replaces the first: for servers on the same machine.
fn backoff() -> Backoff {
    let usual = Backoff::default();
    let given = std::env::var("ASSAY_LLM_PAUSE").ok();
    let given: Option<f64> = given.and_then(|text| text.parse().ok());
    match given.filter(|seconds| (0.0..=60.0).contains(seconds)) {
        Some(seconds) => Backoff {
            first: Duration::from_secs_f64(seconds),
            ..usual
        },
        None => usual,
    }
}

/// Shows how an answer grows, and stops at Ctrl-C.
fn watch(bar: &ProgressBar) -> Arc<dyn Fn(&Event) -> bool + Send + Sync> {
    let bar = bar.clone();
    Arc::new(move |event| {
        match event {
            Event::Heard { bytes: 0, .. } => {}
            Event::Heard { model, bytes } => bar.set_message(format!("{model}: {bytes} bytes")),
            Event::Again { model, why, pause } => {
                bar.set_message(format!(
                    "{model}: {why}; again in {:.0} s",
                    pause.as_secs_f64()
                ));
            }
        }
        !interrupt::requested()
    })
}

fn client(args: &ModelArgs, model: String, provider: Box<dyn Provider>) -> Result<Client, Failure> {
    let mut price = None;
    for text in &args.price {
        let (name, figures) = match text.split_once('=') {
            Some((name, figures)) => (Some(name), figures),
            None => (None, text.as_str()),
        };
        let figures: Option<Vec<f64>> = figures
            .split(',')
            .map(|it| it.trim().parse().ok())
            .collect();
        let Some([input, output]) = figures.as_deref() else {
            return Err(
                Failure::usage(format!("--price {text}: two numbers are needed"))
                    .advice("dollars for a million tokens of prompts and of answers: --price 3,15"),
            );
        };
        if name.is_none_or(|name| name == model) {
            price = Some(Price {
                input: *input,
                output: *output,
            });
        }
    }
    if args.max_cost.is_some() && price.is_none() {
        return Err(Failure::usage(format!("--max-cost: {model} has no price"))
            .advice(format!("--price {model}=IN,OUT")));
    }
    Ok(Client {
        model,
        provider,
        price,
        max_tokens: args.answer_tokens,
    })
}

/// A provider as it is written, and the model's name.
fn provider(
    args: &ModelArgs,
    context: &Context,
    text: &str,
) -> Result<(String, Box<dyn Provider>), Failure> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    match name {
        "replay" => replay(context, rest),
        "anthropic" | "openai" if rest.is_empty() => {
            Err(Failure::usage(format!("--llm {name}: the model is not named"))
                .advice(format!("--llm {name}:MODEL, as the provider calls it")))
        }
        "anthropic" | "openai" => served(args, name, rest),
        _ => Err(Failure::usage(format!("--llm {text}: there is no provider {name:?}")).advice(
            "anthropic:MODEL, openai:MODEL (with --llm-url for other servers), replay:FILE, replay:demo, or --llm-command",
        )),
    }
}

fn replay(context: &Context, name: &str) -> Result<(String, Box<dyn Provider>), Failure> {
    let text = match name {
        "" => {
            return Err(Failure::usage("--llm replay: which cassette?")
                .advice("replay:demo or replay:FILE"));
        }
        "demo" => assay_llm::demo::CASSETTE.to_owned(),
        path => {
            let bytes = input::open(Path::new(path))?;
            let text = std::str::from_utf8(&bytes);
            text.map_err(|_| Failure::input(format!("{path} is not text")))?
                .to_owned()
        }
    };
    let cassette = Cassette::read(name, &text).map_err(|error| {
        Failure::input(error.to_string()).advice("--llm-record FILE makes a cassette")
    })?;
    let models = cassette.models().join("+");
    // A recorded cassette answers for the model it was recorded of.
    let model = match cassette.kind() {
        CassetteKind::Scripted => {
            context.note(&format!(
                "note: {name} is a scripted cassette: a person wrote these answers, no model did"
            ));
            format!("scripted:{name}")
        }
        CassetteKind::Recorded => models,
    };
    Ok((model, Box::new(cassette)))
}

#[cfg(not(feature = "llm"))]
fn served(_: &ModelArgs, name: &str, _: &str) -> Result<(String, Box<dyn Provider>), Failure> {
    Err(Failure::new(
        Kind::Missing,
        format!("--llm {name}: this build has no HTTP"),
    )
    .advice("build with the feature llm, or use --llm-command"))
}

#[cfg(feature = "llm")]
fn served(
    args: &ModelArgs,
    name: &str,
    model: &str,
) -> Result<(String, Box<dyn Provider>), Failure> {
    use assay_llm::provider::http::{Place, Server, Timeouts};
    use assay_llm::provider::wire::Protocol;
    let (protocol, own, variable) = match name {
        "anthropic" => (
            Protocol::Anthropic,
            "https://api.anthropic.com",
            "ANTHROPIC_API_KEY",
        ),
        _ => (
            Protocol::OpenAi {
                completion_tokens: args.llm_url.is_none(),
                structured: !args.llm_plain,
            },
            "https://api.openai.com/v1",
            "OPENAI_API_KEY",
        ),
    };
    let base = args.llm_url.clone().unwrap_or_else(|| own.to_owned());
    let key = key(args, variable)?;
    if key.is_none() && args.llm_url.is_none() {
        return Err(
            Failure::new(Kind::Missing, format!("--llm {name}: there is no key")).advice(format!(
                "set {variable}, or name a file with --llm-key-file"
            )),
        );
    }
    let plain = key.is_some() && base.starts_with("http://") && !is_local(&base);
    if plain {
        return Err(
            Failure::usage(format!("{base}: a key is not sent without encryption"))
                .advice("use https://, or a server on this machine"),
        );
    }
    let proxy = match is_local(&base) {
        true => None,
        false => ["HTTPS_PROXY", "https_proxy"]
            .iter()
            .find_map(|name| std::env::var(name).ok()),
    };
    let mut timeouts = Timeouts::default();
    let silence = std::env::var("ASSAY_LLM_TIMEOUT").ok();
    let silence: Option<f64> = silence.and_then(|text| text.parse().ok());
    if let Some(seconds) = silence.filter(|seconds| (0.01..=3600.0).contains(seconds)) {
        timeouts.silence = Duration::from_secs_f64(seconds);
    }
    let server = Server::new(Place {
        protocol,
        name: name.to_owned(),
        base,
        key,
        proxy: proxy.filter(|proxy| !proxy.is_empty()),
        timeouts,
    });
    let server =
        server.map_err(|error| Failure::usage(error.to_string()).advised(error.advice()))?;
    Ok((model.to_owned(), Box::new(server)))
}

/// Returns true if an address is of this machine.
#[cfg(feature = "llm")]
fn is_local(base: &str) -> bool {
    let host = base.split_once("://").map_or(base, |(_, rest)| rest);
    let end = host.find('/').unwrap_or(host.len());
    let host = &host[..end];
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let name = match host.starts_with('[') {
        true => host
            .split_once(']')
            .map_or(host, |(name, _)| name)
            .trim_start_matches('['),
        false => host.split(':').next().unwrap_or_default(),
    };
    matches!(name, "localhost" | "127.0.0.1" | "::1")
}

#[cfg(feature = "llm")]
fn key(args: &ModelArgs, variable: &str) -> Result<Option<assay_llm::key::Key>, Failure> {
    use assay_llm::key::{Key, KeyError};
    if let Some(path) = &args.llm_key_file {
        let key = Key::of_file(path).map_err(|error| {
            let advice = matches!(error, KeyError::Open { .. })
                .then(|| format!("chmod 600 {}", path.display()));
            Failure::input(error.to_string()).advised(advice.as_deref())
        })?;
        return Ok(Some(key));
    }
    match std::env::var(variable) {
        Ok(text) if !text.trim().is_empty() => {
            let key = Key::new(variable, &text);
            key.map(Some)
                .map_err(|error| Failure::usage(error.to_string()))
        }
        _ => Ok(None),
    }
}

#[cfg(all(test, feature = "llm"))]
mod tests {
    use super::is_local;

    #[test]
    fn only_this_machine_is_local() {
        for local in [
            "http://localhost:8080/v1",
            "http://127.0.0.1/v1",
            "http://[::1]:80/v1",
        ] {
            assert!(is_local(local), "{local}");
        }
        for far in [
            "http://localhost.example.com/",
            "http://127.0.0.1@example.com/",
            "http://example.com/localhost",
        ] {
            assert!(!is_local(far), "{far}");
        }
    }
}
