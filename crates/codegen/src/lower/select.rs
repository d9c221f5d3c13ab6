//! The state of selection, and the walk over a kernel.
//!
//! Code is selected backwards: when an instruction is looked at, everything that uses it
//! has been selected already and has said whether it needs the result in registers. An
//! instruction nobody needs (its users took it into themselves, or there are none) makes
//! no code. Each instruction's own code is made forwards, into a list of its own.

use super::control::shape::Node;
use super::leaf::Leaf;
use super::memory::layout::{Carrier, Layout};
use super::operand::{Condition, Src, cut, imm, uniform, used};
use crate::mir::{Inst, Opcode, Operand, Slice, VReg, VRegData};
use crate::{Error, ErrorKind};
use assay_agx::{Field, Modifiers, Op, Operand as Fixed, Width};
use assay_opt::control::{Arm, edge};
use assay_ssa::{
    Block, Callee, Function, IdMap, IdVec, Inst as SsaInst, InstData, Kernel, Loc, Module, Value,
    ValueDef,
};
use std::collections::HashMap;

pub(super) type Done<T = ()> = Result<T, Error>;

/// A piece of straight code, or control flow inside one instruction of the program.
#[derive(Clone, Debug)]
pub(super) enum Code {
    Inst(Inst),
    /// `body`, then lanes for which `again` holds do `after` and start over.
    Loop {
        body: Vec<Inst>,
        again: Condition,
        after: Vec<Inst>,
    },
    /// `body` by lanes for which the condition holds, jumped over if there are none.
    When {
        condition: Condition,
        body: Vec<Inst>,
    },
}

/// The straight code of a list without control flow.
pub(super) fn straight(code: Vec<Code>) -> Vec<Inst> {
    let inst = |piece| match piece {
        Code::Inst(inst) => Some(inst),
        Code::Loop { .. } | Code::When { .. } => None,
    };
    code.into_iter().filter_map(inst).collect()
}

/// What was selected for a node.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeCode {
    pub(super) code: Vec<Code>,
    pub(super) condition: Option<Condition>,
    pub(super) loc: Option<Loc>,
}

/// Which of the two programs is being selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Main,
    /// The program that runs once per dispatch.
    Constant,
}

/// A value the constant program leaves in uniforms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored {
    pub(super) value: Value,
    pub(super) lane: u32,
    pub(super) half: u16,
    pub(super) width: Width,
}

type Slots = Option<Box<[Option<Slice>]>>;

pub(super) struct Lowerer<'a> {
    pub(super) module: &'a Module,
    pub(super) kernel: &'a Kernel,
    pub(super) function: &'a Function,
    pub(super) uses: IdMap<Value, u32>,
    pub(super) mode: Mode,
    pub(super) layout: Layout,
    /// Values that are the same for the whole dispatch and can be computed before it.
    pub(super) hoistable: IdMap<Value, bool>,
    pub(super) stored: Vec<Stored>,
    pub(super) stored_at: HashMap<(Value, u32), u16>,
    pub(super) vregs: IdVec<VReg, VRegData>,
    pub(super) slots: IdMap<Value, Slots>,
    pub(super) allocas: HashMap<SsaInst, u32>,
    pub(super) out: Vec<Code>,
    pub(super) loc: Option<Loc>,
    /// The block being selected, for what depends on which lanes are there together.
    pub(super) block: Option<Block>,
    pub(super) info: assay_ssa::analysis::UniformityInfo,
    pub(super) plans: super::memory::merge::Plans,
    /// Whether a shuffle needed the selector that masked-off lanes keep at zero.
    pub(super) uses_selector: bool,
    /// Values that others hold at the moment.
    pub(super) held: HashMap<Value, Value>,
    /// How many loops each block is in.
    pub(super) depths: IdMap<Block, u32>,
    pub(super) inst_blocks: IdMap<SsaInst, Option<Block>>,
    /// Registers for the row and the column of the lane in a matrix, once either is needed.
    pub(super) lane_place: Option<(Slice, Slice)>,
    /// Registers for `row · stride + column`, by stride and whether rows and columns change
    /// places.
    pub(super) lane_indices: Vec<((u64, bool), Slice)>,
    /// Textures that are elements of arrays of arguments.
    pub(super) texture_elements: super::texture::Elements,
    /// States of `constexpr` samplers, in the order they are met.
    pub(super) samplers: Vec<u64>,
}

impl<'a> Lowerer<'a> {
    // ---- errors ----

    pub(super) fn unsupported<T>(&self, what: impl Into<String>) -> Done<T> {
        Err(self.error(ErrorKind::Unsupported(what.into())))
    }

    pub(super) fn malformed<T>(&self, what: impl Into<String>) -> Done<T> {
        Err(self.error(ErrorKind::Internal(what.into())))
    }

    pub(super) fn error(&self, kind: ErrorKind) -> Error {
        let locations = &self.module.locations;
        let user = self.loc.and_then(|loc| locations.user_line(loc));
        Error {
            kind,
            file: user.map(|location| locations.file_name(location.file).to_owned()),
            line: user.map_or(0, |location| location.line),
        }
    }

    // ---- registers ----

    pub(super) fn vreg(&mut self, halves: u8, align: u8) -> VReg {
        self.vregs.push(VRegData { halves, align })
    }

    /// A fresh register of a width.
    pub(super) fn temp(&mut self, width: Width) -> Slice {
        self.group(width, 1)
    }

    /// Fresh registers side by side.
    pub(super) fn group(&mut self, width: Width, count: u8) -> Slice {
        let halves = width.halves() as u8;
        Slice {
            reg: self.vreg(halves * count, halves),
            half: 0,
            width,
            count,
        }
    }

    /// The registers of one number of a value; asking for them makes its definition.
    pub(super) fn slot(&mut self, value: Value, lane: u32) -> Done<Slice> {
        let known = self.slots[value].as_ref();
        if let Some(slice) = known.and_then(|slots| slots.get(lane as usize).copied().flatten()) {
            return Ok(slice);
        }
        if self.mode == Mode::Main
            && let Some(slices) = self.grouped_slots(value)
        {
            let slots: Vec<Option<Slice>> = slices.into_iter().map(Some).collect();
            let found = slots.get(lane as usize).copied().flatten();
            self.slots[value] = Some(slots.into_boxed_slice());
            return found.map_or_else(|| self.malformed("a load without registers"), Ok);
        }
        let leaves = self.leaves(self.function.ty(value))?;
        let Some(leaf) = leaves.get(lane as usize).copied() else {
            return self.malformed(format!("{value} has no element {lane}"));
        };
        let mut slots = match self.slots[value].take() {
            Some(slots) => slots,
            None => vec![None; leaves.len()].into_boxed_slice(),
        };
        if self.stays_together(value) {
            // Side by side, in runs of one width that a register can hold.
            for (start, len) in super::memory::access::runs(&leaves) {
                let group = self.group(leaves[start].width(), len as u8);
                for index in 0..len {
                    slots[start + index] = Some(element(group, index as u8));
                }
            }
        } else {
            slots[lane as usize] = Some(self.temp(leaf.width()));
        }
        let found = slots[lane as usize];
        self.slots[value] = Some(slots);
        found.map_or_else(|| self.malformed("a value without registers"), Ok)
    }

    /// Whether all numbers of a value are made by one instruction, side by side.
    fn stays_together(&self, value: Value) -> bool {
        if self.function.ty(value).is_matrix() {
            return matches!(self.function.def(value), ValueDef::Result(_));
        }
        matches!(self.function.def_data(value), Some(InstData::Load { .. }))
    }

    /// The numbers of a value that somebody needs, with their registers.
    pub(super) fn needed(&self, value: Value) -> Vec<(u32, Slice)> {
        let slots = self.slots[value].as_deref().unwrap_or(&[]);
        let all = slots.iter().enumerate();
        all.filter_map(|(lane, slot)| Some((lane as u32, (*slot)?)))
            .collect()
    }

    // ---- sources ----

    /// Where a number of a value is.
    pub(super) fn src(&mut self, value: Value, lane: u32) -> Done<Src> {
        let leaf = self.resolve(value, lane)?;
        self.leaf_src(leaf)
    }

    pub(super) fn leaf_src(&mut self, leaf: Leaf) -> Done<Src> {
        match leaf {
            Leaf::Const(bits, width) => Ok(Src::Const(bits, width)),
            Leaf::Uniform(half, width) => Ok(Src::Uniform(half, width)),
            Leaf::Part {
                value,
                lane,
                half,
                width,
            } => {
                let whole = self.root(value, lane)?;
                Ok(if whole.width() == width {
                    whole
                } else {
                    whole.part(half, width)
                })
            }
        }
    }

    fn root(&mut self, value: Value, lane: u32) -> Done<Src> {
        if let ValueDef::Param(block, index) = self.function.def(value)
            && Some(block) == self.function.entry()
        {
            let found = match self.layout.param(self.kernel, index) {
                Carrier::Uniform(half) => Src::Uniform(half, self.width(value, lane)?),
                Carrier::Unsupported(what) => return self.unsupported(what),
            };
            // Memory sized at dispatch lies behind the variables.
            let start = self.layout.dynamic_start();
            if found.width() == Width::W16 && start > 0 {
                let sum = self.temp(Width::W16);
                self.add_into(sum, found, Src::Const(u64::from(start), Width::W16));
                return Ok(Src::Reg(sum));
            }
            return Ok(found);
        }
        if self.mode == Mode::Main && self.hoistable[value] {
            if let Some(&half) = self.stored_at.get(&(value, lane)) {
                return Ok(Src::Uniform(half, self.width(value, lane)?));
            }
            let width = self.width(value, lane)?;
            if let Some(half) = self.layout.uniform(width) {
                self.stored_at.insert((value, lane), half);
                self.stored.push(Stored {
                    value,
                    lane,
                    half,
                    width,
                });
                return Ok(Src::Uniform(half, width));
            }
            self.hoistable[value] = false;
        }
        let value = self.held.get(&value).copied().unwrap_or(value);
        Ok(Src::Reg(self.slot(value, lane)?))
    }

    /// The single number of a value.
    pub(super) fn scalar(&mut self, value: Value) -> Done<Src> {
        self.src(value, 0)
    }

    // ---- code ----

    pub(super) fn push(&mut self, mut inst: Inst) {
        inst.loc = self.loc;
        self.out.push(Code::Inst(inst));
    }

    /// Copies all at once.
    pub(super) fn copies(&mut self, pairs: &[(Slice, Src)]) {
        if pairs.is_empty() {
            return;
        }
        let mut inst = Inst::new(Op::Bitop);
        inst.opcode = Opcode::ParallelCopy;
        for &(to, from) in pairs {
            let from = match from {
                Src::Reg(slice) => used(slice),
                Src::Uniform(half, width) => uniform(half, width, Modifiers::NONE),
                Src::Const(bits, width) => imm(cut(bits, width) as i64),
            };
            inst = inst
                .with(Field::Dest, Operand::Def(to))
                .with(Field::A, from);
        }
        self.push(inst);
    }

    pub(super) fn copy(&mut self, to: Slice, from: Src) {
        self.copies(&[(to, from)]);
    }

    /// A number in registers, copied there if need be.
    pub(super) fn reg(&mut self, src: Src) -> Slice {
        match src {
            Src::Reg(slice) => slice,
            _ => {
                let slice = self.temp(src.width());
                self.copy(slice, src);
                slice
            }
        }
    }

    /// An operation with a destination and sources A, B, C.
    pub(super) fn op(&mut self, op: Op, dest: Slice, sources: &[Operand]) {
        let mut inst = Inst::new(op).with(Field::Dest, Operand::Def(dest));
        for (field, &source) in [Field::A, Field::B, Field::C].into_iter().zip(sources) {
            inst = inst.with(field, source);
        }
        self.push(inst);
    }

    // ---- the walk ----

    /// Selects a region, last node first.
    pub(super) fn region(&mut self, region: &[Node], codes: &mut [Option<NodeCode>]) -> Done {
        for node in region.iter().rev() {
            self.node(node, codes)?;
        }
        Ok(())
    }

    fn node(&mut self, node: &Node, codes: &mut [Option<NodeCode>]) -> Done {
        self.loc = None;
        match node {
            Node::Run { id, block } => {
                let code = self.run(*block)?;
                codes[*id] = Some(NodeCode {
                    code,
                    ..NodeCode::default()
                });
            }
            Node::Pass { id, from, arm } => {
                self.pass(*from, *arm)?;
                codes[*id] = Some(NodeCode {
                    code: std::mem::take(&mut self.out),
                    ..NodeCode::default()
                });
            }
            Node::Copy { id, pairs } => {
                self.copy_values(pairs)?;
                codes[*id] = Some(NodeCode {
                    code: std::mem::take(&mut self.out),
                    ..NodeCode::default()
                });
            }
            Node::If {
                id,
                cond,
                then,
                otherwise,
                ..
            } => {
                self.region(otherwise, codes)?;
                self.region(then, codes)?;
                self.decide(*id, *cond, codes)?;
            }
            Node::LeaveIf {
                id,
                cond,
                copies,
                held,
                ..
            } => {
                let uses = &self.uses;
                let used = held.iter().filter(|(_, param)| uses[*param] > 0);
                self.held = used.copied().collect();
                self.decide(*id, *cond, codes)?;
                self.held.clear();
                self.region(copies, codes)?;
            }
            Node::Scope { body, .. } | Node::Loop { body, .. } => self.region(body, codes)?,
            Node::Leave(_) => {}
        }
        Ok(())
    }

    fn decide(&mut self, id: usize, cond: Value, codes: &mut [Option<NodeCode>]) -> Done {
        self.loc = self
            .function
            .def_inst(cond)
            .and_then(|inst| self.function.loc(inst));
        let condition = self.condition(cond, 0)?;
        codes[id] = Some(NodeCode {
            code: std::mem::take(&mut self.out),
            condition: Some(condition),
            loc: self.loc,
        });
        Ok(())
    }

    /// The code of a block without its terminator.
    fn run(&mut self, block: Block) -> Done<Vec<Code>> {
        self.block = Some(block);
        let mut reversed: Vec<Code> = Vec::new();
        for &inst in self.function.insts(block).iter().rev() {
            self.one(inst)?;
            let code = std::mem::take(&mut self.out);
            reversed.extend(code.into_iter().rev());
        }
        reversed.reverse();
        Ok(reversed)
    }

    /// The code of one instruction, if it is needed.
    fn one(&mut self, inst: SsaInst) -> Done {
        let data = self.function.inst(inst);
        if data.is_terminator() {
            return Ok(());
        }
        self.loc = self.function.loc(inst);
        let result = self.function.result(inst);
        let needed = match result {
            Some(result) => self.slots[result].is_some(),
            None => true,
        };
        if needed || self.has_effect(data) || self.leads(inst) {
            self.instruction(inst)?;
        }
        Ok(())
    }

    fn has_effect(&self, data: &InstData) -> bool {
        match data {
            InstData::AtomicRmw { .. } | InstData::AtomicCompareExchange { .. } => true,
            InstData::Load { access, .. } => access.volatile,
            InstData::Call { callee, .. } => match callee {
                Callee::Builtin(call) => call.info().effects.writes(),
                _ => true,
            },
            _ => false,
        }
    }

    /// The parameters of an edge's target get their values.
    fn pass(&mut self, from: Block, arm: Arm) -> Done {
        let Some(call) = edge(self.function, from, arm) else {
            return self.malformed(format!("{from} has no such edge"));
        };
        let function = self.function;
        let (params, args) = (function.params(call.block), function.list_values(call.args));
        self.loc = function
            .insts(from)
            .last()
            .and_then(|&inst| function.loc(inst));
        let pairs: Vec<(Value, Value)> = params.iter().copied().zip(args.iter().copied()).collect();
        self.copy_values(&pairs)
    }

    fn copy_values(&mut self, values: &[(Value, Value)]) -> Done {
        let mut pairs = Vec::new();
        for &(param, arg) in values {
            if self.uses[param] == 0 {
                continue;
            }
            let lanes = self.leaves(self.function.ty(param))?.len();
            for lane in 0..lanes as u32 {
                let to = self.slot(param, lane)?;
                let from = self.src(arg, lane)?;
                if from != Src::Reg(to) {
                    pairs.push((to, from));
                }
            }
        }
        self.copies(&pairs);
        Ok(())
    }
}

/// One element of registers side by side.
pub(super) fn element(group: Slice, index: u8) -> Slice {
    Slice {
        half: group.half + index * group.width.halves() as u8,
        count: 1,
        ..group
    }
}

/// A fixed operand of the shift field.
pub(super) const fn shift(amount: u8) -> Operand {
    Operand::Fixed(Fixed::Shift(amount))
}
