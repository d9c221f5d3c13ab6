//! Calls of one model: budgeted, retried, recorded.

use crate::backoff::Backoff;
use crate::budget::{Ledger, Price, Reservation};
use crate::cassette::Recorder;
use crate::chat::{Answer, Request, Usage};
use crate::error::Error;
use crate::provider::Provider;
use assay_launch::random::Random;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What is told while a model answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Bytes of the answer so far.
    Heard {
        /// The model.
        model: String,
        /// Bytes.
        bytes: usize,
    },
    /// It will be asked again.
    Again {
        /// The model.
        model: String,
        /// Why.
        why: String,
        /// After so long.
        pause: Duration,
    },
}

/// What calls share: budgets, a recorder, somebody who looks on.
pub struct Surroundings {
    /// What was spent.
    pub ledger: Arc<Mutex<Ledger>>,
    /// When to ask again.
    pub backoff: Backoff,
    /// Where calls are recorded.
    pub recorder: Option<Recorder>,
    /// Is told what is going on. Returns false to stop.
    pub watch: Arc<dyn Fn(&Event) -> bool + Send + Sync>,
}

/// A model of a provider.
pub struct Client {
    /// The model's name: what is asked for, and what attempts are counted by.
    pub model: String,
    /// Who answers.
    pub provider: Box<dyn Provider>,
    /// Dollars, where they are known.
    pub price: Option<Price>,
    /// Tokens of an answer at most.
    pub max_tokens: u32,
}

/// A call that was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// The answer, or why there is none.
    pub answer: Result<Answer, Error>,
    /// Tokens: as reported, or as many as there may have been.
    pub usage: Usage,
    /// Dollars.
    pub cost: Option<f64>,
}

impl Surroundings {
    fn reserve(&self, client: &Client, request: &Request) -> Result<Reservation, Error> {
        let mut ledger = self.ledger.lock().map_err(|_| Error::Stopped)?;
        Ok(ledger.reserve(request, client.price)?)
    }

    fn settle(&self, reservation: Reservation, usage: Usage) -> Option<f64> {
        let mut ledger = self.ledger.lock().ok()?;
        ledger.settle(reservation, usage)
    }
}

impl Client {
    /// Sets aside what a call takes at most.
    pub fn reserve(
        &self,
        surroundings: &Surroundings,
        request: &Request,
    ) -> Result<Reservation, Error> {
        surroundings.reserve(self, request)
    }

    /// Asks until there is an answer, or asking again does not help. The first call's reservation is given; every further
    /// call is reserved, and counted, too.
    pub fn ask(
        &self,
        surroundings: &Surroundings,
        request: &Request,
        reservation: Reservation,
    ) -> Made {
        let seed = request.fingerprint();
        let seed = seed
            .get(..16)
            .and_then(|it| u64::from_str_radix(it, 16).ok());
        let mut random = Random::of(seed.unwrap_or(0), 26);
        let mut reservation = reservation;
        let mut total = (Usage::default(), None::<f64>);
        for failures in 1.. {
            let answer = self.once(surroundings, request, &reservation);
            let usage = match &answer {
                Ok(answer) => used(answer, &reservation),
                Err(error) if error.may_have_spent() => reservation.most(),
                Err(_) => Usage::default(),
            };
            let cost = surroundings.settle(reservation, usage);
            total.0.input_tokens += usage.input_tokens;
            total.0.output_tokens += usage.output_tokens;
            total.1 = cost.map(|cost| total.1.unwrap_or(0.0) + cost).or(total.1);
            let made = |answer| Made {
                answer,
                usage: total.0,
                cost: total.1,
            };
            let error = match answer {
                Ok(answer) => return made(self.recorded(surroundings, request, answer)),
                Err(error) => error,
            };
            let Some(pause) = surroundings.backoff.pause(&error, failures, &mut random) else {
                return made(Err(error));
            };
            let again = Event::Again {
                model: self.model.clone(),
                why: error.to_string(),
                pause,
            };
            if !(surroundings.watch)(&again) || !self.sleep(surroundings, pause) {
                return made(Err(Error::Stopped));
            }
            reservation = match surroundings.reserve(self, request) {
                Ok(reservation) => reservation,
                Err(error) => return made(Err(error)),
            };
        }
        Made {
            answer: Err(Error::Stopped),
            usage: total.0,
            cost: total.1,
        }
    }

    fn once(
        &self,
        surroundings: &Surroundings,
        request: &Request,
        reservation: &Reservation,
    ) -> Result<Answer, Error> {
        let mut heard = |bytes: usize| {
            (surroundings.watch)(&Event::Heard {
                model: self.model.clone(),
                bytes,
            })
        };
        let answer = self.provider.complete(request, &mut heard)?;
        let most = reservation.most();
        let reported = answer.usage.unwrap_or_default();
        let more = reported.input_tokens > most.input_tokens
            || reported.output_tokens > most.output_tokens;
        if more {
            return Err(Error::Implausible {
                provider: self.provider.name(),
                reported: reported.tokens(),
                most: most.tokens(),
            });
        }
        Ok(answer)
    }

    fn recorded(
        &self,
        surroundings: &Surroundings,
        request: &Request,
        answer: Answer,
    ) -> Result<Answer, Error> {
        if let Some(recorder) = &surroundings.recorder {
            let recorded = recorder.record(request, &answer);
            recorded.map_err(|error| Error::Command {
                command: "--llm-record".to_owned(),
                why: error.to_string(),
            })?;
        }
        Ok(answer)
    }

    /// Waits in small steps. Returns false if somebody wants it to stop.
    fn sleep(&self, surroundings: &Surroundings, pause: Duration) -> bool {
        let step = Duration::from_millis(50);
        let mut left = pause;
        while !left.is_zero() {
            let now = left.min(step);
            std::thread::sleep(now);
            left -= now;
            let still = Event::Heard {
                model: self.model.clone(),
                bytes: 0,
            };
            if !(surroundings.watch)(&still) {
                return false;
            }
        }
        true
    }
}

/// Tokens of an answer; of one whose provider does not count, what there may have been: its bytes.
fn used(answer: &Answer, reservation: &Reservation) -> Usage {
    let most = reservation.most();
    answer.usage.unwrap_or(Usage {
        input_tokens: most.input_tokens,
        output_tokens: (answer.text.len() as u64).min(most.output_tokens),
    })
}
