//! Runs constructors: one thread, at compile time.
//!
//! What depends on a function constant without a value is not known; it may be computed with and stored, and what it
//! reaches is not known either. A decision about it, or anything a constructor cannot do (touching memory of others,
//! calling what nobody knows), stops the run.

use super::image::{Image, lanes, size};
use crate::{evaluate, evaluate_builtin};
use assay_ssa::analysis::spaces::SPACE_QUESTION;
use assay_ssa::builtin::{Effects, Fold};
use assay_ssa::{
    Block, BlockCall, Builtin, BuiltinCall, Callee, CastOp, Function, FunctionId, GlobalData,
    GlobalId, IdMap, IdSet, IndexExtend, Inst, InstData, Module, Scalar, Space, TernaryOp, Type,
    TypeKind, UNDEF_LANE, Value, ValueDef,
};

/// Instructions all constructors of a module may take together.
const MOST_STEPS: usize = 1 << 22;

/// Calls inside calls, and values that values are made of.
const DEEPEST: usize = 64;

/// Bytes constructors may use for variables of their own.
const MOST_BYTES: usize = 1 << 26;

/// A pointer is the number of its object from 1, above so many bits of offset.
const OFFSET_BITS: u32 = 40;

/// The run cannot go on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stop;

type Run<T> = Result<T, Stop>;

/// Something that has an address.
struct Object {
    image: Image,
    /// May be written: a variable under construction, or one of a constructor's own.
    writable: bool,
    space: Space,
}

pub(super) struct Machine<'m> {
    module: &'m Module,
    objects: Vec<Object>,
    of_global: IdMap<GlobalId, Option<usize>>,
    steps: usize,
    bytes: usize,
    depth: usize,
}

/// A function while it runs.
pub(super) struct Frame<'m> {
    function: &'m Function,
    values: IdMap<Value, Option<Image>>,
    /// Started in the middle, where values from before are computed when they are asked for: the variables of the
    /// function whose contents are not known.
    before: Option<IdSet<Inst>>,
}

impl<'m> Frame<'m> {
    fn new(function: &'m Function) -> Self {
        Frame {
            function,
            values: IdMap::new(None),
            before: None,
        }
    }

    /// A frame that starts in the middle of a function. What the variables of `unknown` hold there is not known.
    pub(super) fn in_the_middle(function: &'m Function, unknown: IdSet<Inst>) -> Self {
        Frame {
            before: Some(unknown),
            ..Frame::new(function)
        }
    }
}

impl<'m> Machine<'m> {
    pub(super) fn new(module: &'m Module) -> Self {
        Machine {
            module,
            objects: Vec::new(),
            of_global: IdMap::new(None),
            steps: 0,
            bytes: 0,
            depth: 0,
        }
    }

    /// What a variable holds now.
    pub(super) fn contents(&mut self, global: GlobalId) -> Option<&Image> {
        let object = self.global_object(global).ok()?;
        Some(&self.objects.get(object)?.image)
    }

    /// What a variable holds is not known any more.
    pub(super) fn forget(&mut self, global: GlobalId) {
        if let Ok(index) = self.global_object(global)
            && let Some(object) = self.objects.get_mut(index)
        {
            object.image.forget(0, object.image.len());
        }
    }

    /// Calls a function.
    pub(super) fn call(&mut self, id: FunctionId, args: Vec<Image>) -> Run<Option<Image>> {
        let function = self.module.functions.get(id).ok_or(Stop)?;
        let entry = function.entry().ok_or(Stop)?;
        let mut frame = Frame::new(function);
        for (&param, arg) in function.params(entry).iter().zip(args) {
            frame.values[param] = Some(arg);
        }
        if self.depth >= DEEPEST {
            return Err(Stop);
        }
        self.depth += 1;
        let result = self.run(&mut frame, entry, &IdSet::new());
        self.depth -= 1;
        result
    }

    /// Enters a block and goes on until the function ends or a block to stop at is reached.
    pub(super) fn run_from(
        &mut self,
        frame: &mut Frame<'m>,
        start: BlockCall,
        stop_at: &IdSet<Block>,
    ) -> Run<()> {
        let block = self.enter(frame, start)?;
        self.run(frame, block, stop_at).map(|_| ())
    }

    /// The number a value is, computed from what is known.
    fn number(&mut self, frame: &mut Frame<'m>, value: Value) -> Option<u64> {
        let width = size(&self.module.types, frame.function.ty(value))?;
        self.value(frame, value).ok()?.read(0, width)
    }

    fn run(
        &mut self,
        frame: &mut Frame<'m>,
        start: Block,
        stop_at: &IdSet<Block>,
    ) -> Run<Option<Image>> {
        let function = frame.function;
        let mut block = start;
        'blocks: loop {
            if stop_at.contains(block) {
                return Ok(None);
            }
            for &inst in function.insts(block) {
                self.steps += 1;
                if self.steps > MOST_STEPS {
                    return Err(Stop);
                }
                let target = match *function.inst(inst) {
                    InstData::Jump { target } => target,
                    InstData::Branch {
                        cond,
                        then,
                        otherwise,
                    } => match self.known(frame, cond)? & 1 {
                        1 => then,
                        _ => otherwise,
                    },
                    InstData::Switch {
                        value,
                        default,
                        cases,
                    } => {
                        let bits = self.known(frame, value)?;
                        let mut cases = function.switch_cases(cases).iter();
                        let case = cases.find(|(number, _)| *number == bits);
                        case.map_or(default, |&(_, call)| call)
                    }
                    InstData::Return { value: None } => return Ok(None),
                    InstData::Return { value: Some(value) } => {
                        return self.value(frame, value).map(Some);
                    }
                    InstData::Unreachable => return Err(Stop),
                    _ => {
                        let made = self.step(frame, inst)?;
                        if let Some(result) = function.result(inst) {
                            frame.values[result] = Some(made);
                        }
                        continue;
                    }
                };
                block = self.enter(frame, target)?;
                continue 'blocks;
            }
            return Err(Stop);
        }
    }

    fn enter(&mut self, frame: &mut Frame<'m>, call: BlockCall) -> Run<Block> {
        let function = frame.function;
        let args = function.list_values(call.args).iter();
        let passed: Vec<Image> = args
            .map(|&arg| self.value(frame, arg))
            .collect::<Run<_>>()?;
        for (&param, value) in function.params(call.block).iter().zip(passed) {
            frame.values[param] = Some(value);
        }
        Ok(call.block)
    }

    fn size(&self, ty: Type) -> Run<usize> {
        let size = size(&self.module.types, ty).ok_or(Stop)?;
        if size > MOST_BYTES {
            return Err(Stop);
        }
        Ok(size)
    }

    fn value(&mut self, frame: &mut Frame<'m>, value: Value) -> Run<Image> {
        if let Some(known) = &frame.values[value] {
            return Ok(known.clone());
        }
        let function = frame.function;
        let ty = function.ty(value);
        let len = self.size(ty)?;
        Ok(match function.def(value) {
            ValueDef::Const(bits) => Image::number(bits, len),
            ValueDef::ConstVector(elements) => {
                let (scalar, _) = lanes(ty).ok_or(Stop)?;
                let width = scalar.bytes() as usize;
                let mut image = Image::zero(len);
                for (lane, &bits) in function.elements(elements).iter().enumerate() {
                    image.write(lane * width, width, bits);
                }
                image
            }
            // An undefined value may be any: zero, as the memory of static variables is at first.
            ValueDef::Zero | ValueDef::Undef => Image::zero(len),
            ValueDef::Global(global) => {
                let object = self.global_object(global)?;
                Image::number(address(object), len)
            }
            ValueDef::Result(inst) if frame.before.is_some() && self.may_compute(frame, inst) => {
                self.depth += 1;
                let made = self.step(frame, inst);
                self.depth -= 1;
                let made = made?;
                frame.values[value] = Some(made.clone());
                made
            }
            ValueDef::FunctionConstant(_) | ValueDef::Param(..) | ValueDef::Result(_) => {
                Image::unknown(len)
            }
        })
    }

    /// Returns true if an instruction from before the start gives the same whenever it runs.
    fn may_compute(&self, frame: &Frame<'m>, inst: Inst) -> bool {
        let effects = frame.function.effects(inst);
        let alloca = matches!(frame.function.inst(inst), InstData::Alloca { .. });
        let global = match *frame.function.inst(inst) {
            InstData::Load { ptr, .. } => root_of(frame.function, ptr).is_some(),
            _ => false,
        };
        self.depth < DEEPEST
            && !effects.writes
            && !effects.convergent
            && (!effects.reads || alloca || global)
    }

    /// A number that must be known.
    fn known(&mut self, frame: &mut Frame<'m>, value: Value) -> Run<u64> {
        self.number(frame, value).ok_or(Stop)
    }

    fn global_object(&mut self, id: GlobalId) -> Run<usize> {
        if let Some(known) = self.of_global[id] {
            return Ok(known);
        }
        let global = self.module.globals.get(id).ok_or(Stop)?;
        let len = self.size(global.ty)?;
        let image = match &global.data {
            GlobalData::Undefined => Image::unknown(len),
            GlobalData::Zero => Image::zero(len),
            GlobalData::Bytes(bytes) => Image::of(bytes.clone()),
        };
        let object = self.add(image, global.space == Space::Thread, Space::Constant)?;
        self.of_global[id] = Some(object);
        Ok(object)
    }

    fn add(&mut self, image: Image, writable: bool, space: Space) -> Run<usize> {
        self.bytes += image.len();
        if self.bytes > MOST_BYTES {
            return Err(Stop);
        }
        self.objects.push(Object {
            image,
            writable,
            space,
        });
        Ok(self.objects.len() - 1)
    }

    /// The object and offset a pointer names; nothing if it is not known.
    fn place(&mut self, frame: &mut Frame<'m>, pointer: Value) -> Run<Option<(usize, usize)>> {
        let Some(bits) = self.number(frame, pointer) else {
            return Ok(None);
        };
        let object = (bits >> OFFSET_BITS).checked_sub(1).ok_or(Stop)?;
        let offset = bits & ((1 << OFFSET_BITS) - 1);
        Ok(Some((object as usize, offset as usize)))
    }

    fn load(&mut self, frame: &mut Frame<'m>, pointer: Value, len: usize) -> Run<Image> {
        match self.place(frame, pointer)? {
            None => Ok(Image::unknown(len)),
            Some((object, offset)) => {
                let object = self.objects.get(object).ok_or(Stop)?;
                object.image.part(offset, len).ok_or(Stop)
            }
        }
    }

    fn store(&mut self, frame: &mut Frame<'m>, pointer: Value, image: &Image) -> Run<()> {
        let (object, offset) = self.place(frame, pointer)?.ok_or(Stop)?;
        let object = self.objects.get_mut(object).ok_or(Stop)?;
        if !object.writable {
            return Err(Stop);
        }
        object.image.put(offset, image).ok_or(Stop)
    }

    fn step(&mut self, frame: &mut Frame<'m>, inst: Inst) -> Run<Image> {
        let function = frame.function;
        let ty = function.result_type(inst);
        match *function.inst(inst) {
            InstData::Unary { op, arg, .. } => {
                let (scalar, _) = lanes(ty).ok_or(Stop)?;
                self.each(frame, ty, &[arg], |a| {
                    Some(evaluate::unary(op, scalar, a[0]))
                })
            }
            InstData::Binary { op, args, .. } => {
                let (scalar, _) = lanes(ty).ok_or(Stop)?;
                self.each(frame, ty, &args, |a| {
                    evaluate::binary(op, scalar, a[0], a[1])
                })
            }
            InstData::Ternary { args, .. } => {
                let (scalar, _) = lanes(ty).ok_or(Stop)?;
                self.each(frame, ty, &args, |a| {
                    evaluate::ternary(TernaryOp::Fma, scalar, [a[0], a[1], a[2]])
                })
            }
            InstData::IntCompare { cond, args, .. } => {
                let (scalar, _) = lanes(function.ty(args[0])).ok_or(Stop)?;
                self.each(frame, ty, &args, |a| {
                    Some(evaluate::int_compare(cond, scalar, a[0], a[1]).into())
                })
            }
            InstData::FloatCompare { cond, args, .. } => {
                let (scalar, _) = lanes(function.ty(args[0])).ok_or(Stop)?;
                self.each(frame, ty, &args, |a| {
                    evaluate::float_compare(cond, scalar, a[0], a[1]).map(u64::from)
                })
            }
            InstData::Select { cond, args, .. } => self.select(frame, ty, cond, args),
            InstData::Cast { op, arg, .. } => self.cast(frame, ty, op, arg),
            InstData::Extract { vector, index } => {
                let (scalar, count) = lanes(function.ty(vector)).ok_or(Stop)?;
                let width = scalar.bytes() as usize;
                let whole = self.value(frame, vector)?;
                Ok(match self.number(frame, index) {
                    Some(lane) if lane < count as u64 => {
                        whole.part(lane as usize * width, width).ok_or(Stop)?
                    }
                    Some(_) => Image::zero(width),
                    None => Image::unknown(width),
                })
            }
            InstData::Insert {
                vector,
                element,
                index,
            } => {
                let (scalar, count) = lanes(ty).ok_or(Stop)?;
                let mut whole = self.value(frame, vector)?;
                let element = self.value(frame, element)?;
                match self.number(frame, index) {
                    Some(lane) if lane < count as u64 => {
                        let at = lane as usize * scalar.bytes() as usize;
                        whole.put(at, &element).ok_or(Stop)?;
                    }
                    Some(_) => {}
                    None => whole.forget(0, whole.len()),
                }
                Ok(whole)
            }
            InstData::Shuffle { args: [a, b], mask } => {
                let (scalar, count) = lanes(function.ty(a)).ok_or(Stop)?;
                let width = scalar.bytes() as usize;
                let sides = [self.value(frame, a)?, self.value(frame, b)?];
                let mut whole = Image::zero(self.size(ty)?);
                for (lane, &from) in function.indices(mask).iter().enumerate() {
                    if from == UNDEF_LANE {
                        continue;
                    }
                    let from = from as usize;
                    let (side, from) = (usize::from(from >= count), from % count.max(1));
                    let element = sides.get(side).and_then(|i| i.part(from * width, width));
                    whole.put(lane * width, &element.ok_or(Stop)?).ok_or(Stop)?;
                }
                Ok(whole)
            }
            InstData::Construct { args } => {
                let mut whole = Image::zero(self.size(ty)?);
                for (index, &arg) in function.list_values(args).iter().enumerate() {
                    let part = self.value(frame, arg)?;
                    let at = self.offset(ty, &[index as u32])?;
                    whole.put(at, &part).ok_or(Stop)?;
                }
                Ok(whole)
            }
            InstData::ExtractValue { aggregate, path } => {
                let at = self.offset(function.ty(aggregate), function.indices(path))?;
                let whole = self.value(frame, aggregate)?;
                whole.part(at, self.size(ty)?).ok_or(Stop)
            }
            InstData::InsertValue {
                aggregate,
                element,
                path,
            } => {
                let at = self.offset(ty, function.indices(path))?;
                let mut whole = self.value(frame, aggregate)?;
                let part = self.value(frame, element)?;
                whole.put(at, &part).ok_or(Stop)?;
                Ok(whole)
            }
            InstData::Call { callee, args, .. } => {
                let args = function.list_values(args);
                self.call_any(frame, callee, args, ty)
            }
            _ => self.access(frame, inst, ty),
        }
    }

    /// Where a part of an aggregate or vector lies.
    fn offset(&self, ty: Type, path: &[u32]) -> Run<usize> {
        let (mut ty, mut at) = (ty, 0);
        for &index in path {
            let (part, offset) = match ty.kind() {
                TypeKind::Vector(Scalar::I1, lanes) if index < u32::from(lanes) => {
                    (Type::I1, index)
                }
                _ => self.module.types.element_at(ty, index).ok_or(Stop)?,
            };
            (ty, at) = (part, at + offset as usize);
        }
        Ok(at)
    }

    /// An operation element by element; an operand of one element counts for all.
    fn each(
        &mut self,
        frame: &mut Frame<'m>,
        ty: Type,
        args: &[Value],
        operation: impl Fn(&[u64]) -> Option<u64>,
    ) -> Run<Image> {
        let (scalar, count) = lanes(ty).ok_or(Stop)?;
        let mut operands = Vec::with_capacity(args.len());
        for &arg in args {
            let (own, elements) = lanes(frame.function.ty(arg)).ok_or(Stop)?;
            let image = self.value(frame, arg)?;
            operands.push((image, own.bytes() as usize, elements));
        }
        let width = scalar.bytes() as usize;
        let mut result = Image::unknown(self.size(ty)?);
        for lane in 0..count {
            let bits = operands.iter().map(|(image, own, elements)| {
                let lane = if *elements == 1 { 0 } else { lane };
                image.read(lane * own, *own)
            });
            let bits: Option<Vec<u64>> = bits.collect();
            if let Some(number) = bits.and_then(|bits| operation(&bits)) {
                result.write(lane * width, width, number & scalar.mask());
            }
        }
        Ok(result)
    }

    fn select(
        &mut self,
        frame: &mut Frame<'m>,
        ty: Type,
        cond: Value,
        [yes, no]: [Value; 2],
    ) -> Run<Image> {
        let choices = [self.value(frame, no)?, self.value(frame, yes)?];
        let len = choices[0].len();
        let (_, conditions) = lanes(frame.function.ty(cond)).ok_or(Stop)?;
        let condition = self.value(frame, cond)?;
        let width = match conditions {
            1 => len,
            _ => lanes(ty).ok_or(Stop)?.0.bytes() as usize,
        };
        let mut result = Image::unknown(len);
        for lane in 0..conditions {
            let Some(truth) = condition.read(lane, 1) else {
                continue;
            };
            let chosen = choices.get((truth & 1) as usize);
            let part = chosen.and_then(|image| image.part(lane * width, width));
            result.put(lane * width, &part.ok_or(Stop)?).ok_or(Stop)?;
        }
        Ok(result)
    }

    fn cast(&mut self, frame: &mut Frame<'m>, ty: Type, op: CastOp, arg: Value) -> Run<Image> {
        let (from, _) = lanes(frame.function.ty(arg)).ok_or(Stop)?;
        let (to, _) = lanes(ty).ok_or(Stop)?;
        match op {
            CastOp::PtrToInt | CastOp::IntToPtr | CastOp::SpaceCast => {
                self.each(frame, ty, &[arg], |a| Some(a[0] & to.mask()))
            }
            CastOp::Bitcast => {
                let image = self.value(frame, arg)?;
                // Truth values are packed in such a view of them.
                let packed = from == Scalar::I1 || to == Scalar::I1;
                if packed || image.len() != self.size(ty)? {
                    return Err(Stop);
                }
                Ok(image)
            }
            _ => self.each(frame, ty, &[arg], |a| evaluate::cast(op, from, to, a[0])),
        }
    }

    fn call_any(
        &mut self,
        frame: &mut Frame<'m>,
        callee: Callee,
        args: &[Value],
        ty: Type,
    ) -> Run<Image> {
        match callee {
            Callee::Function(id) => {
                let args = args.iter().map(|&arg| self.value(frame, arg));
                let args = args.collect::<Run<Vec<_>>>()?;
                let result = self.call(id, args)?;
                Ok(result.unwrap_or(Image::zero(0)))
            }
            Callee::Builtin(call) => self.builtin(frame, call, args, ty),
            Callee::Unknown(symbol) => {
                let name = self.module.symbols.get(symbol).map(String::as_str);
                let (Some(SPACE_QUESTION), &[pointer]) = (name, args) else {
                    return Err(Stop);
                };
                let (object, _) = self.place(frame, pointer)?.ok_or(Stop)?;
                let space = self.objects.get(object).ok_or(Stop)?.space;
                let number = if space == Space::Constant { 2 } else { 0 };
                Ok(Image::number(number, self.size(ty)?))
            }
        }
    }

    fn builtin(
        &mut self,
        frame: &mut Frame<'m>,
        call: BuiltinCall,
        args: &[Value],
        ty: Type,
    ) -> Run<Image> {
        let info = call.info();
        match info.fold {
            Fold::Number(number) => return self.each(frame, ty, &[], |_| Some(number)),
            Fold::Constant if lanes(ty).is_some() => {
                let first = args.first().ok_or(Stop)?;
                let (scalar, count) = lanes(frame.function.ty(*first)).ok_or(Stop)?;
                let (_, results) = lanes(ty).ok_or(Stop)?;
                // What mixes the elements of a vector is not computed here.
                if count == results {
                    return self.each(frame, ty, args, |bits| {
                        evaluate_builtin::builtin(call, scalar, bits)
                    });
                }
            }
            _ => {}
        }
        match (call.builtin, info.effects) {
            (Builtin::LifetimeStart | Builtin::LifetimeEnd | Builtin::Expect, _) => {
                Ok(Image::zero(0))
            }
            (Builtin::All | Builtin::Any, _) => {
                let &[arg] = args else { return Err(Stop) };
                let truths = self.value(frame, arg)?;
                let len = self.size(ty)?;
                let Some(truths) = truths.bytes() else {
                    return Ok(Image::unknown(len));
                };
                let holds = match call.builtin {
                    Builtin::All => truths.iter().all(|&truth| truth & 1 == 1),
                    _ => truths.iter().any(|&truth| truth & 1 == 1),
                };
                Ok(Image::number(u64::from(holds), len))
            }
            (_, Effects::Pure) => Ok(Image::unknown(self.size(ty)?)),
            _ => Err(Stop),
        }
    }

    fn access(&mut self, frame: &mut Frame<'m>, inst: Inst, ty: Type) -> Run<Image> {
        let function = frame.function;
        match *function.inst(inst) {
            InstData::Alloca { ty: held, .. } => {
                let len = self.size(held)?;
                let unknown = frame.before.as_ref();
                let image = match unknown.is_some_and(|unknown| unknown.contains(inst)) {
                    true => Image::unknown(len),
                    false => Image::zero(len),
                };
                let object = self.add(image, true, Space::Thread)?;
                Ok(Image::number(address(object), self.size(ty)?))
            }
            InstData::PtrAdd {
                base,
                index,
                scale,
                offset,
                extend,
                ..
            } => {
                let len = self.size(ty)?;
                let Some(mut address) = self.number(frame, base) else {
                    return Ok(Image::unknown(len));
                };
                address = address.wrapping_add(offset as u64);
                if let Some(index) = index {
                    let (scalar, _) = lanes(function.ty(index)).ok_or(Stop)?;
                    let Some(bits) = self.number(frame, index) else {
                        return Ok(Image::unknown(len));
                    };
                    let steps = match extend {
                        IndexExtend::Sign => evaluate::signed(scalar, bits) as u64,
                        IndexExtend::Zero => bits,
                    };
                    address = address.wrapping_add(steps.wrapping_mul(u64::from(scale)));
                }
                Ok(Image::number(address, len))
            }
            InstData::Load { ptr, access } if !access.is_atomic() => {
                let packed = matches!(ty.kind(), TypeKind::Vector(Scalar::I1, _));
                if packed {
                    return Err(Stop);
                }
                let len = self.size(ty)?;
                self.load(frame, ptr, len)
            }
            InstData::Store { ptr, value, access } if !access.is_atomic() => {
                let packed = matches!(function.ty(value).kind(), TypeKind::Vector(Scalar::I1, _));
                if packed {
                    return Err(Stop);
                }
                let image = self.value(frame, value)?;
                self.store(frame, ptr, &image)?;
                Ok(Image::zero(0))
            }
            InstData::MemCopy { dst, src, size, .. } => {
                let size = self.known(frame, size)? as usize;
                let image = self.load(frame, src, size.min(MOST_BYTES))?;
                self.store(frame, dst, &image)?;
                Ok(Image::zero(0))
            }
            InstData::MemSet {
                dst, byte, size, ..
            } => {
                let size = self.known(frame, size)? as usize;
                let byte = self.known(frame, byte)? as u8;
                let image = Image::of(vec![byte; size.min(MOST_BYTES)]);
                self.store(frame, dst, &image)?;
                Ok(Image::zero(0))
            }
            _ => Err(Stop),
        }
    }
}

fn address(object: usize) -> u64 {
    (object as u64 + 1) << OFFSET_BITS
}

/// The global a pointer points into, by arithmetic alone.
pub(super) fn root_of(function: &Function, mut pointer: Value) -> Option<GlobalId> {
    for _ in 0..DEEPEST {
        pointer = match function.def(pointer) {
            ValueDef::Global(global) => return Some(global),
            ValueDef::Result(inst) => match *function.inst(inst) {
                InstData::PtrAdd { base, .. } => base,
                InstData::Cast {
                    op: CastOp::SpaceCast | CastOp::Bitcast,
                    arg,
                    ..
                } => arg,
                _ => return None,
            },
            _ => return None,
        };
    }
    None
}
