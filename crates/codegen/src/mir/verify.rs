//! Is a function what the passes may rely on?

use super::{Block, Function, Inst, Opcode, Operand, Slice};
use crate::back::mask;
use assay_agx::{Op, Width};
use assay_graph::BitSet;
use assay_ssa::id::Id;
use std::collections::HashSet;

impl Function {
    /// Checks that slices lie inside their registers and are aligned, that control is at
    /// the edges of blocks, that jumps and successors exist, that copies are pairs of
    /// one size, and that every half is written on every path before it is read.
    pub fn verify(&self) -> Result<(), String> {
        for (id, data) in self.vregs.iter() {
            if !(1..=16).contains(&data.halves) || ![1, 2, 4].contains(&data.align) {
                return Err(format!("{id} is {data:?}"));
            }
        }
        for (id, block) in self.blocks.iter() {
            self.verify_block(block)
                .map_err(|problem| format!("{id}: {problem}"))?;
        }
        self.verify_defined()
    }

    fn verify_block(&self, block: &Block) -> Result<(), String> {
        if let Some(missing) = block
            .successors
            .iter()
            .find(|id| !self.blocks.contains(**id))
        {
            return Err(format!("there is no successor {missing}"));
        }
        // Mask instructions, plain ones, mask instructions and jumps.
        let head = block.insts.iter().take_while(|inst| inst.is_control());
        let tail = block
            .insts
            .iter()
            .rev()
            .take_while(|inst| inst.is_control());
        let middle = block.insts.iter().skip(head.count());
        let plain = middle.len().saturating_sub(tail.count());
        if let Some(inst) = middle.take(plain).find(|inst| inst.is_control()) {
            return Err(format!("control in the middle: {inst:?}"));
        }
        for (at, inst) in block.insts.iter().enumerate() {
            self.verify_inst(inst)
                .map_err(|problem| format!("instruction {at}: {problem}"))?;
        }
        Ok(())
    }

    fn verify_inst(&self, inst: &Inst) -> Result<(), String> {
        for (_, operand) in &inst.operands {
            match operand {
                Operand::Use(slice, _) | Operand::Def(slice) => self.verify_slice(*slice)?,
                Operand::Block(id) if !self.blocks.contains(*id) => {
                    return Err(format!("there is no {id}"));
                }
                _ => {}
            }
        }
        let is_jump = matches!(
            inst.opcode,
            Opcode::Machine {
                op: Op::JmpExecAny | Op::JmpExecNone,
                ..
            }
        );
        let targets = inst
            .operands
            .iter()
            .filter(|(_, operand)| matches!(operand, Operand::Block(_)));
        if targets.count() != usize::from(is_jump) {
            return Err("a jump has one target, and nothing else has any".to_owned());
        }
        match inst.opcode {
            Opcode::ParallelCopy => verify_copies(inst),
            _ => Ok(()),
        }
    }

    fn verify_slice(&self, slice: Slice) -> Result<(), String> {
        let Some(data) = self.vregs.get(slice.reg) else {
            return Err(format!("there is no {}", slice.reg));
        };
        let end = u32::from(slice.half) + u32::from(slice.count) * u32::from(slice.width.halves());
        if slice.count == 0 || end > u32::from(data.halves) {
            return Err(format!("{slice:?} is not inside {data:?}"));
        }
        let aligned = slice.width == Width::W16
            || (slice.half.is_multiple_of(2) && data.align.is_multiple_of(2));
        match aligned {
            true => Ok(()),
            false => Err(format!("{slice:?} is not aligned in {data:?}")),
        }
    }

    /// Every half is written on every path before it is read.
    /// Which registers are named in more than one block.
    fn in_several_blocks(&self) -> Vec<bool> {
        let mut only = vec![None; self.vregs.len()];
        let mut several = vec![false; self.vregs.len()];
        for (id, block) in self.blocks.iter() {
            for slice in block
                .insts
                .iter()
                .flat_map(|inst| inst.uses().chain(inst.defs()))
            {
                let index = slice.reg.index();
                if let (Some(only), Some(several)) = (only.get_mut(index), several.get_mut(index)) {
                    *several |= only.is_some_and(|known| known != id);
                    *only = Some(id);
                }
            }
        }
        several
    }

    fn verify_defined(&self) -> Result<(), String> {
        let mut base = Vec::with_capacity(self.vregs.len());
        // Registers of one block follow those of several: only these have bits in every block.
        let several = self.in_several_blocks();
        let mut size = 0;
        for (of_several, (_, data)) in several.iter().zip(self.vregs.iter()) {
            base.push(size);
            size += if *of_several {
                usize::from(data.halves)
            } else {
                0
            };
        }
        let is_of_several = |slice: &Slice| several.get(slice.reg.index()) == Some(&true);
        let at = |slice: Slice, half: u8| {
            base.get(slice.reg.index()).copied().unwrap_or(0) + usize::from(half)
        };
        let mut own: HashSet<(usize, u8)> = HashSet::new();
        let mut known = vec![BitSet::full(size); self.blocks.len()];
        if let Some(entry) = known.first_mut() {
            *entry = BitSet::new(size);
        }
        let mut changed = true;
        while changed {
            changed = false;
            for (id, block) in self.blocks.iter() {
                let mut now = known.get(id.index()).cloned().unwrap_or_default();
                let defs = block.insts.iter().flat_map(Inst::defs);
                for slice in defs.filter(is_of_several) {
                    slice.range().for_each(|half| now.insert(at(slice, half)));
                }
                for successor in &block.successors {
                    if let Some(then) = known.get_mut(successor.index()) {
                        changed |= then.intersect(&now);
                    }
                }
            }
        }
        for ((id, block), mut now) in self.blocks.iter().zip(known) {
            for (number, inst) in block.insts.iter().enumerate() {
                for slice in inst.uses() {
                    let is_known = |half: u8| match is_of_several(&slice) {
                        true => now.contains(at(slice, half)),
                        false => own.contains(&(slice.reg.index(), half)),
                    };
                    if let Some(half) = slice.range().find(|half| !is_known(*half)) {
                        return Err(format!(
                            "{id}: instruction {number} reads half {half} of {}, which is not \
                             written on every path",
                            slice.reg
                        ));
                    }
                }
                for slice in inst.defs() {
                    slice.range().for_each(|half| match is_of_several(&slice) {
                        true => now.insert(at(slice, half)),
                        false => {
                            own.insert((slice.reg.index(), half));
                        }
                    });
                }
            }
        }
        Ok(())
    }
}

fn verify_copies(inst: &Inst) -> Result<(), String> {
    let mut written: Vec<Slice> = Vec::new();
    for pair in inst.operands.chunks(2) {
        let [(_, Operand::Def(to)), (_, from)] = pair else {
            return Err("a copy is a definition, then its source".to_owned());
        };
        let fits = match from {
            Operand::Use(from, mods) => {
                *mods == assay_agx::Modifiers::NONE && from.halves() == to.halves()
            }
            Operand::Uniform(from) => {
                u16::from(from.count) * from.width.halves() == u16::from(to.halves())
            }
            Operand::Fixed(assay_agx::Operand::Imm(_)) => to.halves() <= 4,
            _ => false,
        };
        if !fits {
            return Err(format!("{from:?} cannot be copied to {to:?}"));
        }
        let clash = |other: &&Slice| other.reg == to.reg && mask(**other) & mask(*to) != 0;
        if written.iter().any(|other| clash(&other)) {
            return Err(format!("{to:?} is written twice at once"));
        }
        written.push(*to);
    }
    Ok(())
}
