//! A program's commands on the queue of a modelled chip.
//!
//! - One GPU runs one command after the other, in the order of commits, whichever queue they are of.
//! - Dispatches of a serial encoder wait for each other: `between_us` lies between them. Those of a concurrent one share the chip up to
//!   the next barrier: a group takes as long as its longest member, or as its members' work if that fills the chip for longer.
//! - A dispatch costs between its time with cold caches and with warm ones, by how much of what it touches is still in the last cache:
//!   what was touched since then takes its place.
//! - A command buffer takes `launch_us` to start. Copies move each byte twice at the rate of DRAM.
//! - The host takes no time, except that it commits nothing while it waits for a command buffer.

use crate::kernels::{Executed, Kernels};
use crate::recorded::{Dispatched, Recorded, Step};
use assay_chip::Parameter;
use assay_predict::execution::LINE;
use assay_predict::{Cache, CommandBuffer, Error, Prediction, Target, predict};
use assay_recording::EncoderKind;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// What a launch costs on a chip.
#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    /// Microseconds with caches that hold nothing of it.
    pub cold_us: f64,
    /// With caches that hold what it touches.
    pub warm_us: f64,
    /// Factors to the ends of the band.
    pub low: f64,
    /// See `low`.
    pub high: f64,
    /// The largest term of its time.
    pub limited_by: &'static str,
    /// Microseconds at the chip's bandwidth and peak, whichever is more.
    pub roof_us: f64,
    /// Share of the chip's cores that it fills.
    pub fills: f64,
    /// Bytes that it reads and that it writes, each once however often.
    pub bytes: [f64; 2],
    /// Bytes that it touches at each place, in the order of the launch.
    pub touched: Vec<f64>,
}

impl Price {
    pub(crate) fn new(executed: &Executed, target: &Target) -> Result<Price, Error> {
        let execution = &executed.execution;
        let one = |state| {
            let buffer = CommandBuffer::of(execution);
            predict(&buffer, &target.chip, &target.constants, state)
        };
        let own =
            |prediction: &Prediction| prediction.dispatches_us.first().copied().unwrap_or(0.0);
        let (cold, warm) = (one(Cache::Cold)?, one(Cache::Warm)?);
        let figure = |parameter| target.chip.get(parameter).unwrap_or(f64::INFINITY);
        let line = LINE as f64;
        // Some of what a kernel touches has no index: its number is beyond all of them.
        let indices = execution.footprint.buffers.iter().map(|one| one.buffer);
        let places = indices.filter(|index| *index < 64).max();
        let mut touched = vec![0.0; places.map_or(0, |last| last as usize + 1)];
        for one in &execution.footprint.buffers {
            if let Some(place) = touched.get_mut(one.buffer as usize) {
                *place += one.read.max(one.written) * line;
            }
        }
        let buffers = &execution.footprint.buffers;
        let bytes = [
            buffers.iter().map(|one| one.read * line).sum::<f64>(),
            buffers.iter().map(|one| one.written * line).sum::<f64>(),
        ];
        let flops = execution.flops.unwrap_or(0.0) * execution.threadgroups() as f64;
        let lanes = figure(Parameter::LanesPerCore) * figure(Parameter::Cores);
        let by_bytes = bytes.iter().sum::<f64>() / (figure(Parameter::DramGbs) * 1e3);
        let by_flops = flops / (2.0 * lanes * figure(Parameter::ClockGhz) * 1e3);
        let limiting = cold
            .terms
            .iter()
            .skip(1)
            .max_by(|a, b| a.us.total_cmp(&b.us));
        Ok(Price {
            cold_us: own(&cold),
            warm_us: own(&warm).min(own(&cold)),
            low: cold.low_us / cold.time_us,
            high: cold.high_us / cold.time_us,
            limited_by: limiting.map_or("launch", |term| term.name),
            roof_us: by_bytes.max(by_flops),
            bytes,
            fills: (execution.threadgroups() as f64 / figure(Parameter::Cores)).min(1.0),
            touched,
        })
    }
}

/// What takes a stretch of the GPU's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotKind {
    /// A dispatch of this launch.
    Dispatch(u32),
    /// A copy or fill of so many bytes.
    Copy(u64),
}

/// A stretch of the GPU's time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slot {
    /// What.
    pub kind: SlotKind,
    /// The step of the recording.
    pub step: u32,
    /// Begin and end, in microseconds from the program's first command buffer.
    pub start_us: f64,
    /// See `start_us`.
    pub end_us: f64,
    /// The gap before it, which is not part of it.
    pub gap_us: f64,
}

/// A command buffer's time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Buffered {
    pub(crate) id: u64,
    pub(crate) commit_us: f64,
    pub(crate) start_us: f64,
    pub(crate) end_us: f64,
}

/// An encoder's time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Encoded {
    pub(crate) step: u32,
    /// Slots of it: from, to.
    pub(crate) slots: (usize, usize),
    pub(crate) command_buffer: u64,
}

/// A program on a chip.
#[derive(Debug)]
pub struct Run {
    /// The chip.
    pub target: Target,
    /// By launch what it costs; none where that is not known.
    pub prices: Vec<Option<Price>>,
    /// By launch why nothing is known.
    pub unpriced: FxHashMap<u32, String>,
    /// What ran when.
    pub slots: Vec<Slot>,
    /// Microseconds in all.
    pub total_us: f64,
    /// Ends of the band.
    pub low_us: f64,
    /// See `low_us`.
    pub high_us: f64,
    /// Starts of command buffers and gaps between dispatches.
    pub overhead_us: f64,
    pub(crate) buffers: Vec<Buffered>,
    pub(crate) encoders: Vec<Encoded>,
}

impl Run {
    /// Simulates a program on a chip.
    pub fn simulate(recorded: &Recorded, kernels: &Kernels, target: Target) -> Run {
        let all: Vec<Result<Price, String>> = kernels
            .executed
            .par_iter()
            .map(|executed| match executed {
                Ok(executed) => Price::new(executed, &target).map_err(|error| error.to_string()),
                Err(why) => Err(why.clone()),
            })
            .collect();
        let mut unpriced = FxHashMap::default();
        for (launch, price) in all.iter().enumerate() {
            if let Err(why) = price {
                unpriced.insert(launch as u32, why.clone());
            }
        }
        let prices: Vec<Option<Price>> = all.into_iter().map(Result::ok).collect();
        let mut queue = Queue::new(&target);
        for (at, step) in recorded.steps.iter().enumerate() {
            queue.step(at as u32, step, &prices);
        }
        queue.end_group();
        let Queue {
            now,
            slots,
            buffers,
            encoders,
            low,
            high,
            overhead,
            ..
        } = queue;
        Run {
            slots,
            total_us: now,
            low_us: low,
            high_us: high,
            overhead_us: overhead,
            buffers,
            encoders,
            target,
            prices,
            unpriced,
        }
    }

    /// Lower end of the band of a part of the time, and upper end.
    pub fn band(&self, us: f64) -> (f64, f64) {
        let whole = self.total_us.max(f64::MIN_POSITIVE);
        (us * self.low_us / whole, us * self.high_us / whole)
    }
}

/// A member of a group of dispatches that may overlap.
struct Member {
    step: u32,
    launch: u32,
    us: f64,
    low: f64,
    high: f64,
    fills: f64,
}

/// The GPU of a chip.
pub(crate) struct Queue<'a> {
    target: &'a Target,
    now: f64,
    low: f64,
    high: f64,
    overhead: f64,
    pub(crate) slots: Vec<Slot>,
    pub(crate) buffers: Vec<Buffered>,
    pub(crate) encoders: Vec<Encoded>,
    is_concurrent: bool,
    /// Nothing has run in this command buffer yet.
    is_fresh: bool,
    group: Vec<Member>,
    /// When the host last was told that a command buffer is complete.
    told: f64,
    residence: Residence,
}

impl<'a> Queue<'a> {
    pub(crate) fn new(target: &'a Target) -> Self {
        let slc = target.chip.get(Parameter::SlcMib).unwrap_or(8.0);
        Queue {
            target,
            now: 0.0,
            low: 0.0,
            high: 0.0,
            overhead: 0.0,
            slots: Vec::new(),
            buffers: Vec::new(),
            encoders: Vec::new(),
            is_concurrent: false,
            is_fresh: true,
            group: Vec::new(),
            told: 0.0,
            residence: Residence {
                capacity: slc * target.constants.slc_share * 1024.0 * 1024.0,
                ..Residence::default()
            },
        }
    }

    /// Puts a step of a program on the queue. Dispatches without a price take no time.
    pub(crate) fn step(&mut self, at: u32, step: &Step, prices: &[Option<Price>]) {
        match step {
            Step::CommandBuffer(head) => {
                self.end_group();
                let start = self.now.max(self.told);
                self.now = start;
                self.buffers.push(Buffered {
                    id: head.id,
                    commit_us: self.told,
                    start_us: start,
                    end_us: start,
                });
                self.is_fresh = true;
            }
            Step::Encoder(encoder) => {
                self.end_group();
                self.is_concurrent = encoder.kind == EncoderKind::Concurrent;
                let slots = (self.slots.len(), self.slots.len());
                let command_buffer = self.buffers.last().map_or(0, |buffer| buffer.id);
                self.encoders.push(Encoded {
                    step: at,
                    slots,
                    command_buffer,
                });
            }
            Step::Barrier(_) => self.end_group(),
            Step::Dispatch(dispatch) => {
                if let Some(Some(price)) = prices.get(dispatch.launch as usize) {
                    self.dispatch(at, dispatch, price);
                }
            }
            Step::Copy {
                from,
                to,
                to_offset,
                bytes,
            } => self.copy(at, *from, (*to, *to_offset), *bytes),
            Step::Waited(wait) => {
                self.end_group();
                let ended = self
                    .buffers
                    .iter()
                    .rev()
                    .find(|buffer| buffer.id == wait.command_buffer);
                self.told = ended.map_or(self.told, |buffer| self.told.max(buffer.end_us));
            }
            Step::Completed(_) => {}
        }
    }

    fn dispatch(&mut self, at: u32, dispatch: &Dispatched, price: &Price) {
        let warm = self.residence.touch(&dispatch.bound, &price.touched);
        let us = price.cold_us + (price.warm_us - price.cold_us) * warm;
        self.group.push(Member {
            step: at,
            launch: dispatch.launch,
            us,
            low: price.low,
            high: price.high,
            fills: price.fills,
        });
        if !self.is_concurrent {
            self.end_group();
        }
    }

    fn copy(&mut self, at: u32, from: Option<u64>, to: (u64, u64), bytes: u64) {
        self.end_group();
        let constants = &self.target.constants;
        let rate = self
            .target
            .chip
            .get(Parameter::DramGbs)
            .unwrap_or(f64::INFINITY);
        let moved = bytes as f64 * if from.is_some() { 2.0 } else { 1.0 };
        let us = moved / (rate * constants.dram_efficiency * 1e3);
        self.residence.touch(&[to], &[bytes as f64]);
        let band = constants.band_bandwidth * constants.band_chip;
        let gap = self.gap();
        self.run(SlotKind::Copy(bytes), at, us, gap);
        self.low += us / band;
        self.high += us * band;
    }

    /// Runs the dispatches that may overlap.
    pub(crate) fn end_group(&mut self) {
        if self.group.is_empty() {
            return;
        }
        let group = std::mem::take(&mut self.group);
        let longest = group.iter().map(|one| one.us).fold(0.0, f64::max);
        let work: f64 = group.iter().map(|one| one.us * one.fills).sum();
        let whole = longest.max(work);
        let mut gap = self.gap();
        for one in group {
            // Each has the part of the group's time that it has of its work.
            let us = whole * (one.us * one.fills) / work.max(f64::MIN_POSITIVE);
            self.run(SlotKind::Dispatch(one.launch), one.step, us, gap);
            self.low += us * one.low;
            self.high += us * one.high;
            gap = 0.0;
        }
    }

    /// The time from what ran before to what runs next.
    fn gap(&mut self) -> f64 {
        let constants = &self.target.constants;
        let first = std::mem::replace(&mut self.is_fresh, false);
        let (gap, band) = match first {
            true => (
                constants.launch_us,
                constants.band_short * constants.band_chip,
            ),
            false => (constants.between_us, constants.band_between),
        };
        self.now += gap;
        self.overhead += gap;
        self.low += gap / band;
        self.high += gap * band;
        gap
    }

    fn run(&mut self, kind: SlotKind, step: u32, us: f64, gap_us: f64) {
        let start_us = self.now;
        self.now += us;
        self.slots.push(Slot {
            kind,
            step,
            start_us,
            end_us: self.now,
            gap_us,
        });
        if let Some(buffer) = self.buffers.last_mut() {
            buffer.end_us = self.now;
        }
        if let Some(encoder) = self.encoders.last_mut() {
            encoder.slots.1 = self.slots.len();
        }
    }
}

/// What is in the last cache, by how many bytes were touched since.
#[derive(Default)]
struct Residence {
    capacity: f64,
    touched: f64,
    /// By place what had been touched when it was touched last, and how much of it was.
    places: FxHashMap<(u64, u64), (f64, f64)>,
}

impl Residence {
    /// Touches places; the share of their bytes that is there already.
    fn touch(&mut self, places: &[(u64, u64)], bytes: &[f64]) -> f64 {
        let (mut all, mut there) = (0.0, 0.0);
        for (place, &bytes) in places.iter().zip(bytes) {
            all += bytes;
            if let Some(&(when, before)) = self.places.get(place) {
                let room = self.capacity - (self.touched - when);
                there += bytes.min(before).min(room.max(0.0));
            }
        }
        for (place, &bytes) in places.iter().zip(bytes) {
            self.touched += bytes;
            self.places.insert(*place, (self.touched, bytes));
        }
        match all > 0.0 {
            true => there / all,
            false => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_touched_long_ago_is_gone_from_the_cache() {
        let mut cache = Residence {
            capacity: 100.0,
            ..Residence::default()
        };
        assert_eq!(cache.touch(&[(1, 0)], &[50.0]), 0.0);
        assert_eq!(cache.touch(&[(1, 0)], &[50.0]), 1.0);
        assert_eq!(cache.touch(&[(2, 0)], &[80.0]), 0.0);
        // 80 bytes came since: 20 are left.
        assert_eq!(cache.touch(&[(1, 0)], &[50.0]), 0.4);
        assert_eq!(cache.touch(&[], &[]), 1.0);
    }
}
