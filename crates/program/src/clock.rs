//! The clock of a modelled GPU, for a program that runs: when each command buffer would have started and ended, told as it is committed.

use crate::kernels::{Codes, Kernels};
use crate::recorded::{Launch, Recorded, Step};
use crate::simulate::{Price, Queue};
use crate::store::Store;
use assay_engine::Workspace;
use assay_predict::Target;
use assay_recording::Event;
use rustc_hash::FxHashMap;
use serde::Serialize;

/// A command buffer on the modelled GPU, in microseconds from the program's first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timed {
    /// Its number in the recording.
    pub id: u64,
    /// Its start and end; none if a dispatch of it is without a time.
    pub span_us: Option<[f64; 2]>,
    /// The same of each of its encoders.
    pub encoders_us: Vec<Option<[f64; 2]>>,
    /// Kernels of dispatches without a time that were not told before, and why.
    pub unknown: Vec<[String; 2]>,
}

/// A modelled GPU that follows a recording while it is written.
pub struct Clock<'a> {
    workspace: &'a Workspace,
    store: Option<&'a Store>,
    target: &'a Target,
    recorded: Recorded,
    known: FxHashMap<Launch, u32>,
    kernels: Kernels,
    codes: Codes,
    prices: Vec<Option<Price>>,
    queue: Queue<'a>,
    /// Commands of the last command buffer that have not come yet.
    left: u64,
}

impl std::fmt::Debug for Clock<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clock").finish_non_exhaustive()
    }
}

impl<'a> Clock<'a> {
    /// The clock of a chip.
    pub fn new(target: &'a Target, workspace: &'a Workspace, store: Option<&'a Store>) -> Self {
        Clock {
            workspace,
            store,
            target,
            recorded: Recorded::default(),
            known: FxHashMap::default(),
            kernels: Kernels::default(),
            codes: Codes::default(),
            prices: Vec::new(),
            queue: Queue::new(target),
            left: 0,
        }
    }

    /// Takes the next event of the recording. The last one of a command buffer gives its times.
    pub fn add(&mut self, event: Event) -> Option<Timed> {
        match &event {
            Event::CommandBuffer(buffer) => self.left = buffer.commands,
            Event::Command(_) => self.left = self.left.checked_sub(1)?,
            // What the host does takes none of the GPU's time.
            Event::Completed(_) | Event::Waited(_) => return None,
            _ => {}
        }
        let ends = matches!(event, Event::CommandBuffer(_) | Event::Command(_)) && self.left == 0;
        self.recorded.add(event, &mut self.known);
        ends.then(|| self.timed())
    }

    /// The times of the command buffer that has come; its steps are then forgotten.
    fn timed(&mut self) -> Timed {
        let unknown = self.price();
        let steps = std::mem::take(&mut self.recorded.steps);
        for (at, step) in steps.iter().enumerate() {
            self.queue.step(at as u32, step, &self.prices);
        }
        self.queue.end_group();
        let slots = std::mem::take(&mut self.queue.slots);
        let encoders = std::mem::take(&mut self.queue.encoders);
        let buffer = std::mem::take(&mut self.queue.buffers).pop();
        let buffer = buffer.unwrap_or_default();
        let known = known_encoders(&steps, &self.prices);
        let is_known = known.iter().all(|known| *known);
        let mut at = buffer.start_us;
        let spans = encoders.iter().zip(known).map(|(encoder, known)| {
            let own = slots.get(encoder.slots.0..encoder.slots.1);
            let own = own.unwrap_or_default();
            let first = own.first().map_or(at, |slot| slot.start_us);
            at = own.last().map_or(at, |slot| slot.end_us);
            known.then_some([first, at])
        });
        Timed {
            encoders_us: spans.collect(),
            id: buffer.id,
            span_us: is_known.then_some([buffer.start_us, buffer.end_us]),
            unknown,
        }
    }

    /// Executes and prices the launches that are new; which have no time, and why.
    fn price(&mut self) -> Vec<[String; 2]> {
        let given = (self.workspace, self.store);
        self.kernels
            .extend(&self.recorded, &mut self.codes, given, &|_, _| {});
        let mut unknown = Vec::new();
        for (launch, executed) in self
            .kernels
            .executed
            .iter()
            .enumerate()
            .take(self.recorded.launches.len())
            .skip(self.prices.len())
        {
            let price = match executed {
                Ok(executed) => {
                    Price::new(executed, self.target).map_err(|error| error.to_string())
                }
                Err(why) => Err(why.clone()),
            };
            if let Err(why) = &price {
                unknown.push([self.recorded.kernel(launch as u32).to_string(), why.clone()]);
            }
            self.prices.push(price.ok());
        }
        unknown
    }
}

/// Of each encoder of a command buffer, whether all its dispatches have a time.
fn known_encoders(steps: &[Step], prices: &[Option<Price>]) -> Vec<bool> {
    let mut known = Vec::new();
    for step in steps {
        match step {
            Step::Encoder(_) => known.push(true),
            Step::Dispatch(dispatch) => {
                let is_priced = prices
                    .get(dispatch.launch as usize)
                    .is_some_and(Option::is_some);
                if let Some(last) = known.last_mut() {
                    *last &= is_priced;
                }
            }
            _ => {}
        }
    }
    known
}

#[cfg(test)]
#[path = "../tests/made/mod.rs"]
mod made;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Run;
    use crate::kernels::Executed;
    use assay_chip::Chip;
    use assay_front::{Compiler, CompilerError, Source, SourceOptions};
    use assay_launch::inputs::NoFiles;
    use assay_recording::EncoderKind;
    use std::sync::Arc;

    /// There is none: what is executed is given.
    #[derive(Debug)]
    struct NoCompiler;

    impl Compiler for NoCompiler {
        fn bitcode(&self, _: Source<'_>, _: &SourceOptions) -> Result<Vec<u8>, CompilerError> {
            Err(CompilerError::Missing {
                message: "there is no compiler".to_owned(),
                advice: None,
            })
        }
    }

    fn executed(instructions: u32) -> Result<Executed, String> {
        Ok(Executed {
            execution: made::execution(instructions, 0.0),
            accesses: Vec::new(),
        })
    }

    /// A command buffer with an encoder for each list of dispatches, by pipeline.
    fn committed(id: u64, encoders: &[&[u32]]) -> Vec<Event> {
        let commands = encoders.iter().flat_map(|dispatches| {
            let begin = made::encoder(EncoderKind::Serial);
            let all = dispatches.iter().map(|&one| made::dispatch(one, 1, 2));
            std::iter::once(begin).chain(all)
        });
        made::committed(id, commands.collect())
    }

    #[test]
    fn a_program_that_runs_is_told_the_times_that_its_recording_has() {
        let mut events = made::head(&["long", "short", "unknown"]);
        events.extend(committed(1, &[&[0, 1], &[0]]));
        events.extend(committed(2, &[&[1]]));
        events.extend(committed(3, &[&[1], &[2]]));
        let given = || vec![executed(100_000), executed(10), Err("why".to_owned())];

        let target = Target::of(Chip::named("m2").expect("a chip"));
        let workspace = Workspace::new(Arc::new(NoCompiler), Arc::new(NoFiles));
        let mut clock = Clock::new(&target, &workspace, None);
        clock.kernels.executed = given();
        let told: Vec<Timed> = events
            .iter()
            .filter_map(|event| clock.add(event.clone()))
            .collect();

        let mut recorded = Recorded::default();
        let mut known = FxHashMap::default();
        for event in events {
            recorded.add(event, &mut known);
        }
        let kernels = Kernels {
            executed: given(),
            kept: 0,
        };
        let run = Run::simulate(&recorded, &kernels, target.clone());

        assert_eq!(told.len(), 3);
        let spans: Vec<_> = told.iter().filter_map(|one| one.span_us).collect();
        let whole: Vec<_> = run
            .buffers
            .iter()
            .map(|one| [one.start_us, one.end_us])
            .collect();
        assert_eq!(spans, whole[..2]);
        let encoders = |at: usize| told[at].encoders_us.iter().flatten().count();
        assert_eq!([encoders(0), encoders(1), encoders(2)], [2, 1, 1]);
        let [first, second] = [0, 1].map(|at| told[0].encoders_us[at].expect("a time"));
        assert!(first[0] < first[1] && first[1] < second[0] && second[1] == whole[0][1]);
        // A dispatch without a time: neither its command buffer nor its encoder has one, and that is told once.
        assert_eq!((told[2].span_us, told[2].encoders_us[1]), (None, None));
        assert_eq!(told[2].unknown, [["unknown".to_owned(), "why".to_owned()]]);
    }
}
