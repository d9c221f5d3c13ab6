//! Machine instructions that the constant program can run for all threads at once.
//!
//! One operation of the program may take many instructions, of which some concern an operand
//! that is the same for the whole dispatch: of a division by a size, all that makes the
//! reciprocal. Instructions that read nothing but uniforms and constants, and what such
//! instructions made, move to the constant program; the main program finds the last results
//! in uniforms.

use super::memory::layout::Layout;
use super::operand::{Src, uniform};
use super::select::{Code, Done, Lowerer, Stored};
use crate::mir::{Function, Inst, Opcode, Operand, Slice, VReg, VRegData};
use assay_agx::{Field, Modifiers, Op, Uniform};
use assay_ssa::{Id, IdVec};
use std::collections::HashMap;

/// What moves, in order.
#[derive(Debug, Default)]
pub(super) struct Lifted {
    insts: Vec<Inst>,
    /// Results that the main program needs, and the uniforms they go to.
    results: Vec<(Slice, u16)>,
}

impl Lifted {
    pub(super) fn is_empty(&self) -> bool {
        self.results.is_empty()
    }
}

/// A result must be worth more than the copy that takes its place.
const WORTH: u32 = 2;

/// What an instruction that can move is worth; nothing if it must stay.
fn worth(inst: &Inst) -> Option<u32> {
    if inst.memory.is_some() || inst.convergent || inst.is_control() {
        return None;
    }
    match inst.opcode {
        Opcode::ParallelCopy => Some(0),
        Opcode::Undefined | Opcode::Placeholder(_) => None,
        Opcode::Machine { op, .. } => match op {
            Op::Rcp | Op::Rsqrt | Op::RsqrtSpecial | Op::Log2 | Op::Exp2 | Op::Convert => Some(4),
            Op::Iadd
            | Op::Isub
            | Op::Imadd
            | Op::Bfi
            | Op::Bfeil
            | Op::Asr
            | Op::Bitop
            | Op::Fadd32
            | Op::Fmul32
            | Op::Fmadd32
            | Op::Floor
            | Op::Ceil
            | Op::Trunc
            | Op::Rint
            | Op::Icmpsel
            | Op::Fcmpsel => Some(1),
            _ => None,
        },
    }
}

/// Per register that can move, what computing it takes.
struct Worths<'a> {
    vregs: &'a IdVec<VReg, VRegData>,
    /// How often each register is written.
    written: Vec<u32>,
    of: Vec<Option<u32>>,
}

impl Worths<'_> {
    fn new(function: &Function) -> Worths<'_> {
        let mut worths = Worths {
            vregs: &function.vregs,
            written: vec![0; function.vregs.len()],
            of: vec![None; function.vregs.len()],
        };
        let insts = || {
            let blocks = function.blocks.as_slice().iter();
            blocks.flat_map(|block| &block.insts)
        };
        for slice in insts().flat_map(Inst::defs) {
            if let Some(written) = worths.written.get_mut(slice.reg.index()) {
                *written += 1;
            }
        }
        // What is written once is written before it is read, in the order of blocks too.
        for inst in insts() {
            if let Some((slice, worth)) = worths.find(inst)
                && let Some(place) = worths.of.get_mut(slice.reg.index())
            {
                *place = Some(worth);
            }
        }
        worths
    }

    fn of(&self, reg: VReg) -> Option<u32> {
        self.of.get(reg.index()).copied().flatten()
    }

    /// The whole register that an instruction makes, if it can move.
    fn find(&self, inst: &Inst) -> Option<(Slice, u32)> {
        let mut worth = worth(inst)?;
        let mut defs = inst.defs();
        let (Some(slice), None) = (defs.next(), defs.next()) else {
            return None;
        };
        let whole = self.vregs.get(slice.reg)?.halves == slice.halves();
        let once = self.written.get(slice.reg.index()) == Some(&1);
        if !whole || !once || slice.count != 1 {
            return None;
        }
        for (_, operand) in &inst.operands {
            match operand {
                Operand::Use(slice, _) => worth = worth.saturating_add(self.of(slice.reg)?),
                Operand::Uniform(uniform) if uniform.count != 1 => return None,
                Operand::Block(_) => return None,
                Operand::Def(_) | Operand::Uniform(_) | Operand::Fixed(_) => {}
            }
        }
        Some((slice, worth))
    }
}

/// Takes what can move out of the main program.
pub(super) fn lift(main: &mut Function, layout: &mut Layout) -> Lifted {
    let worths = Worths::new(main);
    let blocks = main.blocks.as_slice().iter();
    let insts: Vec<(&Inst, Option<Slice>)> = blocks
        .flat_map(|block| &block.insts)
        .map(|inst| (inst, worths.find(inst).map(|(slice, _)| slice)))
        .collect();
    let mut wanted = vec![false; main.vregs.len()];
    let staying = insts.iter().filter(|(_, moves)| moves.is_none());
    for slice in staying.flat_map(|(inst, _)| inst.uses()) {
        if worths.of(slice.reg).is_some_and(|worth| worth >= WORTH)
            && let Some(wanted) = wanted.get_mut(slice.reg.index())
        {
            *wanted = true;
        }
    }
    let mut lifted = Lifted::default();
    for slice in insts.iter().filter_map(|(_, moves)| *moves) {
        let Some(wanted) = wanted.get_mut(slice.reg.index()) else {
            continue;
        };
        if *wanted {
            match layout.uniform(slice.width) {
                Some(half) => lifted.results.push((slice, half)),
                None => *wanted = false,
            }
        }
    }
    // What they are made from moves with them.
    for (inst, moves) in insts.iter().rev() {
        let moves = moves.is_some_and(|slice| wanted.get(slice.reg.index()) == Some(&true));
        if !moves {
            continue;
        }
        for slice in inst.uses() {
            if let Some(wanted) = wanted.get_mut(slice.reg.index()) {
                *wanted = true;
            }
        }
        lifted.insts.push((*inst).clone());
    }
    lifted.insts.reverse();
    find_in_uniforms(main, &lifted.results);
    lifted
}

/// Replaces what makes the results by copies of uniforms.
fn find_in_uniforms(main: &mut Function, results: &[(Slice, u16)]) {
    let places: HashMap<VReg, u16> = results.iter().map(|(s, half)| (s.reg, *half)).collect();
    let blocks = main.blocks.as_mut_slice().iter_mut();
    for inst in blocks.flat_map(|block| &mut block.insts) {
        let Some(slice) = inst.defs().next() else {
            continue;
        };
        if let Some(half) = places.get(&slice.reg) {
            inst.opcode = Opcode::ParallelCopy;
            inst.operands = vec![
                (Field::Dest, Operand::Def(slice)),
                (Field::A, uniform(*half, slice.width, Modifiers::NONE)),
            ];
        }
    }
}

impl Lowerer<'_> {
    /// The code of what moved, in the constant program. `vregs` are the main program's.
    pub(super) fn lifted(
        &mut self,
        lifted: &Lifted,
        vregs: &IdVec<VReg, VRegData>,
    ) -> Done<Vec<Code>> {
        let mut renamed: HashMap<VReg, VReg> = HashMap::new();
        for inst in &lifted.insts {
            let mut inst = inst.clone();
            for (_, operand) in &mut inst.operands {
                *operand = match *operand {
                    Operand::Use(slice, mods) => {
                        Operand::Use(self.renamed(slice, vregs, &mut renamed), mods)
                    }
                    Operand::Def(slice) => Operand::Def(self.renamed(slice, vregs, &mut renamed)),
                    Operand::Uniform(uniform) => self.not_yet_stored(uniform)?,
                    other => other,
                };
            }
            self.out.push(Code::Inst(inst));
        }
        for &(slice, half) in &lifted.results {
            let slice = self.renamed(slice, vregs, &mut renamed);
            self.store_halves(slice, half);
        }
        Ok(std::mem::take(&mut self.out))
    }

    fn renamed(
        &mut self,
        slice: Slice,
        vregs: &IdVec<VReg, VRegData>,
        renamed: &mut HashMap<VReg, VReg>,
    ) -> Slice {
        let reg = *renamed.entry(slice.reg).or_insert_with(|| {
            let data = vregs.get(slice.reg).copied();
            self.vregs.push(data.unwrap_or(VRegData {
                halves: slice.halves(),
                align: 1,
            }))
        });
        Slice { reg, ..slice }
    }

    /// What this program itself puts into uniforms it reads from registers.
    fn not_yet_stored(&mut self, read: Uniform) -> Done<Operand> {
        let end = read.half + read.width.halves();
        let holds = |stored: &&Stored| {
            stored.half <= read.half && end <= stored.half + stored.width.halves()
        };
        let Some(stored) = self.stored.iter().find(holds).copied() else {
            return Ok(Operand::Uniform(read));
        };
        let src = self.src(stored.value, stored.lane)?;
        let part = src.part((read.half - stored.half) as u8, read.width);
        Ok(match part {
            Src::Uniform(half, _) => Operand::Uniform(Uniform { half, ..read }),
            _ => Operand::Use(self.reg(part), read.mods),
        })
    }
}
