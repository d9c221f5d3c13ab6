//! What can be wrong with a recording.

/// Why a recording cannot be read on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The bytes could not be had.
    #[error("cannot read: {0}")]
    Read(#[from] std::io::Error),
    /// Another kind of file.
    #[error("not a recording of a program: it does not begin with ASSAYREC")]
    NotARecording,
    /// Written by a program of another age.
    #[error("a recording of version {found}: this program reads version {known}; record again")]
    Version {
        /// Of the file.
        found: u8,
        /// What is read.
        known: u8,
    },
    /// The file ends inside a frame: its program was killed, or the copy is not complete.
    #[error("the recording ends in the middle of a frame, at byte {offset}")]
    Truncated {
        /// Where.
        offset: u64,
    },
    /// Something is not as it was written.
    #[error("the recording is damaged at byte {offset}: {what}")]
    Damaged {
        /// Where.
        offset: u64,
        /// What is wrong.
        what: &'static str,
    },
}
