//! Writes a made-up recording: `cargo run --example synthesise -- SCENARIO STEPS FOLDER`.
#![allow(clippy::print_stderr, reason = "an example")]

use assay_trace::synth::{Scenario, Table, Trace, write_table};
use std::io::{BufWriter, Write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, steps, folder] = arguments.as_slice() else {
        return Err("usage: synthesise SCENARIO STEPS FOLDER (scenarios: eager, compiled, transfer-heavy, contended, multi-queue, synchronised)".into());
    };
    let steps: u64 = steps.parse()?;
    let scenario = match name.as_str() {
        "eager" => Scenario::eager(steps),
        "compiled" => Scenario::compiled(steps),
        "transfer-heavy" => Scenario::transfer_heavy(steps),
        "contended" => Scenario::contended(steps),
        "multi-queue" => Scenario::multi_queue(steps),
        "synchronised" => Scenario::synchronised(steps),
        other => return Err(format!("no scenario named {other}").into()),
    };
    std::fs::create_dir_all(folder)?;
    let trace = Trace::new(&scenario);
    for table in Table::ALL {
        let path = std::path::Path::new(folder).join(table.file_name());
        let mut file = BufWriter::new(std::fs::File::create(&path)?);
        write_table(&trace, table, &mut file)?;
        file.flush()?;
        eprintln!("{}", path.display());
    }
    Ok(())
}
