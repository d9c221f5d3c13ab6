//! What a Metal program asked of the GPU, as one compact file that is written and read as a stream.
//!
//! A recording has everything a model of the GPU needs and nothing it would have to measure: libraries with their contents,
//! pipelines, buffers, command buffers with their commands in order, waits of the program, and when the host did all this. Times
//! are nanoseconds of the host's clock; no time of a GPU is in it.
//!
//! ```
//! use assay_recording::{Device, Event, Reader, Writer};
//! let mut file = Vec::new();
//! let mut writer = Writer::new(&mut file)?;
//! let device = Event::Device(Device { name: "Apple M2".into(), chip: "m2".into() });
//! writer.write(&device)?;
//! writer.finish()?;
//! let mut reader = Reader::new(file.as_slice())?;
//! assert_eq!(reader.next_event()?, Some(device));
//! assert_eq!(reader.next_event()?, None);
//! assert!(reader.is_complete());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The file
//!
//! `ASSAYREC`, a byte with the version, then frames: length and checksum (four bytes each, little-endian) and that many bytes of
//! records. A record is a tag, its length and its fields; numbers are variable-length integers. Texts and the contents of
//! `setBytes` are written once and then named by number; contents of the length of those before them are written as differences.
//! A frame is written in one piece, so that what a killed process leaves can be read up to its last frame.

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

mod error;
mod event;
mod interned;
mod patch;
mod reader;
mod wire;
mod writer;

pub use error::Error;
pub use event::{
    Binding, Buffer, Command, CommandBuffer, Completed, Constant, Contents, Device, Dispatch,
    Encoder, EncoderKind, Event, Extent, Form, Library, Pipeline, Process, Waited,
};
pub use reader::Reader;
pub use writer::Writer;

/// The first bytes of a recording.
pub const MAGIC: &[u8; 8] = b"ASSAYREC";

/// The version of the format that is written, and the only one that is read.
pub const VERSION: u8 = 1;

/// The usual ending of file names.
pub const EXTENSION: &str = "recording";

/// Bytes of a library that are kept in a recording; a larger one of a file is named by its path and hash.
pub const LARGEST_LIBRARY: usize = 32 << 20;

/// The hash that names contents: SHA-256.
pub fn content_hash(bytes: &[u8]) -> [u8; 32] {
    use sha2::Digest as _;
    sha2::Sha256::digest(bytes).into()
}
