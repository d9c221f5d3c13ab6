//! Bytes that can be read more than once, compressed or not.

use crate::error::Error;
use std::io::{BufReader, Cursor, Read};

/// An input. Large exports are read twice, so it must be possible to start over.
pub trait Source {
    /// Starts reading from the beginning.
    fn open(&self) -> std::io::Result<Box<dyn Read + '_>>;
    /// How many bytes there are, before decompression, if that is known.
    fn size(&self) -> Option<u64>;
}

impl Source for &[u8] {
    fn open(&self) -> std::io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(Cursor::new(*self)))
    }

    fn size(&self) -> Option<u64> {
        Some(self.len() as u64)
    }
}

/// What an input is, from its first bytes and never from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// `<trace-toc>`.
    Toc,
    /// `<trace-query-result>` of tables.
    Tables,
    /// `<trace-query-result>` of a track's details.
    Details,
    /// JSON.
    Json,
    /// XML of another kind: let the reader say so.
    OtherXml,
}

/// How much is looked at to find out what an input is.
const SNIFF: u64 = 64 << 10;

/// Opens a source, decompressing `.gz` and `.zst`.
pub(crate) fn open(source: &dyn Source) -> Result<Box<dyn Read + '_>, Error> {
    let fail = |error: std::io::Error| Error::Read(error.to_string());
    let mut input = source.open().map_err(fail)?;
    let mut magic = [0u8; 4];
    let mut count = 0;
    while count < magic.len() {
        match input.read(magic.get_mut(count..).unwrap_or(&mut [])) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(fail(error)),
        }
    }
    let head = magic.get(..count).unwrap_or(&[]).to_vec();
    let is_gzip = head.starts_with(&[0x1f, 0x8b]);
    let is_zstd = head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
    let whole = Cursor::new(head).chain(input);
    if is_gzip {
        return Ok(Box::new(flate2::bufread::MultiGzDecoder::new(
            BufReader::with_capacity(1 << 16, whole),
        )));
    }
    if is_zstd {
        let decoder = ruzstd::decoding::StreamingDecoder::new(BufReader::new(whole));
        let decoder = decoder.map_err(|error| Error::Read(format!("zstd: {error}")))?;
        return Ok(Box::new(decoder));
    }
    Ok(Box::new(whole))
}

/// Finds out what an input is.
pub(crate) fn sniff(source: &dyn Source) -> Result<Content, Error> {
    let mut head = Vec::new();
    let result = open(source)?.take(SNIFF).read_to_end(&mut head);
    if let Err(error) = result
        && head.is_empty()
    {
        return Err(Error::Read(error.to_string()));
    }
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head);
    let blanks = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let text = text.get(blanks..).unwrap_or(&[]);
    match text.first() {
        None => Err(Error::Unrecognised("the input is empty".to_owned())),
        Some(b'<') => Ok(match root(text) {
            Some(b"trace-toc") => Content::Toc,
            Some(b"trace-query-result") if is_details(text) => Content::Details,
            Some(b"trace-query-result") => Content::Tables,
            _ => Content::OtherXml,
        }),
        Some(b'{' | b'[') => Ok(Content::Json),
        _ => Err(Error::Unrecognised(describe(text))),
    }
}

/// Returns true if the path of the first node leads to a detail of a track.
fn is_details(text: &[u8]) -> bool {
    let Some(node) = memchr::memmem::find(text, b"<node").and_then(|at| text.get(at..)) else {
        return false;
    };
    let end = memchr::memchr(b'>', node).unwrap_or(node.len());
    let head = node.get(..end).unwrap_or(&[]);
    memchr::memmem::find(head, b"/details").is_some()
}

fn describe(head: &[u8]) -> String {
    if head.starts_with(b"version https://git-lfs") {
        return "this is a Git LFS pointer, not the file itself; git lfs pull fetches it"
            .to_owned();
    }
    match head {
        [b'M', b'T', b'S', b'P', ..] | [b'x', b'd', b'i', b'c', ..] => {
            "this is one file of a .gputrace bundle; name the bundle's folder instead"
        }
        [b'b', b'p', b'l', b'i', ..] => "this is a binary property list",
        [b'P', b'K', ..] => "this is a zip archive; unpack it first",
        [0xfe, 0xff, ..] | [0xff, 0xfe, ..] => "this is UTF-16 text; xctrace writes UTF-8",
        _ => {
            "the input is neither xctrace export XML, nor a .gputrace bundle, nor a timing recording"
        }
    }
    .to_owned()
}

/// The document element's name.
fn root(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text;
    loop {
        let at = memchr::memchr(b'<', rest)?;
        rest = rest.get(at + 1..)?;
        match rest.first()? {
            b'?' => rest = rest.get(memchr::memmem::find(rest, b"?>")?..)?,
            b'!' if rest.starts_with(b"!--") => {
                rest = rest.get(memchr::memmem::find(rest, b"-->")?..)?;
            }
            // A DOCTYPE is refused by the reader, which says where it is.
            b'!' => return None,
            _ => {
                let end = rest
                    .iter()
                    .position(|b| b.is_ascii_whitespace() || matches!(b, b'>' | b'/'))
                    .unwrap_or(rest.len());
                return rest.get(..end);
            }
        }
    }
}
