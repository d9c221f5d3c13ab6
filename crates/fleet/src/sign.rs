//! Signatures: a job comes from whom it says, as it was.
//!
//! Keys are NATS nkeys (Ed25519), the same that a user logs in with. The signature is over the job's own bytes, so that
//! a word more or less in it is seen. A job names its submitter, its pool and itself: signed once, it cannot become another's.

use crate::answer::Answer;
use crate::job::{Job, LARGEST_JOB, Refusal};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A user's key pair.
pub struct Key(nkeys::KeyPair);

impl std::fmt::Debug for Key {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Key({})", self.public())
    }
}

impl Key {
    /// A new one.
    pub fn generate() -> Self {
        Self(nkeys::KeyPair::new_user())
    }

    /// From the text of a key file: the line that starts with `SU`.
    ///
    /// ```
    /// use assay_fleet::Key;
    /// let key = Key::generate();
    /// let file = format!("# alice\n{}\n", key.seed()?);
    /// assert_eq!(Key::read(&file)?.public(), key.public());
    /// assert!(Key::read("no key").is_err());
    /// # Ok::<(), String>(())
    /// ```
    pub fn read(text: &str) -> Result<Self, String> {
        let seed = text.lines().map(str::trim).find(|it| it.starts_with("SU"));
        let seed = seed.ok_or("there is no line that starts with SU")?;
        let key = nkeys::KeyPair::from_seed(seed).map_err(|error| error.to_string())?;
        Ok(Self(key))
    }

    /// The secret, as it is kept in a file.
    pub fn seed(&self) -> Result<String, String> {
        self.0.seed().map_err(|error| error.to_string())
    }

    /// What others may know: `U…`.
    pub fn public(&self) -> String {
        self.0.public_key()
    }
}

/// A job on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signed {
    /// The job's own bytes.
    job: String,
    /// The public key; empty if it is not signed.
    #[serde(default)]
    key: String,
    /// The signature in base64.
    #[serde(default)]
    signature: String,
}

impl Signed {
    /// A job with its signature, or without one.
    pub fn new(job: &Job, key: Option<&Key>) -> Result<Self, Refusal> {
        let malformed = |error: &dyn std::fmt::Display| Refusal::Malformed(error.to_string());
        let text = serde_json::to_string(job).map_err(|error| malformed(&error))?;
        if text.len() > LARGEST_JOB {
            let message = format!("the job has {} KiB", text.len() >> 10);
            return Err(Refusal::TooLarge(message));
        }
        let mut signed = Self {
            job: text,
            key: String::new(),
            signature: String::new(),
        };
        if let Some(key) = key {
            let bytes = key.0.sign(signed.job.as_bytes());
            let bytes = bytes.map_err(|error| malformed(&error))?;
            signed.key = key.public();
            signed.signature = data_encoding::BASE64.encode(&bytes);
        }
        Ok(signed)
    }

    /// From bytes.
    pub fn read(bytes: &[u8]) -> Result<Self, Refusal> {
        if bytes.len() > 2 * LARGEST_JOB {
            return Err(Refusal::TooLarge("the job is too large".to_owned()));
        }
        serde_json::from_slice(bytes).map_err(|error| Refusal::Malformed(error.to_string()))
    }

    /// As bytes.
    pub fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The job, believed.
    pub fn job(&self, trust: &Trust) -> Result<Job, Refusal> {
        let job = self.unverified()?;
        trust.check(self, &job)?;
        Ok(job)
    }

    /// The job, whoever it is from: to show it, and to say to whom it was refused.
    pub fn unverified(&self) -> Result<Job, Refusal> {
        serde_json::from_str(&self.job).map_err(|error| Refusal::Malformed(error.to_string()))
    }
}

/// Whose jobs a worker runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// True if a job without a signature is refused.
    pub required: bool,
    /// Public keys by the submitter's name.
    pub keys: BTreeMap<String, String>,
}

impl Trust {
    /// From a file: a name and a public key per line; `#` begins a comment.
    pub fn read(text: &str) -> Result<BTreeMap<String, String>, String> {
        let mut keys = BTreeMap::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("").trim();
            if line.is_empty() {
                continue;
            }
            let mut words = line.split_whitespace();
            let (Some(name), Some(key), None) = (words.next(), words.next(), words.next()) else {
                return Err(format!("line {}: a name and a key", number + 1));
            };
            nkeys::KeyPair::from_public_key(key)
                .map_err(|error| format!("line {}: {error}", number + 1))?;
            keys.insert(name.to_owned(), key.to_owned());
        }
        Ok(keys)
    }

    fn check(&self, signed: &Signed, job: &Job) -> Result<(), Refusal> {
        let refused = |why: &str| Err(Refusal::Signature(why.to_owned()));
        if signed.signature.is_empty() {
            return if self.required {
                refused("there is none")
            } else {
                Ok(())
            };
        }
        let known = self.keys.get(&job.submitter);
        match known {
            Some(key) if *key == signed.key => {}
            Some(_) => return refused("it is not by the submitter's key"),
            None if self.required => return refused("the submitter is not known here"),
            None => {}
        }
        let Ok(key) = nkeys::KeyPair::from_public_key(&signed.key) else {
            return refused("its key is none");
        };
        let Ok(signature) = data_encoding::BASE64.decode(signed.signature.as_bytes()) else {
            return refused("it is not base64");
        };
        match key.verify(signed.job.as_bytes(), &signature) {
            Ok(()) => Ok(()),
            Err(_) => refused("the job was altered, or another key signed it"),
        }
    }
}

/// An answer on its way, and on its shelf among what is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedAnswer {
    /// The answer's own bytes.
    answer: String,
    /// The worker's public key; empty if it is not signed.
    #[serde(default)]
    key: String,
    /// The signature in base64.
    #[serde(default)]
    signature: String,
}

/// What a worker signs is no job, and what a submitter signs is no answer.
const ANSWER: &str = "assay answer\n";

impl SignedAnswer {
    /// An answer with its worker's signature, or without one.
    pub fn new(answer: &Answer, key: Option<&Key>) -> Result<Self, String> {
        let text = serde_json::to_string(answer).map_err(|error| error.to_string())?;
        let mut signed = Self {
            answer: text,
            key: String::new(),
            signature: String::new(),
        };
        if let Some(key) = key {
            let bytes = key.0.sign(signed.signed().as_bytes());
            let bytes = bytes.map_err(|error| error.to_string())?;
            signed.key = key.public();
            signed.signature = data_encoding::BASE64.encode(&bytes);
        }
        Ok(signed)
    }

    /// As bytes.
    pub fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    fn signed(&self) -> String {
        format!("{ANSWER}{}", self.answer)
    }

    /// The answer, by any worker: to show it.
    pub fn unverified(bytes: &[u8]) -> Result<Answer, String> {
        let signed: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        serde_json::from_str(&signed.answer).map_err(|error| error.to_string())
    }

    /// The answer, if it is by a worker of the pool.
    pub fn read(bytes: &[u8], pool: &str, roster: &Roster) -> Result<Answer, String> {
        let signed: Self = serde_json::from_slice(bytes)
            .map_err(|error| format!("the answer is not one: {error}"))?;
        let answer: Answer = serde_json::from_str(&signed.answer)
            .map_err(|error| format!("the answer is not one: {error}"))?;
        if !signed.signature.is_empty() {
            let key = nkeys::KeyPair::from_public_key(&signed.key);
            let key = key.map_err(|_| "the answer is signed by a key that is none".to_owned())?;
            let signature = data_encoding::BASE64.decode(signed.signature.as_bytes());
            let signature =
                signature.map_err(|_| "the answer's signature is not base64".to_owned())?;
            key.verify(signed.signed().as_bytes(), &signature)
                .map_err(|_| "the answer was altered, or another key signed it".to_owned())?;
        }
        roster.check(&answer.machine.worker, &signed.key, pool)?;
        Ok(answer)
    }
}

/// Workers whose answers are believed, each for its pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roster {
    /// Public keys and pools by the worker's name; without a list the server alone decides who answers.
    pub workers: Option<BTreeMap<String, (String, String)>>,
}

impl Roster {
    /// From a file: a name, a public key and a pool per line; `#` begins a comment.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut workers = BTreeMap::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("").trim();
            if line.is_empty() {
                continue;
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            let [name, key, pool] = words.as_slice() else {
                return Err(format!("line {}: a name, a key and a pool", number + 1));
            };
            nkeys::KeyPair::from_public_key(key)
                .map_err(|error| format!("line {}: {error}", number + 1))?;
            workers.insert((*name).to_owned(), ((*key).to_owned(), (*pool).to_owned()));
        }
        Ok(Self {
            workers: Some(workers),
        })
    }

    fn check(&self, worker: &str, key: &str, pool: &str) -> Result<(), String> {
        let Some(workers) = &self.workers else {
            return Ok(());
        };
        match workers.get(worker) {
            None => Err(format!(
                "the answer is by {worker:?}, whom workers.txt does not name"
            )),
            Some(_) if key.is_empty() => Err(format!("the answer is not signed by {worker}")),
            Some((known, _)) if known != key => Err(format!(
                "the answer is signed by another key than {worker}'s"
            )),
            Some((_, own)) if own != pool => Err(format!(
                "the answer is by {worker}, a worker of the pool {own}, and not of {pool}"
            )),
            Some(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::example;

    fn trust(key: &Key) -> Trust {
        Trust {
            required: true,
            keys: [("alice".to_owned(), key.public())].into(),
        }
    }

    fn an_answer() -> Answer {
        Answer {
            machine: crate::Machine {
                worker: "mini".to_owned(),
                ..crate::Machine::default()
            },
            ..Answer::disbelieved("m2-0a1b2c", "alice", "why".to_owned())
        }
    }

    #[test]
    fn an_answer_is_believed_from_a_worker_of_its_pool_alone() {
        let (mini, other) = (Key::generate(), Key::generate());
        let list = format!(
            "mini {} m2 # a Mac\nstudio {} m4\n",
            mini.public(),
            other.public()
        );
        let roster = Roster::read(&list).unwrap();
        let by = |key: Option<&Key>| SignedAnswer::new(&an_answer(), key).unwrap().bytes();
        let read = |bytes: &[u8], pool: &str| SignedAnswer::read(bytes, pool, &roster);
        assert_eq!(read(&by(Some(&mini)), "m2"), Ok(an_answer()));
        let why = |bytes: &[u8], pool: &str| read(bytes, pool).unwrap_err();
        assert!(why(&by(Some(&mini)), "m4").contains("not of m4"));
        assert!(why(&by(None), "m2").contains("not signed"));
        assert!(why(&by(Some(&other)), "m2").contains("another key"));
        let altered = String::from_utf8(by(Some(&mini))).unwrap();
        let altered = altered.replace("0a1b2c", "ffffff");
        assert!(why(altered.as_bytes(), "m2").contains("altered"));
        // Without a list a signature must still be right.
        let nobody = Roster::default();
        assert!(SignedAnswer::read(altered.as_bytes(), "m2", &nobody).is_err());
        assert!(SignedAnswer::read(&by(None), "m2", &nobody).is_ok());
        assert!(SignedAnswer::read(b"{}", "m2", &nobody).is_err());
        assert!(
            Roster::read("mini UNO m2")
                .unwrap_err()
                .starts_with("line 1:")
        );
    }

    fn refused(signed: &Signed, trust: &Trust) -> bool {
        matches!(signed.job(trust), Err(Refusal::Signature(_)))
    }

    #[test]
    fn a_signed_job_is_believed_and_an_altered_one_is_not() {
        let key = Key::generate();
        let signed = Signed::new(&example(), Some(&key)).unwrap();
        let read = Signed::read(&signed.bytes()).unwrap();
        assert_eq!(read.job(&trust(&key)), Ok(example()));
        for (from, to) in [
            ("alice", "malle"),
            ("\"m2\"", "\"m1\""),
            ("--quick", "--quack"),
            ("60", "61"),
        ] {
            let altered = Signed {
                job: signed.job.replacen(from, to, 1),
                ..signed.clone()
            };
            assert_ne!(altered, signed);
            assert!(refused(&altered, &trust(&key)), "{from} → {to}");
        }
    }

    #[test]
    fn a_job_without_a_signature_or_by_a_stranger_is_refused_where_one_is_required() {
        let (alice, mallory) = (Key::generate(), Key::generate());
        let unsigned = Signed::new(&example(), None).unwrap();
        assert!(refused(&unsigned, &trust(&alice)));
        let strange = Signed::new(&example(), Some(&mallory)).unwrap();
        assert!(refused(&strange, &trust(&alice)));
        // Her signature under his name.
        let both = Signed {
            key: alice.public(),
            ..strange
        };
        assert!(refused(&both, &trust(&alice)));
        assert!(unsigned.job(&Trust::default()).is_ok());
        // A wrong signature is refused even where none is required.
        assert!(refused(&both, &Trust::default()));
    }

    #[test]
    fn a_list_of_keys_is_read_and_a_wrong_line_is_named() {
        let key = Key::generate().public();
        let keys = Trust::read(&format!("# team\nalice {key} # laptop\n\n")).unwrap();
        assert_eq!(keys.get("alice"), Some(&key));
        assert!(
            Trust::read("alice")
                .unwrap_err()
                .starts_with("line 1: a name")
        );
        assert!(
            Trust::read("\nalice UNO")
                .unwrap_err()
                .starts_with("line 2:")
        );
    }
}
