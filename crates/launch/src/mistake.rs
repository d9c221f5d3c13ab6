//! What is wrong with a launch, told to whoever wrote it.

use std::fmt;

/// What is wrong with a launch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Mistake {
    /// What is wrong, and where.
    pub message: String,
    /// What to do.
    pub advice: Option<String>,
    /// Who is to blame.
    pub blame: Blame,
}

/// Who is to blame for a launch that has no numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// Whoever wrote it.
    Usage,
    /// A file it names.
    File,
}

impl Mistake {
    /// A mistake of whoever wrote the launch.
    pub fn usage(message: impl Into<String>) -> Mistake {
        Mistake {
            message: message.into(),
            advice: None,
            blame: Blame::Usage,
        }
    }

    /// A file that cannot be used.
    pub fn file(message: impl Into<String>) -> Mistake {
        Mistake {
            blame: Blame::File,
            ..Mistake::usage(message)
        }
    }

    /// With advice, unless there is some.
    #[must_use]
    pub fn advice(mut self, advice: impl Into<String>) -> Mistake {
        self.advice.get_or_insert_with(|| advice.into());
        self
    }

    /// With a place before the message. A place in a file makes the file to blame.
    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Mistake {
        self.message = format!("{place}: {}", self.message);
        self.blame = Blame::File;
        self
    }
}
