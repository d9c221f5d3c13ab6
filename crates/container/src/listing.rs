//! Code from a listing: lines of `offset ⇥ hex ⇥ text …`, as disassemblers print them.
//!
//! ```
//! let code = assay_container::listing::parse("# offset\thex\ttext\n0\t62000000\tmov_imm r0l, 0\n4\t8800\tstop\n")?;
//! assert_eq!(code.bytes, [0x62, 0, 0, 0, 0x88, 0]);
//! # Ok::<(), assay_container::listing::ListingError>(())
//! ```

/// Code found in a listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The code. Bytes that no line gives are zero.
    pub bytes: Vec<u8>,
    /// Offset of the first line: where a program in a longer text starts.
    pub first: u32,
}

impl Listing {
    /// The code from the first line on.
    pub fn code(&self) -> &[u8] {
        self.bytes.get(self.first as usize..).unwrap_or_default()
    }
}

/// Why a text is no listing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListingError {
    /// There is no instruction.
    #[error("the listing has no instruction")]
    Empty,
    /// The first column is no hexadecimal offset.
    #[error("line {line}: `{found}` is not a hexadecimal offset")]
    Offset {
        /// Line number, from 1.
        line: usize,
        /// What was found.
        found: String,
    },
    /// The second column is not bytes.
    #[error("line {line}: `{found}` is not a sequence of hexadecimal bytes")]
    Bytes {
        /// Line number, from 1.
        line: usize,
        /// What was found.
        found: String,
    },
    /// An offset is behind or far beyond the line before.
    #[error(
        "line {line}: offset {offset:#x} does not follow the line before, which ends at {end:#x}"
    )]
    Order {
        /// Line number, from 1.
        line: usize,
        /// The offset.
        offset: u64,
        /// Where the line before ended.
        end: u64,
    },
}

/// A gap between two lines may be this long.
const MAX_GAP: u64 = 1 << 16;

/// Whether a file looks like a listing rather than raw code: text whose first line that
/// is not a comment has a hexadecimal offset, a tab and hexadecimal bytes.
pub fn looks_like(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    let Some(line) = lines(text).map(|(_, line)| line).next() else {
        return false;
    };
    let mut columns = line.split('\t');
    let offset = columns.next().and_then(parse_offset);
    offset.is_some() && columns.next().and_then(parse_bytes).is_some()
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.lines().enumerate();
    numbered
        .map(|(index, line)| (index + 1, line.trim_end()))
        .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
}

/// The code of a listing.
pub fn parse(text: &str) -> Result<Listing, ListingError> {
    let mut listing = Listing::default();
    let mut first = None;
    for (line, content) in lines(text) {
        let mut columns = content.split('\t');
        let column = columns.next().unwrap_or_default();
        let offset = parse_offset(column).ok_or_else(|| ListingError::Offset {
            line,
            found: shorten(column),
        })?;
        let column = columns.next().unwrap_or_default();
        let bytes = parse_bytes(column).ok_or_else(|| ListingError::Bytes {
            line,
            found: shorten(column),
        })?;
        let end = listing.bytes.len() as u64;
        let gap = offset.checked_sub(end);
        let start = first.is_none();
        match gap {
            Some(gap) if gap <= MAX_GAP => listing.bytes.resize(offset as usize, 0),
            _ => return Err(ListingError::Order { line, offset, end }),
        }
        if start {
            first = Some(offset as u32);
        }
        listing.bytes.extend(bytes);
    }
    listing.first = first.ok_or(ListingError::Empty)?;
    Ok(listing)
}

fn shorten(text: &str) -> String {
    text.chars().take(40).collect()
}

fn parse_offset(column: &str) -> Option<u64> {
    let digits = column.trim().trim_end_matches(':');
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    u64::from_str_radix(digits, 16).ok()
}

fn parse_bytes(column: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = column
        .chars()
        .filter(|character| !character.is_whitespace())
        .map(|character| character.to_digit(16))
        .collect::<Option<_>>()?;
    if digits.is_empty() || !digits.len().is_multiple_of(2) {
        return None;
    }
    let pairs = digits.chunks_exact(2);
    Some(pairs.map(|pair| (pair[0] << 4 | pair[1]) as u8).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_filled_and_disorder_is_reported() {
        let listing = parse("10:\t88 00\n14\t0800\tx\n").unwrap();
        assert_eq!((listing.first, listing.bytes.len()), (0x10, 0x16));
        assert_eq!(listing.bytes[0x10..], [0x88, 0, 0, 0, 8, 0]);
        let disorder = parse("4\t8800\n0\t8800\n").unwrap_err();
        assert!(disorder.to_string().contains("line 2"));
        assert!(parse("0\t88x0\n").unwrap_err().to_string().contains("88x0"));
        assert_eq!(parse("# nothing\n"), Err(ListingError::Empty));
    }

    #[test]
    fn machine_code_is_not_taken_for_a_listing() {
        assert!(looks_like(b"# a\n0\t8800\tstop\n"));
        assert!(!looks_like(&[0x88, 0x00]));
        assert!(!looks_like(b""));
        assert!(!looks_like(b"hello world"));
    }
}
