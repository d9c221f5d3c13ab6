//! What accesses cost: which level of memory answers, and how fast.

use crate::caches::{self, InFlight};
use crate::constants::Constants;
use crate::core::TimedAccess;
use crate::execution::{Access, Execution, Kind, LINE, Space};
use crate::machine::Machine;
use crate::predict::{Cache, over_accesses};
use assay_chip::occupancy::SIMD_WIDTH;

/// Shares of L1 misses that go beyond the shared caches.
pub(crate) struct Levels {
    beyond_l2: f64,
    beyond_slc: f64,
    /// The same for the stack.
    stack_beyond_l2: f64,
    stack_beyond_slc: f64,
    l1_lines: f64,
    /// Lines that a store writes back although it finds them in L1, per line it touches: what
    /// was loaded before it is changed.
    written_back: f64,
}

/// Threadgroups of a core that use its L1 at a time. Of the simdgroups that could issue the oldest goes first, so that a few
/// run while the others wait for their turn; whether they are of one threadgroup or of several makes no difference.
fn running(execution: &Execution, constants: &Constants, resident: usize) -> f64 {
    let each = f64::from(execution.threads().div_ceil(SIMD_WIDTH)).max(1.0);
    (constants.running_simdgroups / each).clamp(1.0, resident.max(1) as f64)
}

impl Levels {
    pub(crate) fn new(
        execution: &Execution,
        machine: &Machine,
        constants: &Constants,
        (total, state): (f64, Cache),
        resident: usize,
    ) -> Levels {
        let footprint = &execution.footprint;
        let on_a_core = InFlight::new(footprint, running(execution, constants, resident));
        let l1_lines = on_a_core.reach(machine.l1_lines(execution, resident));
        let misses = |lines: f64| {
            over_accesses(execution, |access| match access.space {
                Space::Device => caches::misses(&access.misses, lines),
                _ => 0.0,
            })
        };
        let missed = misses(l1_lines);
        let stores = |value: fn(&Access, f64) -> f64| {
            over_accesses(execution, |access| match (access.kind, access.space) {
                (Kind::Store, Space::Device) => value(access, l1_lines),
                _ => 0.0,
            })
        };
        let buffers = execution.footprint.buffers.iter();
        let written: f64 = buffers.map(|buffer| buffer.written).sum();
        let missed_stores = stores(|access, lines| caches::misses(&access.misses, lines));
        let again = (written - missed_stores).max(0.0);
        let touched = stores(|access, _| f64::from(access.lines));
        let missed = (missed + again).max(f64::MIN_POSITIVE);
        let more = 1.0 + again / execution.lines().max(f64::MIN_POSITIVE);
        let in_flight = (resident as f64 * machine.cores).min(execution.threadgroups() as f64);
        let on_the_chip = InFlight::new(footprint, in_flight);
        let crossing = |lines: f64| {
            let state = (total, state);
            more * caches::traffic(
                footprint,
                lines,
                &on_the_chip,
                misses,
                state,
                constants.knee,
            )
        };
        // Threads in flight have a stack each, and go through it again and again.
        let simdgroups = f64::from(execution.threads().div_ceil(SIMD_WIDTH));
        let stacks = f64::from(execution.stack_lines) * simdgroups * in_flight;
        let beyond = |lines| caches::beyond(stacks, lines, constants.knee);
        let beyond_l2 = (crossing(machine.l2_lines) / missed).min(1.0);
        let beyond_slc = (crossing(machine.slc_lines) / missed).min(beyond_l2);
        Levels {
            beyond_l2,
            beyond_slc,
            stack_beyond_l2: beyond(machine.l2_lines),
            stack_beyond_slc: beyond(machine.slc_lines).min(beyond(machine.l2_lines)),
            l1_lines,
            written_back: (again / touched.max(f64::MIN_POSITIVE)).min(1.0),
        }
    }

    pub(crate) fn cost(
        &self,
        access: &Access,
        machine: &Machine,
        constants: &Constants,
        active: f64,
    ) -> TimedAccess {
        let lines = f64::from(access.lines);
        let posted = access.kind == Kind::Store;
        if access.space == Space::Threadgroup {
            let extra = (f64::from(access.passes) - lines).max(0.0);
            // Lanes that read the same word share a row, but each gets a copy.
            let rows = lines.max(f64::from(access.bytes) / LINE as f64);
            return TimedAccess {
                local: true,
                threadgroup: rows * constants.local_row_cycles
                    + extra * constants.local_conflict_cycles,
                latency: constants.local_latency * f64::from(access.taken),
                posted,
                ..TimedAccess::default()
            };
        }
        let mut missed = caches::misses(&access.misses, self.l1_lines);
        if access.kind == Kind::Store && access.space == Space::Device {
            missed += lines * self.written_back;
        }
        let (beyond_l2, beyond_slc) = match access.space {
            Space::Stack => (self.stack_beyond_l2, self.stack_beyond_slc),
            _ => (self.beyond_l2, self.beyond_slc),
        };
        let bytes = missed * LINE as f64;
        let slc_rate = constants.slc_bytes_per_cycle.min(machine.slc_rate / active);
        let dram_rate = constants
            .slc_bytes_per_cycle
            .min(machine.dram_rate / active);
        let step = |share: f64, from: f64, to: f64| (missed * share).min(1.0) * (to - from);
        let atomic = access.kind == Kind::Atomic;
        let latency = match atomic {
            true => constants.atomic_latency,
            false => {
                constants.l1_latency
                    + step(1.0, constants.l1_latency, constants.l2_latency)
                    + step(beyond_l2, constants.l2_latency, machine.slc_latency)
                    + step(beyond_slc, machine.slc_latency, machine.dram_latency)
            }
        };
        let contended = if atomic {
            f64::from(access.passes) * constants.atomic_cycles
        } else {
            0.0
        };
        // Lanes that read the same bytes share them.
        let moved = f64::from(access.bytes).min(lines * LINE as f64) / machine.on_core_rate;
        // Requests of lanes that are not neighbours join as long as they are for one line.
        let looked_up = match (access.space, atomic) {
            (Space::Device, false) => {
                let requests = f64::from(access.passes) * constants.request_cycles;
                requests.min(lines * constants.line_cycles)
            }
            _ => lines * constants.request_cycles,
        };
        TimedAccess {
            load_store: f64::from(access.issued * access.taken) * constants.access_cycles
                + moved.max(looked_up)
                + contended,
            l2: bytes / constants.l2_bytes_per_cycle,
            slc: bytes * beyond_l2 / slc_rate,
            dram: bytes * beyond_slc / dram_rate,
            latency: latency * f64::from(access.taken),
            posted,
            ..TimedAccess::default()
        }
    }
}
