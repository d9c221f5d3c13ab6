//! What a program says about itself without a cost table: for chips whose latencies nobody
//! has published (M3, M4, A18).
//!
//! Instruction mix, loops, memory accesses, registers and how long after a load its value is
//! waited for are facts of the code. Cycles are not among them, and neither is occupancy:
//! these chips share one memory between registers, threadgroup memory and cache and divide
//! it while a kernel runs ("dynamic caching"), so a register count is no step of a table.

use crate::class::class_name;
use crate::{Cfg, Code, Dominators, Entry, InsnId, Liveness, Loops};
use assay_agx::{AccessKind, Op, Program, Space, Standing};
use std::fmt::Write as _;

/// A program without costs.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Survey {
    /// The kernel's name; empty when unknown.
    pub name: String,
    /// The instruction set.
    pub isa: &'static str,
    /// The table was made for another instruction set and fits this one in part.
    pub experimental: bool,
    /// Bytes of code.
    pub bytes: usize,
    /// Instructions and how well they are known.
    pub instructions: Known,
    /// How many of each kind, the commonest first.
    pub mix: Vec<Share>,
    /// 32-bit registers the code names, highest plus one.
    pub registers: u16,
    /// 32-bit registers that hold a value at once, at most.
    pub live_registers: u16,
    /// Instructions that wait for a slot before they read.
    pub waiting: usize,
    /// Loops, outermost first.
    pub loops: Vec<LoopSurvey>,
    /// Every access to memory.
    pub accesses: Vec<AccessSurvey>,
    /// What stands out.
    pub findings: Vec<Remark>,
    /// What is not known about this chip.
    pub unknown: Vec<&'static str>,
}

/// Instructions by what is known of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Known {
    /// All.
    pub total: usize,
    /// Proven by programs that give their source's bytes.
    pub proven: usize,
    /// Described in public, not proven.
    pub read: usize,
    /// Of known length only.
    pub length_only: usize,
    /// Two-byte parcels that are no known instruction.
    pub undecoded: usize,
}

/// One kind of instruction.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Share {
    /// Which.
    pub kind: &'static str,
    /// How many instructions.
    pub count: usize,
    /// Of all, from 0 to 1.
    pub share: f64,
}

/// A loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoopSurvey {
    /// Byte offset of its first instruction.
    pub start: u32,
    /// How many loops are around it, itself included.
    pub depth: u32,
    /// Instructions in its blocks.
    pub instructions: usize,
    /// Loads of device memory in it.
    pub device_loads: usize,
    /// Barriers in it.
    pub barriers: usize,
}

/// An access to memory.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AccessSurvey {
    /// Byte offset of the instruction.
    pub offset: u32,
    /// `device` or `threadgroup`.
    pub memory: &'static str,
    /// `load`, `store` or `atomic`.
    pub kind: &'static str,
    /// Bytes a lane moves; absent where unknown.
    pub bytes_per_lane: Option<u32>,
    /// How many loops are around it.
    pub loop_depth: u32,
    /// Instructions between a load and the first that waits for it; absent for what
    /// delivers nothing.
    pub waited_after: Option<usize>,
}

/// Something that stands out.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Remark {
    /// Byte offset of the instruction it is about.
    pub offset: Option<u32>,
    /// What.
    pub text: String,
}

const CYCLES: &str = "cycles: no latencies of this chip are published, so none are stated";
const OCCUPANCY: &str = "occupancy: registers, threadgroup memory and cache share one memory that is divided \
     while a kernel runs, so it is no function of the register count alone";

impl Survey {
    /// Looks at the main program.
    pub fn new(program: &Program) -> Survey {
        let code = Code::decode(program.isa, &program.code);
        let mut cfg = Cfg::new(&code, program.entry);
        let dominators = Dominators::new(&cfg);
        let loops = Loops::new(&code, &mut cfg, &dominators);
        let liveness = Liveness::new(&code, &cfg);
        let entries = code.entries();
        let known = known(entries);
        let accesses = accesses(&code, &cfg, &loops);
        let most_live = ids(&code).map(|id| liveness.at(id)).max().unwrap_or(0);
        let highest = entries.iter().filter_map(|entry| {
            let touched = entry.reads.union(entry.writes);
            touched.last()
        });
        Survey {
            name: program.name.clone(),
            isa: program.isa.name(),
            experimental: program.isa.is_experimental(),
            bytes: program.code.len(),
            instructions: known,
            mix: mix(entries),
            registers: highest.max().map_or(0, |half| half / 2 + 1),
            live_registers: most_live.div_ceil(2),
            waiting: entries
                .iter()
                .filter_map(Entry::known)
                .filter(|instruction| instruction.waits() != 0)
                .count(),
            loops: loop_surveys(&code, &cfg, &loops),
            findings: findings(&known, &accesses),
            accesses,
            unknown: vec![CYCLES, OCCUPANCY],
        }
    }

    /// The same for people.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let name = if self.name.is_empty() {
            "program"
        } else {
            &self.name
        };
        let experimental = if self.experimental {
            ", experimental"
        } else {
            ""
        };
        let known = self.instructions;
        let _ = writeln!(
            out,
            "{name}: {} instructions, {} bytes ({}{experimental})",
            known.total, self.bytes, self.isa
        );
        let _ = writeln!(
            out,
            "  known      {} proven, {} read, {} by length only{}",
            known.proven,
            known.read,
            known.length_only,
            match known.undecoded {
                0 => String::new(),
                parcels => format!(", {parcels} parcels not decoded"),
            }
        );
        let _ = writeln!(
            out,
            "  registers  {} named, {} live at most; {} instructions wait for a slot",
            self.registers, self.live_registers, self.waiting
        );
        out.push_str("\ninstruction mix\n");
        for share in &self.mix {
            let _ = writeln!(
                out,
                "  {:<22} {:5}  {:5.1} %",
                share.kind,
                share.count,
                share.share * 100.0
            );
        }
        if !self.loops.is_empty() {
            out.push_str("\nloops\n");
            for one in &self.loops {
                let _ = writeln!(
                    out,
                    "  {:#06x}  depth {}, {} instructions, {} device loads, {} barriers",
                    one.start, one.depth, one.instructions, one.device_loads, one.barriers
                );
            }
        }
        if !self.accesses.is_empty() {
            out.push_str("\nmemory\n");
            for access in &self.accesses {
                let bytes = access
                    .bytes_per_lane
                    .map_or("? bytes".to_owned(), |bytes| format!("{bytes} bytes"));
                let waited = access.waited_after.map_or(String::new(), |count| {
                    format!(", waited for {count} instructions later")
                });
                let depth = match access.loop_depth {
                    0 => String::new(),
                    depth => format!(", in {depth} loop{}", if depth == 1 { "" } else { "s" }),
                };
                let _ = writeln!(
                    out,
                    "  {:#06x}  {} {}, {bytes} a lane{depth}{waited}",
                    access.offset, access.memory, access.kind
                );
            }
        }
        if !self.findings.is_empty() {
            out.push_str("\nfindings\n");
            for remark in &self.findings {
                match remark.offset {
                    Some(offset) => {
                        let _ = writeln!(out, "  {offset:#06x}  {}", remark.text);
                    }
                    None => {
                        let _ = writeln!(out, "  {}", remark.text);
                    }
                }
            }
        }
        out.push_str("\nnot known\n");
        for line in &self.unknown {
            let _ = writeln!(out, "  {line}");
        }
        out
    }
}

fn ids(code: &Code) -> impl Iterator<Item = InsnId> + use<> {
    (0..code.len()).map(InsnId::new)
}

fn known(entries: &[Entry]) -> Known {
    let mut known = Known::default();
    for entry in entries {
        let Some(instruction) = entry.known() else {
            known.undecoded += 1;
            continue;
        };
        known.total += 1;
        match instruction.standing() {
            Standing::Proven => known.proven += 1,
            Standing::Read => known.read += 1,
            Standing::LengthOnly => known.length_only += 1,
        }
    }
    known
}

fn mix(entries: &[Entry]) -> Vec<Share> {
    let mut counts: Vec<(&'static str, usize)> = Vec::new();
    let mut total = 0;
    for instruction in entries.iter().filter_map(Entry::known) {
        let kind = class_name(instruction.class());
        total += 1;
        match counts.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += 1,
            None => counts.push((kind, 1)),
        }
    }
    counts.sort_by_key(|&(kind, count)| (std::cmp::Reverse(count), kind));
    counts
        .into_iter()
        .map(|(kind, count)| Share {
            kind,
            count,
            share: count as f64 / total as f64,
        })
        .collect()
}

fn loop_surveys(code: &Code, cfg: &Cfg, loops: &Loops) -> Vec<LoopSurvey> {
    let mut found: Vec<LoopSurvey> = loops
        .all()
        .iter()
        .filter_map(|one| {
            let header = cfg.block(one.header)?;
            let ids = one
                .blocks
                .iter()
                .filter_map(|block| cfg.block(*block))
                .flat_map(|block| block.ids());
            let ops: Vec<Op> = ids.filter_map(|id| code.get(id)).map(Entry::op).collect();
            let count = |wanted: Op| ops.iter().filter(|op| **op == wanted).count();
            Some(LoopSurvey {
                start: code.get(header.ids().next()?)?.offset,
                depth: loops.depth(one.header),
                instructions: ops.len(),
                device_loads: count(Op::DeviceLoad),
                barriers: count(Op::ThreadgroupBarrier),
            })
        })
        .collect();
    found.sort_by_key(|one| (one.start, one.depth));
    found
}

fn accesses(code: &Code, cfg: &Cfg, loops: &Loops) -> Vec<AccessSurvey> {
    let mut found = Vec::new();
    for (at, id) in ids(code).enumerate() {
        let Some(instruction) = code.get(id).and_then(Entry::known) else {
            continue;
        };
        let Some(access) = instruction.memory() else {
            continue;
        };
        let memory = match access.space {
            Space::Device => "device",
            Space::Threadgroup => "threadgroup",
            _ => continue,
        };
        let kind = match access.kind {
            AccessKind::Load => "load",
            AccessKind::Store => "store",
            _ => "atomic",
        };
        let waited_after = match (access.kind, access.slot) {
            (AccessKind::Load, Some(slot)) => waited_after(code, at, slot),
            _ => None,
        };
        found.push(AccessSurvey {
            offset: code.get(id).map_or(0, |entry| entry.offset),
            memory,
            kind,
            bytes_per_lane: access.bytes_per_lane(),
            loop_depth: cfg.block_of(id).map_or(0, |block| loops.depth(block)),
            waited_after,
        });
    }
    found
}

/// Instructions between the load at `at` and the first behind it that waits for its slot.
fn waited_after(code: &Code, at: usize, slot: u8) -> Option<usize> {
    let behind = code.entries().get(at + 1..)?;
    behind.iter().position(|entry| {
        entry
            .known()
            .is_some_and(|instruction| instruction.waits() >> (slot & 7) & 1 != 0)
    })
}

fn findings(known: &Known, accesses: &[AccessSurvey]) -> Vec<Remark> {
    let mut found = Vec::new();
    if known.length_only + known.undecoded > 0 {
        found.push(Remark {
            offset: None,
            text: format!(
                "{} of {} instructions have no known meaning: registers and accesses may be more than shown",
                known.length_only + known.undecoded,
                known.total + known.undecoded
            ),
        });
    }
    for access in accesses {
        if access.loop_depth > 0 && access.waited_after == Some(0) {
            found.push(Remark {
                offset: Some(access.offset),
                text: "a load in a loop is waited for by the very next instruction: nothing hides its latency \
                       but other simdgroups"
                    .to_owned(),
            });
        }
        let narrow = access.bytes_per_lane.is_some_and(|bytes| bytes < 4);
        if narrow && access.memory == "device" && access.loop_depth > 0 {
            found.push(Remark {
                offset: Some(access.offset),
                text: "an access in a loop moves less than four bytes a lane".to_owned(),
            });
        }
    }
    found
}
