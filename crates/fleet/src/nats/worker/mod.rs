//! A worker: takes one job at a time, keeps it alive while it works, answers.
//!
//! Of the lanes of its pool it takes the most urgent, and among those the submitter whom it has served least recently. A job
//! stays the server's until it is acknowledged: a worker that is killed, or whose connection is lost for longer than
//! [`KEEP`], has lost it, and another gets it. Whoever answers first is heard; the server refuses a second answer.

mod delivery;

use super::look::{Lane, WorkerState, lanes};
use super::{Error, Fleet};
use crate::answer::{Ending, Machine};
use crate::job::Job;
use crate::names;
use crate::sign::Trust;
use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::{HeaderMap, jetstream};
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
        self.announce(true).await;
        if let Some(why) = self.fleet.refused().await {
            // Its own entry was written: without it, submitters are told that the pool has no worker.
            self.leave().await;
            return Err(Error::Role {
                user: self.fleet.user.clone(),
                pool: self.options.pool.clone(),
                why,
            });
        }
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
                // Waiting would not help.
                Err(error @ (Error::NotSetUp(_) | Error::Unauthorized { .. })) => {
                    return Err(error);
                }
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

    /// Says what this worker is, when it is time.
    async fn announce(&mut self, now: bool) {
        if !now && self.announced.is_some_and(|last| last.elapsed() < BEAT) {
            return;
        }
        self.announced = Some(Instant::now());
        publish(&self.fleet, &self.state).await;
    }

    /// Is no longer listed.
    async fn leave(&mut self) {
        let mut headers = HeaderMap::new();
        headers.insert("KV-Operation", "DEL");
        let subject = entry(&self.fleet);
        let client = &self.fleet.client;
        let _ = client
            .publish_with_headers(subject, headers, "".into())
            .await;
        let _ = tokio::time::timeout(Duration::from_secs(2), client.flush()).await;
    }
}

/// Where the state of a worker is kept.
fn entry(fleet: &Fleet) -> String {
    format!("$KV.{}.{}", names::WORKERS, fleet.user)
}

/// Says what a worker is and does. Nobody waits for it: the next time says it again.
async fn publish(fleet: &Fleet, state: &WorkerState) {
    let text = serde_json::to_vec(state).unwrap_or_default();
    let _ = fleet.client.publish(entry(fleet), text.into()).await;
}
