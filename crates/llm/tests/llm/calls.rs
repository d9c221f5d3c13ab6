//! Every way a call can end.

use crate::server::{Play, Server as Fake};
use assay_llm::backoff::Backoff;
use assay_llm::budget::{Ledger, Limits, Price};
use assay_llm::cassette::Recorder;
use assay_llm::chat::{Message, Request, Role};
use assay_llm::client::{Client, Made, Surroundings};
use assay_llm::error::Error;
use assay_llm::key::Key;
use assay_llm::provider::http::{Place, Server, Timeouts};
use assay_llm::provider::wire::Protocol;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) const SECRET: &str = "sk-test-do-not-show-4711";

pub(crate) fn client(fake: &Fake) -> Client {
    let place = Place {
        protocol: Protocol::OpenAi {
            completion_tokens: false,
            structured: true,
        },
        name: "openai".to_owned(),
        base: fake.base.clone(),
        key: Some(Key::new("test", SECRET).unwrap()),
        proxy: None,
        timeouts: Timeouts {
            connect: Duration::from_secs(2),
            silence: Duration::from_millis(400),
            call: Duration::from_secs(5),
        },
    };
    Client {
        model: "small".to_owned(),
        provider: Box::new(Server::new(place).unwrap()),
        price: Some(Price {
            input: 1.0,
            output: 1.0,
        }),
        max_tokens: 256,
    }
}

pub(crate) fn surroundings(limits: Limits, recorder: Option<Recorder>) -> Surroundings {
    Surroundings {
        ledger: Arc::new(Mutex::new(Ledger::new(limits))),
        backoff: Backoff {
            attempts: 3,
            first: Duration::from_millis(10),
            longest: Duration::from_millis(20),
        },
        recorder,
        watch: Arc::new(|_| true),
    }
}

fn request() -> Request {
    Request {
        model: "small".to_owned(),
        system: "be brief".to_owned(),
        messages: vec![Message {
            role: Role::User,
            text: "faster!".to_owned(),
        }],
        max_tokens: 256,
        schema: None,
    }
}

fn ask(plays: Vec<Play>) -> (Made, Fake) {
    let fake = Fake::start(plays);
    let client = client(&fake);
    let surroundings = surroundings(Limits::default(), None);
    let reservation = client.reserve(&surroundings, &request()).unwrap();
    (client.ask(&surroundings, &request(), reservation), fake)
}

fn text() -> String {
    "an answer of some length".to_owned()
}

#[test]
fn good_slow_and_unstreamed_answers_are_answers() {
    for play in [
        Play::Answer(text()),
        Play::Slow(text()),
        Play::Whole(text()),
    ] {
        let (made, fake) = ask(vec![play.clone()]);
        assert_eq!(made.answer.unwrap().text, text(), "{play:?}");
        let heard = fake.heard.lock().unwrap();
        let (headers, body) = &heard[0];
        assert!(headers.contains(SECRET) && !body.contains(SECRET));
    }
}

#[test]
fn what_passes_is_asked_again_and_what_does_not_is_an_error() {
    let busy = Play::Status(429, "{\"error\":{\"message\":\"slow down\"}}");
    let broken = Play::Status(500, "oops");
    let (made, fake) = ask(vec![busy.clone(), broken.clone(), Play::Answer(text())]);
    assert_eq!(made.answer.unwrap().text, text());
    assert_eq!(fake.requests(), 3);
    let (made, fake) = ask(vec![busy]);
    let error = made.answer.unwrap_err();
    assert_eq!(
        error.to_string(),
        "openai has no capacity now (status 429): slow down"
    );
    assert_eq!((fake.requests(), error.is_the_models()), (3, false));
    let (made, _) = ask(vec![broken]);
    assert!(matches!(made.answer, Err(Error::Busy { status: 500, .. })));
    let (made, fake) = ask(vec![Play::Status(400, "{\"error\":\"no such model\"}")]);
    let error = made.answer.unwrap_err().to_string();
    assert_eq!(
        error,
        "openai refuses the request (status 400): no such model"
    );
    assert_eq!(fake.requests(), 1);
}

#[test]
fn silence_and_broken_connections_are_errors() {
    let (made, fake) = ask(vec![Play::Hang]);
    assert!(
        matches!(made.answer, Err(Error::TimedOut { .. })),
        "{:?}",
        made.answer
    );
    assert_eq!(fake.requests(), 3);
    let (made, fake) = ask(vec![Play::Reset]);
    assert!(
        matches!(made.answer, Err(Error::Interrupted { .. })),
        "{:?}",
        made.answer
    );
    // Tokens may have been spent each time: all that was reserved counts.
    let most = request().most_input_tokens() + 256;
    assert_eq!((fake.requests(), made.usage.tokens()), (3, 3 * most));
}

#[test]
fn answers_that_are_none_are_the_models_fault() {
    type Expected = fn(&Error) -> bool;
    let cases: [(Play, Expected); 4] = [
        (Play::Cut, |it| matches!(it, Error::Cut { limit: 256 })),
        (Play::Malformed, |it| matches!(it, Error::Malformed { .. })),
        (Play::Page, |it| matches!(it, Error::Malformed { .. })),
        (Play::Gigantic, |it| matches!(it, Error::TooLong { .. })),
    ];
    for (play, expected) in cases {
        let (made, fake) = ask(vec![play.clone()]);
        let error = made.answer.unwrap_err();
        assert!(
            expected(&error) && error.is_the_models(),
            "{play:?}: {error}"
        );
        assert_eq!(fake.requests(), 1, "{play:?}");
    }
}

#[test]
fn a_report_of_more_than_was_reserved_is_not_believed() {
    let (made, _) = ask(vec![Play::Greedy(text())]);
    assert!(matches!(made.answer, Err(Error::Implausible { .. })));
    assert_eq!(made.usage.tokens(), request().most_input_tokens() + 256);
}

#[test]
fn a_key_is_in_no_error_and_no_file() {
    let (made, _) = ask(vec![Play::EchoKey]);
    let error = made.answer.unwrap_err();
    assert!(error.to_string().contains("[key]"), "{error}");
    assert!(!format!("{error:?} {error}").contains(SECRET));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.jsonl");
    let fake = Fake::start(vec![Play::Answer(text())]);
    let client = client(&fake);
    let surroundings = surroundings(Limits::default(), Some(Recorder::open(&path).unwrap()));
    let reservation = client.reserve(&surroundings, &request()).unwrap();
    client
        .ask(&surroundings, &request(), reservation)
        .answer
        .unwrap();
    let recorded = std::fs::read_to_string(&path).unwrap();
    assert!(recorded.contains("an answer") && !recorded.contains(SECRET));
    assert!(!format!("{:?}", client.provider.name()).contains(SECRET));
}

#[test]
fn nobody_listens_and_nobody_lives_there() {
    let fake = Fake {
        base: "http://127.0.0.1:9/v1".to_owned(),
        heard: Arc::default(),
    };
    let client = client(&fake);
    let surroundings = surroundings(Limits::default(), None);
    let reservation = client.reserve(&surroundings, &request()).unwrap();
    let made = client.ask(&surroundings, &request(), reservation);
    assert!(
        matches!(made.answer, Err(Error::Unreachable { .. })),
        "{:?}",
        made.answer
    );
    // Nothing was sent, so nothing was spent.
    assert_eq!((made.usage.tokens(), made.cost), (0, Some(0.0)));
}

#[test]
fn budgets_hold_whatever_the_server_does() {
    let busy = Play::Status(503, "");
    let fake = Fake::start(vec![busy]);
    let client = client(&fake);
    let calls = Limits {
        calls: Some(2),
        ..Limits::default()
    };
    let surroundings = surroundings(calls, None);
    let reservation = client.reserve(&surroundings, &request()).unwrap();
    let made = client.ask(&surroundings, &request(), reservation);
    assert!(
        matches!(made.answer, Err(Error::Budget(_))),
        "{:?}",
        made.answer
    );
    assert_eq!(fake.requests(), 2);
    let error = client.reserve(&surroundings, &request()).unwrap_err();
    assert_eq!(error.to_string(), "all 2 calls are used up");
}
