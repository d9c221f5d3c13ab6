//! The chip as the model sees it: rates, capacities and latencies in cycles of a core.

use crate::constants::Constants;
use crate::error::Error;
use crate::execution::{Execution, LINE};
use assay_chip::occupancy::{FULL, SIMD_WIDTH, threads_for_half_registers};
use assay_chip::{Chip, Parameter};

/// Figures of a chip, all known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Machine {
    pub(crate) cores: f64,
    pub(crate) clock_ghz: f64,
    pub(crate) schedulers: usize,
    /// Most threads a core holds.
    pub(crate) max_threads: u32,
    pub(crate) register_bytes: f64,
    pub(crate) threadgroup_bytes: f64,
    /// Lines of L1, and what of it a kernel can use, as a multiple.
    l1_lines: f64,
    l1_share: f64,
    /// Registers, threadgroup memory and L1 share one memory.
    unified: bool,
    /// Lines of L2 and of the system-level cache that a kernel can use.
    pub(crate) l2_lines: f64,
    pub(crate) slc_lines: f64,
    /// Bytes per cycle of the whole chip.
    pub(crate) slc_rate: f64,
    pub(crate) dram_rate: f64,
    pub(crate) slc_latency: f64,
    pub(crate) dram_latency: f64,
    /// Bytes per cycle between L1 and the registers of a core.
    pub(crate) on_core_rate: f64,
}

/// What a core holds at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Residency {
    /// Threadgroups, if all their simdgroups live.
    pub(crate) groups: u32,
    /// Threadgroups that threadgroup memory allows.
    pub(crate) by_memory: u32,
    /// Simdgroups that registers allow. One that has ended makes room before its threadgroup
    /// has.
    pub(crate) simdgroups: u32,
}

/// The figures of a chip that predictions depend on.
pub const FIGURES: &[Parameter] = &[
    Parameter::Cores,
    Parameter::ClockGhz,
    Parameter::SchedulersPerCore,
    Parameter::RegisterFileKib,
    Parameter::MaxResidentThreads,
    Parameter::ThreadgroupMemoryKib,
    Parameter::L1Kib,
    Parameter::L2Kib,
    Parameter::SlcMib,
    Parameter::DramGbs,
    Parameter::OnCoreBytesPerCycle,
];

/// Stand-ins for figures nobody has published, from the generation before.
const STAND_INS: &[(Parameter, f64)] = &[
    (Parameter::SchedulersPerCore, 4.0),
    (Parameter::RegisterFileKib, 208.0),
    (Parameter::MaxResidentThreads, 3072.0),
    (Parameter::ThreadgroupMemoryKib, 60.0),
    (Parameter::L1Kib, 8.0),
    (Parameter::OnCoreBytesPerCycle, 64.0),
];

/// From this family on, registers, threadgroup memory and L1 share one memory (Apple: *dynamic
/// caching*). Its size is not published: taken as that of the three before.
const UNIFIED_FAMILY: u8 = 9;

impl Machine {
    /// Lines of L1 that a kernel can use while so many of its threadgroups are on a core.
    pub(crate) fn l1_lines(&self, execution: &Execution, resident: usize) -> f64 {
        let own = self.l1_lines * LINE as f64;
        let mut bytes = own;
        if self.unified {
            let threads = f64::from(execution.threads() * 2 * execution.half_registers);
            let each = threads + f64::from(execution.threadgroup_bytes);
            let all = own + self.register_bytes + self.threadgroup_bytes;
            bytes = (all - resident as f64 * each).max(own);
        }
        bytes / LINE as f64 * self.l1_share
    }

    pub(crate) fn new(chip: &Chip, constants: &Constants) -> Result<Machine, Error> {
        let figure = |parameter: Parameter| {
            let stand_in = STAND_INS.iter().find(|(known, _)| *known == parameter);
            let value = chip.get(parameter).or(stand_in.map(|(_, value)| *value));
            value.ok_or(Error::MissingFigure {
                chip: chip.title,
                what: parameter.meaning(),
                name: parameter.name(),
            })
        };
        let cores = figure(Parameter::Cores)?;
        let clock_ghz = figure(Parameter::ClockGhz)?;
        let dram = figure(Parameter::DramGbs)? * constants.dram_efficiency / clock_ghz;
        let slc = dram / constants.dram_efficiency * constants.slc_ratio;
        let kib_lines = 1024.0 / LINE as f64;
        // Where only one of the shared caches is published, the other follows the cores.
        let l2 = chip.get(Parameter::L2Kib).unwrap_or(96.0 * cores.min(16.0));
        let slc_mib = chip.get(Parameter::SlcMib).unwrap_or(8.0);
        Ok(Machine {
            cores,
            clock_ghz,
            schedulers: figure(Parameter::SchedulersPerCore)? as usize,
            max_threads: figure(Parameter::MaxResidentThreads)? as u32,
            register_bytes: figure(Parameter::RegisterFileKib)? * 1024.0,
            threadgroup_bytes: figure(Parameter::ThreadgroupMemoryKib)? * 1024.0,
            l1_lines: figure(Parameter::L1Kib)? * kib_lines,
            l1_share: constants.l1_share,
            unified: chip.family >= UNIFIED_FAMILY,
            l2_lines: l2 * kib_lines * constants.l2_share,
            slc_lines: slc_mib * 1024.0 * kib_lines * constants.slc_share,
            slc_rate: slc,
            dram_rate: dram,
            slc_latency: constants.slc_latency_ns * clock_ghz,
            dram_latency: constants.dram_latency_ns * clock_ghz,
            on_core_rate: figure(Parameter::OnCoreBytesPerCycle)?,
        })
    }

    /// What a core holds at once.
    pub(crate) fn residency(
        &self,
        execution: &Execution,
        constants: &Constants,
    ) -> Result<Residency, Error> {
        let threads = execution.threads().next_multiple_of(SIMD_WIDTH).max(1);
        let halves = execution.half_registers.max(1);
        let steps = threads_for_half_registers(halves).unwrap_or(0);
        // Below the first step more threads fit than one threadgroup can have.
        let by_registers = match steps {
            FULL.. => (self.register_bytes / f64::from(2 * halves)) as u32,
            steps => steps,
        };
        let most = (constants.resident_threads as u32).min(self.max_threads);
        let by_registers = by_registers.min(most.max(FULL));
        let by_threads = by_registers / threads;
        let by_memory = match execution.threadgroup_bytes {
            0 => u32::MAX,
            bytes => (self.threadgroup_bytes / f64::from(bytes)) as u32,
        };
        let groups = by_threads.min(by_memory);
        // Metal limits threads so that one threadgroup fits; code of another compiler may use
        // a step more.
        if groups == 0 && (threads > FULL || execution.threadgroup_bytes > 64 << 10) {
            return Err(Error::DoesNotFit {
                threads,
                half_registers: halves,
                threadgroup_bytes: execution.threadgroup_bytes,
            });
        }
        Ok(Residency {
            groups: groups.max(1),
            by_memory: by_memory.max(1),
            simdgroups: by_registers.max(threads) / SIMD_WIDTH,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_chip::chips;

    #[test]
    fn every_chip_has_what_predictions_need() {
        for chip in chips() {
            let machine = Machine::new(chip, &Constants::of(chip));
            let machine = machine.unwrap_or_else(|error| panic!("{}: {error}", chip.name));
            assert!(machine.slc_lines > machine.l2_lines, "{}", chip.name);
            assert!(chip.get(Parameter::SlcMib).is_some(), "{}", chip.name);
        }
    }

    #[test]
    fn predictions_depend_on_the_figures_named_and_on_no_other() {
        let chip = Chip::named("m2").expect("a chip");
        let constants = Constants::of(&chip);
        let before = Machine::new(&chip, &constants).expect("a machine");
        for &parameter in Parameter::ALL {
            let mut changed = chip.clone();
            changed.set(parameter, 2.0 * chip.get(parameter).unwrap_or(1.0));
            let after = Machine::new(&changed, &constants).expect("a machine");
            assert_eq!(
                after != before,
                FIGURES.contains(&parameter),
                "{}",
                parameter.name()
            );
        }
    }
}
