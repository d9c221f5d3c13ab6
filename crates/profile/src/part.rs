//! The analysis of one piece of code: the main program with its helper functions, or
//! the constant program.

use crate::bounds::{Bounds, Region, bounds};
use crate::cfg::{Cfg, Edge, End, Trouble};
use crate::code::Code;
use crate::cost::{Charges, Costs, Cycles};
use crate::dominators::Dominators;
use crate::lanes::{Liveness, constant_condition};
use crate::loops::Loops;
use crate::paths::{Paths, paths, trips_of, weights};
use crate::positions::Positions;
use crate::profile::Options;
use crate::schedule::{Chain, Mode, Timing, carried_chain, critical_path, serial, steady};
use crate::trips::trip_counts;
use crate::waits::{Wait, issue_prefix, waits};
use crate::{BlockId, InsnId, LoopId};
use assay_agx::{ExecEffect, Program};

/// A basic block and what it costs.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlockReport {
    /// Which block.
    pub id: BlockId,
    /// Offset of its first instruction.
    pub start: u32,
    /// Offset after its last instruction.
    pub end: u32,
    /// Where control goes.
    pub to: Vec<BlockId>,
    /// The innermost loop around it.
    pub in_loop: Option<LoopId>,
    /// Loops around it.
    pub loop_depth: u32,
    /// How many conditions lanes must have passed to be active here.
    pub if_depth: u32,
    /// How often it runs, by known trip counts.
    pub weight: f64,
    /// Its cost, once.
    pub costs: Costs,
    /// The unit that takes longest.
    pub bound: &'static str,
    /// Its longest chain of dependent instructions.
    pub critical_path: Chain,
    /// The largest register pressure in it.
    pub pressure: u16,
}

/// A loop and what an iteration costs.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoopReport {
    /// Which loop.
    pub id: LoopId,
    /// The loop around it.
    pub parent: Option<LoopId>,
    /// 1 for an outermost loop.
    pub depth: u32,
    /// Offset of its first instruction.
    pub start: u32,
    /// Offset after its last instruction.
    pub end: u32,
    /// Its blocks.
    pub blocks: Vec<BlockId>,
    /// How often the code says it runs.
    pub trips: Option<u64>,
    /// Cost of one iteration, inner loops as often as their trip counts say.
    pub costs: Costs,
    /// The unit that takes longest.
    pub bound: &'static str,
    /// Device loads in it.
    pub loads: u32,
    /// Device stores in it.
    pub stores: u32,
    /// Threadgroup loads, stores and atomics in it.
    pub threadgroup_accesses: u32,
    /// The chain carried from iteration to iteration.
    pub carried: Option<Chain>,
    /// What limits it.
    pub bounds: Bounds,
}

/// A function.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionReport {
    /// Its name, when the container has one.
    pub name: Option<String>,
    /// Where it starts.
    pub offset: u32,
}

/// Everything known about one piece of code.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Part {
    /// The decoded code.
    #[serde(skip)]
    pub code: Code,
    /// Its graph.
    #[serde(skip)]
    pub cfg: Cfg,
    /// Its loops.
    #[serde(skip)]
    pub loop_nest: Loops,
    /// Its registers.
    #[serde(skip)]
    pub liveness: Liveness,
    /// Its costs.
    #[serde(skip)]
    pub charges: Charges,
    /// Its source lines, ascending by offset.
    #[serde(skip)]
    pub lines: Vec<assay_agx::Line>,
    /// Calls that were inlined, which lines refer to.
    #[serde(skip)]
    pub calls: Vec<assay_agx::Call>,
    /// Source files that lines refer to by their place in this list.
    pub files: Vec<String>,
    /// Instructions that can be executed.
    pub instructions: u32,
    /// Bytes of those.
    pub code_bytes: u32,
    /// Half-registers that must be live at once.
    pub peak_half_registers: u16,
    /// Where that is, by byte offset.
    pub peak_offset: Option<u32>,
    /// The highest half-register named, plus one.
    pub half_registers: u16,
    /// Half-uniforms read.
    pub half_uniforms_read: u16,
    /// Whether no unknown instruction may need more registers.
    pub registers_exact: bool,
    /// Every instruction once.
    pub once: Costs,
    /// Every instruction as often as known trip counts say.
    pub weighted: Costs,
    /// Shortest and longest way.
    pub paths: Paths,
    /// Functions: the main one first.
    pub functions: Vec<FunctionReport>,
    /// Blocks that can be executed.
    pub blocks: Vec<BlockReport>,
    /// Loops.
    pub loops: Vec<LoopReport>,
    /// Waits.
    pub waits: Vec<Wait>,
    /// What limits the part as a whole.
    pub bounds: Bounds,
    /// What could not be followed.
    pub trouble: Vec<Trouble>,
}

impl Part {
    /// Analyses `code`, entered at `entry`.
    pub(crate) fn new(program: &Program, code: Code, entry: u32, options: &Options) -> Part {
        let mut cfg = Cfg::new(&code, entry);
        let dominators = Dominators::new(&cfg);
        let loop_nest = Loops::new(&code, &mut cfg, &dominators);
        let liveness = Liveness::new(&code, &cfg);
        let charges = Charges::new(&code, &options.chip, options.costs);
        let trips = trip_counts(&code, &cfg, &dominators, &loop_nest, program);
        let weights = weights(&cfg, &loop_nest, &trips);
        let block_costs: Vec<Costs> = cfg.blocks().iter().map(|b| charges.block(b)).collect();
        let paths = paths(&cfg, &dominators, &block_costs, &weights);
        let if_depths = if_depths(&code, &cfg);
        let timing = Timing {
            code: &code,
            charges: &charges,
            memory_latency: options.memory_latency,
        };
        let prefix = issue_prefix(&code, &charges);
        let waits = waits(&timing, &cfg, &dominators, &loop_nest, &prefix);
        let analysis = Analysis {
            timing,
            cfg: &cfg,
            loops: &loop_nest,
            liveness: &liveness,
            block_costs: &block_costs,
            weights: &weights,
            if_depths: &if_depths,
            trips: &trips,
        };
        let blocks = analysis.blocks();
        let loops = analysis.loops();
        let mut once = Costs::default();
        let mut weighted = Costs::default();
        let mut code_bytes = 0;
        for (id, _) in cfg.reached() {
            let costs = block_costs.get(id.index()).copied().unwrap_or_default();
            once.add_times(&costs, 1.0);
            weighted.add_times(&costs, weights.get(id.index()).copied().unwrap_or(1.0));
        }
        for block in &blocks {
            code_bytes += block.end - block.start;
        }
        Part {
            instructions: once.instructions as u32,
            code_bytes,
            peak_half_registers: liveness.peak,
            peak_offset: liveness
                .peak_at
                .and_then(|id| code.get(id))
                .map(|entry| entry.offset),
            half_registers: liveness.allocated(),
            half_uniforms_read: uniforms_read(&code, &cfg),
            registers_exact: liveness.exact,
            once,
            weighted,
            paths,
            functions: functions(&code, &cfg, options),
            blocks,
            loops,
            waits,
            bounds: Bounds::default(),
            trouble: cfg.trouble().to_vec(),
            code,
            cfg,
            loop_nest,
            liveness,
            charges,
            lines: Vec::new(),
            calls: Vec::new(),
            files: Vec::new(),
        }
    }

    /// Puts occupancy into the bounds and the waits.
    pub(crate) fn apply_occupancy(&mut self, options: &Options, simdgroups: Option<f64>) {
        let timing = Timing {
            code: &self.code,
            charges: &self.charges,
            memory_latency: options.memory_latency,
        };
        let positions = Positions::new(&self.code, &self.cfg);
        let mut extra = [0.0; 3];
        let order: Vec<usize> = (0..self.loops.len()).rev().collect();
        let mut extras: Vec<[f64; 3]> = vec![[0.0; 3]; self.loops.len()];
        for index in order {
            // Inner loops come after outer ones, so they are done first.
            let Some(report) = self.loops.get(index) else {
                continue;
            };
            let body = body(&self.cfg, &report.blocks);
            let mut times = [Cycles::ZERO; 3];
            for (time, mode) in times.iter_mut().zip(MODES) {
                *time = steady(&timing, mode, &body);
            }
            let inner = extras.get(index).copied().unwrap_or_default();
            for (time, inner) in times.iter_mut().zip(inner) {
                time.known += inner;
            }
            let again = report
                .trips
                .map_or(0.0, |trips| trips as f64 - 1.0)
                .max(0.0);
            let target = match report.parent.and_then(|id| extras.get_mut(id.index())) {
                Some(parent) => parent,
                None => &mut extra,
            };
            for (slot, time) in target.iter_mut().zip(&times) {
                *slot += time.known * again;
            }
            let bytes = |id: InsnId| bytes_of(&self.charges, id);
            let streamed = positions.streamed(&body, bytes);
            let made = region(report.costs, times, streamed);
            if let Some(report) = self.loops.get_mut(index) {
                report.bounds = bounds(&options.chip, &made, simdgroups);
            }
        }
        let mut times = [Cycles::ZERO; 3];
        for (time, mode) in times.iter_mut().zip(MODES) {
            let ids = self.cfg.reached().flat_map(|(_, block)| block.ids());
            *time = serial(&timing, mode, ids);
        }
        for (time, extra) in times.iter_mut().zip(extra) {
            time.known += extra;
        }
        let all: Vec<InsnId> = self.cfg.reached().flat_map(|(_, b)| b.ids()).collect();
        let streamed = positions.streamed(&all, |id| bytes_of(&self.charges, id));
        let whole = region(self.weighted, times, streamed);
        self.bounds = bounds(&options.chip, &whole, simdgroups);
        self.expose(simdgroups);
    }

    /// What other simdgroups leave of each stall: they issue their own work meanwhile,
    /// shared over the stalls of the region.
    fn expose(&mut self, simdgroups: Option<f64>) {
        let Some(simdgroups) = simdgroups else {
            return;
        };
        // By loop; the last is for waits outside loops.
        let outside = self.loops.len();
        let place = |id: Option<LoopId>| id.map_or(outside, |id| id.index().min(outside));
        let mut sums = vec![0.0; outside + 1];
        for wait in &self.waits {
            if let Some(sum) = sums.get_mut(place(wait.in_loop)) {
                *sum += wait.stall.unwrap_or(0.0);
            }
        }
        for wait in &mut self.waits {
            let issue = match wait.in_loop.and_then(|id| self.loops.get(id.index())) {
                Some(report) => report.costs.issue.known,
                None => self.weighted.issue.known,
            };
            let total = sums.get(place(wait.in_loop)).copied().unwrap_or(0.0);
            let others = (simdgroups - 1.0).max(0.0) * issue;
            let share = if total > 0.0 {
                (1.0 - others / total).max(0.0)
            } else {
                0.0
            };
            wait.exposed = wait.stall.map(|stall| stall * share);
        }
    }

    /// The innermost loops, dearest first; where time most likely goes.
    pub fn hot_loop(&self) -> Option<&LoopReport> {
        self.loops
            .iter()
            .filter(|report| self.loop_nest.is_innermost(report.id))
            .max_by(|a, b| {
                let weight = |report: &LoopReport| {
                    let around = self.loop_nest.around(self.header(report));
                    around
                        .map(|id| {
                            let trips = self.loops.get(id.index()).and_then(|l| l.trips);
                            trips.map_or(ASSUMED_TRIPS, |trips| trips as f64)
                        })
                        .product::<f64>()
                        * report.costs.issue.known
                };
                // The first of equals: `max_by` would take the last.
                weight(a).total_cmp(&weight(b)).then(b.id.cmp(&a.id))
            })
    }

    fn header(&self, report: &LoopReport) -> BlockId {
        self.loop_nest
            .get(report.id)
            .map_or(BlockId(0), |found| found.header)
    }

    /// The instructions of a loop, in order of address.
    pub fn body(&self, report: &LoopReport) -> Vec<InsnId> {
        body(&self.cfg, &report.blocks)
    }

    /// The waits whose innermost loop this is.
    pub fn waits_of(&self, report: &LoopReport) -> impl Iterator<Item = &Wait> {
        // Waits are in order of address.
        let first = self
            .waits
            .partition_point(|wait| wait.offset < report.start);
        let id = report.id;
        let end = report.end;
        self.waits
            .get(first..)
            .unwrap_or_default()
            .iter()
            .take_while(move |wait| wait.offset < end)
            .filter(move |wait| wait.in_loop == Some(id))
    }

    /// The timing this part was analysed with.
    pub fn timing(&self, memory_latency: Option<f64>) -> Timing<'_> {
        Timing {
            code: &self.code,
            charges: &self.charges,
            memory_latency,
        }
    }

    /// The source line of the code at a byte offset: file and line, when known.
    pub fn line_at(&self, offset: u32) -> Option<(u32, u32)> {
        self.place_at(offset).map(|line| (line.file, line.line))
    }

    /// The source line of the code at a byte offset with the call it was inlined by, when known.
    pub fn place_at(&self, offset: u32) -> Option<&assay_agx::Line> {
        let after = self.lines.partition_point(|line| line.offset <= offset);
        let line = self.lines.get(after.checked_sub(1)?)?;
        (line.line != 0).then_some(line)
    }

    /// Byte offset of an instruction.
    pub fn offset(&self, id: InsnId) -> u32 {
        self.code.get(id).map_or(0, |entry| entry.offset)
    }
}

/// Bytes of device memory an instruction moves.
fn bytes_of(charges: &Charges, id: InsnId) -> f64 {
    let charge = charges.get(id.index());
    charge.map_or(0.0, |charge| f64::from(charge.device_bytes))
}

fn region(costs: Costs, [arithmetic, memory, alone]: [Cycles; 3], streamed: f64) -> Region {
    Region {
        streamed,
        costs,
        arithmetic,
        memory,
        alone,
    }
}

/// A loop of unknown length is ranked as if it ran so often; nothing else uses this.
const ASSUMED_TRIPS: f64 = 16.0;

const MODES: [Mode; 3] = [Mode::Arithmetic, Mode::Memory, Mode::Both];

fn body(cfg: &Cfg, blocks: &[BlockId]) -> Vec<InsnId> {
    blocks
        .iter()
        .filter_map(|&id| cfg.block(id))
        .flat_map(|block| block.ids())
        .collect()
}

struct Analysis<'a> {
    timing: Timing<'a>,
    cfg: &'a Cfg,
    loops: &'a Loops,
    liveness: &'a Liveness,
    block_costs: &'a [Costs],
    weights: &'a [f64],
    if_depths: &'a [u32],
    trips: &'a [Option<u64>],
}

impl Analysis<'_> {
    fn blocks(&self) -> Vec<BlockReport> {
        self.cfg
            .reached()
            .map(|(id, block)| {
                let costs = self
                    .block_costs
                    .get(id.index())
                    .copied()
                    .unwrap_or_default();
                let offset = |at: u32| self.timing.code.get(InsnId(at)).map_or(0, |e| e.offset);
                let last = self.timing.code.get(block.last());
                let ids: Vec<InsnId> = block.ids().collect();
                BlockReport {
                    id,
                    start: offset(block.insns.start),
                    end: last.map_or(0, |entry| entry.offset + u32::from(entry.len)),
                    to: block.edges().map(|edge: Edge| edge.to).collect(),
                    in_loop: self.loops.innermost(id),
                    loop_depth: self.loops.depth(id),
                    if_depth: self.if_depths.get(id.index()).copied().unwrap_or(0),
                    weight: self.weights.get(id.index()).copied().unwrap_or(1.0),
                    bound: costs.bound(),
                    costs,
                    pressure: ids
                        .iter()
                        .map(|&id| self.liveness.at(id))
                        .max()
                        .unwrap_or(0),
                    critical_path: critical_path(&self.timing, ids.into_iter()),
                }
            })
            .collect()
    }

    fn loops(&self) -> Vec<LoopReport> {
        (0..self.loops.all().len())
            .filter_map(|index| self.loop_report(LoopId::new(index)))
            .collect()
    }

    fn loop_report(&self, id: LoopId) -> Option<LoopReport> {
        let found = self.loops.get(id)?;
        let mut costs = Costs::default();
        for &block in &found.blocks {
            let inner: f64 = self
                .loops
                .around(block)
                .take_while(|&around| around != id)
                .map(|around| trips_of(self.trips, around))
                .product();
            costs.add_times(self.block_costs.get(block.index())?, inner);
        }
        let insns = body(self.cfg, &found.blocks);
        let header_depth = self.depth_at(found.header);
        let merges = |place: usize| {
            insns
                .get(place)
                .and_then(|&id| self.cfg.block_of(id))
                .is_some_and(|block| self.depth_at(block) > header_depth)
        };
        let carried = carried_chain(&self.timing, &insns, merges);
        let mut report = LoopReport {
            id,
            parent: found.parent,
            depth: found.depth,
            start: self.timing.code.get(*insns.first()?)?.offset,
            end: self
                .timing
                .code
                .get(*insns.last()?)
                .map(|entry| entry.offset + u32::from(entry.len))?,
            blocks: found.blocks.clone(),
            trips: self.trips.get(id.index()).copied().flatten(),
            bound: costs.bound(),
            costs,
            loads: 0,
            stores: 0,
            threadgroup_accesses: 0,
            carried,
            bounds: Bounds::default(),
        };
        for &id in &insns {
            use assay_agx::Op;
            match self.timing.code.get(id)?.op() {
                Op::DeviceLoad => report.loads += 1,
                Op::DeviceStore => report.stores += 1,
                Op::ThreadgroupLoad | Op::ThreadgroupStore | Op::ThreadgroupAtomic => {
                    report.threadgroup_accesses += 1;
                }
                _ => {}
            }
        }
        Some(report)
    }

    fn depth_at(&self, block: BlockId) -> u32 {
        self.if_depths.get(block.index()).copied().unwrap_or(0)
    }
}

/// How many conditions are open in each block: `if`s that are not `push_exec`, in the
/// order of the listing, where compilers nest them.
fn if_depths(code: &Code, cfg: &Cfg) -> Vec<u32> {
    let mut open: Vec<(u8, bool)> = Vec::new();
    let mut depths = Vec::with_capacity(cfg.blocks().len());
    for (index, block) in cfg.blocks().iter().enumerate() {
        if cfg.is_entry(BlockId::new(index)) {
            open.clear();
        }
        depths.push(open.iter().filter(|(_, real)| *real).count() as u32);
        let End::Mask(effect) = block.end else {
            continue;
        };
        match effect {
            ExecEffect::If(levels) => {
                let real = code
                    .get(block.last())
                    .and_then(|entry| entry.known())
                    .is_some_and(|insn| constant_condition(insn).is_none());
                if open.len() < 64 {
                    open.push((levels.max(1), real));
                }
            }
            ExecEffect::Pop(mut levels) => {
                while levels > 0
                    && let Some((own, real)) = open.pop()
                {
                    if own > levels {
                        open.push((own - levels, real));
                        break;
                    }
                    levels -= own;
                }
            }
            _ => {}
        }
    }
    depths
}

fn uniforms_read(code: &Code, cfg: &Cfg) -> u16 {
    let mut all = assay_agx::UniformSet::EMPTY;
    for (_, block) in cfg.reached() {
        for entry in code.range(block.insns.clone()) {
            if let Some(insn) = entry.known() {
                all = all.union(insn.uniforms_read());
            }
        }
    }
    all.len() as u16
}

fn functions(code: &Code, cfg: &Cfg, options: &Options) -> Vec<FunctionReport> {
    cfg.functions()
        .iter()
        .filter_map(|&id| {
            let start = cfg.block(id)?.insns.start;
            let offset = code.get(InsnId(start))?.offset;
            let symbol = options
                .symbols
                .iter()
                .find(|symbol| symbol.offset == offset);
            Some(FunctionReport {
                name: symbol.map(|symbol| symbol.name.clone()),
                offset,
            })
        })
        .collect()
}
