//! The tables of a made-up run.

use super::scenario::{Execution, Trace};
use super::xml::TableWriter;
use std::io::{self, Write};

/// A table to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// The table of contents.
    Toc,
    /// `metal-gpu-intervals`.
    GpuIntervals,
    /// `metal-command-buffer-completed`.
    Completed,
    /// `metal-application-encoders-list`.
    Encoders,
    /// `metal-gpu-state-intervals`.
    GpuStates,
    /// `time-profile`, with samples of the host while the GPU waits.
    TimeProfile,
    /// `metal-resource-allocations`, with call stacks.
    Allocations,
    /// `metal-current-allocated-size`.
    AllocatedSize,
    /// `gpu-performance-state-intervals`: the clock rises to its highest step.
    ClockStates,
}

impl Table {
    /// Tables of memory and clock, which not every recording is exported with.
    pub const MORE: [Table; 3] = [Table::Allocations, Table::AllocatedSize, Table::ClockStates];

    /// The usual tables.
    pub const ALL: [Table; 6] = [
        Table::Toc,
        Table::GpuIntervals,
        Table::Completed,
        Table::Encoders,
        Table::GpuStates,
        Table::TimeProfile,
    ];

    /// A file name for it.
    pub fn file_name(self) -> &'static str {
        match self {
            Table::Toc => "toc.xml",
            Table::GpuIntervals => "metal-gpu-intervals.xml",
            Table::Completed => "metal-command-buffer-completed.xml",
            Table::Encoders => "metal-application-encoders-list.xml",
            Table::GpuStates => "metal-gpu-state-intervals.xml",
            Table::TimeProfile => "time-profile.xml",
            Table::Allocations => "metal-resource-allocations.xml",
            Table::AllocatedSize => "metal-current-allocated-size.xml",
            Table::ClockStates => "gpu-performance-state-intervals.xml",
        }
    }
}

/// The target's name and ids.
pub(super) const NAME: &str = "model_runner";
pub(super) const PID: u32 = 4242;
pub(super) const TID: u64 = 0x1f_6b2d;
/// The neighbour's.
const OTHER: (&str, u32) = ("WindowServer", 420);

const GPU_COLUMNS: [(&str, &str); 18] = [
    ("start", "start-time"),
    ("duration", "duration"),
    ("channel-name", "gpu-channel-name"),
    ("frame-number", "gpu-frame-number"),
    ("start-latency", "duration"),
    ("event-depth", "metal-nesting-level"),
    ("event-label", "formatted-label"),
    ("state", "gpu-state"),
    ("connection-UUID", "connection-uuid64"),
    ("color", "render-buffer-depth"),
    ("process", "process"),
    ("gpu", "metal-device-name"),
    ("channel-subtitle", "metal-object-label"),
    ("iosurface-accesses", "formatted-label"),
    ("bytes", "size-in-bytes"),
    ("cmdbuffer-id", "metal-command-buffer-id"),
    ("encoder-id", "metal-command-buffer-id"),
    ("gpu-submission-id", "uint64"),
];

/// Writes a table of a run.
pub fn write_table(trace: &Trace, table: Table, out: &mut dyn Write) -> io::Result<()> {
    match table {
        Table::Toc => toc(trace, out),
        Table::GpuIntervals => gpu_intervals(trace, out),
        Table::Completed => completed(trace, out),
        Table::Encoders => encoders(trace, out),
        Table::GpuStates => gpu_states(trace, out),
        Table::TimeProfile => time_profile(trace, out),
        Table::Allocations => super::memory::allocations(trace, out),
        Table::AllocatedSize => super::memory::allocated_size(trace, out),
        Table::ClockStates => super::memory::clock_states(trace, out),
    }
}

fn toc(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let end = trace.all().iter().map(|e| e.span.end).max().unwrap_or(0);
    let seconds = end as f64 / 1e9 + 0.5;
    write!(
        out,
        "<?xml version=\"1.0\"?>\n<trace-toc><run number=\"1\"><info><target>\
         <device model=\"Made Up\" os-version=\"26.0\" platform=\"macOS\"/>\
         <process type=\"launched\" return-exit-status=\"0\" name=\"{NAME}\" pid=\"{PID}\" termination-reason=\"exit(0)\"/>\
         </target><summary><duration>{seconds}</duration><instruments-version>26.0</instruments-version>\
         <template-name>Metal System Trace</template-name></summary></info>\
         <processes><process name=\"{NAME}\" pid=\"{PID}\"/></processes><data>"
    )?;
    for table in Table::ALL {
        let schema = table.file_name().trim_end_matches(".xml");
        if table != Table::Toc {
            write!(out, "<table schema=\"{schema}\"/>")?;
        }
    }
    writeln!(out, "</data></run></trace-toc>")
}

fn owner(execution: &Execution) -> (&'static str, u32) {
    if execution.target { (NAME, PID) } else { OTHER }
}

fn gpu_intervals(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = TableWriter::new(out, "metal-gpu-intervals", &GPU_COLUMNS)?;
    for (index, execution) in trace.all().iter().enumerate() {
        let (name, pid) = owner(execution);
        let submission = 0x274_b0b5 + index as u64;
        writer.begin_row()?;
        writer.number("start-time", execution.span.start)?;
        writer.number("duration", execution.span.duration())?;
        writer.shared(
            "gpu-channel-name",
            if execution.target {
                "Compute"
            } else {
                "Fragment"
            },
        )?;
        writer.shared("gpu-frame-number", "1")?;
        writer.number("duration", execution.span.start - execution.commit)?;
        writer.shared("metal-nesting-level", "0")?;
        writer.event_label(&execution.label, name, pid, submission)?;
        writer.shared("gpu-state", "Active")?;
        writer.number("connection-uuid64", index as u64 + 1)?;
        writer.shared(
            "render-buffer-depth",
            if execution.target { "0" } else { "3" },
        )?;
        writer.process(name, pid)?;
        writer.shared("metal-device-name", "M1")?;
        writer.shared("metal-object-label", "")?;
        writer.sentinel()?;
        writer.shared("size-in-bytes", "0")?;
        writer.shared(
            "metal-command-buffer-id",
            &execution.command_buffer.to_string(),
        )?;
        writer.number("metal-command-buffer-id", execution.encoder)?;
        writer.number("uint64", submission)?;
        writer.end_row()?;
    }
    writer.finish().map(|_| ())
}

fn completed(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let columns = [
        ("timestamp", "start-time"),
        ("cmdbuffer-id", "metal-command-buffer-id"),
        ("commit-id", "uint32"),
    ];
    let mut writer = TableWriter::new(out, "metal-command-buffer-completed", &columns)?;
    for &(time, buffer) in &trace.completions {
        writer.begin_row()?;
        writer.number("start-time", time)?;
        writer.number("metal-command-buffer-id", buffer)?;
        writer.shared("uint32", "0")?;
        writer.end_row()?;
    }
    writer.finish().map(|_| ())
}

fn encoders(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let columns = [
        ("start", "start-time"),
        ("duration", "duration"),
        ("thread", "thread"),
        ("process", "process"),
        ("cmdbuffer-label", "metal-object-label"),
        ("encoder-label", "metal-object-label"),
        ("cmdbuffer-id", "metal-command-buffer-id"),
        ("encoder-id", "metal-command-buffer-id"),
    ];
    let mut writer = TableWriter::new(out, "metal-application-encoders-list", &columns)?;
    for execution in trace.executions() {
        let (buffer, encoder) = execution
            .label
            .split_once(':')
            .unwrap_or(("", &execution.label));
        writer.begin_row()?;
        writer.number("start-time", execution.encoding.start)?;
        writer.number("duration", execution.encoding.duration())?;
        writer.thread("Main Thread", TID, NAME, PID)?;
        writer.process(NAME, PID)?;
        writer.shared("metal-object-label", buffer)?;
        writer.shared("metal-object-label", encoder)?;
        writer.number("metal-command-buffer-id", execution.command_buffer)?;
        writer.number("metal-command-buffer-id", execution.encoder)?;
        writer.end_row()?;
    }
    writer.finish().map(|_| ())
}

fn gpu_states(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let columns = [
        ("start", "start-time"),
        ("duration", "duration"),
        ("state", "gpu-state"),
    ];
    let mut writer = TableWriter::new(out, "metal-gpu-state-intervals", &columns)?;
    let busy = crate::analysis::stats::union(trace.all().iter().map(|e| e.span));
    let mut at = 0;
    for span in busy {
        for (start, end, state) in [(at, span.start, "Idle"), (span.start, span.end, "Active")] {
            if end > start {
                writer.begin_row()?;
                writer.number("start-time", start)?;
                writer.number("duration", end - start)?;
                writer.shared("gpu-state", state)?;
                writer.end_row()?;
            }
        }
        at = span.end;
    }
    writer.finish().map(|_| ())
}

/// A sample every 100 µs while encoding; none while waiting, when the thread is blocked.
fn time_profile(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let columns = [
        ("time", "sample-time"),
        ("thread", "thread"),
        ("process", "process"),
        ("core", "core"),
        ("thread-state", "thread-state"),
        ("weight", "weight"),
        ("stack", "backtrace"),
    ];
    const PERIOD: u64 = 100_000;
    let mut writer = TableWriter::new(out, "time-profile", &columns)?;
    let mut due = 0;
    for execution in trace.executions() {
        if execution.encoding.end < due {
            continue;
        }
        due = execution.encoding.start + PERIOD;
        writer.begin_row()?;
        writer.number("sample-time", execution.encoding.start)?;
        writer.thread("Main Thread", TID, NAME, PID)?;
        writer.process(NAME, PID)?;
        writer.shared("core", "4")?;
        writer.shared("thread-state", "Running")?;
        writer.shared("weight", &PERIOD.to_string())?;
        if execution.encoder % 3 == 0 {
            writer.backtrace(&["objc_msgSend", "encode_kernel", "evaluate", "main"])?;
        } else {
            writer.backtrace(&["encode_kernel", "evaluate", "main"])?;
        }
        writer.end_row()?;
    }
    writer.finish().map(|_| ())
}
