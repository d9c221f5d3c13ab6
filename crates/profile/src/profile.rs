//! The whole profile of a program.

use crate::findings::{self, Finding};
use crate::part::Part;
use assay_agx::Program;
use assay_chip::occupancy::{self, Demand, Limit};
use assay_chip::{Chip, CostModel, Parameter};

/// A named place in the main program's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// Byte offset.
    pub offset: u32,
}

/// What to assume.
#[derive(Clone, Debug)]
pub struct Options {
    /// The chip.
    pub chip: Chip,
    /// The cost table.
    pub costs: CostModel,
    /// Threads per threadgroup along each axis, when known.
    pub threadgroup: Option<[u32; 3]>,
    /// Threadgroup memory in bytes, beyond what the program states.
    pub threadgroup_bytes: Option<u32>,
    /// Latency of device loads in cycles, instead of the cost table's.
    pub memory_latency: Option<f64>,
    /// Names of functions.
    pub symbols: Vec<Symbol>,
}

impl Options {
    /// Measured costs on `chip`, nothing else known.
    pub fn new(chip: Chip) -> Options {
        Options {
            chip,
            costs: CostModel::Measured,
            threadgroup: None,
            threadgroup_bytes: None,
            memory_latency: None,
            symbols: Vec::new(),
        }
    }
}

/// Why a program was not profiled.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The chip has no costs or no occupancy table.
    #[error(transparent)]
    Chip(#[from] assay_chip::Error),
    /// There is no code.
    #[error("the program has no code")]
    Empty,
    /// No byte of it is a known instruction.
    #[error("none of the {bytes} bytes of code is a known {isa} instruction")]
    NoInstructions {
        /// How many bytes.
        bytes: usize,
        /// Read as what.
        isa: &'static str,
    },
    /// The entry lies outside the code.
    #[error("the entry at {entry:#x} is not the start of an instruction")]
    BadEntry {
        /// Where.
        entry: u32,
    },
}

/// Occupancy, what limits it, and what it takes to have more.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OccupancyReport {
    /// Threads per core.
    pub threads: u32,
    /// Simdgroups per core.
    pub simdgroups: u32,
    /// Threads as a share of 1024.
    pub share: f64,
    /// `nothing`, `registers`, `threadgroup memory` or `threadgroup size`.
    pub limit: &'static str,
    /// Half-registers a thread is given.
    pub half_registers: u32,
    /// Whether the file stated that number, rather than the code showing it.
    pub half_registers_stated: bool,
    /// Threads that registers allow.
    pub by_registers: u32,
    /// Threads that threadgroup memory allows.
    pub by_threadgroup_memory: Option<u32>,
    /// Threads in whole threadgroups.
    pub by_threadgroup_size: Option<u32>,
    /// The next step.
    pub next: Option<NextStep>,
}

/// What it takes to have more threads.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NextStep {
    /// Threads per core after it.
    pub threads: u32,
    /// Half-registers to free.
    pub free_half_registers: Option<u32>,
    /// Bytes of threadgroup memory to free.
    pub free_threadgroup_bytes: Option<u32>,
    /// A threadgroup size that fits better.
    pub threadgroup_threads: Option<u32>,
    /// Where more registers are live than that step allows: byte ranges of the code.
    /// Empty when liveness already fits and only the allocation is too wide.
    pub where_live: Vec<(u32, u32)>,
}

/// A profile: plain data, cycles modelled throughout.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Profile {
    /// The kernel's name; may be empty.
    pub name: String,
    /// Instruction set of the code.
    pub isa: &'static str,
    /// Chip the figures are for.
    pub chip: &'static str,
    /// Cost table: `measured` or `mesa`.
    pub cost_model: &'static str,
    /// Always `modelled`: no figure here was measured on a GPU.
    pub basis: &'static str,
    /// Latency of a device load used, in cycles.
    pub device_load_latency: Option<f64>,
    /// Threads and what limits them; absent for chips without a published table.
    pub occupancy: OccupancyReport,
    /// Scratch bytes per thread, when stated or seen.
    pub scratch_bytes: Option<u32>,
    /// Threadgroup memory used for occupancy.
    pub threadgroup_bytes: Option<u32>,
    /// Threads per threadgroup used for occupancy.
    pub threadgroup: Option<[u32; 3]>,
    /// The main program with its helper functions.
    pub main: Part,
    /// The program that runs once per dispatch and fills uniforms.
    pub constant_program: Option<Part>,
    /// What to look at, most important first.
    pub findings: Vec<Finding>,
}

impl Profile {
    /// Profiles a program.
    ///
    /// ```
    /// use assay_agx::{assemble, Isa, Program};
    /// use assay_chip::Chip;
    /// use assay_profile::{Options, Profile};
    ///
    /// let code = assemble(Isa::G13, "fadd32 r1, r2, r3\nstop", 0)?.code;
    /// let program = Program { code, ..Program::new(Isa::G13, "add") };
    /// let profile = Profile::new(&program, &Options::new(Chip::named("m1")?))?;
    /// assert_eq!(profile.main.once.f32.exact(), Some(1.0));
    /// assert_eq!(profile.occupancy.threads, 1024);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(program: &Program, options: &Options) -> Result<Profile, Error> {
        options.chip.costs(options.costs)?;
        if program.code.is_empty() {
            return Err(Error::Empty);
        }
        let mut main = Part::new(program, &program.code, program.entry, options);
        if main.code.at(u64::from(program.entry)).is_none() {
            return Err(Error::BadEntry {
                entry: program.entry,
            });
        }
        if main.code.entries().iter().all(|entry| entry.is_unknown()) {
            return Err(Error::NoInstructions {
                bytes: program.code.len(),
                isa: program.isa.name(),
            });
        }
        let threadgroup = options.threadgroup.or(program.threadgroup_size);
        let threadgroup_bytes = options.threadgroup_bytes.or(program.threadgroup_bytes);
        let occupancy = occupancy_report(program, options, &main)?;
        let schedulers = options.chip.get(Parameter::SchedulersPerCore);
        let simdgroups = schedulers.map(|count| f64::from(occupancy.simdgroups) / count);
        main.apply_occupancy(options, simdgroups);
        let constant_program = (!program.constant_program.is_empty()).then(|| {
            let mut part = Part::new(program, &program.constant_program, 0, options);
            part.apply_occupancy(options, None);
            part
        });
        let mut profile = Profile {
            name: program.name.clone(),
            isa: program.isa.name(),
            chip: options.chip.name,
            cost_model: options.costs.name(),
            basis: "modelled",
            device_load_latency: options.memory_latency.or_else(|| {
                let table = assay_chip::CostTable::of(options.costs);
                table.get(assay_chip::Key::DeviceLoad).latency
            }),
            occupancy,
            scratch_bytes: program.scratch_bytes,
            threadgroup_bytes,
            threadgroup,
            main,
            constant_program,
            findings: Vec::new(),
        };
        profile.findings = findings::find(&profile, program, options);
        Ok(profile)
    }

    /// What decides the kernel's speed: the hottest loop's bounds, or the whole
    /// program's when it has no loop.
    pub fn verdict(&self) -> (&crate::Bounds, Option<&crate::LoopReport>) {
        match self.main.hot_loop() {
            Some(hot) => (&hot.bounds, Some(hot)),
            None => (&self.main.bounds, None),
        }
    }
}

fn occupancy_report(
    program: &Program,
    options: &Options,
    main: &Part,
) -> Result<OccupancyReport, Error> {
    let stated = program.half_registers.map(u32::from);
    let half_registers = stated.unwrap_or_else(|| u32::from(main.half_registers));
    let threads = options
        .threadgroup
        .or(program.threadgroup_size)
        .map(|[x, y, z]| x.saturating_mul(y).saturating_mul(z));
    let demand = Demand {
        half_registers,
        threadgroup_bytes: options
            .threadgroup_bytes
            .or(program.threadgroup_bytes)
            .unwrap_or(0),
        threadgroup_threads: threads,
    };
    let found = occupancy::occupancy(&options.chip, &demand)?;
    Ok(OccupancyReport {
        threads: found.threads,
        simdgroups: found.simdgroups(),
        share: found.share(),
        limit: match found.limit {
            Limit::Nothing => "nothing",
            Limit::Registers => "registers",
            Limit::ThreadgroupMemory => "threadgroup memory",
            Limit::ThreadgroupSize => "threadgroup size",
        },
        half_registers,
        half_registers_stated: stated.is_some(),
        by_registers: found.by_registers,
        by_threadgroup_memory: found.by_threadgroup_memory,
        by_threadgroup_size: found.by_threadgroup_size,
        next: found.next.map(|step| NextStep {
            threads: step.threads,
            free_half_registers: step.free_half_registers,
            free_threadgroup_bytes: step.free_threadgroup_bytes,
            threadgroup_threads: step.threadgroup_threads,
            where_live: step
                .free_half_registers
                .map(|free| above(main, half_registers.saturating_sub(free)))
                .unwrap_or_default(),
        }),
    })
}

/// Byte ranges where more than `limit` half-registers are live.
fn above(main: &Part, limit: u32) -> Vec<(u32, u32)> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    let mut open = false;
    for (entry, &pressure) in main.code.entries().iter().zip(&main.liveness.pressure) {
        let over = u32::from(pressure) > limit;
        let end = entry.offset + u32::from(entry.len);
        match (over, open, ranges.last_mut()) {
            (true, true, Some(range)) => range.1 = end,
            (true, _, _) => ranges.push((entry.offset, end)),
            _ => {}
        }
        open = over;
    }
    ranges
}
