//! In-order issue of one simdgroup whose memory answers at once: cuts a scheduled block into
//! runs and gives the cycles each takes alone.

use crate::code::{Class, Instruction};
use crate::execution::{LINE, Run, Stop};
use crate::schedule::{Place, Schedule};

/// Half registers.
const HALVES: usize = 256;

pub(crate) struct Pipeline {
    now: f32,
    /// When the values that blocks leave in half registers are there.
    ready: [f32; HALVES],
    complex_free: f32,
    /// Number of the load from threadgroup memory that delivers a half register, counted
    /// from 1; 0 when none is to.
    local: [u32; HALVES],
    local_loads: u32,
    /// Loads whose arrival was waited for.
    local_done: u32,
    /// Of each place of the block: when its result is there, and the load from threadgroup
    /// memory that it is.
    results: Vec<(f32, u32)>,
}

impl Pipeline {
    pub(crate) fn new() -> Pipeline {
        Pipeline {
            now: 0.0,
            ready: [0.0; HALVES],
            complex_free: 0.0,
            local: [0; HALVES],
            local_loads: 0,
            local_done: 0,
            results: Vec::new(),
        }
    }

    pub(crate) fn block(
        &mut self,
        instructions: &[Instruction],
        schedule: &Schedule,
        access_of: &impl Fn(u32, bool) -> Option<u16>,
    ) -> Vec<Run> {
        let mut runs = Vec::new();
        let mut run = Run::default();
        let mut begun = self.now;
        self.results.clear();
        for place in &schedule.places {
            let instruction = place
                .instruction
                .and_then(|index| instructions.get(index as usize));
            let Some(instruction) = instruction else {
                self.results.push((0.0, 0));
                self.now += 1.0;
                run.instructions += 1;
                run.issue += 1.0;
                let stop = Stop::Wait { slot: place.slot };
                self.end(&mut run, &mut begun, stop, &mut runs);
                continue;
            };
            if let Some(later) = self.uses_local(place) {
                let stop = Stop::UseLocal { later };
                self.end(&mut run, &mut begun, stop, &mut runs);
            }
            self.issue(place, instruction);
            add(&mut run, instruction);
            let slot = place.slot;
            let stop = match instruction.class {
                Class::Wait => Some(Stop::Wait { slot }),
                Class::Barrier => Some(Stop::Barrier),
                Class::DeviceAccess | Class::LocalLoad | Class::LocalOther => {
                    // One that was never executed stops nothing.
                    let access = access_of(instruction.offset, place.reload);
                    access.map(|access| Stop::Access { access, slot })
                }
                _ => None,
            };
            if let Some(stop) = stop {
                self.end(&mut run, &mut begun, stop, &mut runs);
            }
        }
        run.alone = self.now - begun;
        if run.instructions > 0 {
            runs.push(run);
        }
        self.leave(instructions, schedule);
        runs
    }

    fn end(&self, run: &mut Run, begun: &mut f32, stop: Stop, runs: &mut Vec<Run>) {
        run.alone = self.now - *begun;
        run.stop = stop;
        runs.push(std::mem::take(run));
        *begun = self.now;
    }

    /// The number of later loads that may still be under way, if the instruction uses what
    /// a load from threadgroup memory delivers and nothing has waited for it yet.
    fn uses_local(&mut self, place: &Place) -> Option<u8> {
        let inside = place.reads.iter();
        let inside = inside.filter_map(|&read| self.results.get(read as usize));
        let inside = inside.map(|&(_, load)| load);
        let outside = place.outside.iter();
        let outside = outside.filter_map(|half| self.local.get(usize::from(half)).copied());
        let newest = inside.chain(outside).max().unwrap_or(0);
        if newest <= self.local_done {
            return None;
        }
        self.local_done = newest;
        Some((self.local_loads - newest).min(255) as u8)
    }

    fn issue(&mut self, place: &Place, instruction: &Instruction) {
        let mut start = self.now;
        for &read in &place.reads {
            let ready = self.results.get(read as usize);
            start = start.max(ready.map_or(0.0, |&(ready, _)| ready));
        }
        for half in place.outside.iter() {
            start = start.max(self.ready.get(usize::from(half)).copied().unwrap_or(0.0));
        }
        if instruction.complex > 0.0 {
            start = start.max(self.complex_free);
            self.complex_free = start + instruction.complex;
        }
        self.now = start + instruction.issue;
        let by_memory = matches!(
            instruction.class,
            Class::DeviceAccess | Class::LocalLoad | Class::LocalOther
        );
        let latency = if by_memory {
            instruction.issue
        } else {
            instruction.latency.max(instruction.issue)
        };
        let mut load = 0;
        if instruction.class == Class::LocalLoad && !place.reload {
            self.local_loads += 1;
            load = self.local_loads;
        }
        self.results.push((start + latency, load));
    }

    /// What the block leaves in registers: of each the last value in program order.
    fn leave(&mut self, instructions: &[Instruction], schedule: &Schedule) {
        let mut last: [Option<(u32, u32)>; HALVES] = [None; HALVES];
        for (number, place) in schedule.places.iter().enumerate() {
            let Some(index) = place.instruction else {
                continue;
            };
            let Some(instruction) = instructions.get(index as usize) else {
                continue;
            };
            for half in instruction.writes.iter() {
                if let Some(last) = last.get_mut(usize::from(half))
                    && last.is_none_or(|(known, _)| known <= index)
                {
                    *last = Some((index, number as u32));
                }
            }
        }
        for (half, last) in last.into_iter().enumerate() {
            if let Some(&(ready, load)) = last.and_then(|(_, n)| self.results.get(n as usize)) {
                self.ready[half] = ready;
                self.local[half] = load;
            }
        }
    }
}

fn add(run: &mut Run, instruction: &Instruction) {
    run.instructions += 1;
    run.complex += instruction.complex;
    run.fetched += f32::from(instruction.bytes) / LINE as f32;
    match instruction.class {
        Class::Reduction => run.reductions += 1,
        Class::Prefix => run.prefixes += 1,
        Class::Shuffle => run.shuffles += 1,
        Class::Matrix32 => run.matrices32 += 1,
        Class::Matrix16 => run.matrices16 += 1,
        _ => run.issue += instruction.issue,
    }
}
