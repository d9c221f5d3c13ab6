//! A worker: takes one job at a time, keeps it alive while it works, answers.
//!
//! Of the lanes of its pool it takes the most urgent, and among those the submitter whom it has served least recently. A job
//! stays the server's until it is acknowledged: a worker that is killed, or whose connection is lost for longer than
//! [`KEEP`], has lost it, and another gets it. Whoever answers first is heard; the server refuses a second answer.

use super::look::{Lane, Running, WorkerState, lanes};
use super::submit::Progress;
use super::{Error, Fleet};
use crate::answer::{Answer, Ending, Machine};
use crate::job::{Input, Job, Refusal};
use crate::names;
use crate::sign::{Signed, Trust};
use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::message::{AckKind, PublishMessage};
use async_nats::{HeaderMap, Subscriber, jetstream};
use futures_util::StreamExt;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How long the server waits for a sign of life before it gives a job to another.
pub(crate) const KEEP: Duration = Duration::from_secs(20);
/// How often a worker gives one.
const BEAT: Duration = Duration::from_secs(5);
/// After this a worker that says nothing is no longer listed.
pub(crate) const GONE: Duration = Duration::from_secs(45);
/// How long a list of lanes is believed.
const LANES: Duration = Duration::from_millis(500);
/// How long an idle worker waits for a wake before it looks by itself.
const IDLE: Duration = Duration::from_secs(2);

/// Whether to go on. Clones share it.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<bool>);

impl Stop {
    /// One, and what asks to stop.
    pub fn new() -> (watch::Sender<bool>, Self) {
        let (ask, asked) = watch::channel(false);
        (ask, Self(asked))
    }

    /// Returns true if somebody asked to stop.
    pub fn is_asked(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until somebody asks.
    pub(crate) async fn asked(&self) {
        let mut asked = self.0.clone();
        if asked.wait_for(|asked| *asked).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// What runs jobs: a process for each, which is gone when the future is dropped.
pub trait Runner {
    /// Runs a job. An error says that its process ended without an answer.
    fn run(
        &mut self,
        job: Job,
        inputs: Vec<(String, Vec<u8>)>,
    ) -> impl Future<Output = Result<Ending, String>>;
}

/// How a worker works.
#[derive(Clone, Debug)]
pub struct WorkerOptions {
    /// Whose jobs it takes.
    pub pool: String,
    /// What it is; the worker's name is the user's.
    pub machine: Machine,
    /// Whom it believes.
    pub trust: Trust,
    /// How often a job is tried before it is given up.
    pub deliveries: u64,
    /// Ends after so many answers.
    pub most: Option<u64>,
}

/// A worker at work.
pub struct Worker<R> {
    fleet: Fleet,
    options: WorkerOptions,
    runner: R,
    state: WorkerState,
    announced: Option<Instant>,
    lanes: Vec<Lane>,
    listed: Option<Instant>,
    served: HashMap<String, Instant>,
    consumers: HashMap<String, PullConsumer>,
}

impl<R: std::fmt::Debug> std::fmt::Debug for Worker<R> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Worker")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl<R: Runner> Worker<R> {
    /// A worker of a connection.
    pub fn new(fleet: Fleet, options: WorkerOptions, runner: R) -> Self {
        let state = WorkerState {
            machine: Machine {
                worker: fleet.user.clone(),
                ..options.machine.clone()
            },
            pool: options.pool.clone(),
            ..WorkerState::default()
        };
        Self {
            fleet,
            options,
            runner,
            state,
            announced: None,
            lanes: Vec::new(),
            listed: None,
            served: HashMap::new(),
            consumers: HashMap::new(),
        }
    }

    /// Works until it is asked to stop; the job it is at is finished. `tell` hears what happens, for people.
    pub async fn work(mut self, stop: &Stop, tell: &mut dyn FnMut(&str)) -> Result<u64, Error> {
        let wake = names::wake(&self.options.pool);
        let cancels = format!("$KV.{}.>", names::CANCELS);
        let subscribe = |subject: String| {
            let client = self.fleet.client.clone();
            async move {
                let subscribed = client.subscribe(subject.clone()).await;
                subscribed.map_err(|error| Error::failed(subject, error))
            }
        };
        let mut wake = subscribe(wake).await?;
        let mut cancels = subscribe(cancels).await?;
        let mut away = false;
        while !stop.is_asked()
            && self
                .options
                .most
                .is_none_or(|most| self.state.answered < most)
        {
            self.announce(false).await;
            match self.next_job().await {
                Ok(Some(message)) => {
                    away = false;
                    self.job(&message, &mut cancels, tell).await;
                }
                Ok(None) => {
                    away = false;
                    tokio::select! {
                        _ = wake.next() => self.listed = None,
                        () = tokio::time::sleep(IDLE) => self.listed = None,
                        () = stop.asked() => {}
                    }
                }
                Err(error @ Error::NotSetUp(_)) => return Err(error),
                Err(error) => {
                    if !away {
                        tell(&format!("waiting for the server: {error}"));
                        away = true;
                    }
                    self.consumers.clear();
                    self.listed = None;
                    tokio::select! {
                        () = tokio::time::sleep(Duration::from_secs(1)) => {}
                        () = stop.asked() => {}
                    }
                }
            }
        }
        self.leave().await;
        Ok(self.state.answered)
    }

    /// The next job, if one waits.
    async fn next_job(&mut self) -> Result<Option<jetstream::Message>, Error> {
        if self.listed.is_none_or(|listed| listed.elapsed() > LANES) {
            let stream = names::jobs_stream(&self.options.pool);
            let subjects = names::jobs_of_pool(&self.options.pool);
            self.lanes = lanes(&self.fleet.subjects(&stream, &subjects).await?);
            self.listed = Some(Instant::now());
        }
        let mut order: Vec<&Lane> = self.lanes.iter().collect();
        order.sort_by_key(|lane| (lane.priority, self.served.get(&lane.submitter).copied()));
        let order: Vec<Lane> = order.into_iter().cloned().collect();
        for lane in order {
            if let Some(message) = self.pull(&lane).await? {
                self.served.insert(lane.submitter, Instant::now());
                return Ok(Some(message));
            }
            self.lanes.retain(|one| *one != lane);
        }
        Ok(None)
    }

    async fn pull(&mut self, lane: &Lane) -> Result<Option<jetstream::Message>, Error> {
        let name = names::consumer(lane.priority, &lane.submitter);
        if !self.consumers.contains_key(&name) {
            let consumer = self.consumer(lane, &name).await?;
            self.consumers.insert(name.clone(), consumer);
        }
        let Some(consumer) = self.consumers.get(&name) else {
            return Ok(None);
        };
        let failed = |error: &dyn std::fmt::Display| Error::failed("the queue", error);
        let batch = consumer.fetch().max_messages(1).messages().await;
        let mut batch = batch.map_err(|error| failed(&error))?;
        match batch.next().await {
            Some(Ok(message)) => Ok(Some(message)),
            Some(Err(error)) => Err(failed(&error)),
            None => Ok(None),
        }
    }

    async fn consumer(&self, lane: &Lane, name: &str) -> Result<PullConsumer, Error> {
        let failed = |error: &dyn std::fmt::Display| {
            Error::failed("the queue", self.fleet.with_violation(error.to_string()))
        };
        let stream = names::jobs_stream(&lane.pool);
        let stream = self.fleet.jetstream.get_stream_no_info(stream).await;
        let config = pull::Config {
            durable_name: Some(name.to_owned()),
            filter_subject: names::lane(&lane.pool, lane.priority, &lane.submitter),
            ack_policy: AckPolicy::Explicit,
            ack_wait: KEEP,
            // Who gives a job up is a worker, which can also say so.
            max_deliver: -1,
            ..pull::Config::default()
        };
        let stream = stream.map_err(|error| failed(&error))?;
        stream
            .create_consumer(config)
            .await
            .map_err(|error| failed(&error))
    }

    /// Everything about one delivery of a job.
    async fn job(
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
            Ok((job, _)) if job.submitter != lane || !names::is_token(&job.id) => {
                let why = "another submitter's, or without a name";
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

    /// What a job ends with if it is not run; `None` if it is to be.
    async fn unrun(
        &self,
        job: &Job,
        deliveries: u64,
        message: &jetstream::Message,
    ) -> Option<Unrun> {
        if let Err(refusal) = job.check(&self.state.machine.version) {
            return Some(refused(&refusal));
        }
        if job.pool != self.options.pool {
            let refusal = Refusal::Malformed(format!("it is for the pool {}", job.pool));
            return Some(refused(&refusal));
        }
        let result = names::result(&job.submitter, &job.id);
        if let Ok(Some(_)) = self.fleet.last(names::RESULTS, result).await {
            return Some(Unrun::Answered);
        }
        let bucket = names::CANCELS;
        let cancel = format!("$KV.{bucket}.{}.{}", job.submitter, job.id);
        if let Ok(Some(_)) = self.fleet.last(&format!("KV_{bucket}"), cancel).await {
            return Some(Unrun::Ending(Ending::Cancelled));
        }
        if deliveries > self.options.deliveries {
            self.keep_dead(&job.submitter, &job.id, message).await;
            return Some(Unrun::Ending(Ending::GaveUp {
                why: "workers were lost with it".to_owned(),
                deliveries: deliveries - 1,
            }));
        }
        if !job.fresh
            && let Ok(Some(answer)) = self.fleet.known(job).await
        {
            return Some(Unrun::Known(Box::new(answer)));
        }
        None
    }

    /// Runs a job, and gives signs of life meanwhile.
    async fn run(
        &mut self,
        job: &Job,
        message: &jetstream::Message,
        cancels: &mut Subscriber,
        begun: Instant,
    ) -> Result<Ending, String> {
        let inputs = match self.inputs(&job.inputs).await {
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
        let mut beat = tokio::time::interval(BEAT);
        beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        beat.tick().await;
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
                    let subject = names::progress(&job.submitter, &job.id);
                    let text = serde_json::to_vec(&progress).unwrap_or_default();
                    let _ = fleet.client.publish(subject, text.into()).await;
                    let _ = fleet.client.publish(
                        format!("$KV.{}.{}", names::WORKERS, fleet.user),
                        serde_json::to_vec(&*state).unwrap_or_default().into(),
                    ).await;
                }
            }
        };
        self.state.running = None;
        ending
    }

    async fn inputs(&self, inputs: &[Input]) -> Result<Vec<(String, Vec<u8>)>, Fetched> {
        let mut found = Vec::new();
        for input in inputs {
            let bytes = match input.bytes() {
                Some(bytes) => bytes.map_err(Fetched::Refused)?,
                None => {
                    let bytes = self.fleet.object(&input.hash).await;
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
        let ending = serde_json::to_vec(&answer.ending).unwrap_or_default();
        if ending.len() > Ending::LARGE && answer.object.is_none() {
            answer.object = Some(self.fleet.put_object(&ending).await?);
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
        let text = serde_json::to_vec(&*answer).unwrap_or_default();
        let subject = names::result(&job.submitter, &job.id);
        let message = PublishMessage::build().payload(text.clone().into());
        if let Err(error) = self.fleet.keep(subject.clone(), message).await {
            // The server refuses a second answer; any other refusal is tried again.
            match self.fleet.last(names::RESULTS, subject).await {
                Ok(Some(_)) => return Ok(()),
                _ => return Err(error),
            }
        }
        if keeps {
            let message = PublishMessage::build().payload(text.into());
            // What is not known is computed again.
            let _ = self.fleet.keep(names::answer(&answer.key), message).await;
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

    /// Says what this worker is, when it is time.
    async fn announce(&mut self, now: bool) {
        if !now && self.announced.is_some_and(|last| last.elapsed() < BEAT) {
            return;
        }
        self.announced = Some(Instant::now());
        let subject = format!("$KV.{}.{}", names::WORKERS, self.fleet.user);
        let text = serde_json::to_vec(&self.state).unwrap_or_default();
        let _ = self.fleet.client.publish(subject, text.into()).await;
    }

    /// Is no longer listed.
    async fn leave(&mut self) {
        let mut headers = HeaderMap::new();
        headers.insert("KV-Operation", "DEL");
        let subject = format!("$KV.{}.{}", names::WORKERS, self.fleet.user);
        let client = &self.fleet.client;
        let _ = client
            .publish_with_headers(subject, headers, "".into())
            .await;
        let _ = tokio::time::timeout(Duration::from_secs(2), client.flush()).await;
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
