//! Bytes that are too many for a message: in pieces, under their hash, on a shelf of the submitter they belong to.
//!
//! A shelf is a part of the subjects ([`names::object`]): its submitter reads and fills it, workers of its pool read it and put
//! large answers there, and others can neither list nor read it. The last piece says how many bytes there are.

use super::{Error, Fleet};
use crate::job::hash;
use crate::names;
use async_nats::jetstream::message::PublishMessage;
use futures_util::future::join_all;

/// Bytes of an object that are read.
const LARGEST: usize = 256 << 20;
/// Bytes of a piece.
const PIECE: usize = 512 << 10;
/// Pieces on their way at a time.
const AT_ONCE: usize = 8;
/// The name of the last piece.
const END: &str = "end";

/// Whose bytes, and which way they go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shelf<'a> {
    pub(crate) pool: &'a str,
    pub(crate) submitter: &'a str,
    pub(crate) way: Way,
}

/// Inputs go in, answers come out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    In,
    Out,
}

impl Shelf<'_> {
    fn subject(&self, hash: &str) -> String {
        let way = match self.way {
            Way::In => "in",
            Way::Out => "out",
        };
        names::object(self.pool, self.submitter, way, hash)
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::failed("an object", error)
}

impl Fleet {
    /// Stores bytes under their hash, unless they are there.
    pub(crate) async fn put_object(&self, shelf: Shelf<'_>, bytes: &[u8]) -> Result<String, Error> {
        let name = hash(bytes);
        let subject = shelf.subject(&name);
        let end = format!("{subject}.{END}");
        if let Ok(Some(_)) = self.last(names::OBJECTS, end.clone()).await {
            return Ok(name);
        }
        let pieces: Vec<(usize, &[u8])> = bytes.chunks(PIECE).enumerate().collect();
        for some in pieces.chunks(AT_ONCE) {
            let sent = some.iter().map(|(number, piece)| {
                let message = PublishMessage::build().payload(piece.to_vec().into());
                self.keep(format!("{subject}.{number}"), message)
            });
            join_all(sent)
                .await
                .into_iter()
                .collect::<Result<(), Error>>()?;
        }
        let size = bytes.len().to_string();
        self.keep(end, PublishMessage::build().payload(size.into()))
            .await?;
        Ok(name)
    }

    /// The bytes of a hash, verified.
    pub(crate) async fn object(&self, shelf: Shelf<'_>, name: &str) -> Result<Vec<u8>, Error> {
        let subject = shelf.subject(name);
        let absent = || failed("it is not there any more");
        let end = self
            .last(names::OBJECTS, format!("{subject}.{END}"))
            .await?;
        let size = String::from_utf8(end.ok_or_else(absent)?.payload).map_err(failed)?;
        let size: usize = size.parse().map_err(failed)?;
        if size > LARGEST {
            return Err(failed(format!("{size} bytes are too many")));
        }
        let numbers: Vec<usize> = (0..size.div_ceil(PIECE)).collect();
        let mut bytes = Vec::new();
        for some in numbers.chunks(AT_ONCE) {
            let asked = some
                .iter()
                .map(|number| self.last(names::OBJECTS, format!("{subject}.{number}")));
            for piece in join_all(asked).await {
                bytes.extend_from_slice(&piece?.ok_or_else(absent)?.payload);
            }
        }
        if hash(&bytes) == name {
            Ok(bytes)
        } else {
            Err(failed("its bytes are others than its name says"))
        }
    }
}
