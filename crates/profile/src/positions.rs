//! Which coordinates of a thread an address depends on.
//!
//! A forward dataflow over half-registers: special registers bring coordinates in, arithmetic and loads pass them on. From
//! it follows whether device memory is *streamed*: a load whose address depends on every coordinate that the addresses of
//! stores depend on is made by one thread only, as far as the code shows, so caches cannot shorten it. In a naive matrix
//! product neither load is: all threads of a row share one, all of a column the other.

use crate::cfg::Cfg;
use crate::code::Code;
use crate::{BlockId, InsnId};
use assay_agx::{AccessKind, Family, Op, Operand, Space, SpecialRegister};
use std::collections::BTreeMap;

/// A set of coordinates: three of the threadgroup in the grid, three of the thread in its threadgroup.
type Coordinates = u8;

const GROUP: Coordinates = 0b00_0111;
const LOCAL: Coordinates = 0b11_1000;

/// The coordinates a special register tells.
fn coordinates(register: SpecialRegister) -> Coordinates {
    match register.in_family(Family::G13).map(|same| same.number) {
        Some(axis @ 0..=2) => 1 << axis,
        Some(axis @ 48..=50) => 1 << (axis - 48 + 3),
        // Indices of threads and simdgroups count over all axes.
        Some(51..=58) => LOCAL,
        Some(axis @ 80..=82) => 0b00_1001 << (axis - 80),
        _ => 0,
    }
}

const HALVES: usize = 256;
type State = [Coordinates; HALVES];

/// The most sweeps over the blocks; coordinates only grow, so few are needed.
const MOST_SWEEPS: usize = 32;

/// The coordinates of the addresses of device accesses.
#[derive(Clone, Debug, Default)]
pub struct Positions {
    /// By instruction: coordinates, and the number of the base's first half if it is a uniform.
    accesses: Vec<Option<Access>>,
    /// Those of all stores together.
    stores: Coordinates,
}

#[derive(Clone, Copy, Debug)]
struct Access {
    coordinates: Coordinates,
    base: Option<u16>,
    load: bool,
}

impl Positions {
    /// Follows coordinates through code.
    pub fn new(code: &Code, cfg: &Cfg) -> Positions {
        let blocks: Vec<BlockId> = cfg.reached().map(|(id, _)| id).collect();
        let mut at_end: Vec<State> = vec![[0; HALVES]; cfg.blocks().len()];
        let mut found = Positions::default();
        for _ in 0..MOST_SWEEPS {
            let mut changed = false;
            found = Positions {
                accesses: vec![None; code.len()],
                stores: 0,
            };
            for &id in &blocks {
                let mut state = [0; HALVES];
                for before in cfg.predecessors(id) {
                    if let Some(before) = at_end.get(before.index()) {
                        state.iter_mut().zip(before).for_each(|(s, b)| *s |= b);
                    }
                }
                let Some(block) = cfg.block(id) else {
                    continue;
                };
                for insn in block.ids() {
                    found.step(code, insn, &mut state);
                }
                if let Some(known) = at_end.get_mut(id.index()) {
                    changed |= *known != state;
                    *known = state;
                }
            }
            if !changed {
                break;
            }
        }
        found
    }

    fn step(&mut self, code: &Code, id: InsnId, state: &mut State) {
        let Some(entry) = code.get(id) else {
            return;
        };
        let Some(insn) = entry.known() else {
            return;
        };
        let of = |operand: Operand, state: &State| match operand.reg() {
            Some(reg) => reg.half_range().fold(0, |all, half| {
                all | state.get(usize::from(half)).copied().unwrap_or(0)
            }),
            None => 0,
        };
        if let Some(access) = insn.memory().filter(|access| access.space == Space::Device) {
            let coordinates = of(access.base, state) | of(access.index, state);
            let load = matches!(access.kind, AccessKind::Load);
            if !load {
                self.stores |= coordinates;
            }
            let base = match access.base {
                Operand::Uniform(uniform) => Some(uniform.half_range().start),
                _ => None,
            };
            let access = Access {
                coordinates,
                base,
                load,
            };
            if let Some(slot) = self.accesses.get_mut(id.index()) {
                *slot = Some(access);
            }
        }
        let read = match insn.op() {
            Op::GetSr => insn.operands().fold(0, |all, operand| match operand {
                Operand::Special(register) => all | coordinates(register),
                _ => all,
            }),
            _ => entry.reads.iter().fold(0, |all, half| {
                all | state.get(usize::from(half)).copied().unwrap_or(0)
            }),
        };
        for half in entry.writes.iter() {
            if let Some(slot) = state.get_mut(usize::from(half)) {
                *slot = read;
            }
        }
    }

    /// The device bytes that some instructions move for one thread only, once, as far as the code shows. `bytes` says how many
    /// an instruction moves.
    pub fn streamed(&self, insns: &[InsnId], bytes: impl Fn(InsnId) -> f64) -> f64 {
        let local = self.stores & LOCAL != 0 || self.stores & GROUP == 0;
        let mut loads_of: BTreeMap<u16, u32> = BTreeMap::new();
        let accesses = |id: &InsnId| Some((*id, (*self.accesses.get(id.index())?)?));
        for (_, access) in insns.iter().filter_map(accesses) {
            if let Some(base) = access.base.filter(|_| access.load) {
                *loads_of.entry(base).or_default() += 1;
            }
        }
        let mut streamed = 0.0;
        for (id, access) in insns.iter().filter_map(accesses) {
            // Several loads from one buffer overlap with those of neighbours, as a stencil's do.
            let again = access.base.and_then(|base| loads_of.get(&base)) > Some(&2);
            let own = access.coordinates & self.stores == self.stores
                && (!local || access.coordinates & LOCAL != 0);
            if own && !(access.load && again) && access.coordinates != 0 {
                streamed += bytes(id);
            }
        }
        streamed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_agx::{Isa, assemble};

    fn streams(source: &str) -> f64 {
        let code = assemble(Isa::G13, source, 0).expect("assembles").code;
        let code = Code::decode(Isa::G13, &code);
        let cfg = Cfg::new(&code, 0);
        let ids: Vec<InsnId> = cfg.reached().flat_map(|(_, block)| block.ids()).collect();
        Positions::new(&code, &cfg).streamed(&ids, |_| 128.0)
    }

    #[test]
    fn a_copy_streams_and_a_product_does_not() {
        let copy = "get_sr r0, sr80\ndevice_load 0, i32, x, r1, u0_u1, r0, unsigned\nwait 0\n\
                    device_store 0, i32, x, r1, u2_u3, r0, unsigned, 0\nstop";
        assert_eq!(streams(copy), 256.0);
        // Each load depends on one of the two coordinates that the store depends on.
        let product = "get_sr r0, sr80\nget_sr r2, sr81\n\
                       device_load 0, i32, x, r1, u0_u1, r0, unsigned\n\
                       device_load 0, i32, x, r3, u4_u5, r2, unsigned\nwait 0\n\
                       fmul32 r1, r1, r3\niadd r0, r0, r2\n\
                       device_store 0, i32, x, r1, u2_u3, r0, unsigned, 0\nstop";
        assert_eq!(streams(product), 128.0, "the store");
        let stencil = "get_sr r0, sr80\niadd r2, r0, 1\niadd r3, r0, 2\n\
                       device_load 0, i32, x, r1, u0_u1, r0, unsigned\n\
                       device_load 0, i32, x, r4, u0_u1, r2, unsigned\n\
                       device_load 0, i32, x, r5, u0_u1, r3, unsigned\nwait 0\n\
                       device_store 0, i32, x, r1, u2_u3, r0, unsigned, 0\nstop";
        assert_eq!(streams(stencil), 128.0, "the store");
    }
}
