//! Sources embedded in a metallib by `-frecord-sources`.

use super::Tag;
use crate::error::{Error, Problem};
use crate::view::{View, until_nul};
use std::borrow::Cow;

/// A compressed archive (bzip2 of tar) of the sources of some functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceArchive<'a> {
    /// Its name in the library.
    pub id: Cow<'a, str>,
    /// The archive, compressed.
    pub data: &'a [u8],
    /// Where it starts in the file.
    pub offset: u64,
}

const WHAT: &str = "the embedded sources";

/// An archive takes at least a size, a tag name and a tag size.
const SMALLEST_ARCHIVE: u64 = 12;

pub(super) fn read<'a>(library: View<'a>, tag: &Tag<'a>) -> Result<Vec<SourceArchive<'a>>, Error> {
    let start = tag.content.u64(0, WHAT)?;
    let length = tag.content.u64(8, WHAT)?;
    let section = library.part(start, length, tag.content.offset(0), || WHAT.into())?;
    let count = section.u32(0, WHAT)?;
    if u64::from(count) > section.len() / SMALLEST_ARCHIVE {
        let problem = Problem::TooMany {
            what: "source archives",
            count: count.into(),
            limit: section.len() / SMALLEST_ARCHIVE,
        };
        return Err(Error::new(section.offset(0), problem));
    }
    let mut rest = skip_text(section.tail(4, WHAT)?)?;
    if &tag.name == b"HSRD" {
        rest = skip_text(rest)?;
    }
    let mut archives = Vec::with_capacity(count as usize);
    for _ in 0..count {
        let (archive, after) = archive(rest)?;
        archives.extend(archive);
        rest = after;
    }
    Ok(archives)
}

/// Link options and working directory: text up to a NUL.
fn skip_text(view: View<'_>) -> Result<View<'_>, Error> {
    let length = until_nul(view.bytes()).len() as u64;
    view.tail(length + 1, WHAT)
}

/// One group of tags; here the tags' lengths take four bytes.
fn archive(view: View<'_>) -> Result<(Option<SourceArchive<'_>>, View<'_>), Error> {
    let mut at = 4;
    let mut found = None;
    loop {
        let name = view.four(at, WHAT)?;
        if name == b"ENDT" {
            return Ok((found, view.tail(at + 4, WHAT)?));
        }
        let length = u64::from(view.u32(at + 4, WHAT)?);
        let content = view.slice(at + 8, length, WHAT)?;
        if name == b"SARC" {
            let id = until_nul(content.bytes());
            let data = content.tail(id.len() as u64 + 1, WHAT)?;
            found = Some(SourceArchive {
                id: String::from_utf8_lossy(id),
                data: data.bytes(),
                offset: data.offset(0),
            });
        }
        // Cannot overflow: `content` lies inside the view.
        at += 8 + length;
    }
}
