//! The fast path: one row, in the form Instruments writes it.
//!
//! Every row of every export seen so far has the same plain shape: elements without
//! blanks between them, attributes in double quotes, no comments, no CDATA. This
//! scanner knows only that shape and gives up ([`Trouble::Unusual`]) on anything
//! else; the row then goes to the complete XML reader in [`super::fallback`].
//!
//! It allocates nothing and looks at each byte about once: displayed texts
//! (`fmt="…"`, most of the file) are skipped with `memchr`.

use super::builder::{RowBuilder, Trouble};
use super::tag::Class;

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    #[inline]
    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or(&[])
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline]
    fn take(&mut self, expected: &[u8]) -> bool {
        let found = self.rest().starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
    }

    /// What lies before `byte`; the cursor ends up behind it.
    #[inline]
    fn until(&mut self, byte: u8) -> Result<&'a [u8], Trouble> {
        let rest = self.rest();
        let end = memchr::memchr(byte, rest).ok_or(Trouble::Unusual)?;
        self.at += end + 1;
        Ok(&rest[..end])
    }

    /// An element name, up to the blank, slash or bracket behind it.
    #[inline]
    fn name(&mut self) -> Result<&'a [u8], Trouble> {
        let rest = self.rest();
        let end = rest
            .iter()
            .position(|&byte| matches!(byte, b' ' | b'>' | b'/' | b'\n' | b'\t' | b'\r'))
            .ok_or(Trouble::Unusual)?;
        self.at += end;
        if end == 0 || !rest[0].is_ascii_alphabetic() {
            return Err(Trouble::Unusual);
        }
        Ok(&rest[..end])
    }

    /// A decimal number and the quote behind it.
    #[inline]
    fn quoted_number(&mut self) -> Result<u64, Trouble> {
        let mut value = 0u64;
        let start = self.at;
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'0'..=b'9' => {
                    value = value
                        .checked_mul(10)
                        .and_then(|value| value.checked_add(u64::from(byte - b'0')))
                        .ok_or(Trouble::Malformed)?;
                }
                b'"' if self.at > start + 1 => return Ok(value),
                _ => return Err(Trouble::Unusual),
            }
        }
        Err(Trouble::Unusual)
    }
}

/// The attributes that matter.
#[derive(Default)]
struct Attributes<'a> {
    id: Option<u64>,
    reference: Option<u64>,
    display: &'a [u8],
    name: &'a [u8],
}

/// Reads `row`, from `<row>` to `</row>`.
pub(crate) fn scan_row(row: &[u8], builder: &mut RowBuilder) -> Result<(), Trouble> {
    let mut cursor = Cursor { bytes: row, at: 0 };
    if !cursor.take(b"<row>") {
        return Err(Trouble::Unusual);
    }
    // Names of the open elements, as positions in the row.
    let mut open: [&[u8]; 8] = [&[]; 8];
    loop {
        if cursor.peek() != Some(b'<') {
            return Err(Trouble::Unusual);
        }
        cursor.at += 1;
        if cursor.peek() == Some(b'/') {
            cursor.at += 1;
            let depth = builder.depth();
            if depth == 0 {
                return if cursor.rest() == b"row>" {
                    Ok(())
                } else {
                    Err(Trouble::Unusual)
                };
            }
            let name = *open.get(depth - 1).ok_or(Trouble::Unusual)?;
            if !(cursor.take(name) && cursor.take(b">")) {
                return Err(Trouble::Unusual);
            }
            builder.close()?;
            continue;
        }
        let name = cursor.name()?;
        let tag = builder.tags.get(name);
        let attributes = attributes(&mut cursor)?;
        if cursor.take(b"/>") {
            match (attributes.reference, tag.class) {
                (Some(reference), _) => builder.reference(tag, reference)?,
                (None, Class::Sentinel) => builder.sentinel(tag)?,
                (None, Class::Frame | Class::Binary) => {
                    builder.open(tag, attributes.id, &[], attributes.name)?;
                    builder.close()?;
                }
                (None, _) => builder.leaf(tag, attributes.id, attributes.display, &[])?,
            }
            continue;
        }
        if !cursor.take(b">") || attributes.reference.is_some() {
            return Err(Trouble::Unusual);
        }
        let text = cursor.until(b'<')?;
        if cursor.peek() == Some(b'/') {
            cursor.at += 1;
            if !(cursor.take(name) && cursor.take(b">")) {
                return Err(Trouble::Unusual);
            }
            builder.leaf(tag, attributes.id, attributes.display, text)?;
            continue;
        }
        // Children follow: text between them would be mixed content.
        if !text.is_empty() {
            return Err(Trouble::Unusual);
        }
        cursor.at -= 1;
        *open.get_mut(builder.depth()).ok_or(Trouble::Unusual)? = name;
        builder.open(tag, attributes.id, attributes.display, attributes.name)?;
    }
}

#[inline]
fn attributes<'a>(cursor: &mut Cursor<'a>) -> Result<Attributes<'a>, Trouble> {
    let mut found = Attributes::default();
    while cursor.peek() == Some(b' ') {
        cursor.at += 1;
        if cursor.take(b"ref=\"") {
            found.reference = Some(cursor.quoted_number()?);
        } else if cursor.take(b"id=\"") {
            found.id = Some(cursor.quoted_number()?);
        } else if cursor.take(b"fmt=\"") {
            found.display = cursor.until(b'"')?;
        } else {
            let key = cursor.until(b'=')?;
            if !cursor.take(b"\"") || key.iter().any(|byte| !is_key(*byte)) {
                return Err(Trouble::Unusual);
            }
            let value = cursor.until(b'"')?;
            if key == b"name" {
                found.name = value;
            }
        }
    }
    Ok(found)
}

fn is_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}
