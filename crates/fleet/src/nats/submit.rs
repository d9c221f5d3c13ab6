//! Submitting jobs, and waiting for their answers.
//!
//! An answer is what the stream of results keeps. A message that says there is one only makes the submitter look; every
//! few seconds it looks anyway, so that nothing depends on a message that arrives.

use super::objects::{Shelf, Way};
use super::{Error, Fleet, Stop};
use crate::answer::{Answer, Ending};
use crate::job::{Job, Priority};
use crate::names;
use crate::sign::{Signed, SignedAnswer, Trust};
use async_nats::jetstream::message::PublishMessage;
use futures_util::StreamExt;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A job with the bytes that are too many to travel inside it.
#[derive(Clone, Debug)]
pub struct Submission {
    /// The job; its `id` and `submitter` are set when it is submitted.
    pub job: Job,
    /// Bytes of inputs that are not inline, in any order.
    pub objects: Vec<Vec<u8>>,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// A job waits in its queue.
    Queued {
        /// Its place among the submissions.
        place: usize,
        /// Its name.
        id: String,
    },
    /// A worker is at it.
    Progress(usize, Progress),
    /// It has its answer.
    Answered(usize, Box<Answer>),
    /// The server takes no more for now, or cannot be reached; it is tried again.
    Waiting(String),
}

/// How far a job is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Who is at it.
    pub worker: String,
    /// Seconds since it began.
    pub seconds: f64,
}

/// Jobs that have no answer yet, when somebody stopped waiting: their places and names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outstanding(pub Vec<(usize, String)>);

/// How often answers are looked for whether or not a message told of one.
const LOOK: Duration = Duration::from_secs(3);
/// Answers looked for at a time.
const LOOKED: usize = 256;
/// Jobs published at a time.
const CHUNK: usize = 64;
/// How long a full or absent server is waited for.
const PATIENCE: Duration = Duration::from_secs(600);

#[derive(Default)]
struct Waiting {
    /// Places by job.
    jobs: BTreeMap<String, usize>,
    /// Where the next look begins.
    next: String,
}

impl Fleet {
    /// Submits jobs, at most `window` at a time without an answer, and tells what happens. Returns what has no answer:
    /// nothing, unless `stop` was asked for.
    pub async fn evaluate(
        &self,
        submissions: Vec<Arc<Submission>>,
        window: usize,
        stop: &Stop,
        tell: &mut dyn FnMut(Event),
    ) -> Result<Outstanding, Error> {
        let prefix = names::PREFIX;
        let listen = |what: &'static str| async move {
            let subject = format!("{prefix}.{what}.*.{}.>", self.user);
            let subscribed = self.client.subscribe(subject).await;
            subscribed.map_err(|error| Error::failed(what, error))
        };
        let mut results = listen("results").await?;
        let mut progress = listen("progress").await?;
        let mut left = submissions.into_iter().enumerate();
        let mut waiting = Waiting::default();
        let mut looked = Instant::now();
        let mut more = true;
        loop {
            while more && waiting.jobs.len() < window.max(1) && !stop.is_asked() {
                let room = (window.max(1) - waiting.jobs.len()).min(CHUNK);
                let chunk: Vec<_> = left.by_ref().take(room).collect();
                more = chunk.len() == room;
                self.submit_chunk(chunk, &mut waiting, stop, tell).await?;
            }
            if waiting.jobs.is_empty() && !more {
                return Ok(Outstanding::default());
            }
            if stop.is_asked() {
                let jobs = waiting.jobs.into_iter();
                return Ok(Outstanding(jobs.map(|(id, place)| (place, id)).collect()));
            }
            tokio::select! {
                message = results.next() => if let Some(message) = message {
                    let id = message.subject.rsplit('.').next().unwrap_or("").to_owned();
                    self.collect(&[id], &mut waiting, tell).await;
                },
                message = progress.next() => if let Some(message) = message {
                    let id = message.subject.rsplit('.').next().unwrap_or("");
                    let told = serde_json::from_slice(&message.payload);
                    if let (Some(place), Ok(told)) = (waiting.jobs.get(id), told) {
                        tell(Event::Progress(*place, told));
                    }
                },
                () = tokio::time::sleep(LOOK.saturating_sub(looked.elapsed())) => {}
                () = stop.asked() => {}
            }
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                let ids = waiting.some();
                self.collect(&ids, &mut waiting, tell).await;
            }
        }
    }

    /// Submits jobs and waits for none: `tell` hears their names. Ends early if `stop` is asked for.
    pub async fn enqueue(
        &self,
        submissions: Vec<Arc<Submission>>,
        stop: &Stop,
        tell: &mut dyn FnMut(Event),
    ) -> Result<(), Error> {
        let mut left = submissions.into_iter().enumerate();
        while !stop.is_asked() {
            let chunk: Vec<_> = left.by_ref().take(CHUNK).collect();
            if chunk.is_empty() {
                break;
            }
            let mut queued = Waiting::default();
            self.submit_chunk(chunk, &mut queued, stop, tell).await?;
        }
        Ok(())
    }

    async fn submit_chunk(
        &self,
        chunk: Vec<(usize, Arc<Submission>)>,
        waiting: &mut Waiting,
        stop: &Stop,
        tell: &mut dyn FnMut(Event),
    ) -> Result<(), Error> {
        let begun = Instant::now();
        let mut left = chunk;
        while !left.is_empty() {
            let sent = join_all(left.iter().map(|(_, one)| self.submit(one))).await;
            let mut again = Vec::new();
            let mut why = None;
            for ((place, submission), sent) in left.into_iter().zip(sent) {
                match sent {
                    Ok(id) => {
                        waiting.jobs.insert(id.clone(), place);
                        tell(Event::Queued { place, id });
                    }
                    Err(error @ (Error::Full(_) | Error::Unreachable { .. }))
                        if begun.elapsed() < PATIENCE && !stop.is_asked() =>
                    {
                        why = Some(error.to_string());
                        again.push((place, submission));
                    }
                    Err(error) => return Err(error),
                }
            }
            left = again;
            if let Some(why) = why {
                tell(Event::Waiting(why));
                // Room comes from answers: what has arrived is taken meanwhile.
                let ids = waiting.some();
                self.collect(&ids, waiting, tell).await;
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }
        Ok(())
    }

    /// Submits one job under a name, which is returned. What is known is answered by a worker, who sees whose answer it is.
    async fn submit(&self, submission: &Submission) -> Result<String, Error> {
        let mut job = submission.job.clone();
        job.submitter.clone_from(&self.user);
        job.id = self.new_id(&job.pool);
        let version = job.version.clone();
        job.check(&version)
            .map_err(|refusal| Error::failed("the job", refusal))?;
        let shelf = Shelf {
            pool: &job.pool,
            submitter: &job.submitter,
            way: Way::In,
        };
        for bytes in &submission.objects {
            self.put_object(shelf, bytes).await?;
        }
        self.publish_job(&job).await?;
        Ok(job.id)
    }

    async fn publish_job(&self, job: &Job) -> Result<(), Error> {
        let signed = Signed::new(job, self.key.as_deref())
            .map_err(|refusal| Error::failed("the job", refusal))?;
        let message = PublishMessage::build()
            .payload(signed.bytes().into())
            .message_id(&job.id);
        let subject = names::lane(&job.pool, job.priority, &job.submitter);
        self.keep(subject, message).await?;
        // Workers that sleep look at once; those that do not hear it look soon.
        let woken = self.client.publish(names::wake(&job.pool), "".into()).await;
        woken.map_err(|error| Error::failed("the wake", error))
    }

    /// Publishes a message that a stream must keep.
    pub(crate) async fn keep(&self, subject: String, message: PublishMessage) -> Result<(), Error> {
        use async_nats::jetstream::context::PublishErrorKind as Kind;
        let shown = subject.clone();
        let explain = |error: async_nats::jetstream::context::PublishError| {
            let why = self.with_violation(error.to_string());
            match error.kind() {
                Kind::StreamNotFound => Error::NotSetUp(format!("stream for {shown}")),
                Kind::TimedOut | Kind::BrokenPipe if !why.contains("ermissions") => {
                    Error::Unreachable {
                        server: "the server".to_owned(),
                        why,
                    }
                }
                _ if why.contains("maximum messages")
                    || why.contains("insufficient")
                    || why.contains("maximum bytes")
                    || why.contains("no space") =>
                {
                    Error::Full(why)
                }
                _ => Error::failed(&shown, why),
            }
        };
        let sent = self.jetstream.send_publish(subject, message).await;
        sent.map_err(explain)?.await.map(drop).map_err(explain)
    }

    /// A name that nobody else has.
    fn new_id(&self, pool: &str) -> String {
        let inbox = self.client.new_inbox();
        names::job(pool, inbox.rsplit('.').next().unwrap_or(&inbox))
    }

    /// What is known about a job's question. An answer that is not by a worker of the pool is not known.
    pub(crate) async fn known(&self, job: &Job) -> Result<Option<Answer>, Error> {
        let key = job.key();
        let kept = self
            .last(names::ANSWERS, names::answer(&job.pool, &key))
            .await?;
        let Some(kept) = kept else { return Ok(None) };
        let Ok(mut answer) = SignedAnswer::read(&kept.payload, &job.pool, &self.roster) else {
            return Ok(None);
        };
        if answer.key != key {
            return Ok(None);
        }
        answer.cached = true;
        // An object that is gone makes the answer unknown.
        Ok(self.whole(answer, &job.pool).await.ok())
    }

    /// The answer with texts that lie among the objects.
    async fn whole(&self, mut answer: Answer, pool: &str) -> Result<Answer, Error> {
        if let Some(name) = answer.object.take() {
            let shelf = Shelf {
                pool,
                submitter: &answer.submitter,
                way: Way::Out,
            };
            let bytes = self.object(shelf, &name).await?;
            answer.ending = serde_json::from_slice(&bytes)
                .map_err(|error| Error::failed("an answer", error))?;
        }
        Ok(answer)
    }

    /// The answer of a job, if it has one. In the place of one that is not by a worker of the job's pool stands why.
    pub async fn answer(&self, id: &str) -> Result<Option<Answer>, Error> {
        let Some(pool) = names::pool_of_job(id) else {
            return Ok(None);
        };
        let subject = names::result(pool, &self.user, id);
        let Some(kept) = self.last(names::RESULTS, subject).await? else {
            return Ok(None);
        };
        let answer = SignedAnswer::read(&kept.payload, pool, &self.roster).and_then(|answer| {
            match answer.asked == id && answer.submitter == self.user {
                true => Ok(answer),
                false => Err(format!("the answer is of the job {}", answer.asked)),
            }
        });
        match answer {
            Ok(answer) => self.whole(answer, pool).await.map(Some),
            Err(why) => Ok(Some(Answer::disbelieved(id, &self.user, why))),
        }
    }

    /// Names of the user's own jobs that have an answer, at most so many.
    pub async fn answered(&self, most: usize) -> Result<Vec<String>, Error> {
        let own = names::result("*", &self.user, ">");
        let subjects = self.subjects(names::RESULTS, &own).await?;
        let jobs = subjects.keys().filter_map(|one| one.rsplit('.').next());
        Ok(jobs.take(most).map(str::to_owned).collect())
    }

    /// Takes answers that are there. What cannot be read now is looked for again.
    async fn collect(&self, ids: &[String], waiting: &mut Waiting, tell: &mut dyn FnMut(Event)) {
        for chunk in ids.chunks(CHUNK) {
            let ids = chunk.iter().filter(|id| waiting.jobs.contains_key(*id));
            let ids: Vec<&String> = ids.collect();
            let answers = join_all(ids.iter().map(|id| self.answer(id))).await;
            for (id, answer) in ids.into_iter().zip(answers) {
                if let Ok(Some(answer)) = answer
                    && let Some(place) = waiting.jobs.remove(id)
                {
                    tell(Event::Answered(place, Box::new(answer)));
                }
            }
        }
    }

    /// Says that a job is no longer wanted. One that runs is ended, one that waits is not begun.
    pub async fn cancel(&self, id: &str) -> Result<(), Error> {
        if !names::is_token(id) {
            return Err(Error::failed("cancel", format!("{id:?} is no job")));
        }
        let subject = format!("$KV.{}.{}.{id}", names::CANCELS, self.user);
        let message = PublishMessage::build().payload("cancel".into());
        self.keep(subject, message).await
    }

    /// Submits a job again that was given up, under a new name, which is returned.
    pub async fn retry(&self, id: &str) -> Result<String, Error> {
        let missing = || Error::failed("retry", format!("no job {id} of yours was given up"));
        if !names::is_token(id) {
            return Err(missing());
        }
        let filter = format!("{}.dead.*.{}.{id}", names::PREFIX, self.user);
        let dead = self.subjects(names::DEAD, &filter).await?;
        let subject = dead.into_keys().next().ok_or_else(missing)?;
        let kept = self.last(names::DEAD, subject).await?.ok_or_else(missing)?;
        let refused = |refusal| Error::failed("retry", refusal);
        let signed = Signed::read(&kept.payload).map_err(refused)?;
        let mut job = signed.job(&Trust::default()).map_err(refused)?;
        job.id = self.new_id(&job.pool);
        job.priority = Priority::Normal;
        self.publish_job(&job).await?;
        Ok(job.id)
    }
}

impl Waiting {
    /// The next jobs to look for, in turns.
    fn some(&mut self) -> Vec<String> {
        let mut ids: Vec<String> = self
            .jobs
            .range(self.next.clone()..)
            .take(LOOKED)
            .map(|(id, _)| id.clone())
            .collect();
        if ids.len() < LOOKED {
            let rest = self.jobs.range(..self.next.clone());
            ids.extend(rest.take(LOOKED - ids.len()).map(|(id, _)| id.clone()));
        }
        // The one after the last that was looked for.
        self.next = ids.last().map_or(String::new(), |id| format!("{id}\u{0}"));
        ids
    }
}

impl Ending {
    /// Bytes above which texts go to the object store.
    pub(crate) const LARGE: usize = 200 << 10;
}
