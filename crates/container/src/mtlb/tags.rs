//! Tags: a four-letter name, a length, that many bytes; `ENDT` ends a group.

use crate::error::Error;
use crate::view::View;

/// One tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag<'a> {
    /// Four letters.
    pub name: [u8; 4],
    /// What it holds.
    pub content: View<'a>,
}

/// The tags of a group up to its end mark.
#[derive(Clone, Debug)]
pub struct Tags<'a> {
    rest: View<'a>,
}

const WHAT: &str = "a tag";

impl<'a> Tags<'a> {
    pub(super) fn new(group: View<'a>) -> Self {
        Tags { rest: group }
    }

    fn step(&mut self) -> Result<Option<Tag<'a>>, Error> {
        let name = *self.rest.four(0, WHAT)?;
        if &name == b"ENDT" {
            return Ok(None);
        }
        let length = u64::from(self.rest.u16(4, WHAT)?);
        let content = self.rest.slice(6, length, WHAT)?;
        self.rest = self.rest.tail(6 + length, WHAT)?;
        Ok(Some(Tag { name, content }))
    }
}

impl<'a> Iterator for Tags<'a> {
    type Item = Result<Tag<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let result = self.step().transpose();
        if !matches!(result, Some(Ok(_))) {
            self.rest = View::new(&[]);
        }
        result
    }
}
