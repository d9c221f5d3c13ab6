//! Details of tracks: what the Allocations and Leaks instruments export.
//!
//! Tables have a schema and cells; details have neither. Each row is one element whose
//! attributes are its values:
//!
//! ```text
//! <node xpath='//trace-toc[1]/run[1]/tracks[1]/track[2]/details[1]/detail[1]'>
//! <row leaked-object="Malloc 4.00 KiB" size="4096" responsible-frame="load" count="1" responsible-library="app" address="0x3"/>
//! ```
//!
//! Which detail it is shows in the attributes: Leaks have a `leaked-object`, Statistics
//! `persistent-bytes`, the Allocations List an `address`. Heaps hold millions of blocks, so
//! the list is summed by caller while it is read.

use crate::analysis::document::HeapCategory;
use crate::error::Error;
use crate::events::{Events, Leak};
use crate::recording::TableRead;
use crate::xml::header::{attribute, bracketed};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// Larger exports are refused.
pub(crate) const LARGEST: u64 = 1 << 30;

/// What a file of details held.
pub(crate) struct Details {
    pub(crate) run: u32,
    pub(crate) events: Events,
    pub(crate) tables: Vec<TableRead>,
}

/// Reads exported details.
pub(crate) fn read(name: &str, text: &str) -> Result<Details, Error> {
    let mut reader = Reader::from_str(text);
    let mut out = Details {
        run: 1,
        events: Events::default(),
        tables: Vec::new(),
    };
    loop {
        match reader.read_event() {
            Ok(Event::Start(start) | Event::Empty(start)) => match start.name().as_ref() {
                "node" => {
                    let path = attribute(&start, "xpath").unwrap_or_default();
                    out.run = bracketed(&path, "run[").unwrap_or(1);
                }
                "row" => out.row(name, &start),
                _ => {}
            },
            Ok(Event::DocType(_)) => {
                return Err(Error::Doctype {
                    offset: reader.buffer_position(),
                });
            }
            Ok(Event::Eof) => return Ok(out),
            Ok(_) => {}
            Err(error) => {
                return Err(Error::Xml {
                    offset: reader.error_position(),
                    what: error.to_string(),
                });
            }
        }
    }
}

impl Details {
    fn row(&mut self, name: &str, row: &BytesStart<'_>) {
        let text = |key: &str| attribute(row, key).unwrap_or_default();
        let number = |key: &str| attribute(row, key)?.trim().parse::<u64>().ok();
        let (schema, used) = if let Some(object) = attribute(row, "leaked-object") {
            let leak = number("size").map(|bytes| Leak {
                object,
                frame: text("responsible-frame"),
                library: text("responsible-library"),
                count: number("count").unwrap_or(1),
                bytes,
            });
            let used = leak.is_some();
            self.events.leaks.extend(leak);
            ("Leaks", used)
        } else if let Some(persistent_bytes) = number("persistent-bytes") {
            let total_bytes = number("total-bytes");
            let category = total_bytes.map(|total_bytes| HeapCategory {
                category: text("category"),
                persistent: number("count-persistent").unwrap_or(0),
                persistent_bytes,
                total: number("count-total").unwrap_or(0),
                total_bytes,
            });
            let used = category.is_some();
            self.events.heap.extend(category);
            ("Statistics", used)
        } else if let (Some(size), Some(_)) = (number("size"), attribute(row, "address")) {
            // A block that was freed is no part of what is still there.
            let live = !matches!(text("live").as_str(), "false" | "0");
            if live {
                let key = (text("responsible-caller"), text("responsible-library"));
                let sum = self.events.heap_callers.entry(key).or_default();
                sum.0 += 1;
                sum.1 = sum.1.saturating_add(size);
            }
            ("Allocations List", true)
        } else {
            ("details", false)
        };
        self.count(name, schema, used);
    }

    fn count(&mut self, name: &str, schema: &str, used: bool) {
        if !self.tables.iter().any(|table| table.schema == schema) {
            self.tables.push(TableRead {
                schema: schema.to_owned(),
                input: name.to_owned(),
                run: self.run,
                table: None,
                rows: 0,
                unusable: 0,
                understood: schema != "details",
            });
        }
        for table in self
            .tables
            .iter_mut()
            .filter(|table| table.schema == schema)
        {
            table.rows += 1;
            table.unusable += u64::from(!used);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(rows: &str) -> String {
        format!(
            "<?xml version=\"1.0\"?>\n<trace-query-result>\n<node xpath='//trace-toc[1]/run[2]/tracks[1]/track[1]/details[1]/detail[1]'>{rows}</node></trace-query-result>"
        )
    }

    #[test]
    fn leaks_statistics_and_lists_are_told_apart_by_their_attributes() {
        let text = wrapped(
            "<row leaked-object=\"Malloc 4.00 KiB\" size=\"4096\" responsible-frame=\"load&lt;T&gt;\" count=\"2\" responsible-library=\"app\" address=\"0x3\"/>
             <row category=\"Malloc 64 Bytes\" persistent-bytes=\"640\" count-persistent=\"10\" total-bytes=\"6400\" transient-bytes=\"5760\" count-events=\"190\" count-transient=\"90\" count-total=\"100\"/>
             <row address=\"0x1\" category=\"Malloc 32 Bytes\" live=\"true\" responsible-caller=\"f()\" responsible-library=\"app\" size=\"32\"/>
             <row address=\"0x2\" category=\"Malloc 32 Bytes\" live=\"true\" responsible-caller=\"f()\" responsible-library=\"app\" size=\"32\"/>
             <row address=\"0x3\" category=\"Malloc 32 Bytes\" live=\"false\" responsible-caller=\"g()\" responsible-library=\"app\" size=\"32\"/>
             <row odd=\"1\"/>",
        );
        let details = read("d.xml", &text).expect("details");
        assert_eq!(details.run, 2);
        let events = &details.events;
        assert_eq!(
            (events.leaks[0].frame.as_str(), events.leaks[0].count),
            ("load<T>", 2)
        );
        assert_eq!(events.heap[0].total, 100);
        let callers: Vec<_> = events.heap_callers.iter().collect();
        let key = ("f()".to_owned(), "app".to_owned());
        assert_eq!(callers, [(&key, &(2, 64))]);
        let rows: Vec<(&str, u64, u64)> = details
            .tables
            .iter()
            .map(|table| (table.schema.as_str(), table.rows, table.unusable))
            .collect();
        assert_eq!(
            rows,
            [
                ("Leaks", 1, 0),
                ("Statistics", 1, 0),
                ("Allocations List", 3, 0),
                ("details", 1, 1)
            ]
        );
    }

    #[test]
    fn broken_details_are_errors() {
        assert!(read("d.xml", &wrapped("<row a=\"1\"")).is_err());
        assert!(read("d.xml", "<!DOCTYPE x><trace-query-result/>").is_err());
    }
}
