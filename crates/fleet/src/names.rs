//! Subjects, streams and buckets: where everything lies on the server.
//!
//! ```text
//! assay.v2.jobs.POOL.PRIORITY.SUBMITTER      stream ASSAY_JOBS_POOL, a work queue: a job is gone when it is answered
//! assay.v2.results.POOL.SUBMITTER.JOB        stream ASSAY_RESULTS: the first answer of a job, others are refused
//! assay.v2.answers.POOL.KEY                  stream ASSAY_ANSWERS: what is known, by question; for workers
//! assay.v2.objects.POOL.SUBMITTER.in.HASH.N  stream ASSAY_OBJECTS: large inputs in pieces, and behind `out` large answers
//! assay.v2.dead.POOL.SUBMITTER.JOB           stream ASSAY_DEAD: jobs that were given up
//! assay.v2.progress.POOL.SUBMITTER.JOB       not kept
//! assay.v2.wake.POOL                         not kept: there is something to do
//! ```
//!
//! Permissions are patterns of subjects, so whatever belongs to a pool or a submitter has both in its subject: a worker writes
//! for its pool alone, and a submitter reads what is its own. Workers are in the bucket `assay-workers`, wishes to cancel in
//! `assay-cancels`.

use crate::job::Priority;

/// What every subject begins with: the protocol's number is part of it.
pub const PREFIX: &str = "assay.v2";
/// Stream of first answers.
pub const RESULTS: &str = "ASSAY_RESULTS";
/// Stream of what is known.
pub const ANSWERS: &str = "ASSAY_ANSWERS";
/// Stream of jobs that were given up.
pub const DEAD: &str = "ASSAY_DEAD";
/// Bucket of workers.
pub const WORKERS: &str = "assay-workers";
/// Bucket of wishes to cancel.
pub const CANCELS: &str = "assay-cancels";
/// Stream of large inputs and answers.
pub const OBJECTS: &str = "ASSAY_OBJECTS";

/// Returns true if a word may stand in a subject and names nothing but itself: letters, digits, `-` and `_`.
///
/// ```
/// use assay_fleet::names::is_token;
/// assert!(is_token("m2-max") && is_token("alice"));
/// assert!(!is_token("") && !is_token("a.b") && !is_token("*") && !is_token(">") && !is_token("a b"));
/// ```
pub fn is_token(word: &str) -> bool {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    (1..=64).contains(&word.len()) && word.chars().all(fine)
}

/// The stream of a pool's jobs.
pub fn jobs_stream(pool: &str) -> String {
    format!("ASSAY_JOBS_{pool}")
}

/// The pool of a stream's name.
pub fn pool_of_stream(stream: &str) -> Option<&str> {
    stream.strip_prefix("ASSAY_JOBS_")
}

/// Every job of a pool.
pub fn jobs_of_pool(pool: &str) -> String {
    format!("{PREFIX}.jobs.{pool}.>")
}

/// Where a submitter puts jobs.
pub fn lane(pool: &str, priority: Priority, submitter: &str) -> String {
    format!("{PREFIX}.jobs.{pool}.{}.{submitter}", priority.name())
}

/// What a lane's subject says: pool, priority and submitter.
pub fn split_lane(subject: &str) -> Option<(&str, Priority, &str)> {
    let rest = subject.strip_prefix(PREFIX)?.strip_prefix(".jobs.")?;
    let mut words = rest.split('.');
    let (pool, word, submitter) = (words.next()?, words.next()?, words.next()?);
    let priority = Priority::ALL.into_iter().find(|one| one.name() == word)?;
    words
        .next()
        .is_none()
        .then_some((pool, priority, submitter))
}

/// The consumer of a lane; names of consumers have no dots.
pub fn consumer(priority: Priority, submitter: &str) -> String {
    format!("{}_{submitter}", priority.name())
}

/// The name of a job begins with its pool.
pub fn job(pool: &str, unique: &str) -> String {
    format!("{pool}-{unique}")
}

/// The pool of a job's name.
pub fn pool_of_job(job: &str) -> Option<&str> {
    let (pool, unique) = job.rsplit_once('-')?;
    (is_token(pool) && is_token(unique)).then_some(pool)
}

/// The first answer of a job.
pub fn result(pool: &str, submitter: &str, job: &str) -> String {
    format!("{PREFIX}.results.{pool}.{submitter}.{job}")
}

/// What is known about a question.
pub fn answer(pool: &str, key: &str) -> String {
    format!("{PREFIX}.answers.{pool}.{key}")
}

/// Where the pieces of a large input (`in`) or answer (`out`) lie.
pub fn object(pool: &str, submitter: &str, way: &str, hash: &str) -> String {
    format!("{PREFIX}.objects.{pool}.{submitter}.{way}.{hash}")
}

/// A job that was given up.
pub fn dead(pool: &str, submitter: &str, job: &str) -> String {
    format!("{PREFIX}.dead.{pool}.{submitter}.{job}")
}

/// How far a job is.
pub fn progress(pool: &str, submitter: &str, job: &str) -> String {
    format!("{PREFIX}.progress.{pool}.{submitter}.{job}")
}

/// Tells workers of a pool that there is something to do.
pub fn wake(pool: &str) -> String {
    format!("{PREFIX}.wake.{pool}")
}

/// What replies to a user's requests begin with: nobody else may listen there.
pub fn inbox(user: &str) -> String {
    format!("_INBOX_{user}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_is_read_back() {
        let subject = lane("m2-max", Priority::Low, "alice");
        assert_eq!(
            split_lane(&subject),
            Some(("m2-max", Priority::Low, "alice"))
        );
        assert_eq!(split_lane("assay.v2.jobs.m2.low"), None);
        assert_eq!(split_lane("assay.v2.jobs.m2.low.alice.more"), None);
        assert_eq!(split_lane("assay.v1.jobs.m2.low.alice"), None);
        assert_eq!(pool_of_job(&job("m2-max", "x1")), Some("m2-max"));
        assert_eq!(pool_of_job("x1"), None);
    }
}
