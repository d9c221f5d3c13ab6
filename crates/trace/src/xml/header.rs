//! What stands around the rows: the query result, its nodes and their schemas.
//!
//! This is a hundred lines per file however large the table, so it is read by
//! quick-xml, in pieces: each piece is what lies between two rows.

use crate::error::Error;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// One column of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// The short name that identifies it: `start-latency`.
    pub mnemonic: String,
    /// The name shown in Instruments: `CPU to GPU Latency`.
    pub name: String,
    /// Its type, which is also the element name of its cells.
    pub engineering_type: String,
}

/// The head of a table: its schema, and where in the recording it came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The schema's name: `metal-gpu-intervals`.
    pub schema: String,
    /// Its columns, in order.
    pub columns: Vec<Column>,
    /// The run, from the node's path.
    pub run: Option<u32>,
    /// The table's number within the run, from the node's path.
    pub table: Option<u32>,
}

impl Header {
    /// The position of a column.
    pub fn position(&self, mnemonic: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.mnemonic == mnemonic)
    }
}

/// Which text the current element holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Mnemonic,
    Name,
    Type,
}

/// What was learned so far.
#[derive(Debug, Default)]
pub(crate) struct Structure {
    pub(crate) header: Header,
    /// A node was opened since this was last cleared.
    pub(crate) new_node: bool,
    /// A schema was read completely.
    pub(crate) has_schema: bool,
    /// The document element was opened and closed.
    pub(crate) opened: bool,
    pub(crate) closed: bool,
    in_schema: bool,
    column: Option<Column>,
    field: Option<Field>,
}

const MOST_COLUMNS: usize = super::builder::MOST_CELLS;

impl Structure {
    /// Whether a schema was begun and not ended.
    pub(crate) fn is_inside_schema(&self) -> bool {
        self.in_schema
    }

    /// Reads a piece of the document that holds no rows. `offset` is where it starts.
    pub(crate) fn read(&mut self, piece: &[u8], offset: u64) -> Result<(), Error> {
        let text = String::from_utf8_lossy(piece);
        let mut reader = Reader::from_str(&text);
        reader.config_mut().check_end_names = false;
        reader.config_mut().allow_unmatched_ends = true;
        loop {
            let at = offset + reader.buffer_position();
            match reader.read_event() {
                Ok(Event::Start(start)) => self.start(&start, at)?,
                Ok(Event::Empty(start)) => {
                    self.start(&start, at)?;
                    self.end(start.name().as_ref());
                }
                Ok(Event::End(end)) => self.end(end.name().as_ref()),
                Ok(Event::Text(value)) => self.text(&value),
                Ok(Event::GeneralRef(entity)) => {
                    self.text(&super::text::unescape(format!("&{};", &*entity).as_bytes()));
                }
                Ok(Event::CData(value)) => self.text(&value),
                Ok(Event::DocType(_)) => return Err(Error::Doctype { offset: at }),
                Ok(Event::Eof) => return Ok(()),
                Ok(Event::Comment(_) | Event::PI(_) | Event::Decl(_)) => {}
                Err(error) => {
                    return Err(Error::Xml {
                        offset: offset + reader.error_position(),
                        what: error.to_string(),
                    });
                }
            }
        }
    }

    fn start(&mut self, start: &BytesStart<'_>, at: u64) -> Result<(), Error> {
        let name = start.name();
        match name.as_ref() {
            "trace-query-result" => self.opened = true,
            "node" => {
                self.new_node = true;
                let path = attribute(start, "xpath").unwrap_or_default();
                self.header.run = bracketed(&path, "run[");
                self.header.table = bracketed(&path, "table[");
            }
            "schema" => {
                self.in_schema = true;
                self.header.schema = attribute(start, "name").unwrap_or_default();
                self.header.columns.clear();
            }
            "col" if self.in_schema => self.column = Some(Column::default()),
            "mnemonic" => self.field = Some(Field::Mnemonic),
            "name" => self.field = Some(Field::Name),
            "engineering-type" => self.field = Some(Field::Type),
            _ if !self.opened => {
                return Err(Error::NotAnExport {
                    root: name.as_ref().chars().take(80).collect(),
                    offset: at,
                });
            }
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, value: &str) {
        let (Some(column), Some(field)) = (&mut self.column, self.field) else {
            return;
        };
        match field {
            Field::Mnemonic => column.mnemonic.push_str(value),
            Field::Name => column.name.push_str(value),
            Field::Type => column.engineering_type.push_str(value),
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "mnemonic" | "name" | "engineering-type" => self.field = None,
            "col" => {
                if let Some(column) = self.column.take()
                    && self.header.columns.len() < MOST_COLUMNS
                {
                    self.header.columns.push(column);
                }
            }
            "schema" => {
                self.in_schema = false;
                self.has_schema = true;
            }
            "trace-query-result" => self.closed = true,
            _ => {}
        }
    }
}

/// The value of an attribute, entities replaced.
pub(crate) fn attribute(start: &BytesStart<'_>, key: &str) -> Option<String> {
    let found = start.attributes().flatten().find(|a| a.key.as_ref() == key);
    found.map(|a| super::text::unescape(a.value.as_bytes()).into_owned())
}

/// The number behind `before` in a path: `run[2]` → 2.
pub(crate) fn bracketed(path: &str, before: &str) -> Option<u32> {
    let (_, rest) = path.split_once(before)?;
    rest.split(']').next()?.parse().ok()
}
