//! A job: a question about a kernel, for another machine.

use crate::allow;
use crate::names;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// Bytes of all inputs of a job together.
pub(crate) const LARGEST_INPUTS: u64 = 256 << 20;
/// Bytes of a job without its large inputs.
pub(crate) const LARGEST_JOB: usize = 900 << 10;
/// Inputs of one job.
pub(crate) const MOST_INPUTS: usize = 64;
/// Seconds that a job may ask for.
pub(crate) const LONGEST: u64 = 3600;

/// A question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// [`crate::PROTOCOL`].
    pub protocol: u32,
    /// Names this submission; told by nothing else.
    pub id: String,
    /// Who asks.
    pub submitter: String,
    /// The version of `assay` that asks.
    pub version: String,
    /// Where it is to run.
    pub pool: String,
    /// What goes first.
    pub priority: Priority,
    /// A command line, without the program's name: one word per flag, `--flag=value`.
    pub line: Vec<String>,
    /// What the line's files are.
    pub inputs: Vec<Input>,
    /// Descriptions and holders of records, for the command itself: JSON whose meaning is the command's.
    pub extra: String,
    /// Seconds after which it is given up.
    pub timeout: u64,
    /// Never answered from what is known, and never known to others.
    pub fresh: bool,
}

/// A file of a job, by the name that its line uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// A name without folders.
    pub name: String,
    /// SHA-256 of the bytes, in hexadecimal.
    pub hash: String,
    /// How many bytes there are.
    pub size: u64,
    /// The bytes in base64, if they are few; others are in the object store under their hash.
    pub inline: Option<String>,
}

/// What goes first.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// Somebody waits for it.
    High,
    /// As usual.
    #[default]
    Normal,
    /// When nothing else is to do.
    Low,
}

impl Priority {
    /// All of them, the first first.
    pub const ALL: [Self; 3] = [Self::High, Self::Normal, Self::Low];

    /// The word in subjects.
    pub const fn name(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Normal => "normal",
            Self::Low => "low",
        }
    }
}

/// Why a job is not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is no job, or its parts contradict each other.
    #[error("this is no job: {0}")]
    Malformed(String),
    /// It would do something else than compile and run kernels.
    #[error("a job may not say {0}")]
    Forbidden(String),
    /// It is larger than allowed.
    #[error("{0}")]
    TooLarge(String),
    /// The signature is missing, wrong, or of somebody unknown.
    #[error("the signature is refused: {0}")]
    Signature(String),
    /// The programs do not speak alike.
    #[error("the job speaks protocol {job}, and this worker protocol {worker}")]
    Protocol {
        /// The submitter's protocol.
        job: u32,
        /// The worker's.
        worker: u32,
    },
    /// The programs are too different.
    #[error("the job is from assay {job}, and this worker has {worker}")]
    Version {
        /// The submitter's version.
        job: String,
        /// The worker's.
        worker: String,
    },
}

impl Refusal {
    /// What to do about it.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "submit it with assay bench --fleet or assay run --fleet",
            Self::Forbidden(_) => "run it on this machine: without --fleet everything is allowed",
            Self::TooLarge(_) => "use smaller inputs, or generated ones: --buffer 0=random:f32:N",
            Self::Signature(_) => {
                "sign with a key that the worker trusts (--key), or ask who runs it to add yours"
            }
            Self::Protocol { .. } | Self::Version { .. } => {
                "upgrade the older of the two to the same version"
            }
        }
    }
}

impl Job {
    /// The question as a hash, without who asks, when and how urgently: the same question has the same answer.
    ///
    /// The version counts, because descriptions and oracles of kernels come with the program.
    pub fn key(&self) -> String {
        let mut hash = Sha256::new();
        let mut part = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        part(&self.protocol.to_le_bytes());
        part(self.version.as_bytes());
        part(self.pool.as_bytes());
        part(&(self.line.len() as u64).to_le_bytes());
        for word in &self.line {
            part(word.as_bytes());
        }
        for input in &self.inputs {
            part(input.name.as_bytes());
            part(input.hash.as_bytes());
        }
        part(self.extra.as_bytes());
        data_encoding::HEXLOWER.encode(&hash.finalize())
    }

    /// Refuses what is no job that a worker may run.
    pub fn check(&self, version: &str) -> Result<(), Refusal> {
        if self.protocol != crate::PROTOCOL {
            return Err(Refusal::Protocol {
                job: self.protocol,
                worker: crate::PROTOCOL,
            });
        }
        if !crate::compatible(&self.version, version) {
            return Err(Refusal::Version {
                job: self.version.clone(),
                worker: version.to_owned(),
            });
        }
        for (what, word) in [
            ("id", &self.id),
            ("submitter", &self.submitter),
            ("pool", &self.pool),
        ] {
            if !names::is_token(word) {
                return Err(Refusal::Malformed(format!("{what} {word:?}")));
            }
        }
        if names::pool_of_job(&self.id) != Some(&self.pool) {
            let text = format!("id {:?} in the pool {}", self.id, self.pool);
            return Err(Refusal::Malformed(text));
        }
        if self.timeout == 0 || self.timeout > LONGEST {
            let text = format!("a job takes at most {LONGEST} s, and this one wants more or none");
            return Err(Refusal::TooLarge(text));
        }
        self.check_inputs()?;
        let names: BTreeSet<&str> = self.inputs.iter().map(|one| one.name.as_str()).collect();
        if names.len() != self.inputs.len() {
            return Err(Refusal::Malformed(
                "two inputs have the same name".to_owned(),
            ));
        }
        allow::check(&self.line, &names)
    }

    fn check_inputs(&self) -> Result<(), Refusal> {
        if self.inputs.len() > MOST_INPUTS {
            return Err(Refusal::TooLarge(format!(
                "a job has at most {MOST_INPUTS} inputs"
            )));
        }
        let total = self
            .inputs
            .iter()
            .fold(0_u64, |sum, one| sum.saturating_add(one.size));
        if total > LARGEST_INPUTS {
            let most = LARGEST_INPUTS >> 20;
            return Err(Refusal::TooLarge(format!(
                "inputs have {} MiB, and {most} is the most",
                total >> 20
            )));
        }
        for input in &self.inputs {
            if !is_file_name(&input.name) {
                return Err(Refusal::Forbidden(format!(
                    "{:?}: an input is a plain name",
                    input.name
                )));
            }
            // Some file systems do not tell capitals apart.
            if RESERVED.contains(&input.name.to_ascii_lowercase().as_str()) {
                return Err(Refusal::Forbidden(format!(
                    "{:?}: a name that workers use",
                    input.name
                )));
            }
            if input.hash.len() != 64 || !input.hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(Refusal::Malformed(format!("hash of {:?}", input.name)));
            }
        }
        Ok(())
    }
}

impl Input {
    /// Bytes that travel inside the job.
    pub const INLINE: usize = 96 << 10;

    /// A file by its bytes.
    pub fn new(name: impl Into<String>, bytes: &[u8]) -> Self {
        let small = bytes.len() <= Self::INLINE;
        Self {
            name: name.into(),
            hash: hash(bytes),
            size: bytes.len() as u64,
            inline: small.then(|| data_encoding::BASE64.encode(bytes)),
        }
    }

    /// The bytes inside the job; `None` if they are in the object store.
    pub fn bytes(&self) -> Option<Result<Vec<u8>, Refusal>> {
        let text = self.inline.as_ref()?;
        let bytes = data_encoding::BASE64
            .decode(text.as_bytes())
            .map_err(|error| Refusal::Malformed(format!("{}: {error}", self.name)));
        Some(bytes.and_then(|bytes| self.verified(bytes)))
    }

    /// The bytes, if they are those that the job names.
    pub fn verified(&self, bytes: Vec<u8>) -> Result<Vec<u8>, Refusal> {
        if hash(&bytes) == self.hash && bytes.len() as u64 == self.size {
            Ok(bytes)
        } else {
            Err(Refusal::Malformed(format!(
                "the bytes of {} are others than the job says",
                self.name
            )))
        }
    }
}

/// SHA-256 in hexadecimal.
pub(crate) fn hash(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(bytes))
}

/// Files that a worker and a job's command leave for each other in the folder of jobs, by names that are theirs alone.
pub const RESERVED: [&str; 2] = ["holders.json", "outcomes.jsonl"];

/// Returns true if a name is one file in one folder on every system.
pub(crate) fn is_file_name(name: &str) -> bool {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+');
    (1..=128).contains(&name.len()) && name.chars().all(fine) && !name.starts_with(['.', '-'])
}

#[cfg(test)]
pub(crate) fn example() -> Job {
    Job {
        protocol: crate::PROTOCOL,
        id: "m2-0a1b2c".to_owned(),
        submitter: "alice".to_owned(),
        version: "0.1.0".to_owned(),
        pool: "m2".to_owned(),
        priority: Priority::Normal,
        line: ["bench", "softmax", "--quick", "--source=mine.metal"]
            .map(str::to_owned)
            .to_vec(),
        inputs: vec![Input::new("mine.metal", b"kernel void softmax() {}")],
        extra: String::new(),
        timeout: 60,
        fresh: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_question_has_one_key_whoever_asks() {
        let job = example();
        let same = Job {
            id: "ffff".to_owned(),
            submitter: "bob".to_owned(),
            priority: Priority::High,
            timeout: 600,
            ..job.clone()
        };
        assert_eq!(job.key(), same.key());
        let mut others = vec![job.clone(); 5];
        others[0].pool = "m1".to_owned();
        others[1].line[2] = "--no-time".to_owned();
        others[2].inputs[0] = Input::new("mine.metal", b"kernel void softmax() { }");
        others[3].version = "0.1.1".to_owned();
        others[4].extra = "{}".to_owned();
        for other in others {
            assert_ne!(job.key(), other.key(), "{other:?}");
        }
    }

    #[test]
    fn words_do_not_run_together_in_a_key() {
        let mut one = example();
        one.line = ["run", "ab", "c"].map(str::to_owned).to_vec();
        let mut other = one.clone();
        other.line = ["run", "a", "bc"].map(str::to_owned).to_vec();
        assert_ne!(one.key(), other.key());
    }

    #[test]
    fn an_altered_input_is_seen() {
        let mut input = Input::new("a.metal", b"right");
        assert_eq!(input.bytes(), Some(Ok(b"right".to_vec())));
        input.inline = Some(data_encoding::BASE64.encode(b"wrong"));
        assert!(matches!(input.bytes(), Some(Err(Refusal::Malformed(_)))));
        assert_eq!(Input::new("big.npy", &vec![0; 1 << 20]).bytes(), None);
    }

    #[test]
    fn jobs_of_other_versions_and_other_shapes_are_refused() {
        let fine = example();
        assert_eq!(fine.check("0.1.7"), Ok(()));
        assert!(matches!(fine.check("0.2.0"), Err(Refusal::Version { .. })));
        let refused = |change: fn(&mut Job)| {
            let mut job = example();
            change(&mut job);
            job.check("0.1.0").is_err()
        };
        assert!(refused(|job| job.protocol = 9));
        assert!(refused(|job| job.submitter = "a.b".to_owned()));
        assert!(refused(|job| job.pool = ">".to_owned()));
        assert!(refused(|job| job.id = "m1-0a1b2c".to_owned()));
        for name in RESERVED
            .map(str::to_owned)
            .into_iter()
            .chain(["Holders.JSON".to_owned()])
        {
            let mut job = example();
            job.inputs[0].name.clone_from(&name);
            job.line[3] = format!("--source={name}");
            assert!(
                matches!(job.check("0.1.0"), Err(Refusal::Forbidden(_))),
                "{name}"
            );
        }
        let mut other = example();
        other.protocol = 1;
        let told = other.check("0.1.0").unwrap_err().to_string();
        assert_eq!(
            told,
            "the job speaks protocol 1, and this worker protocol 2"
        );
        assert!(refused(|job| job.timeout = 0));
        assert!(refused(|job| job.timeout = LONGEST + 1));
        assert!(refused(|job| job.inputs[0].size = LARGEST_INPUTS + 1));
        assert!(refused(|job| job.inputs[0].name = "../etc".to_owned()));
        assert!(refused(|job| job.inputs[0].hash = "0".to_owned()));
        assert!(refused(|job| job.inputs.push(job.inputs[0].clone())));
    }
}
