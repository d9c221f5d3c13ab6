//! CSV: one row per execution, gap, command buffer or label.

use crate::analysis::gaps;
use crate::analysis::view::View;
use crate::analysis::{Options, labels};
use crate::error::Error;
use crate::recording::Recording;
use assay_report::csv::cell;
use std::io::Write;

/// What to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CsvTable {
    /// Encoder executions of all processes.
    Intervals,
    /// Gaps of the target.
    Gaps,
    /// Command buffers of the target.
    Buffers,
    /// GPU time by label of the target.
    Labels,
}

/// A number, or nothing where it is unknown.
fn maybe(value: Option<u64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Writes a table as CSV. Times are nanoseconds from the recording's start.
pub fn write_csv(
    recording: &Recording,
    options: &Options,
    table: CsvTable,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let view = View::new(recording, options)?;
    let result = match table {
        CsvTable::Intervals => intervals(&view, out),
        CsvTable::Gaps => gap_rows(&view, out),
        CsvTable::Buffers => buffers(&view, out),
        CsvTable::Labels => label_rows(&view, out),
    };
    result.map_err(|error| Error::write(&error))
}

fn intervals(view: &View<'_>, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(
        out,
        "start_ns,duration_ns,latency_ns,pid,process,target,channel,label,command_buffer,encoder"
    )?;
    for i in &view.recording.events.gpu {
        let process = i.pid.and_then(|pid| view.recording.process_name(pid));
        writeln!(
            out,
            "{},{},{},{},{},{},{},{},{},{}",
            i.span.start,
            i.span.duration(),
            maybe(i.latency.get()),
            maybe(i.pid.map(u64::from)),
            cell(process.unwrap_or("")),
            u8::from(view.is_target(i.pid)),
            cell(view.text(i.channel)),
            cell(view.text(i.label).trim()),
            i.command_buffer,
            i.encoder
        )?;
    }
    Ok(())
}

fn gap_rows(view: &View<'_>, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(
        out,
        "start_ns,duration_ns,cause,host_wait_ns,launch_ns,contended_ns,before,after"
    )?;
    for gap in gaps::find(view) {
        writeln!(
            out,
            "{},{},{},{},{},{},{},{}",
            gap.span().start,
            gap.duration(),
            gap.cause.word(),
            maybe(gap.host_wait()),
            maybe(gap.host_wait().map(|wait| gap.duration() - wait)),
            gap.contended,
            cell(view.text(gap.before.label).trim()),
            cell(view.text(gap.after.label).trim())
        )?;
    }
    Ok(())
}

fn buffers(view: &View<'_>, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(
        out,
        "command_buffer,commit_ns,gpu_start_ns,gpu_end_ns,completed_ns,thread,executions"
    )?;
    for b in &view.buffers {
        writeln!(
            out,
            "{},{},{},{},{},{},{}",
            b.id,
            maybe(b.commit.get()),
            b.gpu.start,
            b.gpu.end,
            maybe(b.completed.get()),
            maybe(b.thread.get()),
            b.executions
        )?;
    }
    Ok(())
}

fn label_rows(view: &View<'_>, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "label,count,total_ms,share,mean_us,median_us,max_us")?;
    let names = labels::of(view);
    for label in labels::table(view, &names, str::to_owned) {
        writeln!(
            out,
            "{},{},{},{},{},{},{}",
            cell(&label.label),
            label.count,
            label.total_ms,
            label.share,
            label.mean_us,
            label.median_us,
            label.max_us
        )?;
    }
    Ok(())
}
