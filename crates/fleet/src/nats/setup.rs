//! The streams and buckets of a fleet.

use super::{Error, Fleet};
use crate::names;
use async_nats::jetstream::{kv, stream};
use std::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);

/// Messages kept longer than this are gone: nobody asks for them any more.
const KEPT: Duration = Duration::from_secs(14 * 86_400);

/// Jobs that a pool's queue holds at most: submitters wait when it is full.
const MOST_JOBS: i64 = 2_000_000;

impl Fleet {
    /// Makes the streams and buckets, or brings them to their form. Only the admin may.
    pub async fn set_up(&self, pools: &[String]) -> Result<(), Error> {
        for pool in pools {
            self.make(jobs(pool)).await?;
        }
        self.make(results()).await?;
        self.make(answers()).await?;
        self.make(dead()).await?;
        for (bucket, age) in [
            (names::WORKERS, super::worker::GONE),
            (names::CANCELS, 2 * DAY),
        ] {
            self.jetstream
                .create_or_update_key_value(kv::Config {
                    bucket: bucket.to_owned(),
                    max_age: age,
                    history: 1,
                    max_bytes: 64 << 20,
                    ..kv::Config::default()
                })
                .await
                .map_err(|error| Error::failed(bucket, error))?;
        }
        self.make(objects()).await
    }

    async fn make(&self, config: stream::Config) -> Result<(), Error> {
        let name = config.name.clone();
        let made = self.jetstream.create_or_update_stream(config).await;
        made.map(drop).map_err(|error| Error::failed(name, error))
    }
}

/// A work queue: a message is gone when it is acknowledged. A full queue refuses, and submitters wait.
fn jobs(pool: &str) -> stream::Config {
    stream::Config {
        name: names::jobs_stream(pool),
        subjects: vec![names::jobs_of_pool(pool)],
        retention: stream::RetentionPolicy::WorkQueue,
        discard: stream::DiscardPolicy::New,
        max_messages: MOST_JOBS,
        max_age: KEPT,
        max_message_size: 1 << 20,
        duplicate_window: Duration::from_secs(120),
        ..stream::Config::default()
    }
}

/// One message per job, the first: later ones are refused by the server.
fn results() -> stream::Config {
    stream::Config {
        name: names::RESULTS.to_owned(),
        subjects: vec![format!("{}.results.>", names::PREFIX)],
        discard: stream::DiscardPolicy::New,
        max_messages_per_subject: 1,
        discard_new_per_subject: true,
        max_age: KEPT,
        allow_direct: true,
        ..stream::Config::default()
    }
}

/// The last answer of each question.
fn answers() -> stream::Config {
    stream::Config {
        name: names::ANSWERS.to_owned(),
        subjects: vec![format!("{}.answers.>", names::PREFIX)],
        max_messages_per_subject: 1,
        max_messages: 1_000_000,
        max_age: 90 * DAY,
        allow_direct: true,
        ..stream::Config::default()
    }
}

/// The pieces of large inputs and answers.
fn objects() -> stream::Config {
    stream::Config {
        name: names::OBJECTS.to_owned(),
        subjects: vec![format!("{}.objects.>", names::PREFIX)],
        max_messages_per_subject: 1,
        max_age: KEPT,
        max_message_size: 1 << 20,
        allow_direct: true,
        ..stream::Config::default()
    }
}

fn dead() -> stream::Config {
    stream::Config {
        name: names::DEAD.to_owned(),
        subjects: vec![format!("{}.dead.>", names::PREFIX)],
        max_messages_per_subject: 1,
        max_messages: 100_000,
        max_age: 90 * DAY,
        allow_direct: true,
        ..stream::Config::default()
    }
}
