//! How fast and in how much memory a `metal-gpu-intervals` table is read, beside a plain
//! Python `iterparse` of the same file: `cargo run --release --example read_speed -- [MB]`.
//!
//! Reading runs in a process of its own, so that its peak memory is its own. Times are CPU
//! time (user and system), which other programs on the machine disturb little; each figure
//! of ours is the median of three runs.
#![allow(clippy::print_stdout, reason = "an example")]

use assay_trace::synth::{Scenario, Table, Trace, write_table};
use assay_trace::{LoadOptions, Loader, Source};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

struct File(PathBuf);

impl Source for File {
    fn open(&self) -> std::io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(std::fs::File::open(&self.0)?))
    }

    fn size(&self) -> Option<u64> {
        std::fs::metadata(&self.0)
            .ok()
            .map(|metadata| metadata.len())
    }
}

/// What the same work looks like in Python: every row resolved through a map of ids.
const PYTHON: &str = r"
import sys, resource, xml.etree.ElementTree as ET
ids, rows, busy = {}, 0, 0
for event, element in ET.iterparse(sys.argv[1], events=('end',)):
    key = element.get('id')
    if key is not None:
        ids[key] = element.text
    if element.tag == 'row':
        cells = [ids[c.get('ref')] if c.get('ref') else c.text for c in element]
        busy += int(cells[1])
        rows += 1
        element.clear()
usage = resource.getrusage(resource.RUSAGE_SELF)
print(rows, usage.ru_utime + usage.ru_stime, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, file] = arguments.as_slice()
        && mode == "--read"
    {
        return read(Path::new(file));
    }
    let file = match arguments.first().map(|text| (text.parse::<u64>(), text)) {
        None => generate(1000)?,
        Some((Ok(megabytes), _)) => generate(megabytes)?,
        Some((Err(_), path)) => PathBuf::from(path),
    };
    let bytes = std::fs::metadata(&file)?.len();
    println!("{}: {:.0} MB", file.display(), bytes as f64 / 1e6);
    let program = std::env::current_exe()?;
    let ours = median(|| run(Command::new(&program).arg("--read").arg(&file)))?;
    show("assay", bytes, ours);
    let python = run(Command::new("python3").args(["-c", PYTHON]).arg(&file));
    match python {
        Ok(figures) => show("python iterparse", bytes, figures),
        Err(error) => println!("python iterparse: not run ({error})"),
    }
    Ok(())
}

fn show(name: &str, bytes: u64, (rows, seconds, megabytes): (f64, f64, f64)) {
    println!(
        "{name:>16}: {rows:.0} rows, {seconds:.2} s of CPU, {:.0} MB/s per core, {megabytes:.0} MB resident",
        bytes as f64 / 1e6 / seconds
    );
}

type Figures = (f64, f64, f64);

fn median(
    mut measure: impl FnMut() -> Result<Figures, Box<dyn std::error::Error>>,
) -> Result<Figures, Box<dyn std::error::Error>> {
    let mut all = [measure()?, measure()?, measure()?];
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    all.get(1).copied().ok_or_else(|| "no measurement".into())
}

/// Runs a program that prints rows, seconds and megabytes.
fn run(command: &mut Command) -> Result<Figures, Box<dyn std::error::Error>> {
    let output = command.output()?;
    let text = String::from_utf8(output.stdout)?;
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    let mut next = || numbers.next().ok_or("no output");
    Ok((next()??, next()??, next()??))
}

fn read(path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let began = Instant::now();
    let mut loader = Loader::new(LoadOptions::default());
    loader.add("table", &File(path.to_owned()), &mut |_| {})?;
    let recording = loader.finish()?;
    let seconds = cpu_seconds().unwrap_or_else(|| began.elapsed().as_secs_f64());
    println!(
        "{} {seconds} {}",
        recording.events.gpu.len(),
        peak_megabytes().unwrap_or(0.0)
    );
    Ok(())
}

/// CPU time of this process, where the system says so (Linux, in hundredths of a second).
fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields = stat.rsplit_once(')')?.1;
    let mut fields = fields.split_whitespace().skip(11).map(str::parse::<f64>);
    Some((fields.next()?.ok()? + fields.next()?.ok()?) / 100.0)
}

/// Peak resident memory, where the system says so (Linux).
fn peak_megabytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1024.0)
}

fn generate(megabytes: u64) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let path = std::env::temp_dir().join(format!("assay-intervals-{megabytes}.xml"));
    if !path.exists() {
        // A step of the eager scenario makes about 0.4 MB.
        let trace = Trace::new(&Scenario::eager(megabytes * 5 / 2));
        let mut file = BufWriter::new(std::fs::File::create(&path)?);
        write_table(&trace, Table::GpuIntervals, &mut file)?;
        file.flush()?;
    }
    Ok(path)
}
