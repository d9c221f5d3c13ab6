//! Writes tables in the spelling of xctrace: each value defined once and pointed back to.

use rustc_hash::FxHashMap;
use std::io::{self, Write};

/// A writer of one table.
pub(crate) struct TableWriter<W> {
    out: W,
    next: u64,
    /// Definitions of values that may be used again.
    known: FxHashMap<(&'static str, String), u64>,
}

/// Text for an attribute or element.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

impl<W: Write> TableWriter<W> {
    /// Begins a table with `columns` of (mnemonic, engineering type).
    pub(crate) fn new(mut out: W, schema: &str, columns: &[(&str, &str)]) -> io::Result<Self> {
        write!(
            out,
            "<?xml version=\"1.0\"?>\n<trace-query-result>\n<node xpath='//trace-toc[1]/run[1]/data[1]/table[1]'><schema name=\"{schema}\">"
        )?;
        for (mnemonic, kind) in columns {
            write!(
                out,
                "<col><mnemonic>{mnemonic}</mnemonic><name>{mnemonic}</name><engineering-type>{kind}</engineering-type></col>"
            )?;
        }
        write!(out, "</schema>")?;
        Ok(TableWriter {
            out,
            next: 1,
            known: FxHashMap::default(),
        })
    }

    pub(crate) fn begin_row(&mut self) -> io::Result<()> {
        self.out.write_all(b"<row>")
    }

    pub(crate) fn end_row(&mut self) -> io::Result<()> {
        self.out.write_all(b"</row>\n")
    }

    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.out.write_all(b"</node></trace-query-result>\n")?;
        Ok(self.out)
    }

    fn id(&mut self) -> u64 {
        let id = self.next;
        self.next += 1;
        id
    }

    /// A number that is written out each time: start times are never shared.
    pub(crate) fn number(&mut self, tag: &str, value: u64) -> io::Result<()> {
        let id = self.id();
        write!(
            self.out,
            "<{tag} id=\"{id}\" fmt=\"{value}\">{value}</{tag}>"
        )
    }

    /// A value that is defined once.
    pub(crate) fn shared(&mut self, tag: &'static str, value: &str) -> io::Result<()> {
        if let Some(id) = self.known.get(&(tag, value.to_owned())) {
            return write!(self.out, "<{tag} ref=\"{id}\"/>");
        }
        let id = self.id();
        self.known.insert((tag, value.to_owned()), id);
        let text = escaped(value);
        write!(self.out, "<{tag} id=\"{id}\" fmt=\"{text}\">{text}</{tag}>")
    }

    pub(crate) fn sentinel(&mut self) -> io::Result<()> {
        self.out.write_all(b"<sentinel/>")
    }

    /// A process, defined once with its id inside.
    pub(crate) fn process(&mut self, name: &str, pid: u32) -> io::Result<()> {
        let display = format!("{name} ({pid})");
        if let Some(id) = self.known.get(&("process", display.clone())) {
            return write!(self.out, "<process ref=\"{id}\"/>");
        }
        let id = self.id();
        self.known.insert(("process", display.clone()), id);
        write!(
            self.out,
            "<process id=\"{id}\" fmt=\"{}\">",
            escaped(&display)
        )?;
        self.shared("pid", &pid.to_string())?;
        self.shared("device-session", "TODO")?;
        self.out.write_all(b"</process>")
    }

    /// A thread, defined once with its process inside.
    pub(crate) fn thread(
        &mut self,
        name: &str,
        tid: u64,
        process: &str,
        pid: u32,
    ) -> io::Result<()> {
        let display = format!("{name} {tid:#x} ({process}, pid: {pid})");
        if let Some(id) = self.known.get(&("thread", display.clone())) {
            return write!(self.out, "<thread ref=\"{id}\"/>");
        }
        let id = self.id();
        self.known.insert(("thread", display.clone()), id);
        write!(
            self.out,
            "<thread id=\"{id}\" fmt=\"{}\">",
            escaped(&display)
        )?;
        self.shared("tid", &tid.to_string())?;
        self.process(process, pid)?;
        self.out.write_all(b"</thread>")
    }

    /// A label made of pieces, as on GPU rows: text, process and a hexadecimal id.
    pub(crate) fn event_label(
        &mut self,
        label: &str,
        process: &str,
        pid: u32,
        submission: u64,
    ) -> io::Result<()> {
        let id = self.id();
        let display = format!("{label}      ( {process} ({pid}) )  {submission:#x}");
        write!(
            self.out,
            "<formatted-label id=\"{id}\" fmt=\"{}\">",
            escaped(&display)
        )?;
        self.shared("string", label)?;
        self.shared("narrative-text", " (")?;
        self.process(process, pid)?;
        self.shared("narrative-text", ") ")?;
        let id = self.id();
        write!(
            self.out,
            "<metal-encoder-id id=\"{id}\" fmt=\"{submission:#x}\">{submission}</metal-encoder-id></formatted-label>"
        )
    }

    /// A call stack of function names, innermost first.
    pub(crate) fn backtrace(&mut self, functions: &[&str]) -> io::Result<()> {
        let id = self.id();
        write!(self.out, "<backtrace id=\"{id}\">")?;
        for function in functions {
            if let Some(id) = self.known.get(&("frame", (*function).to_owned())) {
                write!(self.out, "<frame ref=\"{id}\"/>")?;
                continue;
            }
            let id = self.id();
            self.known.insert(("frame", (*function).to_owned()), id);
            write!(
                self.out,
                "<frame id=\"{id}\" name=\"{}\" addr=\"0x1000\">",
                escaped(function)
            )?;
            match self.known.get(&("binary", String::new())) {
                Some(id) => write!(self.out, "<binary ref=\"{id}\"/>")?,
                None => {
                    let id = self.id();
                    self.known.insert(("binary", String::new()), id);
                    write!(
                        self.out,
                        "<binary id=\"{id}\" name=\"program\" path=\"/tmp/program\"/>"
                    )?;
                }
            }
            self.out.write_all(b"</frame>")?;
        }
        self.out.write_all(b"</backtrace>")
    }
}
