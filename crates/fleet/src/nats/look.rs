//! What is going on: queues, workers, answers, jobs that were given up.

use super::{Error, Fleet};
use crate::answer::{Answer, Machine};
use crate::job::Priority;
use crate::names;
use crate::sign::{Signed, SignedAnswer};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A worker as it announces itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerState {
    /// What it is.
    pub machine: Machine,
    /// Whose jobs it takes.
    pub pool: String,
    /// What it is at.
    pub running: Option<Running>,
    /// Jobs it has answered.
    pub answered: u64,
    /// Those among them that ended otherwise than with a command that ran.
    pub failed: u64,
    /// True if it takes no more.
    pub draining: bool,
}

/// A job that a worker is at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Running {
    /// Its name.
    pub job: String,
    /// Who asks.
    pub submitter: String,
    /// What: the first words of its line.
    pub what: String,
    /// Seconds since it began.
    pub seconds: f64,
}

/// Jobs of one submitter and priority that wait or run in a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lane {
    /// The pool.
    pub pool: String,
    /// What goes first.
    pub priority: Priority,
    /// Who asks.
    pub submitter: String,
    /// Jobs without an answer.
    pub jobs: u64,
}

/// Everything at one moment.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Overview {
    /// Pools that the server knows.
    pub pools: Vec<String>,
    /// Who is there.
    pub workers: Vec<WorkerState>,
    /// What waits or runs.
    pub lanes: Vec<Lane>,
    /// Answers that the server keeps.
    pub results: u64,
    /// Questions whose answers are known.
    pub known: u64,
    /// Jobs that were given up: pool, submitter and name.
    pub dead: Vec<(String, String, String)>,
}

/// Rows of a list that are shown.
const MOST: usize = 1000;

impl Fleet {
    /// Looks at everything.
    pub async fn overview(&self) -> Result<Overview, Error> {
        let mut overview = Overview {
            pools: self.pools().await?,
            ..Overview::default()
        };
        for pool in &overview.pools {
            let queue = names::jobs_stream(pool);
            let subjects = self.subjects(&queue, &names::jobs_of_pool(pool)).await?;
            overview.lanes.extend(lanes(&subjects));
        }
        overview.workers = self.workers().await?;
        overview.results = self.count(names::RESULTS).await?;
        overview.known = self.count(names::ANSWERS).await?;
        let dead = format!("{}.dead.", names::PREFIX);
        for subject in self
            .subjects(names::DEAD, &format!("{dead}>"))
            .await?
            .keys()
        {
            let words: Vec<&str> = subject.trim_start_matches(&dead).split('.').collect();
            if let [pool, submitter, job] = words.as_slice() {
                let row = (*pool).to_owned();
                overview
                    .dead
                    .push((row, (*submitter).to_owned(), (*job).to_owned()));
            }
        }
        overview.dead.truncate(MOST);
        Ok(overview)
    }

    /// Pools that have a queue.
    pub async fn pools(&self) -> Result<Vec<String>, Error> {
        let names: serde_json::Value = self.ask("STREAM.NAMES", &serde_json::json!({})).await?;
        let names = names["streams"].as_array().cloned().unwrap_or_default();
        let names = names
            .iter()
            .filter_map(|name| names::pool_of_stream(name.as_str()?));
        Ok(names.map(str::to_owned).collect())
    }

    /// Who is there.
    pub async fn workers(&self) -> Result<Vec<WorkerState>, Error> {
        let (bucket, stream) = (names::WORKERS, format!("KV_{}", names::WORKERS));
        let subjects = self.subjects(&stream, &format!("$KV.{bucket}.*")).await?;
        let mut workers = Vec::new();
        for subject in subjects.into_keys().take(MOST) {
            if let Some(kept) = self.last(&stream, subject).await?
                && let Ok(state) = serde_json::from_slice(&kept.payload)
            {
                workers.push(state);
            }
        }
        Ok(workers)
    }

    /// The last answers of everyone, newest first; only viewers and the admin may.
    pub async fn recent(&self, count: usize) -> Result<Vec<Answer>, Error> {
        let stream = self
            .jetstream
            .get_stream_no_info(names::RESULTS)
            .await
            .map_err(|error| Error::failed(names::RESULTS, error))?;
        let info = self.info(names::RESULTS, &serde_json::json!({})).await?;
        let last = info["state"]["last_seq"].as_u64().unwrap_or(0);
        let mut answers = Vec::new();
        for sequence in (1..=last).rev().take(count) {
            let Ok(message) = stream.direct_get(sequence).await else {
                continue;
            };
            if let Ok(answer) = SignedAnswer::unverified(&message.payload) {
                answers.push(answer);
            }
        }
        Ok(answers)
    }

    /// A job that was given up, as it was submitted.
    pub async fn dead(
        &self,
        pool: &str,
        submitter: &str,
        job: &str,
    ) -> Result<Option<crate::Job>, Error> {
        let kept = self
            .last(names::DEAD, names::dead(pool, submitter, job))
            .await?;
        let signed = kept.and_then(|kept| Signed::read(&kept.payload).ok());
        Ok(signed.and_then(|signed| signed.unverified().ok()))
    }

    /// How many messages a stream keeps.
    pub(crate) async fn count(&self, stream: &str) -> Result<u64, Error> {
        let info = self.info(stream, &serde_json::json!({})).await?;
        Ok(info["state"]["messages"].as_u64().unwrap_or(0))
    }

    /// Subjects of a stream that match, with how many messages each has.
    pub(crate) async fn subjects(
        &self,
        stream: &str,
        filter: &str,
    ) -> Result<BTreeMap<String, u64>, Error> {
        let wanted = serde_json::json!({ "subjects_filter": filter });
        let info = self.info(stream, &wanted).await?;
        let subjects = info["state"]["subjects"]
            .as_object()
            .cloned()
            .unwrap_or_default();
        let subjects = subjects.into_iter();
        Ok(subjects
            .map(|(subject, count)| (subject, count.as_u64().unwrap_or(0)))
            .collect())
    }

    async fn info(
        &self,
        stream: &str,
        wanted: &serde_json::Value,
    ) -> Result<serde_json::Value, Error> {
        let info = self.ask(&format!("STREAM.INFO.{stream}"), wanted).await?;
        match info["error"]["description"].as_str() {
            Some("stream not found") => Err(Error::NotSetUp(format!("stream {stream}"))),
            Some(why) => Err(Error::failed(stream, why)),
            None => Ok(info),
        }
    }

    async fn ask(&self, what: &str, with: &serde_json::Value) -> Result<serde_json::Value, Error> {
        let asked = self.jetstream.request(what.to_owned(), with).await;
        asked.map_err(|error: async_nats::jetstream::context::RequestError| {
            self.unanswered(what, error.to_string())
        })
    }
}

/// Lanes by their subjects, in the order in which they go.
pub(crate) fn lanes(subjects: &BTreeMap<String, u64>) -> Vec<Lane> {
    let lanes = subjects.iter().filter_map(|(subject, jobs)| {
        let (pool, priority, submitter) = names::split_lane(subject)?;
        Some(Lane {
            pool: pool.to_owned(),
            priority,
            submitter: submitter.to_owned(),
            jobs: *jobs,
        })
    });
    let mut lanes: Vec<Lane> = lanes.collect();
    lanes.sort_by(|a, b| (a.priority, &a.submitter).cmp(&(b.priority, &b.submitter)));
    lanes
}
