//! A recording: everything that was read, whatever format it came in.

use crate::analysis::document::Program;
use crate::capture::Capture;
use crate::error::Problem;
use crate::events::{Events, Pid};
use crate::toc::TocRun;
use crate::xml::builder::Frame;
use crate::xml::text::{TextId, Texts};
use rustc_hash::FxHashMap;

/// Where a recording comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Exported tables of an Instruments recording.
    Instruments,
    /// A `.gputrace` capture: calls, no times.
    Capture,
    /// A recording of the timing library.
    Timing,
    /// What a program encoded, on a modelled GPU.
    Program,
}

/// A table that was read.
#[derive(Clone, Debug)]
pub struct TableRead {
    /// Its schema.
    pub schema: String,
    /// The input it was in.
    pub input: String,
    /// The run it belongs to.
    pub run: u32,
    /// Its number within the run.
    pub table: Option<u32>,
    /// Its rows.
    pub rows: u64,
    /// Rows left out because something was wrong with them.
    pub unusable: u64,
    /// Whether anything is made of it, or it is only counted.
    pub understood: bool,
}

/// A problem, and the input it was met in.
#[derive(Clone, Debug)]
pub struct Warning {
    /// The input.
    pub input: String,
    /// What is wrong.
    pub problem: Problem,
}

/// A thread.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    /// Its name, empty when it has none.
    pub name: TextId,
    /// Its process.
    pub pid: Option<Pid>,
}

/// Everything that was read of one run.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Where it comes from.
    pub origin: Origin,
    /// What its times are: `measured` by the GPU's clock, `host` or `modelled`.
    pub time_source: String,
    /// Its table of contents, if that was among the inputs.
    pub toc: Option<TocRun>,
    /// The run shown.
    pub run: u32,
    /// The runs there are.
    pub runs: Vec<u32>,
    /// Texts that events refer to.
    pub texts: Texts,
    /// Names of processes.
    pub processes: FxHashMap<Pid, TextId>,
    /// Threads by id.
    pub threads: FxHashMap<u64, Thread>,
    /// Functions on call stacks.
    pub frames: Vec<Frame>,
    /// Call stacks, innermost frame first, as indices into `frames`.
    pub stacks: Vec<Box<[u32]>>,
    /// The events.
    pub events: Events,
    /// Calls, when this is a `.gputrace` capture.
    pub capture: Option<Box<Capture>>,
    /// What a recorded program does on a modelled GPU.
    pub program: Option<Box<Program>>,
    /// The tables that were read.
    pub tables: Vec<TableRead>,
    /// What was wrong with the inputs.
    pub warnings: Vec<Warning>,
}

impl Recording {
    /// A recording without anything in it.
    pub fn empty(origin: Origin) -> Self {
        Recording {
            origin,
            time_source: "measured".to_owned(),
            toc: None,
            run: 1,
            runs: vec![1],
            texts: Texts::default(),
            processes: FxHashMap::default(),
            threads: FxHashMap::default(),
            frames: Vec::new(),
            stacks: Vec::new(),
            events: Events::default(),
            capture: None,
            program: None,
            tables: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// The name of a process, if it is known.
    pub fn process_name(&self, pid: Pid) -> Option<&str> {
        if let Some(&name) = self.processes.get(&pid) {
            return Some(self.texts.get(name));
        }
        let toc = self.toc.as_ref()?;
        toc.processes.get(&pid).map(String::as_str)
    }

    /// Whether a table of this schema was among the inputs, even without rows.
    pub fn has_table(&self, schema: &str) -> bool {
        self.tables.iter().any(|table| table.schema == schema)
    }
}
