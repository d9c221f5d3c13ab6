//! One delivery of a job: refused, known, run, answered, or given up.

use super::{BEAT, Worker, publish};
use crate::answer::{Answer, Ending};
use crate::job::{Job, Refusal};
use crate::names;
use crate::nats::look::Running;
use crate::nats::objects::{Shelf, Way};
use crate::nats::submit::Progress;
use crate::nats::{Error, Runner};
use crate::sign::{Signed, SignedAnswer};
use async_nats::jetstream::message::{AckKind, PublishMessage};
use async_nats::{Subscriber, jetstream};
use futures_util::StreamExt;
use std::time::{Duration, Instant};

/// A job is worth a line in a table of workers once it has run for so long.
const SEEN: Duration = Duration::from_secs(1);

impl<R: Runner> Worker<R> {
    /// Everything about one delivery of a job.
    pub(super) async fn job(
        &mut self,
        message: &jetstream::Message,
        cancels: &mut Subscriber,
        tell: &mut dyn FnMut(&str),
    ) {
        let begun = Instant::now();
        let deliveries = message
            .info()
            .map_or(1, |info| u64::try_from(info.delivered).unwrap_or(1));
        let lane = names::split_lane(&message.subject)
            .map(|(_, _, submitter)| submitter.to_owned())
            .unwrap_or_default();
        let signed = Signed::read(&message.payload);
        let job = signed.and_then(|signed| match signed.job(&self.options.trust) {
            Ok(job) => Ok((job, None)),
            // Who is refused is told so.
            Err(refusal) => Ok((signed.unverified()?, Some(refusal))),
        });
        let (job, refusal) = match job {
            Ok((job, _)) if job.submitter != lane || !self.is_ours(&job.id) => {
                let why = "another submitter's, or without a name in this pool";
                return self.bury(message, &lane, why, tell).await;
            }
            Ok(job) => job,
            Err(refusal) => {
                return self.bury(message, &lane, &refusal.to_string(), tell).await;
            }
        };
        let ending = match refusal {
            Some(refusal) => Some(refused(&refusal)),
            None => self.unrun(&job, deliveries, message).await,
        };
        let ending = match ending {
            Some(Unrun::Answered) => {
                let _ = message.ack().await;
                return;
            }
            Some(Unrun::Known(answer)) => {
                self.answer(message, &job, *answer, tell).await;
                return;
            }
            Some(Unrun::Ending(ending)) => ending,
            None => match self.run(&job, message, cancels, begun).await {
                Ok(ending) => ending,
                Err(why) => {
                    tell(&format!("{}: {why}", job.id));
                    if deliveries < self.options.deliveries {
                        // Another worker, or this one, tries again.
                        let wait = Duration::from_millis(500 * deliveries);
                        let _ = message.ack_with(AckKind::Nak(Some(wait))).await;
                        return;
                    }
                    self.keep_dead(&job.submitter, &job.id, message).await;
                    Ending::GaveUp { why, deliveries }
                }
            },
        };
        let answer = Answer {
            job: job.id.clone(),
            asked: job.id.clone(),
            submitter: job.submitter.clone(),
            key: job.key(),
            ending,
            machine: self.state.machine.clone(),
            seconds: begun.elapsed().as_secs_f64(),
            deliveries,
            cached: false,
            object: None,
        };
        self.answer(message, &job, answer, tell).await;
    }

    /// Returns true if a name is one of a job of this pool.
    fn is_ours(&self, job: &str) -> bool {
        names::is_token(job) && names::pool_of_job(job) == Some(&self.options.pool)
    }

    /// What a job ends with if it is not run; `None` if it is to be.
    async fn unrun(
        &self,
        job: &Job,
        deliveries: u64,
        message: &jetstream::Message,
    ) -> Option<Unrun> {
        if job.protocol == crate::PROTOCOL && job.pool != self.options.pool {
            let refusal = Refusal::Malformed(format!("it is for the pool {}", job.pool));
            return Some(refused(&refusal));
        }
        if let Err(refusal) = job.check(&self.state.machine.version) {
            return Some(refused(&refusal));
        }
        let result = names::result(&job.pool, &job.submitter, &job.id);
        let bucket = names::CANCELS;
        let cancel = format!("$KV.{bucket}.{}.{}", job.submitter, job.id);
        let cancels = format!("KV_{bucket}");
        let known = async {
            if job.fresh {
                Ok(None)
            } else {
                self.fleet.known(job).await
            }
        };
        // Asked together: the server may be far away.
        let (answered, cancelled, known) = tokio::join!(
            self.fleet.last(names::RESULTS, result),
            self.fleet.last(&cancels, cancel),
            known
        );
        if let Ok(Some(_)) = answered {
            return Some(Unrun::Answered);
        }
        if let Ok(Some(_)) = cancelled {
            return Some(Unrun::Ending(Ending::Cancelled));
        }
        if deliveries > self.options.deliveries {
            self.keep_dead(&job.submitter, &job.id, message).await;
            return Some(Unrun::Ending(Ending::GaveUp {
                why: "workers were lost with it".to_owned(),
                deliveries: deliveries - 1,
            }));
        }
        let known = known.ok().flatten();
        known.map(|answer| Unrun::Known(Box::new(answer)))
    }

    /// Runs a job, and gives signs of life meanwhile.
    async fn run(
        &mut self,
        job: &Job,
        message: &jetstream::Message,
        cancels: &mut Subscriber,
        begun: Instant,
    ) -> Result<Ending, String> {
        let inputs = match self.inputs(job).await {
            Ok(inputs) => inputs,
            Err(Fetched::Refused(refusal)) => {
                let advice = refusal.advice().to_owned();
                let why = refusal.to_string();
                return Ok(Ending::Refused { why, advice });
            }
            Err(Fetched::Absent(error)) => return Err(error.to_string()),
        };
        let own = format!("$KV.{}.{}.{}", names::CANCELS, job.submitter, job.id);
        let Self {
            runner,
            state,
            fleet,
            ..
        } = self;
        state.running = Some(Running {
            job: job.id.clone(),
            submitter: job.submitter.clone(),
            what: job
                .line
                .iter()
                .take(2)
                .cloned()
                .collect::<Vec<_>>()
                .join(" "),
            seconds: 0.0,
        });
        let limit = Duration::from_secs(job.timeout);
        let mut beat = tokio::time::interval_at(tokio::time::Instant::now() + SEEN, BEAT);
        beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut work = std::pin::pin!(runner.run(job.clone(), inputs));
        let ending = loop {
            tokio::select! {
                ending = &mut work => break ending,
                () = tokio::time::sleep(limit.saturating_sub(begun.elapsed())) => {
                    break Ok(Ending::TimedOut { seconds: job.timeout });
                }
                cancelled = cancels.next() => {
                    if cancelled.is_some_and(|one| one.subject.as_str() == own) {
                        break Ok(Ending::Cancelled);
                    }
                }
                _ = beat.tick() => {
                    let seconds = begun.elapsed().as_secs_f64();
                    if let Some(running) = &mut state.running {
                        running.seconds = seconds;
                    }
                    // A server that is away is no reason to stop: it may be back before the job is lost.
                    let _ = message.ack_with(AckKind::Progress).await;
                    let progress = Progress { worker: fleet.user.clone(), seconds };
                    let subject = names::progress(&job.pool, &job.submitter, &job.id);
                    let text = serde_json::to_vec(&progress).unwrap_or_default();
                    let _ = fleet.client.publish(subject, text.into()).await;
                    publish(fleet, state).await;
                }
            }
        };
        self.state.running = None;
        if begun.elapsed() > SEEN {
            // What was said to run no longer does.
            self.announced = None;
        }
        ending
    }

    async fn inputs(&self, job: &Job) -> Result<Vec<(String, Vec<u8>)>, Fetched> {
        let shelf = Shelf {
            pool: &job.pool,
            submitter: &job.submitter,
            way: Way::In,
        };
        let mut found = Vec::new();
        for input in &job.inputs {
            let bytes = match input.bytes() {
                Some(bytes) => bytes.map_err(Fetched::Refused)?,
                None => {
                    let bytes = self.fleet.object(shelf, &input.hash).await;
                    let bytes = bytes.map_err(Fetched::Absent)?;
                    input.verified(bytes).map_err(Fetched::Refused)?
                }
            };
            found.push((input.name.clone(), bytes));
        }
        Ok(found)
    }

    /// Gives the answer, until the server has one, then the job back.
    async fn answer(
        &mut self,
        message: &jetstream::Message,
        job: &Job,
        mut answer: Answer,
        tell: &mut dyn FnMut(&str),
    ) {
        let known = answer.cached;
        self.state.answered += 1;
        self.state.failed += u64::from(answer.ending.trouble().is_some());
        let keeps = !job.fresh && !known && answer.ending.is_lasting();
        let mut pause = Duration::from_millis(200);
        let mut told = false;
        loop {
            match self.give(job, &mut answer, keeps).await {
                Ok(()) => break,
                Err(error) => {
                    if !told {
                        tell(&format!(
                            "{}: the answer waits for the server: {error}",
                            job.id
                        ));
                        told = true;
                    }
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(Duration::from_secs(5));
                }
            }
        }
        // If this is lost, the job comes again and is found answered.
        let _ = message.double_ack().await;
    }

    async fn give(&self, job: &Job, answer: &mut Answer, keeps: bool) -> Result<(), Error> {
        // An answer that was known becomes this job's, and this worker's word: who reads it compares the name with the signature.
        answer.asked.clone_from(&job.id);
        answer.submitter.clone_from(&job.submitter);
        let own = &self.state.machine.worker;
        answer.machine.worker.clone_from(own);
        let ending = serde_json::to_vec(&answer.ending).unwrap_or_default();
        if ending.len() > Ending::LARGE && answer.object.is_none() {
            let shelf = Shelf {
                pool: &self.options.pool,
                submitter: &job.submitter,
                way: Way::Out,
            };
            answer.object = Some(self.fleet.put_object(shelf, &ending).await?);
            if let Ending::Done {
                output,
                error,
                outcomes,
                ..
            } = &mut answer.ending
            {
                output.clear();
                outcomes.clear();
                *error = None;
            }
        }
        let signed = SignedAnswer::new(answer, self.fleet.key.as_deref());
        let text = signed
            .map_err(|why| Error::failed("the answer", why))?
            .bytes();
        if keeps {
            // Before the result: who is told that may ask the same again at once, and is answered from here.
            let message = PublishMessage::build().payload(text.clone().into());
            // What is not known is computed again.
            let _ = self
                .fleet
                .keep(names::answer(&self.options.pool, &answer.key), message)
                .await;
        }
        let subject = names::result(&self.options.pool, &job.submitter, &job.id);
        let message = PublishMessage::build().payload(text.into());
        if let Err(error) = self.fleet.keep(subject.clone(), message).await {
            // The server refuses a second answer; any other refusal is tried again.
            match self.fleet.last(names::RESULTS, subject).await {
                Ok(Some(_)) => return Ok(()),
                _ => return Err(error),
            }
        }
        Ok(())
    }

    /// Keeps what is no job among those that were given up: there is nobody to answer.
    async fn bury(
        &mut self,
        message: &jetstream::Message,
        submitter: &str,
        why: &str,
        tell: &mut dyn FnMut(&str),
    ) {
        let sequence = message.info().map_or(0, |info| info.stream_sequence);
        tell(&format!(
            "message {sequence} of {submitter} is no job: {why}"
        ));
        self.keep_dead(submitter, &format!("message-{sequence}"), message)
            .await;
        let _ = message.ack_with(AckKind::Term).await;
    }

    async fn keep_dead(&self, submitter: &str, job: &str, message: &jetstream::Message) {
        let subject = names::dead(&self.options.pool, submitter, job);
        let copy = PublishMessage::build().payload(message.payload.clone());
        // The answer says the same; this is only for trying again by hand.
        let _ = self.fleet.keep(subject, copy).await;
    }
}

/// Why a job is not run.
enum Unrun {
    /// It has its answer.
    Answered,
    /// Its question has one.
    Known(Box<Answer>),
    Ending(Ending),
}

/// Why there are no inputs.
enum Fetched {
    Refused(Refusal),
    Absent(Error),
}

fn refused(refusal: &Refusal) -> Unrun {
    Unrun::Ending(Ending::Refused {
        why: refusal.to_string(),
        advice: refusal.advice().to_owned(),
    })
}
