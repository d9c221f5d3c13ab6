//! Predictions as data: what JSON shows, and what texts and pages are made from.

use crate::constants::Constants;
use crate::error::Error;
use crate::execution::{Access, BufferFootprint, Execution, Kind, Space, Stop};
use crate::gains::{Gain, gains, removals};
use crate::machine::Machine;
use crate::predict::{Cache, CommandBuffer, MODEL, over_accesses, over_runs, predict};
use assay_chip::occupancy::SIMD_WIDTH;
use assay_chip::{Chip, Parameter};
use serde::Serialize;

/// Predicted times.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// One for each kernel and chip.
    pub predictions: Vec<Predicted>,
    /// Kernels without a prediction, and why.
    pub refused: Vec<Refused>,
}

/// The predicted time of a kernel on a chip.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Predicted {
    /// The kernel.
    pub kernel: String,
    /// The chip.
    pub chip: String,
    /// GPU cores that were assumed.
    pub cores: f64,
    /// Always `modelled`: no GPU measured this.
    pub basis: &'static str,
    /// Microseconds of the command buffer.
    pub time_us: f64,
    /// Four of five kernels of the class lie between this and `high_us`.
    pub low_us: f64,
    /// See `low_us`.
    pub high_us: f64,
    /// Kernels whose predictions err alike.
    pub class: String,
    /// The largest term, or `launch` when overheads are.
    pub limited_by: String,
    /// Where the time goes; adds up to the whole.
    pub terms: Vec<TermTime>,
    /// What twice as much of a resource would bring, the most useful first.
    pub doubled: Vec<Doubled>,
    /// Which machine code was looked at.
    pub code: String,
    /// `warm` or `cold` caches.
    pub state: &'static str,
    /// Threadgroups of all dispatches.
    pub threadgroups: u64,
    /// Threadgroups that were executed.
    pub sampled: u64,
    /// What all threadgroups together do, by the sample.
    pub work: Work,
    /// How it does so: what explains why one kernel is faster than another.
    pub causes: Causes,
    /// Rates at which it does so in the predicted time.
    pub rates: Rates,
    /// Version of the model.
    pub model: &'static str,
    /// The chip file the constants come from, if one was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chip_file: Option<String>,
    /// Figures and constants that the user changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub what_if: Vec<String>,
    /// What to know about this prediction.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The time of source lines, the dearest first, where they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<LineTime>,
}

/// A part of the time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TermTime {
    /// What takes it.
    pub name: &'static str,
    /// Microseconds that are attributed to it.
    pub us: f64,
    /// Microseconds that the kernel would be shorter if it took none, where that can be asked: what waits for it may wait
    /// for something else then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removal_us: Option<f64>,
}

/// A resource, and the time with twice as much of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Doubled {
    /// The resource.
    pub resource: &'static str,
    /// Microseconds.
    pub time_us: f64,
}

/// What a command buffer does, whatever the chip: comparable between kernels of one task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Work {
    /// Instructions of all simdgroups.
    pub instructions: f64,
    /// Float operations of all lanes that take part; a multiply-add is two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flops: Option<f64>,
    /// Bytes that lanes move to and from device memory, whichever cache answers.
    pub device_bytes: f64,
    /// Bytes of distinct cache lines that are read, and of those that are written.
    pub touched_bytes: f64,
    /// Bytes that lanes move to and from threadgroup memory.
    pub threadgroup_bytes: f64,
}

/// How a command buffer does its work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Causes {
    /// Lines of 128 bytes that accesses to device memory touch, each access by itself.
    pub lines: f64,
    /// The same per access.
    pub lines_per_access: f64,
    /// Passes over the banks of threadgroup memory per row of 128 bytes; one if lanes never collide.
    pub passes_per_row: f64,
    /// Lanes that are active per instruction.
    pub active_lanes: f64,
    /// Atomics of simdgroups.
    pub atomics: f64,
    /// Barriers that simdgroups pass.
    pub barriers: f64,
    /// Threads that a core keeps at once.
    pub resident_threads: f64,
}

/// Work over time, and what part that is of what the chip can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rates {
    /// Float operations per touched byte: the intensity of a roofline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flops_per_byte: Option<f64>,
    /// Thousand million float operations per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gflops: Option<f64>,
    /// Share of a multiply-add per lane and cycle on every core.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_share: Option<f64>,
    /// Thousand million bytes of distinct cache lines per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gbs: Option<f64>,
    /// Share of the memory's bandwidth; above one where caches answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth_share: Option<f64>,
}

/// The time of a source line.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LineTime {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// Microseconds: issuing its instructions, and waiting for what they load.
    pub us: f64,
    /// The same by reason, the largest first.
    pub reasons: Vec<TermTime>,
    /// The text of the line, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A kernel without a prediction.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Refused {
    /// The kernel.
    pub kernel: String,
    /// The chip, when it is the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chip: Option<String>,
    /// Why.
    pub reason: String,
}

/// What a prediction is asked for.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The kernel's name.
    pub kernel: &'a str,
    /// Whose compiler made the code.
    pub code: &'a str,
    /// The dispatches.
    pub buffer: CommandBuffer<'a>,
    /// What caches hold.
    pub state: Cache,
}

/// A chip to predict for, with the constants of the model.
#[derive(Clone, Debug)]
pub struct Target {
    /// The chip.
    pub chip: Chip,
    /// The constants.
    pub constants: Constants,
    /// Figures that the user changed.
    pub changed: Vec<String>,
    /// The chip file that was used.
    pub chip_file: Option<String>,
}

impl Target {
    /// A chip with the constants of the tables.
    pub fn of(chip: Chip) -> Target {
        Target {
            constants: Constants::of(&chip),
            chip,
            changed: Vec::new(),
            chip_file: None,
        }
    }

    /// Returns true if the chip runs other code than is looked at.
    pub fn is_stand_in(&self) -> bool {
        !self.chip.has_costs()
    }
}

impl Predicted {
    /// Predicts.
    pub fn new(question: &Question<'_>, target: &Target) -> Result<Predicted, Error> {
        let Question { buffer, state, .. } = question;
        let (chip, constants) = (&target.chip, &target.constants);
        let prediction = predict(buffer, chip, constants, *state)?;
        let doubled = gains(buffer, chip, constants, *state)?;
        let removed = removals(buffer, chip, constants, *state)?;
        let saved = |gain: &Gain| rounded((prediction.time_us - gain.time_us).max(0.0));
        let executions = buffer.executions();
        let terms = prediction.terms.iter().map(|term| TermTime {
            name: term.name,
            us: rounded(term.us),
            removal_us: removed
                .iter()
                .find(|one| one.resource == term.name)
                .map(saved),
        });
        let doubled = doubled.iter().map(|gain| Doubled {
            resource: gain.resource,
            time_us: rounded(gain.time_us),
        });
        let work = work(buffer);
        let machine = Machine::new(chip, constants)?;
        Ok(Predicted {
            kernel: question.kernel.to_owned(),
            chip: chip.name.to_owned(),
            cores: chip.get(Parameter::Cores).unwrap_or(0.0),
            basis: "modelled",
            time_us: rounded(prediction.time_us),
            low_us: rounded(prediction.low_us),
            high_us: rounded(prediction.high_us),
            class: prediction.class.name().to_owned(),
            limited_by: prediction.limited_by.to_owned(),
            terms: terms.collect(),
            doubled: doubled.collect(),
            code: match target.is_stand_in() {
                true => format!("{}, G13 as a stand-in", question.code),
                false => format!("{}, G13", question.code),
            },
            state: match state {
                Cache::Warm => "warm",
                Cache::Cold => "cold",
            },
            threadgroups: executions.iter().map(|e| e.threadgroups()).sum(),
            sampled: executions.iter().map(|e| u64::from(e.sampled)).sum(),
            rates: rates(&work, prediction.time_us, chip, &machine),
            causes: causes(buffer, &machine, constants)?,
            work,
            model: MODEL,
            chip_file: target.chip_file.clone(),
            what_if: target.changed.clone(),
            notes: notes(&executions, target),
            lines: Vec::new(),
        })
    }

    /// The time that belongs to no source line: launching the command buffer, and what no line explains. With the lines it adds
    /// up to the whole; nothing where lines were not asked for.
    pub fn outside_lines(&self) -> Vec<TermTime> {
        if self.lines.is_empty() {
            return Vec::new();
        }
        let launch = self.terms.iter().find(|term| term.name == "launch");
        let launch = launch.map_or(0.0, |term| term.us);
        let lines: f64 = self.lines.iter().map(|line| line.us).sum();
        let outside = |name, us| TermTime {
            name,
            us,
            removal_us: None,
        };
        vec![
            outside("launch", launch),
            outside("no line", (self.time_us - launch - lines).max(0.0)),
        ]
    }

    /// Returns true if the chip runs other code than was looked at.
    pub fn is_stand_in(&self) -> bool {
        self.code.contains("stand-in")
    }
}

fn notes(executions: &[&Execution], target: &Target) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for note in executions.iter().flat_map(|e| &e.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    let wider = target.constants.band_chip;
    if target.is_stand_in() {
        notes.push(format!(
            "{} runs another instruction set: this is code for M1 and M2 with its clock, cores and memory, and the band is \
             {wider} times as wide each way",
            target.chip.title
        ));
    } else if wider > 1.0 {
        notes.push(format!(
            "the constants are fitted on an M2; for {} the band is {wider} times as wide each way",
            target.chip.title
        ));
    }
    if let Some(file) = &target.chip_file {
        notes.push(format!("constants of {} from {file}", target.chip.title));
    }
    notes
}

fn work(buffer: &CommandBuffer<'_>) -> Work {
    let mut all = Work {
        flops: Some(0.0),
        ..Work::default()
    };
    for repeated in &buffer.dispatches {
        let times = f64::from(repeated.times.max(1)) * f64::from(buffer.times.max(1));
        let execution = repeated.execution;
        let bytes = execution.moved_bytes();
        let groups = execution.threadgroups() as f64;
        all.instructions += times * execution.instructions * groups;
        let flops = all.flops.zip(execution.flops);
        all.flops = flops.map(|(sum, flops)| sum + times * flops * groups);
        all.device_bytes += times * bytes.device;
        all.threadgroup_bytes += times * bytes.threadgroup;
        let of_buffer = |buffer: &BufferFootprint| buffer.read + buffer.written;
        let lines: f64 = execution.footprint.buffers.iter().map(of_buffer).sum();
        let touched = lines * crate::execution::LINE as f64;
        all.touched_bytes = all.touched_bytes.max(touched);
    }
    Work {
        instructions: rounded(all.instructions),
        flops: all.flops.map(rounded),
        device_bytes: rounded(all.device_bytes),
        touched_bytes: rounded(all.touched_bytes),
        threadgroup_bytes: rounded(all.threadgroup_bytes),
    }
}

fn causes(
    buffer: &CommandBuffer<'_>,
    machine: &Machine,
    constants: &Constants,
) -> Result<Causes, Error> {
    let (mut all, mut device, mut passes, mut rows) = (Causes::default(), 0.0, 0.0, 0.0);
    let (mut lanes, mut instructions) = (0.0, 0.0);
    for repeated in &buffer.dispatches {
        let times = f64::from(repeated.times.max(1)) * f64::from(buffer.times.max(1));
        let execution = repeated.execution;
        let sum = |space: Space, atomic: bool, value: fn(&Access) -> f32| {
            let chosen = |one: &Access| one.space == space && (one.kind == Kind::Atomic) == atomic;
            times
                * over_accesses(execution, |one| {
                    if chosen(one) {
                        f64::from(value(one))
                    } else {
                        0.0
                    }
                })
        };
        all.lines += sum(Space::Device, false, |one| one.lines);
        device += sum(Space::Device, false, |one| one.issued.min(one.taken));
        passes += sum(Space::Threadgroup, false, |one| one.passes);
        rows += sum(Space::Threadgroup, false, |one| one.lines);
        all.atomics += sum(Space::Device, true, |one| one.taken);
        all.atomics += sum(Space::Threadgroup, true, |one| one.taken);
        all.barriers += times
            * over_runs(execution, |run| {
                f64::from(u8::from(run.stop == Stop::Barrier))
            });
        let own = execution.instructions * execution.threadgroups() as f64 * times;
        instructions += own;
        lanes += own * execution.active_lanes;
        let fits = machine.residency(execution, constants)?;
        let threads = f64::from(fits.groups * execution.threads());
        all.resident_threads = all.resident_threads.max(threads);
    }
    let ratio = |a: f64, b: f64| if b > 0.0 { rounded(a / b) } else { 0.0 };
    Ok(Causes {
        lines: rounded(all.lines),
        lines_per_access: ratio(all.lines, device),
        passes_per_row: ratio(passes, rows),
        active_lanes: ratio(lanes, instructions),
        atomics: rounded(all.atomics),
        barriers: rounded(all.barriers),
        resident_threads: rounded(all.resident_threads),
    })
}

fn rates(work: &Work, time_us: f64, chip: &Chip, machine: &Machine) -> Rates {
    let ratio = |a: f64, b: f64| (b > 0.0).then(|| rounded(a / b));
    let per_second = |amount: f64| ratio(amount, time_us * 1e3);
    let flops = work.flops.filter(|flops| *flops > 0.0);
    let lanes = f64::from(SIMD_WIDTH) * machine.schedulers as f64 * machine.cores;
    let peak = 2.0 * lanes * machine.clock_ghz;
    let gflops = flops.and_then(per_second);
    let gbs = per_second(work.touched_bytes).filter(|gbs| *gbs > 0.0);
    let bandwidth = chip.get(Parameter::DramGbs);
    let share = |rate: Option<f64>, most: Option<f64>| {
        let (rate, most) = rate.zip(most)?;
        ratio(rate, most)
    };
    Rates {
        flops_per_byte: flops.and_then(|flops| ratio(flops, work.touched_bytes)),
        peak_share: share(gflops, Some(peak)),
        bandwidth_share: share(gbs, bandwidth),
        gflops,
        gbs,
    }
}

/// Four significant digits: no more are meant.
pub(crate) fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10f64.powi(3 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}
