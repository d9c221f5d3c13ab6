//! A provider that reads its answers from a list: for tests and demonstrations.

use super::Provider;
use crate::chat::{Answer, LONGEST_ANSWER, Request, Usage};
use crate::error::Error;
use std::sync::Mutex;

/// Answers in order, whatever is asked. Labelled *scripted* wherever it is shown.
#[derive(Debug)]
pub struct Script {
    name: String,
    answers: Mutex<std::vec::IntoIter<Answer>>,
}

impl Script {
    /// A script of texts.
    pub fn new(name: &str, answers: Vec<Answer>) -> Script {
        Script {
            name: name.to_owned(),
            answers: Mutex::new(answers.into_iter()),
        }
    }

    /// A script whose usage is counted by bytes, four a token.
    pub fn of_texts(name: &str, texts: impl IntoIterator<Item = String>) -> Script {
        let answer = |text: String| Answer {
            usage: Some(Usage {
                input_tokens: 0,
                output_tokens: text.len() as u64 / 4,
            }),
            text,
        };
        Script::new(name, texts.into_iter().map(answer).collect())
    }
}

impl Provider for Script {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn is_ordered(&self) -> bool {
        true
    }

    fn skip(&self) {
        if let Ok(mut answers) = self.answers.lock() {
            answers.next();
        }
    }

    fn complete(
        &self,
        request: &Request,
        heard: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Answer, Error> {
        let next = self.answers.lock().ok().and_then(|mut it| it.next());
        let answer = next.ok_or_else(|| Error::NotRecorded {
            cassette: self.name.clone(),
            request: request.fingerprint(),
        })?;
        if answer.text.len() > LONGEST_ANSWER {
            return Err(Error::TooLong {
                limit: LONGEST_ANSWER,
            });
        }
        match heard(answer.text.len()) {
            true => Ok(answer),
            false => Err(Error::Stopped),
        }
    }
}
