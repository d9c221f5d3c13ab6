//! A simulated run as a recording that `assay-trace` reports, compares and exports.

use crate::explain::explain;
use crate::kernels::Kernels;
use crate::recorded::{Recorded, Step};
use crate::simulate::{Run, SlotKind};
use crate::steps::Steps;
use assay_trace::{
    BufferEvent, DispatchTime, GpuInterval, Origin, Recording, Span, TableRead, TocProcess, TocRun,
};
use rustc_hash::FxHashMap;
use std::path::Path;

fn ns(us: f64) -> u64 {
    (us * 1e3).round().max(0.0) as u64
}

/// The run on the first chip as a timeline; the report also names the others. None if there is no run.
pub fn timeline(
    recorded: &Recorded,
    kernels: &Kernels,
    runs: &[Run],
    steps: Option<&Steps>,
) -> Option<Recording> {
    let run = runs.first()?;
    let mut recording = Recording::empty(Origin::Program);
    recording.time_source = "modelled".to_owned();
    let pid = recorded.process.pid;
    let name = name(recorded);
    let text = recording.texts.add(&name);
    recording.processes.insert(pid, text);
    recording.toc = Some(TocRun {
        number: 1,
        target: Some(TocProcess {
            name,
            pid: Some(pid),
            arguments: Some(recorded.process.arguments.join(" ")),
            ..TocProcess::default()
        }),
        ..TocRun::default()
    });
    let gpu = recording.texts.add(run.target.chip.title);
    recording.events.gpus.push(gpu);
    encoders(&mut recording, recorded, run, pid);
    dispatches(&mut recording, recorded, run);
    for buffer in &run.buffers {
        recording.events.completions.push(BufferEvent {
            time: ns(buffer.end_us),
            command_buffer: buffer.id,
            value: 0,
        });
    }
    let rows = [
        ("command buffers", run.buffers.len()),
        ("dispatches", run.slots.len()),
    ];
    recording
        .tables
        .extend(rows.map(|(schema, rows)| TableRead {
            schema: schema.to_owned(),
            input: "recording of a program".to_owned(),
            run: 1,
            table: None,
            rows: rows as u64,
            unusable: 0,
            understood: true,
        }));
    recording.program = Some(Box::new(explain(recorded, kernels, run, (runs, steps))));
    Some(recording)
}

/// The program's file name; where Python runs it, the script's or module's.
fn name(recorded: &Recorded) -> String {
    let mut words = recorded.process.arguments.iter().map(|word| &**word);
    let program = words.next().unwrap_or("program");
    match file_name(program) {
        python if python.starts_with("python") => script(words).unwrap_or(python),
        file => file,
    }
    .to_owned()
}

fn file_name(path: &str) -> &str {
    let name = Path::new(path).file_name().and_then(|name| name.to_str());
    name.unwrap_or(path)
}

/// What Python runs, by its arguments.
fn script<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    loop {
        match words.next()? {
            "-m" => return words.next(),
            "-c" | "-" => return None,
            // These have a value.
            "-W" | "-X" => drop(words.next()),
            option if option.starts_with('-') => {}
            file => return Some(file_name(file)),
        }
    }
}

/// An execution for each encoder, as Instruments has it.
fn encoders(recording: &mut Recording, recorded: &Recorded, run: &Run, pid: u32) {
    let buffers: FxHashMap<u64, f64> = run
        .buffers
        .iter()
        .map(|one| (one.id, one.commit_us))
        .collect();
    let mut labels: FxHashMap<u64, &str> = FxHashMap::default();
    for step in &recorded.steps {
        if let Step::CommandBuffer(head) = step {
            labels.insert(head.id, &head.label);
        }
    }
    let channel = recording.texts.add("Compute");
    for (number, encoder) in run.encoders.iter().enumerate() {
        let slots = run
            .slots
            .get(encoder.slots.0..encoder.slots.1)
            .unwrap_or_default();
        let (Some(first), Some(last)) = (slots.first(), slots.last()) else {
            continue;
        };
        let own = match recorded.steps.get(encoder.step as usize) {
            Some(Step::Encoder(encoder)) => &*encoder.label,
            _ => "",
        };
        let all_copies = slots
            .iter()
            .all(|slot| matches!(slot.kind, SlotKind::Copy(_)));
        let own = match (own.is_empty(), all_copies) {
            (false, _) => own,
            (true, true) => "Blit Command 0",
            (true, false) => "Compute Command 0",
        };
        let of_buffer = labels
            .get(&encoder.command_buffer)
            .filter(|label| !label.is_empty());
        let label = format!("{}:{own}", of_buffer.unwrap_or(&"Command Buffer 0"));
        let label = recording.texts.add(&label);
        let start = ns(first.start_us);
        let commit = buffers
            .get(&encoder.command_buffer)
            .map(|us| start.saturating_sub(ns(*us)));
        recording.events.gpu.push(GpuInterval {
            span: Span::new(start, ns(last.end_us).saturating_sub(start)),
            latency: commit.into(),
            command_buffer: encoder.command_buffer,
            encoder: number as u64 + 1,
            label,
            channel,
            pid: Some(pid),
            active: true,
        });
        let bytes = slots.iter().filter_map(|slot| match slot.kind {
            SlotKind::Copy(bytes) => Some(bytes),
            SlotKind::Dispatch(_) => None,
        });
        if all_copies {
            recording
                .events
                .gpu_bytes
                .insert(number as u64 + 1, bytes.sum());
        }
    }
}

fn dispatches(recording: &mut Recording, recorded: &Recorded, run: &Run) {
    for slot in &run.slots {
        let (SlotKind::Dispatch(launch), Some(Step::Dispatch(dispatch))) =
            (slot.kind, recorded.steps.get(slot.step as usize))
        else {
            continue;
        };
        let (label, kernel) = (
            recording.texts.add(&dispatch.label),
            recording.texts.add(&recorded.kernel(launch)),
        );
        let start = ns(slot.start_us);
        recording.events.dispatches.push(DispatchTime {
            span: Span::new(start, ns(slot.end_us).saturating_sub(start)),
            label,
            kernel,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let mut recorded = Recorded::default();
        recorded.process.arguments = line.split(' ').map(Into::into).collect();
        assert_eq!(name(&recorded), expected);
    }

    #[test]
    fn a_program_of_python_has_the_name_of_its_script() {
        check("./target/debug/layers plain", "layers");
        check(
            "/usr/bin/python3.11 -u -X dev models/train.py eager",
            "train.py",
        );
        check("python -m pytest tests", "pytest");
        check("python -c print()", "python");
    }
}
