//! Cassettes: answers by the fingerprint of their request, in a file.
//!
//! A cassette is JSON lines. The first says what it is; every other is a call: the request's fingerprint, the model, the
//! answer, its usage. It holds no key and no address. A *recorded* cassette answers only what it was recorded for. A *scripted*
//! one was written by hand: it answers in order, whatever is asked, and is called scripted wherever it is shown.

use crate::chat::{Answer, Request, Usage};
use crate::error::Error;
use crate::provider::Provider;
use crate::provider::script::Script;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// What a cassette is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Models really said it.
    Recorded,
    /// Somebody wrote it.
    Scripted,
}

/// The first line.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Head {
    cassette: u32,
    kind: Kind,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    about: String,
}

/// Every other line.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Line {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    request: String,
    model: String,
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
}

/// Why a cassette cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}, line {line}: {why}")]
pub struct Unreadable {
    /// The cassette.
    pub name: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub why: String,
}

/// Answers of a cassette.
#[derive(Debug)]
pub struct Cassette {
    name: String,
    kind: Kind,
    about: String,
    models: Vec<String>,
    answers: HashMap<String, Answer>,
    script: Script,
}

impl Cassette {
    /// Reads a cassette.
    ///
    /// ```
    /// use assay_llm::cassette::{Cassette, Kind};
    /// let text = "{\"cassette\":1,\"kind\":\"scripted\"}\n{\"model\":\"demo\",\"text\":\"hello\"}\n";
    /// let cassette = Cassette::read("demo", text)?;
    /// assert_eq!(cassette.kind(), Kind::Scripted);
    /// # Ok::<(), assay_llm::cassette::Unreadable>(())
    /// ```
    pub fn read(name: &str, text: &str) -> Result<Cassette, Unreadable> {
        let fail = |line: usize, why: String| Unreadable {
            name: name.to_owned(),
            line,
            why,
        };
        let mut lines = (1..)
            .zip(text.lines())
            .filter(|(_, line)| !line.trim().is_empty());
        let (number, first) = lines
            .next()
            .ok_or_else(|| fail(1, "it is empty".to_owned()))?;
        let head: Head = serde_json::from_str(first)
            .map_err(|error| fail(number, format!("this is no cassette: {error}")))?;
        if head.cassette != VERSION {
            let why = format!(
                "form {}, and this program knows form {VERSION}",
                head.cassette
            );
            return Err(fail(number, why));
        }
        let mut cassette = Cassette {
            name: name.to_owned(),
            kind: head.kind,
            about: head.about,
            models: Vec::new(),
            answers: HashMap::new(),
            script: Script::new(name, Vec::new()),
        };
        let mut script = Vec::new();
        for (number, line) in lines {
            let line: Line =
                serde_json::from_str(line).map_err(|error| fail(number, error.to_string()))?;
            let answer = Answer {
                text: line.text,
                usage: line.usage,
            };
            if !cassette.models.contains(&line.model) {
                cassette.models.push(line.model);
            }
            match cassette.kind {
                Kind::Recorded => drop(cassette.answers.insert(line.request, answer)),
                Kind::Scripted => script.push(answer),
            }
        }
        cassette.script = Script::new(name, script);
        Ok(cassette)
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What it is about, in a sentence.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// The models whose answers it holds.
    pub fn models(&self) -> &[String] {
        &self.models
    }
}

/// The form of cassettes.
const VERSION: u32 = 1;

impl Provider for Cassette {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn is_ordered(&self) -> bool {
        self.kind == Kind::Scripted
    }

    fn skip(&self) {
        self.script.skip();
    }

    fn complete(
        &self,
        request: &Request,
        heard: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Answer, Error> {
        if self.kind == Kind::Scripted {
            return self.script.complete(request, heard);
        }
        let found = self.answers.get(&request.fingerprint());
        found.cloned().ok_or_else(|| Error::NotRecorded {
            cassette: self.name.clone(),
            request: request.fingerprint(),
        })
    }
}

/// Records calls into a file, a line as soon as it is there.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    file: Mutex<std::fs::File>,
}

impl Recorder {
    /// Records into a file: a new one, or behind what a cassette holds.
    pub fn open(path: &Path) -> std::io::Result<Recorder> {
        let mut file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)?;
        if file.metadata()?.len() == 0 {
            let head = Head {
                cassette: VERSION,
                kind: Kind::Recorded,
                about: String::new(),
            };
            writeln!(file, "{}", serde_json::to_string(&head)?)?;
        }
        Ok(Recorder {
            path: path.to_owned(),
            file: Mutex::new(file),
        })
    }

    /// Adds a call.
    pub fn record(&self, request: &Request, answer: &Answer) -> std::io::Result<()> {
        let line = Line {
            request: request.fingerprint(),
            model: request.model.clone(),
            text: answer.text.clone(),
            usage: answer.usage,
        };
        let text = serde_json::to_string(&line)? + "\n";
        let poisoned = || std::io::Error::other(format!("{}: interrupted", self.path.display()));
        let mut file = self.file.lock().map_err(|_| poisoned())?;
        file.write_all(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{Message, Role};

    fn request(text: &str) -> Request {
        Request {
            model: "m".to_owned(),
            system: String::new(),
            messages: vec![Message {
                role: Role::User,
                text: text.to_owned(),
            }],
            max_tokens: 10,
            schema: None,
        }
    }

    #[test]
    fn what_was_recorded_is_answered_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        for text in ["one", "two"] {
            let answer = Answer {
                text: format!("{text}!"),
                usage: Some(Usage {
                    input_tokens: 3,
                    output_tokens: 2,
                }),
            };
            Recorder::open(&path)
                .unwrap()
                .record(&request(text), &answer)
                .unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let cassette = Cassette::read("a", &text).unwrap();
        let ask = |text: &str| cassette.complete(&request(text), &mut |_| true);
        assert_eq!(ask("two").unwrap().text, "two!");
        assert_eq!(ask("one").unwrap().usage.unwrap().tokens(), 5);
        assert!(matches!(ask("three"), Err(Error::NotRecorded { .. })));
        assert_eq!(cassette.models(), ["m"]);
    }

    #[test]
    fn what_is_no_cassette_says_where() {
        let why = |text: &str| Cassette::read("x", text).map(drop).unwrap_err().to_string();
        assert_eq!(why(""), "x, line 1: it is empty");
        assert!(why("hello").starts_with("x, line 1: this is no cassette"));
        let newer = "{\"cassette\":9,\"kind\":\"recorded\"}";
        assert_eq!(
            why(newer),
            "x, line 1: form 9, and this program knows form 1"
        );
        let cut = "{\"cassette\":1,\"kind\":\"recorded\"}\n\n{\"model\":\"m\",";
        assert!(why(cut).starts_with("x, line 3: EOF"), "{}", why(cut));
    }
}
