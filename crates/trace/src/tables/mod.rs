//! Which tables are understood, and what is taken from each.
//!
//! A [`TableSpec`] names a schema, the columns it reads, and a function that turns a
//! row into an event. A new table is a new entry in one of the files here. Tables
//! without an entry are counted and can be exported as they are.

mod command_buffers;
mod counters;
mod cpu;
mod gpu;
mod memory;
mod states;

use crate::events::{Events, Pid};
use crate::xml::builder::Shared;
use crate::xml::header::Header;
use crate::xml::slot::{Kind, Slot};
use crate::xml::text::TextId;

/// A table that is understood.
pub(crate) struct TableSpec {
    pub(crate) schema: &'static str,
    /// Columns by mnemonic; [`Cells`] refers to them by position in this list.
    pub(crate) columns: &'static [&'static str],
    /// Keep structured text as displayed.
    pub(crate) display_labels: bool,
    pub(crate) read: fn(&mut Cells<'_>, &mut Events) -> Result<(), String>,
}

/// Every table that is understood.
pub(crate) fn specs() -> impl Iterator<Item = &'static TableSpec> {
    [
        gpu::TABLES,
        command_buffers::TABLES,
        memory::TABLES,
        states::TABLES,
        counters::TABLES,
        cpu::TABLES,
    ]
    .into_iter()
    .flatten()
}

/// The specification of a schema, if it is understood.
pub(crate) fn find(schema: &str) -> Option<&'static TableSpec> {
    specs().find(|spec| spec.schema == schema)
}

/// The columns of `spec` in a file: newer versions add and move columns, so they are
/// found by name. The first column of a table must be there.
pub(crate) fn places(spec: &TableSpec, header: &Header) -> Vec<Option<usize>> {
    let columns = spec.columns.iter();
    columns.map(|column| header.position(column)).collect()
}

/// The cells of a row, by position in [`TableSpec::columns`].
pub(crate) struct Cells<'a> {
    pub(crate) columns: &'static [&'static str],
    pub(crate) places: &'a [Option<usize>],
    pub(crate) slots: &'a [Slot],
    pub(crate) shared: &'a mut Shared,
}

impl Cells<'_> {
    fn slot(&self, column: usize) -> Slot {
        let place = self.places.get(column).copied().flatten();
        place
            .and_then(|place| self.slots.get(place).copied())
            .unwrap_or(Slot::SENTINEL)
    }

    fn name(&self, column: usize) -> &'static str {
        self.columns.get(column).copied().unwrap_or("?")
    }

    /// The number, or `None` for a sentinel or a column this file does not have.
    pub(crate) fn number(&self, column: usize) -> Result<Option<u64>, String> {
        let slot = self.slot(column);
        match slot.kind {
            Kind::Number => Ok(Some(slot.number)),
            Kind::Sentinel => Ok(None),
            _ => Err(format!(
                "column {} is not a number in range",
                self.name(column)
            )),
        }
    }

    /// The number of a column that a row cannot do without.
    pub(crate) fn required(&self, column: usize) -> Result<u64, String> {
        self.number(column)?
            .ok_or_else(|| format!("no value in column {}", self.name(column)))
    }

    pub(crate) fn float(&self, column: usize) -> Option<f64> {
        let slot = self.slot(column);
        match slot.kind {
            Kind::Float => Some(f64::from_bits(slot.number)),
            Kind::Number => Some(slot.number as f64),
            _ => None,
        }
    }

    /// The text, of whatever the cell is; empty for a sentinel.
    pub(crate) fn text(&mut self, column: usize) -> TextId {
        let slot = self.slot(column);
        match slot.kind {
            Kind::Number => self.shared.texts.add(&slot.number.to_string()),
            Kind::Sentinel | Kind::Undefined | Kind::Bad => TextId::EMPTY,
            _ => slot.text,
        }
    }

    /// The size inside structured text.
    pub(crate) fn size_inside(&self, column: usize) -> Option<u64> {
        let slot = self.slot(column);
        (slot.kind == Kind::Label && slot.number != Slot::NO_NUMBER).then_some(slot.number)
    }

    pub(crate) fn process(&self, column: usize) -> Option<Pid> {
        let slot = self.slot(column);
        match slot.kind {
            Kind::Process | Kind::Number => Pid::try_from(slot.number).ok(),
            _ => None,
        }
    }

    pub(crate) fn thread(&self, column: usize) -> Option<u64> {
        let slot = self.slot(column);
        (slot.kind == Kind::Thread).then_some(slot.number)
    }

    /// The process a thread belongs to.
    pub(crate) fn process_of_thread(&self, thread: Option<u64>) -> Option<Pid> {
        let pid = self.shared.threads.get(&thread?)?.pid?;
        Pid::try_from(pid).ok()
    }

    pub(crate) fn stack(&self, column: usize) -> Option<u32> {
        let slot = self.slot(column);
        (slot.kind == Kind::Stack)
            .then(|| u32::try_from(slot.number).ok())
            .flatten()
    }

    pub(crate) fn span(&self, start: usize, duration: usize) -> Result<crate::Span, String> {
        let start = self.required(start)?;
        let duration = self.number(duration)?.unwrap_or(0);
        if start.checked_add(duration).is_none() {
            return Err("start and duration are out of range".to_owned());
        }
        Ok(crate::Span::new(start, duration))
    }

    pub(crate) fn is(&self, text: TextId, expected: &str) -> bool {
        self.shared.texts.get(text) == expected
    }
}
