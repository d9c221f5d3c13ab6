//! Programs as text: one instruction a line, with labels, comments and raw data.
//!
//! ```text
//! loop:                                   ; a label
//!     iadd r1, r1, 1
//!     while_icmp r0l, ult, r1, u4, 2      // a comment
//!     jmp_exec_any loop                   # or pc-14, or the absolute 0x0
//!     .short 0x0088                       a parcel, .byte a byte
//! 1c: 8800 stop                           a line of a listing
//! ```
//!
//! A line of a listing keeps its bytes when its words still say what they encode, so a
//! listing assembles to the bytes it was made from. When the words were edited, the
//! words count and the bytes are ignored.

use crate::instruction::MAX_LENGTH;
use crate::isa::Isa;
use crate::parse::{Labels, ParseError, parse_exact, says, split_braces};
use crate::token;
use crate::walk::{Item, walk};
use std::collections::HashMap;

/// Why a source is not a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct AsmError {
    /// Line from 1.
    pub line: usize,
    /// Column from 1.
    pub column: usize,
    /// What was expected there, and what was found.
    pub message: String,
}

/// A program made from text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assembly {
    /// The machine code.
    pub code: Vec<u8>,
    /// Lines of a listing whose words were edited, so that their bytes were ignored.
    pub edited_lines: Vec<usize>,
}

/// Assembles a whole source. `origin` is the address of its first byte.
///
/// ```
/// use assay_agx::{assemble, Isa};
/// let assembly = assemble(Isa::G13, "top: wait 0\njmp_exec_any top\nstop", 0)?;
/// assert_eq!(assembly.code, [0x38, 0, 0x00, 0xc0, 0xfe, 0xff, 0xff, 0xff, 0x88, 0]);
/// # Ok::<(), assay_agx::AsmError>(())
/// ```
pub fn assemble(isa: Isa, source: &str, origin: u64) -> Result<Assembly, AsmError> {
    // Addresses of labels do not change the length of an instruction, so one pass finds
    // them and a second one uses them.
    let mut labels = Table {
        offsets: HashMap::new(),
        complete: false,
    };
    run(isa, source, origin, &mut labels)?;
    labels.complete = true;
    run(isa, source, origin, &mut labels)
}

/// Labels found so far; before all are known any name will do.
struct Table {
    offsets: HashMap<String, u64>,
    complete: bool,
}

struct View<'table> {
    table: &'table Table,
    here: u64,
}

impl Labels for View<'_> {
    fn offset_of(&self, label: &str) -> Option<u64> {
        if !is_label(label) {
            return None;
        }
        if !self.table.complete {
            return Some(self.here);
        }
        self.table.offsets.get(label).copied()
    }
}

fn run(isa: Isa, source: &str, origin: u64, labels: &mut Table) -> Result<Assembly, AsmError> {
    let mut assembly = Assembly::default();
    for (index, line) in source.lines().enumerate() {
        let line_number = index + 1;
        let fail = |error: ParseError| AsmError {
            line: line_number,
            column: error.column,
            message: error.message,
        };
        let mut rest = Rest {
            line,
            start: 0,
            end: comment_start(line),
        };
        let mut listed = None;
        if let Some(found) = rest.take_listing() {
            listed = Some(found);
        } else if let Some((label, column)) = rest.take_label() {
            let here = origin.wrapping_add(assembly.code.len() as u64);
            let previous = labels.offsets.insert(label.to_owned(), here);
            if !labels.complete && previous.is_some() {
                let message = format!("label `{label}` is already defined");
                return Err(fail(ParseError::new(column, message)));
            }
        }
        if rest.is_blank() {
            if let Some(listed) = listed {
                assembly.code.extend_from_slice(&listed.bytes);
            }
            continue;
        }
        let here = match &listed {
            Some(listed) => listed.offset,
            None => origin.wrapping_add(assembly.code.len() as u64),
        };
        let view = View {
            table: labels,
            here,
        };
        let line = rest
            .statement(isa, here, listed.as_ref(), &view)
            .map_err(fail)?;
        assembly.code.extend_from_slice(&line.bytes);
        if line.edited {
            assembly.edited_lines.push(line_number);
        }
    }
    Ok(assembly)
}

/// Comments begin with `;`, `//` or `#`.
fn comment_start(line: &str) -> usize {
    [";", "//", "#"]
        .into_iter()
        .filter_map(|mark| line.find(mark))
        .min()
        .unwrap_or(line.len())
}

fn is_label(text: &str) -> bool {
    let mut characters = text.chars();
    characters
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '.' | '$'))
        && characters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$'))
}

/// The offset and bytes at the start of a line of a listing.
struct Listed {
    offset: u64,
    bytes: Vec<u8>,
}

/// What one line becomes.
struct Line {
    bytes: Vec<u8>,
    /// The line of a listing no longer says what its bytes encode.
    edited: bool,
}

/// The part of a line that is not read yet.
struct Rest<'text> {
    line: &'text str,
    start: usize,
    end: usize,
}

impl<'text> Rest<'text> {
    fn text(&self) -> &'text str {
        self.line.get(self.start..self.end).unwrap_or_default()
    }

    fn is_blank(&self) -> bool {
        self.text().trim().is_empty()
    }

    /// `OFFSET: HEX`, followed by words or nothing.
    fn take_listing(&mut self) -> Option<Listed> {
        let text = self.text();
        let colon = text.find(':')?;
        let offset = text[..colon].trim();
        let offset = offset.strip_prefix("0x").unwrap_or(offset);
        if offset.is_empty() || !offset.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let offset = u64::from_str_radix(offset, 16).ok()?;
        let after = &text[colon + 1..];
        let digits_start = colon + 1 + after.len() - after.trim_start().len();
        let rest = &text[digits_start..];
        let digits = rest.split_whitespace().next()?;
        let bytes = token::hex_bytes(digits).filter(|bytes| bytes.len() <= MAX_LENGTH)?;
        self.start += digits_start + digits.len();
        Some(Listed { offset, bytes })
    }

    /// `name:`, with the column of the name.
    fn take_label(&mut self) -> Option<(&'text str, usize)> {
        let text = self.text();
        let colon = text.find(':')?;
        let label = text[..colon].trim();
        if !is_label(label) {
            return None;
        }
        let column = text.len() - text.trim_start().len() + 1;
        self.start += colon + 1;
        Some((label, column))
    }

    /// The bytes of a directive or an instruction.
    fn statement(
        &self,
        isa: Isa,
        here: u64,
        listed: Option<&Listed>,
        labels: &View<'_>,
    ) -> Result<Line, ParseError> {
        let text = self.text();
        let shift = self.line[..self.start].chars().count();
        let place = |error: ParseError| ParseError {
            column: error.column + shift,
            ..error
        };
        if let Some(bytes) = directive(text).map_err(place)? {
            return Ok(Line {
                bytes,
                edited: false,
            });
        }
        if let Some(listed) = listed
            && listing_says(isa, listed, text, here, labels)
        {
            return Ok(Line {
                bytes: listed.bytes.clone(),
                edited: false,
            });
        }
        // Bytes in braces may end early, where a program was cut.
        if let Some((words, bytes)) = split_braces(text).map_err(place)?
            && let Some((_, Item::Truncated { instruction, .. })) = walk(isa, &bytes).next()
            && says(&instruction, words, Some(here), labels)
        {
            return Ok(Line {
                bytes,
                edited: false,
            });
        }
        let instruction = parse_exact(isa, text, Some(here), labels).map_err(place)?;
        Ok(Line {
            bytes: instruction.bytes().to_vec(),
            edited: listed.is_some(),
        })
    }
}

/// Whether the bytes of a listing's line encode what its words say.
fn listing_says(isa: Isa, listed: &Listed, text: &str, here: u64, labels: &View<'_>) -> bool {
    let words = match split_braces(text) {
        Ok(Some((words, _))) => words,
        _ => text,
    };
    match walk(isa, &listed.bytes).next() {
        Some((_, Item::Known(instruction))) if instruction.len() == listed.bytes.len() => {
            says(&instruction, words, Some(here), labels)
        }
        Some((_, Item::Truncated { instruction, .. })) => {
            says(&instruction, words, Some(here), labels)
        }
        _ => false,
    }
}

/// `.short` and `.byte` with one or more numbers.
fn directive(text: &str) -> Result<Option<Vec<u8>>, ParseError> {
    let tokens = token::Tokens::split(text)?;
    let (size, limit) = match tokens.name {
        ".byte" => (1, 0xff),
        ".short" => (2, 0xffff),
        _ => return Ok(None),
    };
    let expected = format!("expected a number from 0 to {limit:#x}");
    if tokens.operands.is_empty() {
        let message = format!("{expected}, found the end");
        return Err(ParseError::new(tokens.end_column, message));
    }
    let mut bytes = Vec::with_capacity(2);
    for (column, operand) in tokens.operands {
        let value = token::integer(operand).filter(|value| (0..=limit).contains(value));
        let value = value.ok_or_else(|| {
            let found = token::excerpt(operand);
            ParseError::new(column, format!("{expected}, found `{found}`"))
        })?;
        bytes.extend_from_slice(&value.to_le_bytes()[..size]);
    }
    Ok(Some(bytes))
}
