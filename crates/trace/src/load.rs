//! From inputs to a [`Recording`].
//!
//! Inputs are added one by one, in any order and under any name: what each of them
//! is shows in its first bytes.

use crate::details;
use crate::error::{Error, Problem};
use crate::events::{Events, Pid};
use crate::recording::{Origin, Recording, TableRead, Thread, Warning};
use crate::source::{self, Content, Source};
use crate::tables::{self, Cells, TableSpec};
use crate::toc::{TocRun, read_toc};
use crate::xml::builder::{Shared, Want};
use crate::xml::header::Header;
use crate::xml::reader::{self, Selection, Sink};
use crate::xml::slot::Slot;
use std::collections::BTreeMap;
use std::io::Read;

/// How to load.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// The run to show; the first one with GPU work when there are several.
    pub run: Option<u32>,
    /// Inputs of at least this many bytes are read twice, so that only definitions
    /// that are referred to need to be kept.
    pub two_passes_from: u64,
}

impl Default for LoadOptions {
    fn default() -> Self {
        LoadOptions {
            run: None,
            two_passes_from: 32 << 20,
        }
    }
}

/// Gathers inputs.
///
/// ```
/// use assay_trace::{Loader, LoadOptions};
/// let empty: &[u8] = b"<?xml version=\"1.0\"?>\n<trace-query-result/>\n";
/// let mut loader = Loader::new(LoadOptions::default());
/// loader.add("table.xml", &empty, &mut |_| {})?;
/// let recording = loader.finish()?;
/// assert!(recording.warnings[0].problem.message.contains("empty query result"));
/// # Ok::<(), assay_trace::Error>(())
/// ```
#[derive(Debug)]
pub struct Loader {
    options: LoadOptions,
    shared: Shared,
    runs: BTreeMap<u32, Events>,
    toc: BTreeMap<u32, TocRun>,
    toc_input: Option<String>,
    tables: Vec<TableRead>,
    warnings: Vec<Warning>,
    other: Option<Recording>,
}

impl Loader {
    /// A loader without inputs.
    pub fn new(options: LoadOptions) -> Self {
        Loader {
            options,
            shared: Shared::default(),
            runs: BTreeMap::new(),
            toc: BTreeMap::new(),
            toc_input: None,
            tables: Vec::new(),
            warnings: Vec::new(),
            other: None,
        }
    }

    /// Reads one input. `progress` is told how many bytes (decompressed) are done.
    pub fn add(
        &mut self,
        name: &str,
        source: &dyn Source,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), Error> {
        match source::sniff(source)? {
            Content::Toc => self.add_toc(name, source),
            Content::Tables | Content::OtherXml => self.add_tables(name, source, progress),
            Content::Details => self.add_details(name, source),
            Content::Json => self.add_timing(name, source),
        }
    }

    /// Adds a recording that was read by other means, such as a capture.
    pub fn add_recording(&mut self, name: &str, recording: Recording) -> Result<(), Error> {
        if self.other.is_some() || !self.tables.is_empty() {
            return Err(Error::Inconsistent(format!(
                "{name} is a recording of its own and cannot be mixed with other inputs"
            )));
        }
        self.other = Some(recording);
        Ok(())
    }

    fn add_timing(&mut self, name: &str, source: &dyn Source) -> Result<(), Error> {
        let mut text = Vec::new();
        source::open(source)?
            .take(crate::timing::LARGEST + 1)
            .read_to_end(&mut text)
            .map_err(|error| Error::Read(error.to_string()))?;
        let recording = crate::timing::read(&text)?;
        self.add_recording(name, recording)
    }

    fn add_details(&mut self, name: &str, source: &dyn Source) -> Result<(), Error> {
        let mut text = Vec::new();
        source::open(source)?
            .take(details::LARGEST + 1)
            .read_to_end(&mut text)
            .map_err(|error| Error::Read(error.to_string()))?;
        if text.len() as u64 > details::LARGEST {
            return Err(Error::Unrecognised(format!(
                "details of more than {} bytes",
                details::LARGEST
            )));
        }
        let read = details::read(name, &String::from_utf8_lossy(&text))?;
        self.runs.entry(read.run).or_default().absorb(read.events);
        self.tables.extend(read.tables);
        Ok(())
    }

    fn add_toc(&mut self, name: &str, source: &dyn Source) -> Result<(), Error> {
        let mut text = Vec::new();
        source::open(source)?
            .read_to_end(&mut text)
            .map_err(|error| Error::Read(error.to_string()))?;
        let runs = read_toc(&text)?;
        if let Some(other) = &self.toc_input {
            return Err(Error::Inconsistent(format!(
                "{other} and {name} are tables of contents of two recordings: name the files of one recording, not the folder"
            )));
        }
        self.toc_input = Some(name.to_owned());
        self.toc
            .extend(runs.into_iter().map(|run| (run.number, run)));
        Ok(())
    }

    fn add_tables(
        &mut self,
        name: &str,
        source: &dyn Source,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), Error> {
        let large = source
            .size()
            .is_none_or(|size| size >= self.options.two_passes_from);
        let referenced = if large {
            Some(reader::referenced_ids(source::open(source)?, &mut |_| {})?)
        } else {
            None
        };
        let mut read = self.read_once(name, source, referenced, progress);
        if matches!(read, Err(Error::NotKept)) {
            read = self.read_once(name, source, None, progress);
        }
        let FileRead {
            runs,
            tables,
            outcome,
        } = read?;
        if tables.is_empty() {
            self.warn(
                name,
                "an empty query result: the recording has no such table, or the export named a wrong run",
            );
        }
        for (run, events) in runs {
            self.runs.entry(run).or_default().absorb(events);
        }
        self.tables.extend(tables);
        for problem in outcome.problems {
            let input = name.to_owned();
            self.warnings.push(Warning { input, problem });
        }
        if outcome.more_problems > 0 {
            let more = outcome.more_problems;
            self.warn(name, &format!("{more} more problems like these"));
        }
        Ok(())
    }

    fn warn(&mut self, input: &str, message: &str) {
        self.warnings.push(Warning {
            input: input.to_owned(),
            problem: Problem {
                offset: None,
                message: message.to_owned(),
            },
        });
    }

    fn read_once(
        &mut self,
        name: &str,
        source: &dyn Source,
        referenced: Option<crate::xml::slot::ReferencedIds>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<FileRead, Error> {
        let input = source::open(source)?;
        let shared = std::mem::take(&mut self.shared);
        let mut sink = EventSink {
            name,
            known: &self.tables,
            runs: BTreeMap::new(),
            tables: Vec::new(),
            current: None,
            conflict: None,
        };
        let (shared, result) = reader::read_tables(input, referenced, shared, &mut sink, progress);
        let EventSink {
            runs,
            tables,
            conflict,
            ..
        } = sink;
        self.shared = shared;
        if let Some(conflict) = conflict {
            return Err(Error::Inconsistent(conflict));
        }
        Ok(FileRead {
            runs,
            tables,
            outcome: result?,
        })
    }

    /// The recording the inputs make up.
    pub fn finish(mut self) -> Result<Recording, Error> {
        if let Some(recording) = self.other.take() {
            return Ok(recording);
        }
        let mut runs: Vec<u32> = self.runs.keys().chain(self.toc.keys()).copied().collect();
        runs.sort_unstable();
        runs.dedup();
        let run = match self.options.run {
            Some(run) if runs.contains(&run) || runs.is_empty() => run,
            Some(run) => {
                return Err(Error::Inconsistent(format!(
                    "there is no run {run}: the inputs hold runs {runs:?}"
                )));
            }
            None => self
                .runs
                .iter()
                .find(|(_, events)| !events.gpu.is_empty())
                .map(|(&run, _)| run)
                .or_else(|| runs.first().copied())
                .unwrap_or(1),
        };
        let mut recording = Recording::empty(Origin::Instruments);
        recording.run = run;
        recording.runs = runs;
        recording.toc = self.toc.remove(&run);
        recording.events = self.runs.remove(&run).unwrap_or_default();
        // Real tables are in order of time; arithmetic below relies on it.
        recording.events.gpu.sort_by_key(|interval| interval.span);
        recording.events.completions.sort_by_key(|event| event.time);
        recording.tables = self.tables;
        recording.warnings = self.warnings;
        for (pid, name) in self.shared.processes {
            if let Ok(pid) = Pid::try_from(pid) {
                recording.processes.insert(pid, name);
            }
        }
        for (tid, thread) in self.shared.threads {
            let pid = thread.pid.and_then(|pid| Pid::try_from(pid).ok());
            let name = thread.name;
            recording.threads.insert(tid, Thread { name, pid });
        }
        recording.texts = self.shared.texts;
        recording.frames = self.shared.frames;
        recording.stacks = self.shared.stacks;
        Ok(recording)
    }
}

/// What one input held.
struct FileRead {
    runs: BTreeMap<u32, Events>,
    tables: Vec<TableRead>,
    outcome: reader::Outcome,
}

/// The table being read.
struct Current {
    run: u32,
    spec: Option<&'static TableSpec>,
    places: Vec<Option<usize>>,
    read: TableRead,
}

/// Turns rows into events.
struct EventSink<'a> {
    name: &'a str,
    /// Tables of the inputs before this one.
    known: &'a [TableRead],
    runs: BTreeMap<u32, Events>,
    tables: Vec<TableRead>,
    current: Option<Current>,
    conflict: Option<String>,
}

impl Sink for EventSink<'_> {
    fn begin(&mut self, header: &Header) -> Selection {
        let spec = tables::find(&header.schema);
        let places = spec.map_or_else(Vec::new, |spec| tables::places(spec, header));
        let run = header.run.unwrap_or(1);
        let mut wants = vec![Want::Nothing; header.columns.len()];
        for &place in places.iter().flatten() {
            if let Some(want) = wants.get_mut(place) {
                *want = Want::Value;
            }
        }
        let twin = self.known.iter().find(|table| {
            spec.is_some()
                && table.schema == header.schema
                && table.run == run
                && table.table == header.table
                && table.rows > 0
        });
        if let Some(twin) = twin {
            self.conflict.get_or_insert_with(|| {
                format!(
                    "{} and {} both hold {} of run {run}: name the files of one recording, not the folder",
                    twin.input, self.name, header.schema
                )
            });
        }
        self.current = Some(Current {
            run,
            spec,
            places,
            read: TableRead {
                schema: header.schema.clone(),
                input: self.name.to_owned(),
                run,
                table: header.table,
                rows: 0,
                unusable: 0,
                understood: spec.is_some(),
            },
        });
        self.runs.entry(run).or_default();
        Selection {
            wants,
            display_labels: spec.is_some_and(|spec| spec.display_labels),
        }
    }

    fn row(&mut self, cells: &[Slot], shared: &mut Shared) -> Result<(), String> {
        let Some(current) = &self.current else {
            return Ok(());
        };
        let (Some(spec), Some(events)) = (current.spec, self.runs.get_mut(&current.run)) else {
            return Ok(());
        };
        if self.conflict.is_some() {
            return Ok(());
        }
        let mut cells = Cells {
            columns: spec.columns,
            places: &current.places,
            slots: cells,
            shared,
        };
        (spec.read)(&mut cells, events)
    }

    fn end(&mut self, rows: u64, unusable: u64) {
        if let Some(mut current) = self.current.take() {
            current.read.rows = rows;
            current.read.unusable = unusable;
            self.tables.push(current.read);
        }
    }
}
