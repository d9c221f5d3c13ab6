//! Takes registers out of their instructions: loads or makes them before each use, and
//! stores them after each definition.

use super::liveness::mask;
use super::spill::Candidate;
use crate::mir::{Block, Function, Inst, Opcode, Operand, Slice, VReg, VRegData};
use assay_agx::{Field, List, Modifiers, Op, Operand as Fixed, Width};
use assay_ssa::id::Id;

/// `i16` and `i32` of the list of formats.
const FORMAT_I16: u8 = 1;
const FORMAT_I32: u8 = 2;

/// Components of one stack access.
const COMPONENTS: u8 = 4;

/// Where a register is, when it is not in one.
#[derive(Debug)]
enum Home {
    /// Bytes from the start of the frame.
    Stack(u32),
    /// Instructions that make it again.
    Remake(Vec<Inst>),
}

/// Uses that are near each other share what was loaded for the first.
#[derive(Debug)]
struct Loaded {
    slice: Slice,
    temporary: Slice,
    until: usize,
}

struct Rewriter<'a> {
    homes: Vec<Option<Home>>,
    vregs: &'a mut assay_ssa::IdVec<VReg, VRegData>,
    /// How many instructions a loaded value is kept for.
    window: usize,
}

/// Rewrites a function so that the chosen registers live elsewhere. Gives the new
/// temporaries that live too shortly to be taken out again.
pub(crate) fn take_out(
    function: &mut Function,
    chosen: Vec<(VReg, Candidate)>,
    window: usize,
) -> Vec<VReg> {
    let mut homes: Vec<Option<Home>> = Vec::new();
    homes.resize_with(function.vregs.len(), || None);
    for (reg, candidate) in chosen {
        let home = match candidate.remake {
            Some(chain) => Home::Remake(chain),
            None => {
                let halves = function.vregs.get(reg).map_or(0, |data| data.halves);
                let at = function.stack_bytes.next_multiple_of(4);
                function.stack_bytes = at + u32::from(halves).div_ceil(2) * 4;
                Home::Stack(at)
            }
        };
        if let Some(place) = homes.get_mut(reg.index()) {
            *place = Some(home);
        }
    }
    let before = function.vregs.len();
    let mut rewriter = Rewriter {
        homes,
        vregs: &mut function.vregs,
        window,
    };
    for block in function.blocks.as_mut_slice() {
        rewriter.block(block);
    }
    match window {
        0 => function.vregs.ids().skip(before).collect(),
        _ => Vec::new(),
    }
}

impl Rewriter<'_> {
    fn block(&mut self, block: &mut Block) {
        let tail = block.tail();
        let insts = std::mem::take(&mut block.insts);
        let mut out = Vec::with_capacity(insts.len());
        let mut loaded: Vec<Loaded> = Vec::new();
        // What the tail's mask instructions read is loaded before the first of them.
        let mut end = Vec::new();
        for (at, mut inst) in insts.into_iter().enumerate() {
            loaded.retain(|loaded| loaded.until >= at);
            let mut after = Vec::new();
            if inst.opcode == Opcode::ParallelCopy {
                self.copy_by_memory(&mut inst, &mut loaded, &mut out, &mut after);
            }
            self.load_operands(&mut inst, at, &mut loaded, &mut out);
            if at >= tail {
                end.push(inst);
                continue;
            }
            let stores = self.store_operands(&mut inst, &mut loaded);
            let machine = matches!(inst.opcode, Opcode::Machine { .. });
            if machine || !inst.operands.is_empty() {
                out.push(inst);
            }
            out.extend(stores);
            out.extend(after);
        }
        out.extend(end);
        block.insts = out;
    }

    fn load_operands(
        &mut self,
        inst: &mut Inst,
        at: usize,
        loaded: &mut Vec<Loaded>,
        out: &mut Vec<Inst>,
    ) {
        for n in 0..inst.operands.len() {
            let Some((_, Operand::Use(slice, mods))) = inst.operands.get(n).copied() else {
                continue;
            };
            if self.home(slice.reg).is_none() {
                continue;
            }
            let found = loaded.iter().find(|loaded| loaded.slice == slice);
            let temporary = match found {
                Some(loaded) => loaded.temporary,
                None => {
                    let (temporary, insts) = self.load(slice, inst);
                    out.extend(insts);
                    loaded.push(Loaded {
                        slice,
                        temporary,
                        until: at + self.window,
                    });
                    temporary
                }
            };
            if let Some((_, operand)) = inst.operands.get_mut(n) {
                *operand = Operand::Use(temporary, mods);
            }
        }
    }

    fn home(&self, reg: VReg) -> Option<&Home> {
        self.homes.get(reg.index())?.as_ref()
    }

    fn temporary(&mut self, slice: Slice) -> Slice {
        let align = match slice.width {
            Width::W16 => 1,
            Width::W32 => 2,
            Width::W64 => 4,
        };
        let reg = self.vregs.push(VRegData {
            halves: slice.halves(),
            align,
        });
        Slice {
            reg,
            half: 0,
            ..slice
        }
    }

    /// A temporary that holds a slice, and what fills it.
    fn load(&mut self, slice: Slice, cause: &Inst) -> (Slice, Vec<Inst>) {
        match self.home(slice.reg) {
            Some(Home::Remake(chain)) => {
                // The whole register is made, whatever part of it is read.
                let mut chain = chain.clone();
                let reg = self.rename(&mut chain, cause).unwrap_or(slice.reg);
                (Slice { reg, ..slice }, chain)
            }
            Some(Home::Stack(base)) => {
                let base = *base + 2 * u32::from(slice.half);
                let temporary = self.temporary(slice);
                let insts = accesses(temporary, base, Op::StackLoad, cause);
                (temporary, insts)
            }
            None => (slice, Vec::new()),
        }
    }

    /// Gives a chain registers of its own; the last one.
    fn rename(&mut self, chain: &mut [Inst], cause: &Inst) -> Option<VReg> {
        let mut names: Vec<(VReg, VReg)> = Vec::new();
        for inst in chain {
            inst.loc = cause.loc;
            for (_, operand) in &mut inst.operands {
                match operand {
                    Operand::Use(slice, _) => {
                        let name = names.iter().find(|(old, _)| *old == slice.reg);
                        slice.reg = name.map_or(slice.reg, |(_, new)| *new);
                    }
                    Operand::Def(slice) => {
                        let data = self.vregs.get(slice.reg).copied();
                        let new = self.vregs.push(data.unwrap_or(VRegData {
                            halves: 1,
                            align: 1,
                        }));
                        names.push((slice.reg, new));
                        slice.reg = new;
                    }
                    _ => {}
                }
            }
        }
        names.last().map(|(_, new)| *new)
    }

    /// Moves copies to and from the stack out of a parallel copy: stores before it, loads
    /// after it. Those whose place on the stack is both read and written stay.
    fn copy_by_memory(
        &mut self,
        inst: &mut Inst,
        loaded: &mut Vec<Loaded>,
        before: &mut Vec<Inst>,
        after: &mut Vec<Inst>,
    ) {
        let on_stack = |reg: VReg| matches!(self.home(reg), Some(Home::Stack(_)));
        let read: Vec<Slice> = inst.uses().filter(|slice| on_stack(slice.reg)).collect();
        let written: Vec<Slice> = inst.defs().filter(|slice| on_stack(slice.reg)).collect();
        let meets = |list: &[Slice], slice: Slice| {
            list.iter()
                .any(|other| other.reg == slice.reg && mask(*other) & mask(slice) != 0)
        };
        let mut kept = Vec::with_capacity(inst.operands.len());
        for pair in inst.operands.chunks(2) {
            let [
                (_, Operand::Def(to)),
                (field, source @ Operand::Use(from, _)),
            ] = pair
            else {
                kept.extend_from_slice(pair);
                continue;
            };
            let (to, from) = (*to, *from);
            let entangled = meets(&read, to) || meets(&written, from);
            match (self.home(to.reg), self.home(from.reg)) {
                (Some(Home::Stack(base)), home) if !entangled => {
                    let base = base + 2 * u32::from(to.half);
                    let forget = |other: &Loaded| {
                        other.slice.reg != to.reg || mask(other.slice) & mask(to) == 0
                    };
                    loaded.retain(forget);
                    let (from, load) = match home {
                        Some(_) => self.load(from, inst),
                        None => (from, Vec::new()),
                    };
                    before.extend(load);
                    before.extend(accesses(from, base, Op::StackStore, inst));
                }
                (None, Some(Home::Stack(base))) if !entangled => {
                    let base = base + 2 * u32::from(from.half);
                    after.extend(accesses(to, base, Op::StackLoad, inst));
                }
                (_, Some(Home::Remake(chain))) => {
                    let made = chain.first().filter(|_| chain.len() == 1);
                    let constant = made.and_then(|made| {
                        let copies = made.opcode == Opcode::ParallelCopy
                            && from.halves() == made_halves(made);
                        made.operands.get(1).filter(|_| copies)
                    });
                    let source = constant.map_or(*source, |(_, constant)| *constant);
                    kept.extend([pair[0], (*field, source)]);
                }
                _ => kept.extend_from_slice(pair),
            }
        }
        inst.operands = kept;
    }

    /// Replaces definitions by temporaries; gives what stores them.
    fn store_operands(&mut self, inst: &mut Inst, loaded: &mut Vec<Loaded>) -> Vec<Inst> {
        let mut stores = Vec::new();
        let mut dropped = false;
        for n in 0..inst.operands.len() {
            let Some((_, Operand::Def(slice))) = inst.operands.get(n).copied() else {
                continue;
            };
            let base = match self.home(slice.reg) {
                Some(Home::Stack(base)) => *base,
                // Its only definition: nobody reads it any more.
                Some(Home::Remake(_)) | None => continue,
            };
            loaded.retain(|other| {
                other.slice.reg != slice.reg || mask(other.slice) & mask(slice) == 0
            });
            if inst.opcode == Opcode::Undefined {
                dropped = true;
                continue;
            }
            let temporary = self.temporary(slice);
            if let Some((_, operand)) = inst.operands.get_mut(n) {
                *operand = Operand::Def(temporary);
            }
            let base = base + 2 * u32::from(slice.half);
            stores.extend(accesses(temporary, base, Op::StackStore, inst));
        }
        if dropped {
            inst.operands.clear();
        }
        stores
    }
}

fn made_halves(inst: &Inst) -> u8 {
    inst.defs().map(Slice::halves).sum()
}

/// Loads or stores of a whole temporary, as many components at a time as there can be.
fn accesses(temporary: Slice, base: u32, op: Op, cause: &Inst) -> Vec<Inst> {
    let (width, format, count) = match temporary.width {
        Width::W16 => (Width::W16, FORMAT_I16, temporary.count),
        Width::W32 => (Width::W32, FORMAT_I32, temporary.count),
        Width::W64 => (Width::W32, FORMAT_I32, temporary.count * 2),
    };
    let size = width.halves() as u8;
    (0..count)
        .step_by(usize::from(COMPONENTS))
        .map(|first| {
            let slice = Slice {
                half: temporary.half + first * size,
                width,
                count: (count - first).min(COMPONENTS),
                ..temporary
            };
            let at = base + 2 * u32::from(first * size);
            let data = match op {
                Op::StackLoad => Operand::Def(slice),
                _ => Operand::Use(slice, Modifiers::NONE),
            };
            let mut inst = Inst::new(op)
                .with(Field::Data, data)
                .with(
                    Field::Format,
                    Operand::Fixed(Fixed::Choice(List::Format, format)),
                )
                .with(Field::Index, Operand::Fixed(Fixed::Imm(i64::from(at))));
            inst.loc = cause.loc;
            inst
        })
        .collect()
}
