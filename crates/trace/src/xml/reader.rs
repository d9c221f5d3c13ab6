//! Reads the tables of one export from a stream, row by row.
//!
//! The stream passes through one buffer that always holds complete rows: a row is
//! found by its end tag, handed to the fast scanner, and to the complete XML reader
//! if it is unusual. What lies between rows goes to [`super::header`]. Nothing is
//! kept but the definitions that later rows refer to.

use super::builder::{RowBuilder, Shared, Trouble, Want};
use super::header::{Header, Structure};
use super::slot::{Definitions, ReferencedIds, Slot};
use super::{fallback, scan};
use crate::error::{Error, Problem};
use memchr::memmem;
use std::io::Read;

/// What to read of a table.
pub(crate) struct Selection {
    /// One entry per column.
    pub(crate) wants: Vec<Want>,
    /// Keep structured text as displayed.
    pub(crate) display_labels: bool,
}

/// Receives the rows of an export.
pub(crate) trait Sink {
    /// A table begins.
    fn begin(&mut self, header: &Header) -> Selection;
    /// One row, with as many cells as the header has columns. An error says what is
    /// wrong with it; the row is then counted as unusable.
    fn row(&mut self, cells: &[Slot], shared: &mut Shared) -> Result<(), String>;
    /// The table is complete.
    fn end(&mut self, rows: u64, unusable: u64);
}

/// How a file was read.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) rows: u64,
    pub(crate) tables: u64,
    pub(crate) bytes: u64,
    pub(crate) problems: Vec<Problem>,
    /// Problems beyond those listed.
    pub(crate) more_problems: u64,
}

impl Outcome {
    fn problem(&mut self, offset: u64, message: impl FnOnce() -> String) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(Problem {
                offset: Some(offset),
                message: message(),
            });
        } else {
            self.more_problems += 1;
        }
    }
}

/// Problems worth listing; the rest are counted.
const MOST_PROBLEMS: usize = 8;
/// How much is read at once.
const CHUNK: usize = 1 << 18;
/// The longest row or header accepted.
const LONGEST_PIECE: usize = 1 << 26;

/// Called with the number of bytes read so far.
pub(crate) type Progress<'a> = &'a mut dyn FnMut(u64);

/// Finds which ids a file refers to, without understanding anything else of it.
pub(crate) fn referenced_ids(
    mut input: impl Read,
    progress: Progress<'_>,
) -> Result<ReferencedIds, Error> {
    let finder = memmem::Finder::new(b" ref=\"");
    let mut found = ReferencedIds::default();
    let mut buffer = vec![0; CHUNK];
    let (mut kept, mut base) = (0usize, 0u64);
    loop {
        let count = read_some(&mut input, buffer.get_mut(kept..).unwrap_or(&mut []))?;
        let filled = kept + count;
        let data = buffer.get(..filled).unwrap_or(&[]);
        // A reference cut by the end of the buffer is found next time.
        let safe = if count == 0 {
            filled
        } else {
            filled.saturating_sub(32)
        };
        for at in finder.find_iter(data) {
            if at >= safe {
                break;
            }
            let digits = data.get(at + 6..).unwrap_or(&[]);
            let id = digits
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .take(20)
                .try_fold(0u64, |value, byte| {
                    value.checked_mul(10)?.checked_add(u64::from(byte - b'0'))
                });
            if let Some(id) = id {
                found.insert(id, base + at as u64);
            }
        }
        if count == 0 {
            return Ok(found);
        }
        buffer.copy_within(safe..filled, 0);
        kept = filled - safe;
        base += safe as u64;
        progress(base);
    }
}

fn read_some(input: &mut impl Read, into: &mut [u8]) -> Result<usize, Error> {
    loop {
        match input.read(into) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::Read(error.to_string())),
            Ok(count) => return Ok(count),
        }
    }
}

/// A window over the stream.
struct Window<R> {
    input: R,
    buffer: Vec<u8>,
    /// The unread part of `buffer`.
    start: usize,
    end: usize,
    /// Stream offset of `buffer[0]`.
    base: u64,
    ended: bool,
    /// Why the stream ended early, if it did.
    broken: Option<String>,
}

impl<R: Read> Window<R> {
    fn new(input: R) -> Self {
        Window {
            input,
            buffer: vec![0; CHUNK],
            start: 0,
            end: 0,
            base: 0,
            ended: false,
            broken: None,
        }
    }

    fn data(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or(&[])
    }

    fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    fn skip(&mut self, count: usize) {
        self.start = (self.start + count).min(self.end);
    }

    /// Reads more, moving or enlarging the buffer as needed. A stream that breaks off
    /// (a cut `.gz`, a disk error) ends there: what came before it is good.
    fn fill(&mut self) -> Result<(), Error> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.base += self.start as u64;
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            if self.buffer.len() >= LONGEST_PIECE {
                return Err(Error::PieceTooLong {
                    offset: self.offset(),
                    limit: LONGEST_PIECE,
                });
            }
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        // Fill the buffer: short reads (pipes, decompressors) would make every
        // search start over.
        while self.end < self.buffer.len() && !self.ended {
            let room = self.buffer.get_mut(self.end..).unwrap_or(&mut []);
            match read_some(&mut self.input, room) {
                Ok(0) => self.ended = true,
                Ok(count) => self.end += count,
                Err(error) => {
                    self.ended = true;
                    self.broken = Some(error.to_string());
                }
            }
        }
        Ok(())
    }
}

/// What the window holds next.
enum Next {
    /// A row of this many bytes.
    Row(usize),
    /// Something else, of this many bytes.
    Other(usize),
    /// A row whose end is not there.
    CutRow,
    /// Nothing.
    End,
}

/// Reads every table of an export.
///
/// With `referenced`, only definitions that are referred to are kept. If the file
/// then refers to another one (it was spelled in a way the first pass does not
/// know), the error is [`Error::NotKept`] and the caller reads again without.
pub(crate) fn read_tables(
    input: impl Read,
    referenced: Option<ReferencedIds>,
    shared: Shared,
    sink: &mut dyn Sink,
    progress: Progress<'_>,
) -> (Shared, Result<Outcome, Error>) {
    let definitions = match referenced {
        Some(referenced) => Definitions::only(referenced),
        None => Definitions::all(),
    };
    let mut tables = TableReader {
        window: Window::new(input),
        builder: RowBuilder::new(definitions, shared),
        structure: Structure::default(),
        outcome: Outcome::default(),
        in_table: false,
        table_rows: 0,
        unusable: 0,
        sink,
    };
    let result = tables.run(progress);
    let TableReader {
        builder, outcome, ..
    } = tables;
    (builder.shared, result.map(|()| outcome))
}

struct TableReader<'a, R> {
    window: Window<R>,
    builder: RowBuilder,
    structure: Structure,
    outcome: Outcome,
    sink: &'a mut dyn Sink,
    in_table: bool,
    table_rows: u64,
    unusable: u64,
}

impl<R: Read> TableReader<'_, R> {
    fn run(&mut self, progress: Progress<'_>) -> Result<(), Error> {
        let row_end = memmem::Finder::new(b"</row>");
        let mut reported = 0;
        loop {
            match self.next(&row_end)? {
                Next::Row(length) => self.row(length)?,
                Next::Other(length) => self.other(length)?,
                Next::CutRow | Next::End => break,
            }
            let offset = self.window.offset();
            if offset >= reported + (1 << 20) {
                reported = offset;
                progress(offset);
            }
        }
        self.finish()
    }

    fn next(&mut self, row_end: &memmem::Finder<'_>) -> Result<Next, Error> {
        loop {
            let blanks = self.window.data().iter();
            let blanks = blanks.take_while(|b| b.is_ascii_whitespace()).count();
            self.window.skip(blanks);
            let data = self.window.data();
            if is_row_start(data) {
                if data.starts_with(b"<row/>") {
                    return Ok(Next::Row(6));
                }
                if let Some(at) = row_end.find(data) {
                    return Ok(Next::Row(at + 6));
                }
                if self.window.ended {
                    return Ok(Next::CutRow);
                }
            } else if self.window.ended {
                return Ok(match (data.is_empty(), find_row_start(data)) {
                    (true, _) => Next::End,
                    (_, Some(at)) => Next::Other(at),
                    (_, None) => Next::Other(data.len()),
                });
            } else if let Some(at) = find_row_start(data) {
                return Ok(Next::Other(at));
            }
            self.window.fill()?;
        }
    }

    fn row(&mut self, mut length: usize) -> Result<(), Error> {
        let offset = self.window.offset();
        if !self.in_table {
            return Err(Error::Xml {
                offset,
                what: "a row before any schema".to_owned(),
            });
        }
        self.outcome.rows += 1;
        self.table_rows += 1;
        let data = self.window.data().get(..length).unwrap_or(&[]);
        self.builder.begin_row();
        let mut result = scan::scan_row(data, &mut self.builder);
        if result == Err(Trouble::Unusual) {
            length = self.complete_row(length)?;
            let data = self.window.data().get(..length).unwrap_or(&[]);
            self.builder.begin_row();
            result = fallback::read_row(&String::from_utf8_lossy(data), &mut self.builder);
        }
        self.window.skip(length);
        if let (Ok(()), Some(trouble)) = (result, self.builder.trouble.take()) {
            result = Err(trouble);
        }
        let columns = self.structure.header.columns.len();
        let complaint = match result {
            Ok(()) if self.builder.cells.len() == columns => self
                .sink
                .row(&self.builder.cells, &mut self.builder.shared)
                .err(),
            Ok(()) => Some(format!(
                "a row with {} cells where the schema has {columns} columns",
                self.builder.cells.len()
            )),
            Err(Trouble::NotKept) => return Err(Error::NotKept),
            Err(Trouble::RefToNothing(id)) => {
                Some(format!("a reference to id {id}, which is not defined"))
            }
            Err(Trouble::TooMuch) => Some("a row nested too deep or too wide".to_owned()),
            Err(Trouble::Malformed | Trouble::Unusual) => {
                Some("a row that is not well-formed".to_owned())
            }
        };
        if let Some(complaint) = complaint {
            self.unusable += 1;
            self.outcome
                .problem(offset, || format!("{complaint}; the row is left out"));
        }
        Ok(())
    }

    /// `</row>` inside a comment or CDATA does not end a row: goes on to the one that
    /// does, if it is in reach.
    fn complete_row(&mut self, mut length: usize) -> Result<usize, Error> {
        loop {
            let data = self.window.data().get(..length).unwrap_or(&[]);
            if !ends_inside(data, b"<!--", b"-->") && !ends_inside(data, b"<![CDATA[", b"]]>") {
                return Ok(length);
            }
            match memmem::find(self.window.data().get(length..).unwrap_or(&[]), b"</row>") {
                Some(at) => length += at + 6,
                None if self.window.ended => return Ok(length),
                None => self.window.fill()?,
            }
        }
    }

    fn other(&mut self, mut length: usize) -> Result<(), Error> {
        // `<row>` inside a comment does not begin one.
        loop {
            let data = self.window.data().get(..length).unwrap_or(&[]);
            if !ends_inside(data, b"<!--", b"-->") {
                break;
            }
            match find_row_start(self.window.data().get(length + 1..).unwrap_or(&[])) {
                Some(at) => length += at + 1,
                None if self.window.ended => {
                    length = self.window.data().len();
                    break;
                }
                None => self.window.fill()?,
            }
        }
        let offset = self.window.offset();
        let piece = self.window.data().get(..length).unwrap_or(&[]);
        let result = self.structure.read(piece, offset);
        self.window.skip(length);
        // The end of a cut file is not an error of what came before.
        let cut = self.window.ended && self.window.data().is_empty();
        let usable = self.structure.has_schema && !self.structure.is_inside_schema();
        match result {
            Err(Error::Xml { .. }) if cut && usable => {}
            other => other?,
        }
        if self.structure.new_node && !self.structure.is_inside_schema() {
            self.structure.new_node = false;
            if self.structure.has_schema {
                self.begin_table();
            }
        }
        Ok(())
    }

    fn begin_table(&mut self) {
        self.end_table();
        let selection = self.sink.begin(&self.structure.header);
        self.builder.wants = selection.wants;
        self.builder.display_labels = selection.display_labels;
        self.in_table = true;
        self.outcome.tables += 1;
    }

    fn end_table(&mut self) {
        if self.in_table {
            self.sink.end(self.table_rows, self.unusable);
        }
        self.in_table = false;
        self.table_rows = 0;
        self.unusable = 0;
    }

    fn finish(&mut self) -> Result<(), Error> {
        let offset = self.window.offset();
        self.outcome.bytes = offset;
        if !self.structure.opened {
            return Err(Error::Truncated {
                offset,
                what: "before any table",
            });
        }
        if self.structure.is_inside_schema() || (self.structure.new_node && !self.in_table) {
            return Err(Error::Truncated {
                offset,
                what: "inside a table's header",
            });
        }
        if let Some(broken) = self.window.broken.take() {
            self.outcome.problem(offset, || {
                format!("the data breaks off ({broken}); the rows before are kept")
            });
        } else if !self.structure.closed {
            let rows = self.outcome.rows;
            self.outcome.problem(offset, || {
                format!("the file ends early; {rows} complete rows are kept")
            });
        }
        self.end_table();
        Ok(())
    }
}

fn is_row_start(data: &[u8]) -> bool {
    data.starts_with(b"<row")
        && matches!(
            data.get(4),
            Some(b'>' | b' ' | b'/' | b'\n' | b'\t' | b'\r')
        )
}

fn find_row_start(data: &[u8]) -> Option<usize> {
    memmem::find_iter(data, b"<row").find(|&at| is_row_start(data.get(at..).unwrap_or(&[])))
}

/// Whether the last `open` in `data` has no `close` behind it.
fn ends_inside(data: &[u8], open: &[u8], close: &[u8]) -> bool {
    match memmem::rfind(data, open) {
        Some(at) => memmem::find(data.get(at..).unwrap_or(&[]), close).is_none(),
        None => false,
    }
}
