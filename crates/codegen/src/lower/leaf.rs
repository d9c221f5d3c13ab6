//! Values taken apart: which number of which definition an element really is.
//!
//! Extracting, inserting, shuffling, putting together, truncating and looking at bits as
//! another type move no data: they are followed to the instruction that computes.

use super::memory::layout::Carrier;
use super::operand::{cut, width_of};
use super::select::{Done, Lowerer};
use crate::ErrorKind;
use assay_agx::{SystemValue, Width};
use assay_ssa::builtin::Builtin;
use assay_ssa::{
    Aggregate, Callee, CastOp, InstData, Scalar, Space, Type, TypeKind, UnaryOp, Value, ValueDef,
};

/// Most numbers of a value.
const MOST: usize = 4096;

/// Thread memory is reserved by an instruction that counts words in sixteen bits, some of which go to spills.
const MOST_THREAD_MEMORY: u32 = 240 << 10;

/// What a number of a value is, and where it lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LeafType {
    pub(super) kind: LeafKind,
    pub(super) offset: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeafKind {
    Scalar(Scalar),
    Pointer(Space),
}

impl LeafType {
    pub(super) fn width(self) -> Width {
        match self.kind {
            LeafKind::Scalar(scalar) => width_of(scalar),
            LeafKind::Pointer(space) => pointer_width(space),
        }
    }

    /// Bytes in memory.
    pub(super) fn bytes(self) -> u32 {
        match self.kind {
            LeafKind::Scalar(scalar) => scalar.bytes(),
            LeafKind::Pointer(_) => 8,
        }
    }
}

/// Threadgroup addresses have 16 bits, offsets in the stack 32.
pub(super) const fn pointer_width(space: Space) -> Width {
    match space {
        Space::Threadgroup => Width::W16,
        Space::Thread => Width::W32,
        _ => Width::W64,
    }
}

/// A number followed to where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaf {
    Const(u64, Width),
    /// A uniform that needs no computation.
    Uniform(u16, Width),
    /// A part of a number of a value.
    Part {
        value: Value,
        lane: u32,
        half: u8,
        width: Width,
    },
}

impl Leaf {
    fn part(self, at: u8, to: Width) -> Leaf {
        match self {
            Leaf::Const(bits, _) => Leaf::Const(cut(bits >> (16 * u32::from(at)), to), to),
            Leaf::Uniform(half, _) => Leaf::Uniform(half + u16::from(at), to),
            Leaf::Part {
                value, lane, half, ..
            } => Leaf::Part {
                value,
                lane,
                half: half + at,
                width: to,
            },
        }
    }
}

enum Step {
    To(Value, u32),
    /// The same, but only these halves of it.
    Part(Value, u32, u8),
    Known(Leaf),
    Root,
}

impl Lowerer<'_> {
    /// The numbers a type is made of.
    pub(super) fn leaves(&self, ty: Type) -> Done<Vec<LeafType>> {
        let mut leaves = Vec::new();
        self.collect(ty, 0, &mut leaves)?;
        Ok(leaves)
    }

    fn collect(&self, ty: Type, offset: u32, leaves: &mut Vec<LeafType>) -> Done {
        if leaves.len() > MOST {
            return self.unsupported("a value of more than 4096 numbers");
        }
        match ty.kind() {
            TypeKind::Void => {}
            TypeKind::Pointer(space) => leaves.push(LeafType {
                kind: LeafKind::Pointer(space),
                offset,
            }),
            TypeKind::Scalar(scalar) | TypeKind::Vector(scalar, _) | TypeKind::Matrix(scalar) => {
                leaves.extend((0..u32::from(ty.lanes())).map(|index| LeafType {
                    kind: LeafKind::Scalar(scalar),
                    offset: offset + index * scalar.bytes(),
                }));
            }
            TypeKind::Aggregate(id) => match self.module.types.get(id) {
                Some(Aggregate::Array {
                    element,
                    len,
                    stride,
                }) => {
                    for index in 0..*len {
                        let at = offset.saturating_add(index.saturating_mul(*stride));
                        self.collect(*element, at, leaves)?;
                    }
                }
                Some(Aggregate::Struct { fields, .. }) => {
                    for field in fields {
                        self.collect(field.ty, offset.saturating_add(field.offset), leaves)?;
                    }
                }
                None => return self.malformed("unknown type"),
            },
        }
        Ok(())
    }

    /// The width of a number of a value.
    pub(super) fn width(&self, value: Value, lane: u32) -> Done<Width> {
        let ty = self.function.ty(value);
        match ty.kind() {
            TypeKind::Scalar(s) | TypeKind::Vector(s, _) | TypeKind::Matrix(s) => Ok(width_of(s)),
            TypeKind::Pointer(space) => Ok(pointer_width(space)),
            _ => match self.leaves(ty)?.get(lane as usize) {
                Some(leaf) => Ok(leaf.width()),
                None => self.malformed(format!("{value} has no element {lane}")),
            },
        }
    }

    /// Follows a number to where it comes from.
    pub(super) fn resolve(&mut self, value: Value, lane: u32) -> Done<Leaf> {
        let (mut value, mut lane) = (value, lane);
        let mut part: Option<(u8, Width)> = None;
        loop {
            let leaf = match self.step(value, lane)? {
                Step::To(next, at) => {
                    (value, lane) = (next, at);
                    continue;
                }
                Step::Part(next, at, half) => {
                    let width = self.width(value, lane)?;
                    let (before, width) = part.unwrap_or((0, width));
                    part = Some((before + half, width));
                    (value, lane) = (next, at);
                    continue;
                }
                Step::Known(leaf) => leaf,
                Step::Root => Leaf::Part {
                    value,
                    lane,
                    half: 0,
                    width: self.width(value, lane)?,
                },
            };
            return Ok(match part {
                Some((half, width)) => leaf.part(half, width),
                None => leaf,
            });
        }
    }

    fn step(&mut self, value: Value, lane: u32) -> Done<Step> {
        let function = self.function;
        let data = function.value(value);
        let known = |bits, width| Ok(Step::Known(Leaf::Const(cut(bits, width), width)));
        match data.def {
            ValueDef::Const(bits) => known(bits, self.width(value, lane)?),
            ValueDef::ConstVector(elements) => {
                let bits = function.elements(elements).get(lane as usize);
                known(bits.copied().unwrap_or(0), self.width(value, lane)?)
            }
            ValueDef::Zero | ValueDef::Undef => known(0, self.width(value, lane)?),
            ValueDef::FunctionConstant(id) => {
                let constant = self.module.function_constants.get(id);
                let bits = constant.and_then(|constant| constant.default.as_ref());
                match bits.and_then(|bits| bits.get(lane as usize)) {
                    Some(&bits) => known(bits, self.width(value, lane)?),
                    None => self.unsupported("a function constant without value"),
                }
            }
            ValueDef::Global(id) => match self.layout.global(self.module, id) {
                Some(start) => known(u64::from(start), Width::W16),
                None => match self.layout.table(self.module, id) {
                    Carrier::Uniform(half) => Ok(Step::Known(Leaf::Uniform(half, Width::W64))),
                    Carrier::Unsupported(what) => self.unsupported(what),
                },
            },
            ValueDef::Param(..) => Ok(Step::Root),
            ValueDef::Result(_) if self.is_hoisted(value) => Ok(Step::Root),
            ValueDef::Result(inst) => self.step_through(inst, value, lane),
        }
    }

    /// Whether the main program finds a value in uniforms.
    pub(super) fn is_hoisted(&self, value: Value) -> bool {
        self.mode == super::select::Mode::Main && self.hoistable[value] && !self.is_free(value)
    }

    /// Definitions that are followed, not computed.
    fn is_free(&self, value: Value) -> bool {
        match self.function.def_data(value) {
            Some(
                InstData::Extract { .. }
                | InstData::Insert { .. }
                | InstData::Shuffle { .. }
                | InstData::Construct { .. }
                | InstData::ExtractValue { .. }
                | InstData::InsertValue { .. },
            ) => true,
            Some(InstData::Unary { op, .. }) => *op == UnaryOp::Freeze,
            Some(InstData::Cast { op, .. }) => matches!(
                op,
                CastOp::Bitcast
                    | CastOp::Trunc
                    | CastOp::PtrToInt
                    | CastOp::IntToPtr
                    | CastOp::SpaceCast
            ),
            Some(InstData::Call {
                callee: Callee::Builtin(call),
                ..
            }) => call.info().family == assay_ssa::builtin::Family::Position,
            _ => false,
        }
    }

    fn step_through(&mut self, inst: assay_ssa::Inst, value: Value, lane: u32) -> Done<Step> {
        let function = self.function;
        let index_of = |index: Value| function.const_bits(index).map(|bits| bits as u32);
        let zero = |width| Ok(Step::Known(Leaf::Const(0, width)));
        match *function.inst(inst) {
            InstData::Unary {
                op: UnaryOp::Freeze,
                arg,
                ..
            } => Ok(Step::To(arg, lane)),
            InstData::Extract { vector, index } => match index_of(index) {
                Some(at) if at < u32::from(function.ty(vector).lanes()) => Ok(Step::To(vector, at)),
                Some(_) => zero(self.width(value, lane)?),
                None => Ok(Step::Root),
            },
            InstData::Insert {
                vector,
                element,
                index,
            } => Ok(match index_of(index) {
                Some(at) if at == lane => Step::To(element, 0),
                Some(_) => Step::To(vector, lane),
                None => Step::Root,
            }),
            InstData::Shuffle { args, mask } => {
                let from = function.indices(mask).get(lane as usize).copied();
                let lanes = u32::from(function.ty(args[0]).lanes());
                match from {
                    Some(at) if at < lanes => Ok(Step::To(args[0], at)),
                    Some(at) if at < 2 * lanes => Ok(Step::To(args[1], at - lanes)),
                    _ => zero(self.width(value, lane)?),
                }
            }
            InstData::Construct { args } => {
                let mut at = lane;
                for &arg in function.list_values(args) {
                    let count = self.leaves(function.ty(arg))?.len() as u32;
                    if at < count {
                        return Ok(Step::To(arg, at));
                    }
                    at -= count;
                }
                self.malformed("an element outside its aggregate")
            }
            InstData::ExtractValue { aggregate, path } => {
                let (start, _) = self.field(function.ty(aggregate), path)?;
                Ok(Step::To(aggregate, start + lane))
            }
            InstData::InsertValue {
                aggregate,
                element,
                path,
            } => {
                let (start, len) = self.field(function.ty(aggregate), path)?;
                Ok(match lane.checked_sub(start) {
                    Some(inside) if inside < len => Step::To(element, inside),
                    _ => Step::To(aggregate, lane),
                })
            }
            InstData::Alloca { ty, align } => {
                let start = match self.allocas.get(&inst) {
                    Some(&start) => start,
                    None => {
                        let bytes = self.module.types.stride(ty);
                        let start = self.layout.alloca(bytes, align);
                        if self.layout.stack_bytes > MOST_THREAD_MEMORY {
                            return Err(self.error(ErrorKind::TooLarge {
                                what: "bytes of thread memory",
                                needed: u64::from(start) + u64::from(bytes),
                                available: u64::from(MOST_THREAD_MEMORY),
                            }));
                        }
                        self.allocas.insert(inst, start);
                        start
                    }
                };
                Ok(Step::Known(Leaf::Const(u64::from(start), Width::W32)))
            }
            InstData::Cast { op, arg, .. } => self.step_cast(op, arg, value, lane),
            InstData::Call {
                callee: Callee::Builtin(call),
                args,
                ..
            } => self.step_builtin(call.builtin, function.list_values(args), value, lane),
            _ => Ok(Step::Root),
        }
    }

    fn step_cast(&mut self, op: CastOp, arg: Value, value: Value, lane: u32) -> Done<Step> {
        let (from, to) = (self.function.ty(arg), self.function.ty(value));
        let bits = |ty: Type| match ty.kind() {
            TypeKind::Pointer(space) => Some(pointer_width(space).bits()),
            _ => ty.element().map(Scalar::bits),
        };
        let (Some(source), Some(target)) = (bits(from), bits(to)) else {
            return Ok(Step::Root);
        };
        Ok(match op {
            CastOp::SpaceCast if source == target => Step::To(arg, lane),
            CastOp::PtrToInt | CastOp::IntToPtr if source == target => Step::To(arg, lane),
            CastOp::PtrToInt if target >= 16 && source > target => Step::Part(arg, lane, 0),
            CastOp::Trunc if target >= 16 => Step::Part(arg, lane, 0),
            CastOp::Bitcast if from.lanes() == to.lanes() && source == target => {
                Step::To(arg, lane)
            }
            CastOp::Bitcast if target >= 16 && source > target => {
                let ratio = source / target;
                let half = (lane % ratio) * (target / 16);
                Step::Part(arg, lane / ratio, half as u8)
            }
            CastOp::FConvert if from == to => Step::To(arg, lane),
            _ => Step::Root,
        })
    }

    fn step_builtin(
        &mut self,
        builtin: Builtin,
        args: &[Value],
        value: Value,
        lane: u32,
    ) -> Done<Step> {
        let system = match builtin {
            Builtin::MatrixFilled => {
                return Ok(args.first().map_or(Step::Root, |&arg| Step::To(arg, 0)));
            }
            Builtin::SimdIsHelperThread | Builtin::QuadIsHelperThread => {
                return Ok(Step::Known(Leaf::Const(0, Width::W16)));
            }
            Builtin::ThreadsPerSimdgroup => {
                return Ok(Step::Known(Leaf::Const(32, self.width(value, lane)?)));
            }
            Builtin::GridOrigin => {
                return Ok(Step::Known(Leaf::Const(0, self.width(value, lane)?)));
            }
            Builtin::ThreadsPerGrid | Builtin::GridSize => SystemValue::ThreadsPerGrid,
            Builtin::ThreadgroupsPerGrid => SystemValue::ThreadgroupsPerGrid,
            Builtin::DispatchThreadsPerThreadgroup => SystemValue::ThreadsPerThreadgroup,
            _ => return Ok(Step::Root),
        };
        let width = self.width(value, lane)?;
        if width == Width::W64 {
            return self.unsupported("a 64-bit position");
        }
        match self.layout.system(system, lane.min(2) as u8) {
            Some(half) => Ok(Step::Known(Leaf::Uniform(half, width))),
            None => self.unsupported("more arguments than uniforms hold"),
        }
    }

    /// Where the numbers of a field lie among those of its aggregate.
    pub(super) fn field(&self, ty: Type, path: assay_ssa::IndexList) -> Done<(u32, u32)> {
        let (mut ty, mut start) = (ty, 0);
        for &index in self.function.indices(path) {
            for before in 0..index {
                let Some((sibling, _)) = self.module.types.element_at(ty, before) else {
                    return self.malformed("a field outside its aggregate");
                };
                start += self.leaves(sibling)?.len() as u32;
            }
            match self.module.types.element_at(ty, index) {
                Some((inner, _)) => ty = inner,
                None => return self.malformed("a field outside its aggregate"),
            }
        }
        Ok((start, self.leaves(ty)?.len() as u32))
    }

    /// The uniform of a parameter of the kernel.
    pub(super) fn param_uniform(&mut self, index: u32) -> Option<u16> {
        match self.layout.param(self.kernel, index) {
            Carrier::Uniform(half) => Some(half),
            Carrier::Unsupported(_) => None,
        }
    }
}
