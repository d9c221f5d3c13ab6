//! The microbenchmarks: what is dispatched, and which constant each determines.

use assay_chip::{Chip, Parameter};

/// The kernels.
pub const SOURCE: &str = include_str!("../../kernels/calibrate.metal");

/// One dispatch of a kernel of [`SOURCE`], so many times in a command buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// Unique: kernel and what it is about.
    pub name: String,
    /// The kernel.
    pub function: &'static str,
    /// Threads in the grid.
    pub threads: u32,
    /// Threads in a threadgroup.
    pub threadgroup: u32,
    /// Turns of its loop.
    pub turns: u32,
    /// The mask of its addresses.
    pub mask: u32,
    /// Bytes of its buffer.
    pub bytes: u64,
    /// Dispatches in the command buffer.
    pub dispatches: u32,
}

/// A constant (or a figure of the chip) and the probes it follows from.
#[derive(Clone, Debug, PartialEq)]
pub struct Unknown {
    /// The constant of the model, or the parameter of the chip.
    pub name: &'static str,
    /// Names of probes; their times are taken together.
    pub probes: Vec<String>,
}

/// All probes for a chip, and what follows from them, in the order it is solved for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The probes.
    pub probes: Vec<Probe>,
    /// The unknowns.
    pub unknowns: Vec<Unknown>,
}

/// Turns of loops that keep a whole GPU busy for about half a millisecond.
const TURNS: u32 = 256;

/// Threads that fill every core of any chip several times.
const MANY: u32 = 1 << 17;

/// Bytes of a cache line.
const LINE: u64 = 128;

impl Plan {
    /// The probes for a chip: sizes of rings and streams follow its caches.
    pub fn new(chip: &Chip) -> Plan {
        let mut plan = Plan::default();
        plan.overheads();
        plan.arithmetic(chip);
        plan.on_core();
        plan.caches(chip);
        plan.threadgroups();
        plan
    }

    /// The probe with this name.
    pub fn probe(&self, name: &str) -> Option<&Probe> {
        self.probes.iter().find(|probe| probe.name == name)
    }

    fn add(&mut self, name: &'static str, probes: Vec<Probe>) {
        self.unknowns.push(Unknown {
            name,
            probes: probes.iter().map(|probe| probe.name.clone()).collect(),
        });
        for probe in probes {
            if self.probe(&probe.name).is_none() {
                self.probes.push(probe);
            }
        }
    }

    fn overheads(&mut self) {
        let empty = probe("nothing", 32, 32, 0);
        self.add("launch_us", vec![empty.clone()]);
        let many = Probe {
            name: "nothing, 64 dispatches".to_owned(),
            dispatches: 64,
            ..empty
        };
        self.add("between_us", vec![many]);
    }

    fn arithmetic(&mut self, chip: &Chip) {
        let chain = probe("chain", 32, 32, 16 * TURNS);
        if chip.get(Parameter::ClockGhz).is_none() {
            self.add(Parameter::ClockGhz.name(), vec![chain]);
        }
        let busy = |function| probe(function, MANY, 256, TURNS);
        self.add("issue_efficiency", vec![busy("issue")]);
        self.add("matrix32_cycles", vec![busy("matrix32")]);
        self.add("matrix16_cycles", vec![busy("matrix16")]);
        self.add("reduction_cycles", vec![busy("reduction")]);
        self.add("prefix_cycles", vec![busy("prefix")]);
        self.add("shuffle_cycles", vec![busy("shuffle")]);
    }

    fn on_core(&mut self) {
        let busy = |function, mask| Probe {
            mask,
            bytes: 4 * u64::from(MANY) + (1 << 16),
            ..probe(function, MANY, 256, TURNS)
        };
        self.add("request_cycles", vec![busy("gather", 1023)]);
        self.add("line_cycles", vec![busy("few_lines", 127)]);
        self.add("access_cycles", vec![busy("lines", 255)]);
        self.add("local_row_cycles", vec![busy("rows", 1023)]);
        self.add("local_conflict_cycles", vec![busy("columns", 1023)]);
        self.add(
            "local_latency",
            vec![probe("local_chase", 32, 32, 16 * TURNS)],
        );
        self.add(
            "barrier_cycles",
            vec![probe("barriers", 256, 256, 16 * TURNS)],
        );
        self.add(
            "atomic_latency",
            vec![probe("atomic_chain", 1, 32, 4 * TURNS)],
        );
        self.add(
            "atomic_cycles",
            vec![probe("atomic_crowd", 32, 32, 4 * TURNS)],
        );
    }

    fn caches(&mut self, chip: &Chip) {
        let kib = |parameter: Parameter, otherwise: f64| {
            let bytes = chip.get(parameter).unwrap_or(otherwise) * 1024.0;
            bytes as u64
        };
        let cores = chip.get(Parameter::Cores).unwrap_or(8.0);
        let l2 = kib(Parameter::L2Kib, 96.0 * cores.min(16.0));
        let slc = (chip.get(Parameter::SlcMib).unwrap_or(8.0) * f64::from(1 << 20)) as u64;
        let far = (3 * slc).next_power_of_two().max(64 << 20);
        self.add("l1_latency", vec![ring(16, TURNS)]);
        let l1 = [32, 64, 128, 256].map(|lines| ring(lines, 8));
        self.add("l1_share", l1.to_vec());
        self.add("l2_latency", vec![ring(below(l2 / 4) / LINE, 4)]);
        self.add("slc_latency_ns", vec![ring(below(slc / 2) / LINE, 1)]);
        self.add("dram_latency_ns", vec![ring(far / LINE, 1)]);
        // One threadgroup, so one core; then all of them.
        self.add("l2_bytes_per_cycle", vec![stream(below(l2 / 4), 1024, 64)]);
        self.add("slc_bytes_per_cycle", vec![stream(below(slc / 2), 1024, 1)]);
        self.add(
            "slc_ratio",
            vec![again(stream(below(slc / 2), MANY, 1), 16)],
        );
        let memory = match chip.get(Parameter::DramGbs) {
            Some(_) => "dram_efficiency",
            None => Parameter::DramGbs.name(),
        };
        self.add(memory, vec![stream(4 * far, MANY, 1)]);
        let around = |size: u64, times: u32| {
            let sizes = [size, 2 * size].map(|size| stream(below(size), MANY, 1));
            sizes.map(|probe| again(probe, times)).to_vec()
        };
        self.add("l2_share", around(l2, 32));
        self.add("slc_share", around(slc, 8));
    }

    fn threadgroups(&mut self) {
        let small = probe("nothing", MANY, 32, 0);
        let large = probe("nothing", 16 * MANY, 1024, 0);
        self.add("group_cycles", vec![small]);
        self.add("simdgroup_cycles", vec![large]);
    }
}

/// The largest power of two that is no larger.
fn below(bytes: u64) -> u64 {
    1 << bytes.max(1 << 14).ilog2()
}

fn probe(function: &'static str, threads: u32, threadgroup: u32, turns: u32) -> Probe {
    Probe {
        name: format!("{function}, {threads} threads by {threadgroup}"),
        function,
        threads,
        threadgroup,
        turns,
        mask: 1023,
        bytes: 1 << 16,
        dispatches: 1,
    }
}

/// A chase through a ring of lines, so many times around.
fn ring(lines: u64, around: u32) -> Probe {
    Probe {
        name: format!("chase, {lines} lines"),
        turns: (lines as u32).saturating_mul(around),
        mask: lines as u32 - 1,
        bytes: lines * LINE,
        ..probe("chase", 1, 32, 0)
    }
}

/// The same, so many times in one command buffer.
fn again(probe: Probe, dispatches: u32) -> Probe {
    Probe {
        name: format!("{}, {dispatches} dispatches", probe.name),
        dispatches,
        ..probe
    }
}

/// Reads so many bytes, so many times.
fn stream(bytes: u64, threads: u32, times: u32) -> Probe {
    let vectors = bytes / 16;
    let threads = u64::from(threads).min(vectors) as u32;
    let threadgroup = threads.min(1024);
    let turns = (vectors / u64::from(threads)).max(1) as u32;
    Probe {
        name: format!("stream, {bytes} bytes by {threads} threads"),
        turns: turns.saturating_mul(times),
        mask: vectors as u32 - 1,
        bytes: bytes.max(16 * u64::from(threads)),
        ..probe("stream", threads, threadgroup, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constants::Constants;
    use assay_chip::chips;

    #[test]
    fn every_chip_has_a_plan_whose_probes_have_names_of_their_own() {
        for chip in chips() {
            let plan = Plan::new(chip);
            for unknown in &plan.unknowns {
                let known = Constants::NAMES.contains(&unknown.name);
                assert!(
                    known || Parameter::named(unknown.name).is_ok(),
                    "{}",
                    unknown.name
                );
                for name in &unknown.probes {
                    let probe = plan.probe(name).expect("a probe");
                    assert!(u64::from(probe.mask) < probe.bytes, "{name}");
                    assert!(
                        SOURCE.contains(&format!("void {}(", probe.function)),
                        "{name}"
                    );
                }
            }
        }
    }
}
