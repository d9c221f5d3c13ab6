//! What is known of registers before a program runs: how lanes differ.
//!
//! The stride of a bit of the lane index is what a register gains where that bit is set. A register whose five strides are all known is
//! a number and a constant vector, and takes a scalar register of the CPU; one whose low bits have known strides
//! still tells which lanes access neighbouring memory. Strides hold in all lanes, active or not: a register that is written under a mask
//! has none.

mod results;

use crate::code::{Op, Pointer, Program, Reg};
use crate::collective::{Collective, Combine, What};
use crate::geometry::Grid;
use crate::memory::{OFFSET_BITS, THREADGROUP};
use crate::native::Source;
use crate::native::memory::Root;
use crate::operands::{Role, for_each_register};
use crate::position::GridPosition;
use assay_ssa::analysis::{Cfg, Dominators, Loops, UniformityInfo};
use assay_ssa::builtin::Builtin;
use assay_ssa::{Function, Id, Scalar, Value, ValueDef};
use std::collections::{HashMap, HashSet};

/// Rounds after which nothing is assumed any more.
const ROUNDS: usize = 64;

/// Bits of a lane index.
pub(in crate::native) const BITS: usize = 5;

/// A parameter of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parameter {
    /// Its block begins a loop.
    header: bool,
    /// All threads of a simdgroup that are there have the same.
    uniform: bool,
}

/// The parameters of all blocks but the first.
pub(crate) fn parameters(function: &Function) -> Vec<(Value, Parameter)> {
    let cfg = Cfg::new(function);
    let dominators = Dominators::new(&cfg, function);
    let loops = Loops::new(&cfg, &dominators, function);
    let info = UniformityInfo::of_kernel(function);
    let headers: HashSet<_> = loops.iter().map(|(_, found)| found.header).collect();
    let values = (0..function.num_values()).map(Value::from_index);
    let mut found = Vec::new();
    for value in values {
        let ValueDef::Param(block, _) = function.def(value) else {
            continue;
        };
        if Some(block) != function.entry() {
            let header = headers.contains(&block);
            let uniform = info.value(value).is_simd_uniform();
            found.push((value, Parameter { header, uniform }));
        }
    }
    found
}

/// What is known of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::native) struct Known {
    /// What each bit of the lane index adds.
    pub(in crate::native) strides: [Option<i64>; BITS],
    /// The number of the first lane is a multiple of two to this power.
    pub(in crate::native) low: u32,
    /// Read as an unsigned number, no lane is less than one with fewer bits set: strides do not wrap around.
    pub(in crate::native) in_order: bool,
    /// It may hold a single as the CPU's instruction left it: its number is that with denormals flushed and any NaN the one NaN. Other
    /// instructions on singles take it as it is, since the CPU counts denormal operands as zero.
    pub(in crate::native) raw: bool,
}

impl Known {
    pub(in crate::native) const NOTHING: Self = Self {
        strides: [None; BITS],
        low: 0,
        in_order: false,
        raw: false,
    };

    pub(in crate::native) const UNIFORM: Self = Self {
        strides: [Some(0); BITS],
        low: 0,
        in_order: true,
        raw: false,
    };

    fn constant(bits: u64) -> Self {
        let single = f32::from_bits(bits as u32);
        let number = assay_num::flush(assay_num::canonical(single));
        Self {
            low: bits.trailing_zeros().min(63),
            raw: number.to_bits() == bits as u32,
            ..Self::UNIFORM
        }
    }

    /// The number of lane 0 and what each lane adds, if that is all there is to know.
    pub(in crate::native) fn all_strides(&self) -> Option<[i64; BITS]> {
        let mut strides = [0; BITS];
        for (slot, stride) in strides.iter_mut().zip(self.strides) {
            *slot = stride?;
        }
        Some(strides)
    }

    pub(in crate::native) fn is_scalar(&self) -> bool {
        self.all_strides().is_some()
    }

    pub(in crate::native) fn is_uniform(&self) -> bool {
        self.strides == [Some(0); BITS]
    }

    fn meet(self, other: Self) -> Self {
        let mut strides = [None; BITS];
        for (at, slot) in strides.iter_mut().enumerate() {
            *slot = self.strides[at].filter(|_| self.strides[at] == other.strides[at]);
        }
        Self {
            strides,
            low: self.low.min(other.low),
            in_order: self.in_order && other.in_order,
            raw: self.raw && other.raw,
        }
    }

    fn with(self, strides: [Option<i64>; BITS]) -> Self {
        let in_order = strides == [Some(0); BITS];
        Self {
            strides,
            in_order,
            low: 0,
            raw: false,
        }
    }

    /// Returns true if the strides are bits of a number whose first lane has none of them: `or` instead of `add`.
    fn disjoint(&self) -> Option<[i64; BITS]> {
        let strides = self.all_strides()?;
        let mut seen = 0i64;
        for stride in strides {
            if stride < 0 || seen & stride != 0 {
                return None;
            }
            seen |= stride;
        }
        let above = 64 - seen.leading_zeros();
        (self.low >= above).then_some(strides)
    }
}

/// What each lane adds to the number of the first.
pub(in crate::native) fn lane_offsets(strides: [i64; BITS]) -> [i64; 32] {
    std::array::from_fn(|lane| {
        let bits = (0..BITS).filter(|bit| lane >> bit & 1 == 1);
        bits.map(|bit| strides[bit]).sum()
    })
}

/// What is known of all registers of a program run in threadgroups of a size.
pub(in crate::native) struct Registers {
    narrow: Vec<Option<Known>>,
    wide: Vec<Option<Known>>,
    pub(in crate::native) constants: HashMap<(bool, u32), u64>,
}

impl Registers {
    pub(in crate::native) fn of(&self, reg: Reg) -> Known {
        let file = if reg.wide { &self.wide } else { &self.narrow };
        let known = file.get(reg.index as usize).copied().flatten();
        known.unwrap_or(Known::NOTHING)
    }

    pub(in crate::native) fn constant(&self, reg: Reg) -> Option<u64> {
        self.constants.get(&(reg.wide, reg.index)).copied()
    }

    /// Lowers what is known of a register. Returns true if that changed.
    fn lower(&mut self, reg: Reg, known: Known) -> bool {
        let file = if reg.wide {
            &mut self.wide
        } else {
            &mut self.narrow
        };
        let Some(slot) = file.get_mut(reg.index as usize) else {
            return false;
        };
        let met = slot.map_or(known, |before| before.meet(known));
        let changed = *slot != Some(met);
        *slot = Some(met);
        changed
    }

    fn seen(&self, reg: Reg) -> Option<Known> {
        let file = if reg.wide { &self.wide } else { &self.narrow };
        file.get(reg.index as usize).copied().flatten()
    }
}

/// How lanes of a whole threadgroup of this size differ in a position; nothing if simdgroups are not alike.
fn position_of(threadgroup: [u32; 3], which: Builtin, axis: u8) -> Known {
    let grid = Grid::threads(threadgroup, threadgroup);
    let simdgroups = threadgroup.iter().product::<u32>().div_ceil(32);
    let mut known: Option<Known> = None;
    for simdgroup in 0..simdgroups {
        let at = GridPosition {
            grid: &grid,
            group: grid.group(0),
            number: 0,
            simdgroups,
            simdgroup,
        };
        let Some((base, strides)) = at.affine(which, axis.into(), 1) else {
            return Known {
                in_order: true,
                ..Known::NOTHING
            };
        };
        let mut own = [None; BITS];
        for (slot, stride) in own.iter_mut().zip(strides) {
            *slot = Some(i64::from(stride));
        }
        let grows = match which {
            Builtin::ThreadPositionInGrid => threadgroup
                .get(usize::from(axis))
                .map_or(0, |size| size.trailing_zeros()),
            _ => 63,
        };
        let uniform_unknown = !matches!(
            which,
            Builtin::ThreadPositionInGrid
                | Builtin::ThreadPositionInThreadgroup
                | Builtin::ThreadIndexInThreadgroup
                | Builtin::ThreadIndexInSimdgroup
                | Builtin::ThreadIndexInQuadgroup
                | Builtin::QuadgroupIndexInThreadgroup
                | Builtin::SimdgroupIndexInThreadgroup
        );
        let low = if uniform_unknown {
            0
        } else {
            base.trailing_zeros().min(grows)
        };
        let own = Known {
            strides: own,
            low,
            in_order: true,
            raw: false,
        };
        known = Some(known.map_or(own, |before| before.meet(own)));
    }
    known.unwrap_or(Known::NOTHING)
}

/// A loop of the bytecode: its first and last operation.
type Range = (u32, u32);

/// How a register that is written under masks may be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moved {
    /// As what is moved to it.
    Copy,
    /// As one number: all lanes that read it get the same.
    Uniform,
    /// Lane by lane.
    Lanes,
}

struct Analysis<'a> {
    source: &'a Source,
    program: &'a Program,
    loops: Vec<Range>,
    reads: HashMap<(bool, u32), Vec<u32>>,
    writes: HashMap<(bool, u32), Vec<u32>>,
    roots: &'a HashMap<u32, Option<Root>>,
}

impl Analysis<'_> {
    fn innermost(&self, at: u32) -> Option<Range> {
        let around = self
            .loops
            .iter()
            .filter(|(first, last)| *first <= at && at <= *last);
        around.min_by_key(|(first, last)| last - first).copied()
    }

    /// The innermost loop around all of some positions.
    fn around(&self, positions: &[u32]) -> Option<Range> {
        let holds = |(first, last): &&Range| positions.iter().all(|at| first <= at && at <= last);
        let around = self.loops.iter().filter(holds);
        around.min_by_key(|(first, last)| last - first).copied()
    }

    /// How a register that moves write may be kept.
    fn moved(&self, reg: Reg) -> Moved {
        let key = (reg.wide, reg.index);
        let none = Vec::new();
        let (reads, writes) = (
            self.reads.get(&key).unwrap_or(&none),
            self.writes.get(&key).unwrap_or(&none),
        );
        let inside = |range: Option<Range>| {
            range.is_none_or(|(first, last)| reads.iter().all(|&at| first <= at && at <= last))
        };
        match self.source.parameters.get(&reg) {
            Some(parameter) if parameter.header => {
                let &[entry, again] = &writes[..] else {
                    return Moved::Lanes;
                };
                let Some((first, _)) = self.innermost(again) else {
                    return Moved::Lanes;
                };
                // Nothing may read it once lanes have begun to get ready for the next iteration.
                let sound = entry < first && reads.iter().all(|&at| first <= at && at <= again);
                if sound { Moved::Copy } else { Moved::Lanes }
            }
            Some(parameter) if parameter.uniform && inside(self.around(writes)) => Moved::Uniform,
            Some(_) => Moved::Lanes,
            None => match writes[..] {
                [only] if inside(self.innermost(only)) => Moved::Copy,
                _ => Moved::Lanes,
            },
        }
    }
}

/// Finds out what is known; nothing if that has no end.
pub(in crate::native) fn analyse(
    source: &Source,
    roots: &HashMap<u32, Option<Root>>,
    threadgroup: [u32; 3],
) -> Option<Registers> {
    let program = &source.program;
    let mut registers = Registers {
        narrow: vec![None; program.narrow as usize],
        wide: vec![None; program.wide as usize],
        constants: HashMap::new(),
    };
    for &(reg, bits) in &program.constants {
        let bits = if reg.wide { bits } else { bits & 0xffff_ffff };
        registers.constants.insert((reg.wide, reg.index), bits);
        registers.lower(reg, Known::constant(bits));
    }
    for &(index, pointer) in &program.pointers {
        let reg = Reg::wide(index);
        registers.lower(reg, Known::UNIFORM);
        if let Pointer::Static(offset) = pointer {
            let address = THREADGROUP << OFFSET_BITS | u64::from(offset);
            registers.constants.insert((true, index), address);
        }
    }
    let mut analysis = Analysis {
        source,
        program,
        loops: Vec::new(),
        reads: HashMap::new(),
        writes: HashMap::new(),
        roots,
    };
    for (position, op) in (0u32..).zip(&program.ops) {
        if let Op::LoopEnd { target, .. } = *op {
            analysis.loops.push((target, position));
        }
        for_each_register(program, op, &mut |reg, role| {
            let all = match role {
                Role::Reads => &mut analysis.reads,
                Role::Writes => &mut analysis.writes,
            };
            all.entry((reg.wide, reg.index)).or_default().push(position);
        })
        .ok()?;
    }
    for _ in 0..ROUNDS {
        let mut changed = false;
        for (position, op) in program.ops.iter().enumerate() {
            changed |= analysis.step(&mut registers, position, op, threadgroup)?;
        }
        if !changed {
            return Some(registers);
        }
    }
    None
}

impl Analysis<'_> {
    /// Applies an operation. Returns true if something was lowered.
    fn step(
        &self,
        registers: &mut Registers,
        position: usize,
        op: &Op,
        threadgroup: [u32; 3],
    ) -> Option<bool> {
        let mut changed = false;
        let mut moves = Vec::new();
        match *op {
            Op::MoveNarrow { d, a } => moves.push((Reg::narrow(d), Reg::narrow(a))),
            Op::MoveWide { d, a } => moves.push((Reg::wide(d), Reg::wide(a))),
            Op::Moves { list, .. } => {
                let pairs = self.program.list(list).chunks_exact(2);
                moves.extend(pairs.map(|pair| (pair[0], pair[1])));
            }
            _ => {}
        }
        for (d, a) in moves {
            let Some(from) = registers.seen(a) else {
                continue;
            };
            let raw = from.raw;
            let known = match self.moved(d) {
                Moved::Copy if from.is_scalar() => from,
                Moved::Uniform => Known {
                    raw,
                    ..Known::UNIFORM
                },
                _ => Known {
                    raw,
                    ..Known::NOTHING
                },
            };
            changed |= registers.lower(d, known);
            // One that is not all scalar is lanes under a mask.
            if registers.seen(d).is_some_and(|known| !known.is_scalar()) {
                changed |= registers.lower(
                    d,
                    Known {
                        raw,
                        ..Known::NOTHING
                    },
                );
            }
        }
        if matches!(
            op,
            Op::MoveNarrow { .. } | Op::MoveWide { .. } | Op::Moves { .. }
        ) {
            return Some(changed);
        }
        let (mut reads, mut writes, mut unseen) = (Vec::new(), Vec::new(), false);
        for_each_register(self.program, op, &mut |reg, role| match role {
            Role::Reads => match registers.seen(reg) {
                Some(known) => reads.push((reg, known)),
                None => unseen = true,
            },
            Role::Writes => writes.push(reg),
        })
        .ok()?;
        if unseen {
            return Some(changed);
        }
        let known = self.result(registers, position, op, &reads, threadgroup);
        for reg in writes {
            changed |= registers.lower(reg, known);
        }
        Some(changed)
    }
}

/// Returns true for reductions that have code of their own.
pub(in crate::native) fn is_reduced_here(collective: &Collective) -> bool {
    let reduces =
        matches!(collective.what, What::Reduce { op, group: 32 } if op != Combine::Product);
    reduces && collective.scalar == Scalar::F32 && !collective.a.wide && !collective.d.wide
}
