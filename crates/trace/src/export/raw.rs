//! Any table of an export as CSV, understood or not: every column, one row per row.

use crate::error::{Error, Problem};
use crate::source::{self, Source};
use crate::xml::builder::{Shared, Want};
use crate::xml::header::Header;
use crate::xml::reader::{self, Selection, Sink};
use crate::xml::slot::{Kind, Slot};
use assay_report::csv::cell;
use std::io::Write;

struct CsvSink<'a> {
    out: &'a mut dyn Write,
    schema: &'a str,
    writing: bool,
    found: bool,
    failure: Option<std::io::Error>,
}

impl Sink for CsvSink<'_> {
    fn begin(&mut self, header: &Header) -> Selection {
        self.writing = header.schema == self.schema;
        if self.writing && !self.found {
            let names: Vec<_> = header.columns.iter().map(|c| cell(&c.mnemonic)).collect();
            self.write(&names.join(","));
            self.found = true;
        }
        Selection {
            wants: vec![
                if self.writing {
                    Want::Value
                } else {
                    Want::Nothing
                };
                header.columns.len()
            ],
            display_labels: true,
        }
    }

    fn row(&mut self, cells: &[Slot], shared: &mut Shared) -> Result<(), String> {
        if self.writing && self.failure.is_none() {
            let values: Vec<String> = cells.iter().map(|slot| text(*slot, shared)).collect();
            self.write(&values.join(","));
        }
        Ok(())
    }

    fn end(&mut self, _rows: u64, _unusable: u64) {}
}

impl CsvSink<'_> {
    fn write(&mut self, line: &str) {
        if let Err(error) = writeln!(self.out, "{line}") {
            self.failure.get_or_insert(error);
        }
    }
}

fn text(slot: Slot, shared: &Shared) -> String {
    let name = || shared.texts.get(slot.text);
    let text = match slot.kind {
        Kind::Number => return slot.number.to_string(),
        Kind::Float => return f64::from_bits(slot.number).to_string(),
        Kind::Sentinel | Kind::Undefined | Kind::Bad => return String::new(),
        Kind::Text | Kind::Label => return cell(name()).into_owned(),
        Kind::Process => format!("{} ({})", name(), slot.number),
        Kind::Thread => format!("{} ({:#x})", name(), slot.number),
        Kind::Stack => stack(slot.number, shared),
    };
    cell(&text).into_owned()
}

/// A stack in folded form, outermost first.
fn stack(index: u64, shared: &Shared) -> String {
    let frames = usize::try_from(index)
        .ok()
        .and_then(|index| shared.stacks.get(index));
    let names = frames.iter().flat_map(|frames| frames.iter().rev());
    let names = names.filter_map(|&frame| shared.frames.get(frame as usize));
    let names: Vec<&str> = names
        .map(|frame| shared.texts.get(frame.function))
        .collect();
    names.join(";")
}

/// Writes the table `schema` of an exported file as CSV: numbers as they are, times in
/// nanoseconds, empty fields for what is absent. Returns whether the table was there,
/// and what was wrong with it.
pub fn write_raw_csv(
    source: &dyn Source,
    schema: &str,
    out: &mut dyn Write,
) -> Result<(bool, Vec<Problem>), Error> {
    let mut sink = CsvSink {
        out,
        schema,
        writing: false,
        found: false,
        failure: None,
    };
    let input = source::open(source)?;
    let (_, result) = reader::read_tables(input, None, Shared::default(), &mut sink, &mut |_| {});
    if let Some(failure) = sink.failure {
        return Err(Error::write(&failure));
    }
    let found = sink.found;
    Ok((found, result?.problems))
}
