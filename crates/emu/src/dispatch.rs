//! Running a launch: the constant program, then every threadgroup.

use crate::counts::{CountTable, Counts};
use crate::device::DeviceMemory;
use crate::fault::{Fault, FaultKind, Site, Thread};
use crate::interpret::{self, Exit, Failure, Machine, Trouble};
use crate::launch::{Geometry, Launch, LaunchError};
use crate::lower::{Lowered, lower, lower_main};
use crate::observe::Observer;
use crate::op::{OpIndex, Operation};
use crate::ops::access::GroupMemory;
use crate::poison::{BadRead, Reason};
use crate::simdgroup::{Placement, Simdgroup, Stack};
use crate::trace::{TraceEntry, Tracer};
use crate::uniforms::Uniforms;
use assay_agx::{AtomicOp, Instruction, Program, UniformSet};
use rayon::prelude::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Instructions a simdgroup executes before the next has its turn, so that one that
/// waits for another in a loop does not wait forever.
const TURN: u64 = 1 << 16;

/// How many instructions of a followed thread are kept.
const TRACE_LIMIT: usize = 1 << 20;

/// What memory without contents holds in a strict run: NaN, or the largest integer.
const UNDEFINED: u32 = u32::MAX;

/// What a run did.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Instructions executed by simdgroups of the main program.
    pub instructions: u64,
    /// Instructions executed by threads: active lanes, summed.
    pub lane_instructions: u64,
    /// Instructions executed by the constant program.
    pub constant_instructions: u64,
    /// Whether threadgroups ran one after another.
    pub in_order: bool,
    /// Executions per instruction, if they were counted.
    pub counts: Option<Counts>,
    /// What the followed thread did; at most a million instructions.
    pub trace: Vec<TraceEntry>,
}

/// Why a run has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmuError {
    /// The launch is not possible.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The program failed.
    #[error(transparent)]
    Fault(Box<Fault>),
    /// The caller asked to stop.
    #[error("the run was interrupted")]
    Interrupted,
}

/// Called as threadgroups finish, with how many are done and how many there are;
/// returns whether to go on.
pub type Progress<'a> = &'a (dyn Fn(u64, u64) -> bool + Sync);

/// Runs `program` on `memory`.
///
/// Threadgroups run in parallel; results do not depend on how many threads do it,
/// unless threadgroups write to the same places without atomics. If several fail, the
/// first in grid order is reported.
pub fn run(program: &Program, launch: &Launch, memory: &DeviceMemory) -> Result<Outcome, EmuError> {
    run_with_progress(program, launch, memory, &|_, _| true)
}

/// Runs `program` on `memory` and reports progress.
pub fn run_with_progress(
    program: &Program,
    launch: &Launch,
    memory: &DeviceMemory,
    progress: Progress<'_>,
) -> Result<Outcome, EmuError> {
    let runner = Runner::new(program, launch, memory)?;
    let groups = runner.groups(progress);
    let totals = groups.run_all()?;
    Ok(Outcome {
        instructions: totals.steps,
        lane_instructions: totals.lane_steps,
        constant_instructions: runner.constant_instructions,
        in_order: groups.in_order,
        counts: totals.counts.map(|table| {
            let mut counts = Counts::default();
            counts.merge(&table, &runner.code);
            counts
        }),
        trace: totals.trace,
    })
}

/// A launch made ready, to run threadgroups of it one by one: the constant program has
/// run, the code is decoded.
///
/// Threadgroups that are not run cost nothing, however large the grid.
#[derive(Debug)]
pub struct Runner<'a> {
    program: &'a Program,
    launch: &'a Launch,
    memory: &'a DeviceMemory,
    geometry: Geometry,
    code: Lowered,
    entry: OpIndex,
    constant_instructions: u64,
}

/// What one threadgroup executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupOutcome {
    /// Instructions executed by its simdgroups.
    pub instructions: u64,
    /// Instructions executed by its threads: active lanes, summed.
    pub lane_instructions: u64,
}

impl<'a> Runner<'a> {
    /// Checks the launch, runs the constant program and decodes the main program.
    pub fn new(
        program: &'a Program,
        launch: &'a Launch,
        memory: &'a DeviceMemory,
    ) -> Result<Runner<'a>, EmuError> {
        let geometry = launch.geometry(program)?;
        let mut uniforms = launch.all_uniforms(program)?;
        let constant_instructions = run_constant_program(program, launch, memory, &mut uniforms)?;
        let code = lower_main(program, &uniforms, launch.lenient);
        let entry = code.at(i64::from(program.entry)).ok_or_else(|| {
            let kind = match program.code.is_empty() {
                true => FaultKind::RanOffTheEnd,
                false => FaultKind::NoInstruction {
                    target: i64::from(program.entry),
                },
            };
            let at = Site {
                constant_program: false,
                offset: program.entry,
                text: "(entry)".to_owned(),
                place: None,
            };
            EmuError::Fault(Box::new(Fault {
                kind,
                at,
                thread: None,
            }))
        })?;
        Ok(Runner {
            program,
            launch,
            memory,
            geometry,
            code,
            entry,
            constant_instructions,
        })
    }

    /// Threadgroups along each axis.
    pub fn threadgroups(&self) -> [u32; 3] {
        self.geometry.groups
    }

    /// Instructions the constant program took.
    pub fn constant_instructions(&self) -> u64 {
        self.constant_instructions
    }

    /// Threadgroup memory of a threadgroup, in bytes.
    pub fn threadgroup_bytes(&self) -> u32 {
        self.geometry.threadgroup_bytes
    }

    /// Returns true if what the program computes depends on the order in which
    /// threadgroups perform their atomics.
    pub fn depends_on_order(&self) -> bool {
        depends_on_order(&self.code)
    }

    /// Runs one threadgroup and tells `observer` of every instruction.
    pub fn run_threadgroup(
        &self,
        position: [u32; 3],
        observer: &mut dyn Observer,
    ) -> Result<GroupOutcome, EmuError> {
        let inside = position
            .iter()
            .zip(&self.geometry.groups)
            .all(|(at, end)| at < end);
        if !inside {
            return Err(EmuError::Launch(LaunchError::NoSuchThread(Thread {
                threadgroup: position,
                simdgroup: 0,
                lane: 0,
            })));
        }
        let groups = self.groups(&|_, _| true);
        let totals = groups
            .run_group(position, Some(observer))
            .map_err(EmuError::Fault)?;
        Ok(GroupOutcome {
            instructions: totals.steps,
            lane_instructions: totals.lane_steps,
        })
    }

    fn groups<'b>(&'b self, progress: Progress<'b>) -> Groups<'b> {
        Groups {
            launch: self.launch,
            geometry: self.geometry,
            memory: self.memory,
            code: &self.code,
            entry: self.entry,
            names: Names {
                program: self.program,
                code: &self.program.code,
                constant_program: false,
                lowered: &self.code,
            },
            in_order: self.launch.sequential || depends_on_order(&self.code),
            progress,
        }
    }
}

/// Whether what a program computes depends on the order in which threads perform its
/// atomics: they give back what was there, or replace it.
fn depends_on_order(code: &Lowered) -> bool {
    code.ops.iter().any(|op| match &op.operation {
        Operation::DeviceAtomic { atomic, .. } => {
            let replaces = matches!(atomic.op, AtomicOp::Exchange | AtomicOp::CompareExchange);
            replaces || atomic.result.is_some()
        }
        _ => false,
    })
}

/// Runs the constant program with one thread; gives the instructions it took.
fn run_constant_program(
    program: &Program,
    launch: &Launch,
    memory: &DeviceMemory,
    uniforms: &mut Uniforms,
) -> Result<u64, EmuError> {
    let code = program.constant_program.as_slice();
    if code.is_empty() {
        return Ok(0);
    }
    let rereads = reads_its_own_uniforms(program);
    let mut lowered = lower(program.isa, code, uniforms, launch.lenient);
    let placement = Placement {
        group: [0; 3],
        size: [1; 3],
        full_size: [1; 3],
        simdgroup: 0,
        threads: 1,
    };
    let fill = if launch.lenient { 0 } else { UNDEFINED };
    let stack = Stack::new(crate::launch::MAX_STACK_BYTES, fill);
    let mut simdgroup = Simdgroup::new(&lowered.pool, 0, placement, stack);
    simdgroup.obey(lowered.family);
    loop {
        let mut machine = Machine {
            code: &lowered,
            device: memory,
            group: GroupMemory::new(0, 0),
            uniforms: Some(uniforms),
            counts: None,
            tracer: None,
            observer: None,
            max_steps: launch.max_steps,
            strict: !launch.lenient,
        };
        match interpret::run(&mut simdgroup, &mut machine, u64::MAX) {
            Exit::Stopped => return Ok(simdgroup.steps),
            Exit::Barrier | Exit::Paused => {}
            Exit::UniformsChanged if rereads => {
                lowered = lower(program.isa, code, uniforms, launch.lenient);
                simdgroup.set_pool(&lowered.pool);
            }
            Exit::UniformsChanged => {}
            Exit::Failed(failure) => {
                let names = Names {
                    program,
                    code,
                    constant_program: true,
                    lowered: &lowered,
                };
                return Err(EmuError::Fault(Box::new(names.fault(*failure, None))));
            }
        }
    }
}

/// Whether a constant program reads a uniform that it writes.
fn reads_its_own_uniforms(program: &Program) -> bool {
    let mut written = UniformSet::EMPTY;
    let mut read = UniformSet::EMPTY;
    for (_, item) in program.walk_constant_program() {
        if let Some(instruction) = item.known() {
            written = written.union(instruction.uniforms_written());
            read = read.union(instruction.uniforms_read());
        }
    }
    written.intersects(&read)
}

/// Names instructions in messages.
#[derive(Clone, Copy)]
struct Names<'a> {
    program: &'a Program,
    code: &'a [u8],
    constant_program: bool,
    lowered: &'a Lowered,
}

impl Names<'_> {
    fn site(&self, op: OpIndex) -> Site {
        let offset = match self.lowered.ops.get(op as usize) {
            Some(op) => op.offset,
            None => self.code.len() as u32,
        };
        let rest = self.code.get(offset as usize..).unwrap_or_default();
        let text = match (Instruction::decode(self.program.isa, rest), rest) {
            (Ok(instruction), _) => instruction.words(u64::from(offset)).to_string(),
            (Err(_), [low, high, ..]) => {
                format!(".short {:#06x}", u16::from_le_bytes([*low, *high]))
            }
            (Err(_), [byte]) => format!(".byte {byte:#04x}"),
            (Err(_), []) => "(end)".to_owned(),
        };
        Site {
            constant_program: self.constant_program,
            offset,
            text,
            place: self.place(offset),
        }
    }

    /// The source line of an instruction, and of the kernel's line that led to it.
    fn place(&self, offset: u32) -> Option<String> {
        let line = self.program.line_at(offset).filter(|line| line.line != 0)?;
        let file = self.program.files.get(line.file as usize)?;
        let at = format!("{file}:{}", line.line);
        (!self.constant_program).then_some(at)
    }

    fn fault(&self, failure: Failure, place: Option<&Placement>) -> Fault {
        let kind = match failure.trouble {
            Trouble::Fault(kind) => kind,
            Trouble::BadRead(bad) => self.bad_read(bad),
            Trouble::PendingWrite(bad) => match bad.reason {
                Reason::Pending { by, slot } => FaultKind::WriteBeforeWait {
                    half: bad.half,
                    load: self.site(by),
                    slot,
                },
                _ => self.bad_read(bad),
            },
            Trouble::Nesting(misuse) => {
                FaultKind::Nesting(interpret::nesting_fault(misuse, |op| self.site(op)))
            }
        };
        let thread = place.zip(failure.lane).map(|(place, lane)| Thread {
            threadgroup: place.group,
            simdgroup: place.simdgroup,
            lane,
        });
        Fault {
            kind,
            at: self.site(failure.op),
            thread,
        }
    }

    fn bad_read(&self, bad: BadRead) -> FaultKind {
        let half = bad.half;
        match bad.reason {
            Reason::Unwritten => FaultKind::ReadUnwritten { half },
            Reason::Pending { by, slot } => FaultKind::ReadBeforeWait {
                half,
                load: self.site(by),
                slot,
            },
            Reason::Discarded { by } => FaultKind::ReadAfterDiscard {
                half,
                discard: self.site(by),
            },
            Reason::Shuffled { by } => FaultKind::ReadOfUndefinedShuffle {
                half,
                shuffle: self.site(by),
            },
        }
    }
}

/// The threadgroups of a launch.
struct Groups<'a> {
    launch: &'a Launch,
    geometry: Geometry,
    memory: &'a DeviceMemory,
    code: &'a Lowered,
    entry: OpIndex,
    names: Names<'a>,
    in_order: bool,
    progress: Progress<'a>,
}

/// Sums over threadgroups.
#[derive(Debug, Default)]
struct Totals {
    steps: u64,
    lane_steps: u64,
    counts: Option<CountTable>,
    trace: Vec<TraceEntry>,
}

impl Totals {
    fn add(mut self, other: Totals) -> Totals {
        self.steps += other.steps;
        self.lane_steps += other.lane_steps;
        self.trace.extend(other.trace);
        self.counts = match (self.counts, other.counts) {
            (Some(mut mine), Some(theirs)) => {
                mine.merge(&theirs);
                Some(mine)
            }
            (mine, theirs) => mine.or(theirs),
        };
        self
    }
}

impl Groups<'_> {
    fn run_all(&self) -> Result<Totals, EmuError> {
        let count = self.geometry.count();
        // The lowest threadgroup that failed, and how; `count` while none has.
        let failed = AtomicU64::new(count);
        let failure: Mutex<Option<(u64, EmuError)>> = Mutex::new(None);
        let done = AtomicU64::new(0);
        let one = |totals: Totals, n: u64| {
            if n > failed.load(Relaxed) {
                return totals;
            }
            let result = self.run_group(self.geometry.group(n), None);
            let finished = done.fetch_add(1, Relaxed) + 1;
            let error = match result {
                Ok(group) => match (self.progress)(finished, count) {
                    true => return totals.add(group),
                    false => EmuError::Interrupted,
                },
                Err(fault) => EmuError::Fault(fault),
            };
            failed.fetch_min(n, Relaxed);
            if let Ok(mut first) = failure.lock()
                && first.as_ref().is_none_or(|(other, _)| n < *other)
            {
                *first = Some((n, error));
            }
            totals
        };
        let totals = if self.in_order || count == 1 {
            (0..count).fold(Totals::default(), one)
        } else {
            (0..count)
                .into_par_iter()
                .fold(Totals::default, one)
                .reduce(Totals::default, Totals::add)
        };
        match failure.into_inner() {
            Ok(None) => Ok(totals),
            Ok(Some((_, error))) => Err(error),
            Err(_) => Err(EmuError::Interrupted),
        }
    }

    fn run_group<'s>(
        &'s self,
        group: [u32; 3],
        observer: Option<&'s mut (dyn Observer + 's)>,
    ) -> Result<Totals, Box<Fault>> {
        let mut simdgroups = self.simdgroups(group);
        let strict = !self.launch.lenient;
        let fill = if strict { UNDEFINED } else { 0 };
        let mut machine = Machine {
            code: self.code,
            device: self.memory,
            group: GroupMemory::new(self.geometry.threadgroup_bytes, fill),
            uniforms: None,
            counts: self
                .launch
                .count
                .then(|| CountTable::new(self.code.ops.len())),
            tracer: self
                .launch
                .trace
                .filter(|thread| thread.threadgroup == group)
                .map(|thread| Tracer::new(thread, TRACE_LIMIT)),
            observer,
            max_steps: self.launch.max_steps,
            strict,
        };
        self.take_turns(&mut simdgroups, &mut machine)?;
        let mut totals = Totals {
            counts: machine.counts,
            trace: machine
                .tracer
                .map(|tracer| tracer.entries)
                .unwrap_or_default(),
            ..Totals::default()
        };
        for simdgroup in &simdgroups {
            totals.steps += simdgroup.steps;
            totals.lane_steps += simdgroup.lane_steps;
        }
        Ok(totals)
    }

    fn simdgroups(&self, group: [u32; 3]) -> Vec<Simdgroup> {
        let size = self.geometry.size(group);
        let threads: u32 = size.iter().product();
        let fill = if self.launch.lenient { 0 } else { UNDEFINED };
        (0..threads.div_ceil(32))
            .map(|simdgroup| {
                let placement = Placement {
                    group,
                    size,
                    full_size: self.geometry.threadgroup,
                    simdgroup,
                    threads: (threads - simdgroup * 32).min(32),
                };
                let stack = Stack::new(self.geometry.stack_bytes, fill);
                let mut simdgroup = Simdgroup::new(&self.code.pool, self.entry, placement, stack);
                simdgroup.obey(self.code.family);
                simdgroup
            })
            .collect()
    }

    /// Runs the simdgroups of a threadgroup in turn until all have ended. A barrier is
    /// passed once every simdgroup that has not ended waits at one.
    fn take_turns(
        &self,
        simdgroups: &mut [Simdgroup],
        machine: &mut Machine<'_>,
    ) -> Result<(), Box<Fault>> {
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            Ready,
            Waiting,
            Ended,
        }
        let mut states = vec![State::Ready; simdgroups.len()];
        loop {
            for (simdgroup, state) in simdgroups.iter_mut().zip(&mut states) {
                if *state != State::Ready {
                    continue;
                }
                *state = match interpret::run(simdgroup, machine, TURN) {
                    Exit::Stopped => State::Ended,
                    Exit::Barrier => State::Waiting,
                    Exit::Paused | Exit::UniformsChanged => State::Ready,
                    Exit::Failed(failure) => {
                        let fault = self.names.fault(*failure, Some(&simdgroup.placement));
                        return Err(Box::new(fault));
                    }
                };
            }
            if states.contains(&State::Ready) {
                continue;
            }
            if !states.contains(&State::Waiting) {
                return Ok(());
            }
            for state in &mut states {
                if *state == State::Waiting {
                    *state = State::Ready;
                }
            }
        }
    }
}
