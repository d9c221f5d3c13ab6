//! `assay trace export`.

use super::inputs;
use super::modelled::Modelled;
use super::selection::Selection;
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use assay_trace::{CsvTable, write_chrome, write_csv};
use std::io::Write;
use std::path::PathBuf;

/// Write a recording for other programs
///
/// Chrome trace JSON opens in Perfetto (ui.perfetto.dev) and in the Firefox profiler. CSV has
/// times in nanoseconds. With --table, any exported table becomes CSV as it is, also those the
/// report does not use; with --member, a file inside a .gputrace bundle is written as it is.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  assay trace export exported-tables/ -o run.json
  assay trace export --format csv --rows gaps exported-tables/ -o gaps.csv
  assay trace export --table metal-driver-intervals metal-driver-intervals.xml.gz
  assay trace export --member B85FF6B0D0E4C838 kernel.gputrace -o kernel.metallib")]
pub(crate) struct Args {
    /// Exported tables, folders of them, bundles, or -
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,

    /// What to write
    #[arg(long, value_enum, default_value_t = Format::Chrome)]
    format: Format,

    /// Rows of the CSV
    #[arg(long, value_enum, default_value_t = Rows::Intervals)]
    rows: Rows,

    /// Write this exported table as CSV, every column as it is
    #[arg(long, value_name = "SCHEMA", conflicts_with_all = ["rows", "member"])]
    table: Option<String>,

    /// Write this member of a .gputrace bundle as it is
    #[arg(long, value_name = "NAME")]
    member: Option<String>,

    #[command(flatten)]
    selection: Selection,

    #[command(flatten)]
    modelled: Modelled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Chrome trace JSON
    Chrome,
    /// Comma-separated values
    Csv,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Rows {
    /// Encoder executions of all processes
    Intervals,
    /// Gaps of the target
    Gaps,
    /// Command buffers of the target
    Buffers,
    /// GPU time by label
    Labels,
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    if let Some(name) = &args.member {
        let bytes = inputs::member(&args.inputs, name)?;
        let mut output = context.output()?;
        output.write_all(&bytes)?;
        output.finish()?;
        return Ok(Outcome::Fine);
    }
    if let Some(schema) = &args.table {
        let mut output = context.output()?;
        inputs::raw_table(&args.inputs, schema, &mut output, context)?;
        output.finish()?;
        return Ok(Outcome::Fine);
    }
    let recording = inputs::load(&args.inputs, args.selection.run, &args.modelled, context)?;
    if recording.capture.is_some() {
        return Err(Failure::input("a capture holds no times to export").advice(
            "assay trace report --format json shows its calls; --member writes its files",
        ));
    }
    let options = args.selection.options();
    let mut output = context.output()?;
    let result = match args.format {
        Format::Chrome => write_chrome(&recording, &options, &mut output),
        Format::Csv => {
            let table = match args.rows {
                Rows::Intervals => CsvTable::Intervals,
                Rows::Gaps => CsvTable::Gaps,
                Rows::Buffers => CsvTable::Buffers,
                Rows::Labels => CsvTable::Labels,
            };
            write_csv(&recording, &options, table, &mut output)
        }
    };
    result.map_err(|error| inputs::failure(error, None))?;
    output.finish()?;
    Ok(Outcome::Fine)
}
